#!/usr/bin/env python3
"""Records the program's behaviour: the output of every verb, and all of Redis after sample feeds were added
and changed.

    run.py PROGRAM [--update]      compares with expected/, or writes it
"""
import difflib
import os
import pathlib
import sys

import documents
import interface
import scenario
from masks import Masks
from world import World

EXPECTED = pathlib.Path(__file__).resolve().parent / "expected"


def observe(program):
    """The text of each file by name; None: it cannot be determined here."""
    world = World(program)
    try:
        version = world.run("--version").stdout.decode().split()[1]
        masks = Masks(world, version)
        return interface.observe(world, masks) | documents.observe(world, masks) | scenario.observe(world, masks)
    finally:
        world.close()


def compare(seen):
    different = 0
    for name in sorted(seen.keys() | {path.name for path in EXPECTED.iterdir()}):
        path = EXPECTED / name
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        got = seen.get(name, "")
        if got is None:
            print("skipped:", name)
        if got is None or got == expected:
            continue
        different += 1
        sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), got.splitlines(True),
                                                   "expected/" + name, "now/" + name))
    return different


def main():
    arguments = [word for word in sys.argv[1:] if word != "--update"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    seen = observe(os.path.abspath(arguments[0]))
    if "--update" in sys.argv:
        EXPECTED.mkdir(exist_ok=True)
        for path in EXPECTED.iterdir():
            if seen.get(path.name, "") == "":
                path.unlink()
        for name, text in seen.items():
            if text:
                (EXPECTED / name).write_text(text, encoding="utf-8")
        return
    different = compare(seen)
    if different:
        sys.exit(f"characterisation: {different} files differ; if that is meant: run.py PROGRAM --update")
    print(f"characterisation: {len(seen)} files as expected")


if __name__ == "__main__":
    main()
