#!/usr/bin/env python3
"""Ten times the document may cost at most twelve times the instructions, whatever its shape (SECURITY T18),
and reading it at most twelve times its size in memory.

    worst_case.py PROGRAM [BYTES [SHAPE...]]     BYTES: the smaller of the two sizes, 20000 by default

Where a cap lies between the two sizes it may be seventeen times: what has more elements than are read is repaired up to
there, and of more posts than are kept the newest are chosen. Either happens once, and costs half as much again.

Instructions are counted by valgrind, so that the machine's load and speed do not matter; without it exit 77 (skipped).
Memory is the growth of the peak of the resident set while a feed of 10 MB is read: smaller ones may cost more for
each byte of theirs, up to what the 10,000 entries and 1,000,000 elements cost that are read at most. The most have
documents of nothing but tags or punctuation: pugixml's element takes 64 bytes, simdjson's tape 8 for each value.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

MAX_COST = 12
MAX_COST_OVER_CAPS = 17
SMALLEST_CAP = 400_000  # bytes: 10,000 posts of 40 bytes
MAX_MEMORY = 12
MEMORY_BYTES = 10_000_000


def instructions(program, shape, size):
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
               program, shape, str(size)]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"I +refs: +([0-9,]+)", done.stderr)
    if done.returncode != 0 or not found:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return int(found.group(1).replace(",", ""))


def memory(program, shape):
    done = subprocess.run([program, shape, str(MEMORY_BYTES), "memory"], capture_output=True, text=True, check=True)
    size, peak = map(int, done.stdout.split())
    return peak / size


def check(program, shape, size, start):
    small = instructions(program, shape, size) - start
    large = instructions(program, shape, 10 * size) - start
    return shape, large / small, large / (10 * size), memory(program, shape)


def main():
    program = sys.argv[1]
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    if shutil.which("valgrind") is None:
        print("worst_case: skipped, valgrind is not installed (scripts/install-packages installs it)")
        return 77
    shapes = sys.argv[3:] or subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    start = instructions(program, shapes[0], 0)
    bad = 0
    print(f"{'shape':24} {10 * size} / {size} bytes   instructions a byte   peak memory / size")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for shape, ratio, per_byte, peak in pool.map(lambda name: check(program, name, size, start), shapes):
            wrong = ratio > (MAX_COST if 10 * size < SMALLEST_CAP else MAX_COST_OVER_CAPS) or peak > MAX_MEMORY
            bad += wrong
            print(f"{shape:24} {ratio:8.2f} {per_byte:28.0f} {peak:20.1f}{'   TOO MUCH' if wrong else ''}", flush=True)
    print(f"{len(shapes)} shapes, {bad} of them cost too much")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
