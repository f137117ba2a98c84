"""The parser's output: in full for the samples, as a hash for many other documents."""
import hashlib
import json
import subprocess

import corpus
from transcript import SOURCE, Transcript


CASES = "../shared/conformance/cases"


def samples(world, masks):
    told = Transcript(world, masks)
    documents = {"rich.rss": corpus.rich_rss(), "sample.atom": corpus.atom(), "sample.rdf": corpus.RDF,
                 "sample.cdf": corpus.CDF, "sample.json": corpus.JSON, "broken.rss": corpus.BROKEN,
                 "page.html": corpus.PAGE}
    for name, text in documents.items():
        path = world.file(name, text)
        told.run("parse", path, "--url", "http://document.example/feed")
        told.run("parse", path, "--explain")
    rich = world.file("rich.rss", corpus.rich_rss())
    told.run("parse", rich, "--raw-html", "--json")
    told.run("parse", rich, "--html-policy", "classic")
    told.run("parse", "-", "--content-type", "text/xml; charset=windows-1252", "--header",
             "Link: <http://hub.example/>; rel=hub", stdin=corpus.rich_rss())
    told.run("parse", "-", "--explain", "--content-type", "application/json", stdin=corpus.JSON)
    told.run("parse", "-", stdin="")
    asked = [json.dumps({"argv": argv}) for argv in ([rich, "--explain"], ["/nowhere"], ["-x"])]
    told.run("parse", "--pipe", stdin="\n".join(asked) + "\nnonsense\n")
    return str(told)


def hashes(world, paths, base):
    """A line for each file: the exit code and the hash of the output."""
    asked = "".join(json.dumps({"argv": ["--url", "http://document.example/", str(path)]}) + "\n" for path in paths)
    done = subprocess.run([world.program, "parse", "--pipe"], input=asked.encode(), capture_output=True, check=True,
                          timeout=300)
    text = ""
    for path, line in zip(paths, done.stdout.splitlines(), strict=True):
        answer = json.loads(line)
        digest = hashlib.sha256(answer["out"].encode()).hexdigest()[:16] if answer["rc"] == 0 else "-"
        text += f"{path.relative_to(base)} {answer['rc']} {digest}\n"
    return text


def files(*folders):
    return sorted(path for folder in folders for path in (SOURCE / folder).rglob("*") if path.is_file())


def observe(world, masks):
    ours = files("tests/data", "tests/fuzz/corpus/read_feed_fuzz", "tests/fuzz/corpus/salvage_fuzz")
    cases = [path for path in files(CASES) if "files" in path.parts]
    return {"samples.txt": samples(world, masks), "documents.txt": hashes(world, ours, SOURCE / "tests"),
            "conformance.txt": hashes(world, cases, SOURCE / CASES) if cases else None}  # None: not in this tree
