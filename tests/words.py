#!/usr/bin/python3
"""Counts words that give translated English away, by room and by kind of text. No count may rise.

    words.py SOURCE_DIR [--list ROOM KIND | --update]

words.json beside this script has the highest count of each. --update writes today's where they are lower; --list prints
the lines. Kinds: shown (string literals of the product: help, errors, log lines, pages), comments, tests (names of
tests), docs.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

BASELINE = pathlib.Path(__file__).with_name("words.json")
PATTERNS = [re.compile(pattern, re.IGNORECASE) for pattern in (
    r"\bwho(ever|m|se)?\b(?! is who)", r"\bwhat (is|was|are|were|has|had|it|they|we|came|comes|there)\b",
    r"\b(some|any|no)body\b", r"\bnone of (them|these|those|ours)\b", r"\bone of them\b",
    r"\bstands? (in|behind|beside|for itself|there|before)\b", r"\bof late\b",
    r"\b((?<!fell )(?<!fall )(?<!falls )behind(?! (a|the|its) prox)|beside|besides|meanwhile)\b",
    r"\b(is|are|was|were|be) told\b", r"\btells? (of|that|what|who|how|whether)\b", r"\bsays? (so|that|what|how|who)\b",
    r"\b(goes|go|going|went) on\b", r"\bcomes? to (an end|its end|nothing)\b", r"\banew\b", r"\bno more\b",
    r"\bby turns\b", r"\bin its turn\b", r"\bwanted\b", r"\bmend(s|ed|ing)?\b(?!_)", r"(?<!there )\bis no (?=[a-z])",
    r"\bof (which|whom)\b", r"\b(of|by) those that\b", r"\bas long as\b", r"^\s*let\b")]
TEST = re.compile(r"^\s*TEST(?:_F|_P)?\((\w+),\s*(\w+)\)")
WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def split(source, is_lua):
    """A source as (line number, kind, text): its comments, and its string literals of two words or more."""
    mark = r"--" if is_lua else r"//"
    token = re.compile(r'(?P<raw>R"\((?P<inner>.*?)\)")|(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<char>\'(?:[^\'\\\n]|\\.)\')|'
                       rf"(?P<comment>{mark}[^\n]*)", re.DOTALL)
    for found in token.finditer(source):
        line = source.count("\n", 0, found.start()) + 1
        if found["comment"]:
            yield line, "comments", found["comment"]
        elif found["text"] or found["raw"]:
            text = found["inner"] or found["text"]
            if " " in text.strip('" '):
                yield line, "shown", text


def texts(root):
    """All texts as (room, kind, file, line, text)."""
    names = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    for name in names:
        path = pathlib.Path(name)
        top = path.parts[0] if path.parts else ""
        if path.suffix in (".cpp", ".hpp", ".lua") and top in ("worker", "storage", "parsers", "tests"):
            room = "/".join(path.parts[:2])
            source = (root / path).read_text()
            for line, kind, text in split(source, path.suffix == ".lua"):
                if kind == "comments" or top != "tests":
                    yield room, kind, name, line, text
            for number, line in enumerate(source.split("\n"), 1):
                if found := TEST.match(line):
                    yield room, "tests", name, number, " ".join(WORD.split(found[1]) + WORD.split(found[2]))
        elif path.suffix == ".md" and (top == "docs" or len(path.parts) == 1):
            for number, line in enumerate((root / path).read_text().split("\n"), 1):
                yield "docs", "docs", name, number, line


def main():
    root = pathlib.Path(sys.argv[1])
    counts, lines = collections.Counter(), collections.defaultdict(list)
    for room, kind, name, number, text in texts(root):
        if found := sum(len(pattern.findall(text)) for pattern in PATTERNS):
            counts[f"{room} {kind}"] += found
            lines[f"{room} {kind}"].append(f"{name}:{number}: {text.strip()}")
    if sys.argv[2:3] == ["--list"]:
        print("\n".join(lines[" ".join(sys.argv[3:])]))
        return 0
    most = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    if sys.argv[2:3] == ["--update"]:
        lower = {key: min(count, most.get(key, count)) for key, count in sorted(counts.items())}
        BASELINE.write_text(json.dumps(lower, indent=1) + "\n")
        return 0
    by_kind = collections.Counter()
    for key, count in counts.items():
        by_kind[key.split(" ")[1]] += count
    print(", ".join(f"{kind} {count}" for kind, count in sorted(by_kind.items())))
    risen = [key for key, count in counts.items() if count > most.get(key, 0)]
    for key in risen:
        print(f"{key}: {counts[key]}, at most {most.get(key, 0)} before", *lines[key], sep="\n  ")
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
