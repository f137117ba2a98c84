#!/usr/bin/env python3
"""Holds the documents against the program: commands are run, output and JSON compared, links followed.

    run.py PROGRAM SAMPLE_PUBLISHER [PAGE…]      --list: says of each block what is done with it

Before each block stands a comment that says what it is:

    <!-- run: example -->        shell commands, run where README leads to: https://example.org has a few feeds, Redis is
                                 at redis://localhost:6379/0, a worker runs. Options, behind commas: `exit 1`,
                                 `until 8 lines` and `until "text"` (then it is stopped; `twice`: and once more the same),
                                 `own port` (for a second worker)
    <!-- run: sample -->         the same on what scripts/run starts
    <!-- printed -->             what the commands before it printed. `…` alone on a line stands for any lines;
                                 `printed: each line` when order and number differ from run to run
    <!-- event: TYPE -->         a record of stream:signals, as it came when that happened; `, when STATE` where only a
                                 program that knows this state writes it
    <!-- file: NAME -->          a file that commands behind it use
    <!-- settings -->            a piece of feedmill.toml
    <!-- not run: WHY -->        commands that cannot be run here; WHY is one of not_run.py
    <!-- figure -->              neither command nor output

Times, ids, ports and spans may differ; all else must be equal.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import events
import worlds
from markdown import Page
from not_run import NOT_RUN
from worlds import ROOT, Failed, wait_for

# Links are followed on all pages. Blocks of these need no mark: rules have none, the others are made by the program,
# and their commands are held against it like those that are not run.
UNMARKED = ("docs/rules/", "docs/ARCHITECTURE.md", "docs/CLI.md", "docs/CONFIGURATION.md", "CHANGELOG.md", "SECURITY.md")

MASKS = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"\b1[6-9]\d{11}-\d+\b", "<id>"),
    (r"\b1[6-9]\d{8}(\d{3})?\b", "<unix>"),
    (r"\bEntry:\d+", "Entry:<n>"),
    (r"(127\.0\.0\.1|localhost):\d+", r"\1:<port>"),
    (r"\b\d[\d.]*( |\\u00a0|\u202f)?(ms|s|min|h|d)\b", "<span>"),
    (r"\b[0-9a-f]{16,}\b", "<hex>"),
    (r"/(rss2|rss092|rss1|atom|atom03|feed1|feed)/posts/\d+", "/posts/<n>"),
    (r"(post_\w+ +Entry:<n>) +.* +(http://127\.0\.0\.1:<port>/posts/<n>)", r"\1 <title> \2"),  # of the sample
    (r"[ \t]+", " "),
]


def masked(text):
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return text.strip()


def masked_json(value):
    """Of numbers only those that tell a time."""
    if isinstance(value, dict):
        return {name: masked_json(member) for name, member in value.items()}
    if isinstance(value, list):
        return [masked_json(member) for member in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return "<unix>" if 1.6e9 <= value < 2e9 else value
    return masked(value)


def as_json(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def matches(shown, printed):
    """Lines against lines; `…` stands for any number of them."""
    if not shown:
        return not printed
    if shown[0] in ("…", "..."):
        return any(matches(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and matches(shown[1:], printed[1:])


class Documents:
    def __init__(self, program, publisher, names):
        self.program, self.publisher = program, publisher
        all_names = sorted(str(path.relative_to(ROOT)) for path in
                           [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")])
        self.pages = {name: Page(ROOT, name) for name in all_names}
        self.wanted = [page for name, page in self.pages.items() if not names or name in names]
        self.wrongs = [wrong for page in self.wanted for wrong in page.wrongs]
        self.notes, self.counts, self.helps = [], {}, {}

    def wrong(self, where, what):
        self.wrongs.append(f"{where}: {what}")

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    # What needs nothing to run.

    def follow_links(self, page):
        for line, target in page.links():
            if re.match(r"[a-z]+:", target):
                continue
            self.count("links")
            path, _, anchor = target.partition("#")
            there = (ROOT / page.name).parent / path if path else ROOT / page.name
            if not there.exists():
                self.wrong(f"{page.name}:{line}", f"a link to {target}, which is not there")
            elif anchor and there.suffix == ".md":
                name = str(there.resolve().relative_to(ROOT))
                if anchor not in self.pages[name].anchors():
                    self.wrong(f"{page.name}:{line}", f"a link to {target}, where there is no such heading")

    def help_of(self, *verb):
        if verb not in self.helps:
            done = subprocess.run([self.program, *verb, "-h"], capture_output=True, text=True, timeout=30)
            self.helps[verb] = done.stdout if done.returncode == 0 else None
        return self.helps[verb]

    def hold_against_program(self, where, command):
        """Whether a command's verb and flags are the program's."""
        words = re.split(r"\s+", re.sub(r"\s#.*", "", command).strip())
        at = next((i for i, word in enumerate(words) if re.search(r"(^|/)feedmill$", word)), None)
        if at is None:
            return
        verb, flags = [], []
        for word in words[at + 1:]:
            if word in ("|", ">", ">>", "&&", "||", ";", "&", "<"):
                break
            if word.startswith("--") and len(word) > 2:
                flags.append(re.split("[=\\]]", word)[0].rstrip("\"'`,.;"))
            elif not flags and re.fullmatch("[a-z-]+", word) and len(verb) < 2:
                parent = self.help_of(*verb) or ""
                if not verb or re.search(rf"^  {word} ", parent.partition("\nVerbs:")[2], re.M):
                    verb.append(word)
        known = self.help_of(*verb)
        if known is None:
            self.wrong(where, f"feedmill {' '.join(verb)}: there is no such verb")
            return
        for flag in flags:
            if not re.search(rf"(^|[\s,]){re.escape(flag)}\b", known + self.help_of()):
                self.wrong(where, f"feedmill {' '.join(verb)} has no {flag}")

    def hold_against_tree(self, where, text):
        for path in re.findall(r"(?<![\w/.-])((?:deploy|scripts|tests|docs)/[\w./-]*\w/?)", text):
            if not (ROOT / path).exists():
                self.wrong(where, f"{path} is not there")
        for path in re.findall(r"examples/([\w.-]+\w)", text):
            if not list((ROOT / "deploy").rglob(path)):
                self.wrong(where, f"examples/{path} is not there")

    def hold_against_script(self, where, line):
        """Whether flags that scripts of the tree are given stand in them."""
        script = re.match(r"\s*(?:\./)?((?:scripts|tests)/[\w./-]+)(.*)", line)
        if script and (ROOT / script.group(1)).is_file():
            text = (ROOT / script.group(1)).read_text()
            for flag in re.findall(r"(?<!\S)--[a-z-]+", script.group(2).partition(" #")[0]):
                if flag not in text:
                    self.wrong(where, f"{script.group(1)} has no {flag}")

    def look_at_commands(self, block):
        done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
        if done.returncode != 0:
            self.wrong(block, "not a script: " + done.stderr.strip())
        joined = block.text.replace("\\\n", " ")
        self.hold_against_tree(block, joined)
        for line in joined.splitlines():
            self.hold_against_script(block, line)
            for part in re.split(r"\$\(|[|;&(]", line):
                self.hold_against_program(block, part)

    def look_at_prose(self, page):
        """Commands and options that are named in a line are the program's, too."""
        for line, word in page.code_words():
            where = f"{page.name}:{line}"
            self.hold_against_script(where, word)
            if word.startswith("feedmill "):
                self.count("commands named in a line")
                self.hold_against_program(where, word)
            if re.fullmatch(r"(deploy|scripts|tests|docs|worker|storage|parsers)/[\w./-]*\w", word) and "NAME" not in word \
                    and not (ROOT / word).exists() and not (ROOT / "docs" / word).exists():
                self.wrong(where, f"{word} is not there")
            if re.fullmatch(r"feedmill_[a-z_]+", word) and not self.is_metric_or_user(word):
                self.wrong(where, f"there is no metric {word} in docs/OPERATIONS.md, nor such a user")
            if page.name.startswith("docs/rules/"):
                continue  # which name reasons alike
            if re.fullmatch(r"(redis|store|retention|signals|schedule|host|fetch|egress|dns|html|websub|drain|log)"
                            r"\.(?![chl]pp$|lua$|cpp$)[a-z_0-9]+", word):
                self.count("options named in a line")
                if f"`{word}`" not in "\n".join(self.pages["docs/CONFIGURATION.md"].lines):
                    self.wrong(where, f"there is no option {word}")

    def is_metric_or_user(self, word):
        """The guide's table of metrics is held against the program by ctest monitoring."""
        rows = [line for line in self.pages["docs/OPERATIONS.md"].lines if line.startswith("|")]
        return f"`{word.removeprefix('feedmill_')}`" in "".join(rows) or \
            f"user {word} " in (ROOT / "deploy/redis/users.acl").read_text()

    def look_at_tests(self, page):
        """The tests that are named as proof are there."""
        if page.name not in ("docs/GUARANTEES.md", "README.md"):
            return
        for line, word in page.code_words():
            for suite, test in re.findall(r"\b([A-Z]\w+)\.([A-Z]\w+)\b", word):
                if not any(re.search(rf"\b{suite}\s*,\s*{test}\b", text) for text in self.sources()):
                    self.wrong(f"{page.name}:{line}", f"there is no test {suite}.{test}")
                self.count("tests named")

    def sources(self):
        if not hasattr(self, "texts"):
            self.texts = [path.read_text(errors="replace") for path in (ROOT / "tests").rglob("*_test.cpp")]
        return self.texts

    # What runs.

    def history(self):
        if not hasattr(self, "happened"):
            world = worlds.Example(self.program)
            try:
                self.happened = events.happen(world)
            finally:
                world.close()
        return self.happened

    def look_at_event(self, block):
        shown = as_json(block.text)
        if shown is None:
            self.wrong(block, "not JSON")
            return
        kind, _, state = block.says.partition(", when ")
        if state and subprocess.run([self.program, "list", "--state", state, "--redis", "redis://127.0.0.1:1/0"],
                                    capture_output=True).returncode == 64:
            self.notes.append(f"{block}: skipped: the program knows no state {state}")
            return
        same = [event for event in self.history() if event["type"] == kind]
        if masked_json(shown) not in [masked_json(event) for event in same]:
            told = "".join("\n    " + json.dumps(event) for event in same)
            self.wrong(block, f"no such {kind} was written; there were:{told}")

    def look_at_settings(self, block):
        world = worlds.World(self.program)
        try:
            text = re.sub(r'"(/etc/feedmill/[\w-]+)"', lambda path: f'"{world.directory}/secret"', block.text)
            (world.directory / "secret").write_text("of-16-bytes-or-more\n")
            (world.directory / "feedmill.toml").write_text(text)
            world.environment.pop("FEEDMILL_EGRESS_ALLOW")
            world.run("feedmill config check --config feedmill.toml")
        except Failed as failed:
            self.wrong(block, f"feedmill config check: {failed}")
        finally:
            world.close()

    def run_blocks(self, page, kind):
        """The blocks of one page that belong to one world, in their order."""
        blocks = [block for block in page.blocks
                  if block.kind in ("file", "printed") or block.kind == "run" and self.world_of(block) == kind]
        if not any(block.kind == "run" for block in blocks):
            return
        world = worlds.Example(self.program) if kind == "example" else worlds.Sample(self.program, self.publisher)
        try:
            world.begin(page)
            printed = {}
            for block in blocks:
                try:
                    if block.kind == "file":
                        (world.directory / block.says).write_text(world.here(block.text))
                        (world.directory / block.says).chmod(0o755)
                    elif block.kind == "run":
                        printed = {"after": block, "out": self.run_block(world, block)}
                    elif printed and self.before(page, block) is printed["after"]:
                        self.compare(block, printed["out"])
                except (Failed, TimeoutError) as failed:
                    self.wrong(block, str(failed))
                    printed = {}
        except (Failed, TimeoutError) as failed:
            self.wrong(page.name, f"the world of {kind} did not begin: {failed}")
        finally:
            world.close()

    @staticmethod
    def before(page, block):
        """The commands that printed a block."""
        earlier = page.blocks[:page.blocks.index(block)]
        return next((other for other in reversed(earlier) if other.kind in ("run", "not run")), None)

    @staticmethod
    def world_of(block):
        return block.says.split(",")[0].strip()

    def run_block(self, world, block):
        options = [option.strip() for option in block.says.split(",")[1:]]
        tool = next((word for word in ("curl", "jq", "node") if re.search(rf"\b{word} ", block.text)
                     and not shutil.which(word)), None)
        if re.search("python3|consumer.py", block.text) and subprocess.run(["/usr/bin/python3", "-c", "import redis"],
                                                      capture_output=True).returncode != 0:
            tool = "python3-redis"
        if tool:
            self.notes.append(f"{block}: skipped: {tool} is not installed")
            return None
        more, expected, until, times = {}, 0, None, 1
        for option in options:
            if option.startswith("exit "):
                expected = int(option[5:])
            elif option.startswith("until "):
                until = option[6:]
            elif option == "twice":
                times = 2
            elif option == "own port":
                more["FEEDMILL_ADMIN_LISTEN"] = "127.0.0.1:0"
            else:
                self.wrong(block, f"unknown option: {option}")
        self.count("blocks run")
        if until is None:
            out = world.run(block.text, expected, **more)
            if "stream:requests" in block.text:  # done when the next block begins, as it is for a reader who types
                wait_for("the end of a request", world.nothing_is_asked)
            return out
        outs = [self.run_until(world, block.text, until, more) for _ in range(times)]
        return outs[0]  # the page shows what the first printed

    @staticmethod
    def run_until(world, text, until, more):
        process = world.start(text, **more)
        try:
            def has_come():
                ended = process.poll()
                lines = re.match(r"(\d+) lines$", until)
                out = world.said(process)
                come = out.count("\n") >= int(lines.group(1)) if lines else \
                    until.strip('"') in out + world.said(process, "err")
                if ended is not None and not come:
                    raise Failed(f"it ended with {ended}:\n{world.said(process, 'err')}")
                return come
            try:
                wait_for(until, has_come)
            except TimeoutError:
                raise Failed(f"never came to: {until}\n{world.said(process)}{world.said(process, 'err')}")
            return world.said(process)
        finally:
            world.stop(process)

    def compare(self, block, out):
        if out is None:
            return
        self.count("outputs compared")
        shown, printed = as_json(block.text), as_json(out)
        if shown is not None and printed is not None:
            if masked_json(shown) != masked_json(printed):
                self.wrong(block, f"another object was printed: {out.strip()}")
            return
        shown = [masked(line) for line in block.text.splitlines()]
        printed = [masked(line) for line in out.splitlines()]
        if block.says == "each line":
            for line in shown:
                if line not in printed:
                    self.wrong(block, f"no such line was printed: {line}\n{out}")
        elif not matches(shown, printed):
            self.wrong(block, "this was printed instead:\n" + out)

    def look_at(self, page):
        self.follow_links(page)
        self.look_at_prose(page)
        self.look_at_tests(page)
        for block in page.blocks:
            if page.name.startswith(UNMARKED):
                if block.kind is None and block.language in ("sh", "bash", "console"):
                    self.look_at_commands(block)
                continue
            self.count(f"blocks: {block.kind}")
            if block.kind is None:
                self.wrong(block, "a block without a mark that says how it is run (see tests/docs/run.py)")
            elif block.kind == "not run":
                if block.says not in NOT_RUN:
                    self.wrong(block, f"not run: {block.says}: no such reason in not_run.py")
                self.look_at_commands(block)
            elif block.kind == "run":
                if self.world_of(block) not in ("example", "sample"):
                    self.wrong(block, f"run: {block.says}: no such world")
                self.look_at_commands(block)
            elif block.kind == "event":
                self.look_at_event(block)
            elif block.kind == "settings":
                self.look_at_settings(block)
            elif block.kind == "printed" and self.before(page, block) is None:
                self.wrong(block, "no commands stand before what they printed")
        for kind in ("example", "sample"):
            self.run_blocks(page, kind)


def main(program, publisher, *names):
    documents = Documents(program, publisher, [name for name in names if name != "--list"])
    if "--list" in names:
        for page in documents.wanted:
            for block in page.blocks:
                print(f"{block}: {block.kind}: {block.says}")
        return 0
    for page in documents.wanted:
        since = time.monotonic()
        documents.look_at(page)
        if time.monotonic() - since > 1:
            documents.notes.append(f"{page.name}: {time.monotonic() - since:.1f} s")
    for note in documents.notes:
        print("docs:", note)
    for page in documents.wanted:
        for block in page.blocks:
            if block.kind == "not run":
                print(f"docs: {block}: not run: it {NOT_RUN.get(block.says)}")
    print("docs:", ", ".join(f"{count} {what}" for what, count in sorted(documents.counts.items())))
    for wrong in documents.wrongs:
        print("docs:", wrong, file=sys.stderr)
    return 1 if documents.wrongs else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*(str(pathlib.Path(path).resolve()) for path in sys.argv[1:3]), *sys.argv[3:]))
