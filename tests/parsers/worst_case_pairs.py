#!/usr/bin/env python3
"""A byte of a document that grows in two directions costs at most 1.2 times as many instructions when both parts are
doubled, and at most 30 times those of a usual feed, however large both parts are (SECURITY T18).

    worst_case_pairs.py PROGRAM [STEPS [PAIR...]]     STEPS: how often both parts are doubled, 3 by default

The pairs in GROWING may cost more and more a byte until every cap is met.

Instructions are counted by valgrind, so that the machine's load and speed do not matter; without it exit 77 (skipped).
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

MAX_COST = 30
MAX_GROWTH = 1.2
FIRST, SECOND = 500, 4000
CAPS_MET = 4000  # bytes of the first part: above all caps on it

# Why a byte may cost more when both parts double, below the caps.
GROWING = {
    "base x links": "each address is the base, written out, and is hashed as a name from 1 KiB on",
    "base x links of one": "each address is the base, written out",
    "base x steps back": "each address is most of the base, written out, and is hashed as a name from 1 KiB on",
    "segment x steps back": "each address is looked for in the base as far back as it goes",
    "attributes x links": "an element of more than 256 attributes leaves the document to the salvager",
    "depth x siblings": "nesting deeper than 256 leaves the document to the salvager",
    "depth x items": "nesting deeper than 256 leaves the document to the salvager",
    "id x entries": "a name is hashed from 1 KiB on",
    "open x blocks": "each block looks through the open elements, at most 128, for those that it ends",
}


def count(program, pair, first, second):
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
               program, pair, str(first), str(second)]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"I +refs: +([0-9,]+)", done.stderr)
    if done.returncode != 0 or not found:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return int(found.group(1).replace(",", "")), int(done.stdout.split()[0])


def main():
    program = sys.argv[1]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    if shutil.which("valgrind") is None:
        print("worst_case_pairs: skipped, valgrind is not installed (scripts/install-packages installs it)")
        return 77
    names = subprocess.run([program, "--pairs"], capture_output=True, text=True, check=True).stdout.splitlines()
    usual, pairs = names[0], sys.argv[3:] or names[1:]
    start, _ = count(program, usual, 0, 0)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {(name, step): pool.submit(count, program, name, FIRST << step, SECOND << step)
                for name in [usual, *pairs] for step in range(steps + 1)}

        def costs(name):
            results = [jobs[name, step].result() for step in range(steps + 1)]
            return [(instructions - start) / size for instructions, size in results]

        yard = costs(usual)[-1]
        bad = len(GROWING.keys() - set(names))
        for name in GROWING.keys() - set(names):
            print(f"{name}: there is no such pair")
        print(f"usual: {yard:.0f} instructions a byte")
        for name in pairs:
            cost = costs(name)
            growths = [b / a for a, b in zip(cost, cost[1:])]
            bound = [growth for step, growth in enumerate(growths, 1)
                     if name not in GROWING or FIRST << step >= CAPS_MET]
            wrong = max(cost) > MAX_COST * yard or max(bound, default=0) > MAX_GROWTH
            bad += wrong
            print(f"{name:28} growth {max(growths):5.2f}, at most {max(cost) / yard:5.1f} times the usual:"
                  f" {' '.join(f'{c:6.0f}' for c in cost)}{'   TOO MUCH' if wrong else ''}", flush=True)
    print(f"{len(pairs)} pairs, {bad} of them cost or grow too much")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
