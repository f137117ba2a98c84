#!/usr/bin/env python3
"""A byte of a document that grows in two directions may cost at most 30 times the instructions of one of a usual feed,
however large both parts are (SECURITY T18, L2): what is quadratic in the two goes over that at some size.

    worst_case_pairs.py PROGRAM [STEPS [PAIR...]]     STEPS: how often both parts are doubled, 2 by default

How much the cost of a byte grows at most from one size to the next is told beside it: once where a cap is met (a long
name is hashed, say), else hardly.

Instructions are counted by valgrind, so that the machine's load and speed do not matter; without it exit 77 (skipped).
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

MAX_COST = 30
FIRST, SECOND = 500, 4000


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
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 2
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
        bad = 0
        print(f"usual: {yard:.0f} instructions a byte")
        for name in pairs:
            cost = costs(name)
            growth = max(b / a for a, b in zip(cost, cost[1:]))
            wrong = max(cost) > MAX_COST * yard
            bad += wrong
            print(f"{name:28} growth {growth:5.2f}, at most {max(cost) / yard:5.1f} times the usual:"
                  f" {' '.join(f'{c:6.0f}' for c in cost)}{'   TOO MUCH' if wrong else ''}", flush=True)
    print(f"{len(pairs)} pairs, {bad} of them cost too much")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
