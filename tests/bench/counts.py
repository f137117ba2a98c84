#!/usr/bin/env python3
"""What a worker costs apart from seconds; the helper of end_to_end.

counts.py run SHIM TALLIES NAME SCENARIO FEEDS COMMAND…   runs COMMAND and adds a line to TALLIES
counts.py table RESULTS TALLIES                           costs per feed; seconds from RESULTS, lines of measure.py
counts.py empty NAME=FEEDMILL…                            `run --once` with nothing to do, medians of interleaved runs

perf counts system calls; the kernel counts context switches for the parent process (a few are perf's own); SHIM, a
preloaded library built from count_mallocs.c, counts mallocs.
"""

import contextlib
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, used.ru_nvcsw, used.ru_nivcsw


def run(shim, tallies, name, scenario, feeds, *command):
    with tempfile.NamedTemporaryFile() as calls, tempfile.NamedTemporaryFile() as mallocs:
        mallocs.write(bytes(8))
        mallocs.flush()
        # Count only the worker itself, not the programs that start it.
        status = subprocess.run(["perf", "stat", "-x,", "-o", calls.name, "-e", "raw_syscalls:sys_enter", "--", "env",
                                 f"LD_PRELOAD={shim}", f"MALLOC_COUNT={mallocs.name}", *command]).returncode
        _, voluntary, involuntary = children()
        counted = next(line for line in open(calls.name) if "sys_enter" in line).split(",")[0]
        row = {"name": name, "s": scenario, "n": int(feeds), "system calls": int(counted), "voluntary": voluntary,
               "involuntary": involuntary, "mallocs": int.from_bytes(open(mallocs.name, "rb").read(), sys.byteorder)}
    with open(tallies, "a") as out:
        out.write(json.dumps(row) + "\n")
    sys.exit(status)


def table(results, tallies):
    timed = [json.loads(line) for line in open(results)]
    print("| a feed | scenario | N | worker CPU us | store CPU us | system calls | context switches, voluntary | not | "
          "mallocs |\n|---|---|---|---|---|---|---|---|---|")
    for row in sorted(map(json.loads, open(tallies)), key=lambda row: row["s"]):
        mine = [one for one in timed if (one["name"], one["s"], one["n"]) == (row["name"], row["s"], row["n"])]
        seconds = [f"{statistics.median(one[what] for one in mine) * 1000:.0f}" for what in ("cpu1k", "store1k")]
        each = [f"{row[what] / row['n']:.{places}f}" for what, places in
                (("system calls", 1), ("voluntary", 2), ("involuntary", 2), ("mallocs", 0))]
        print("| " + " | ".join([row["name"], row["s"], str(row["n"]), *seconds, *each]) + " |")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def empty(*workers, runs=15):
    port, found = free_port(), {}
    with tempfile.TemporaryDirectory() as directory:
        redis = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir",
                                  directory], stdout=subprocess.DEVNULL)
        try:
            for _ in range(500):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.01)
            for count in range(runs + 1):
                for worker in workers:
                    name, binary = worker.split("=", 1)
                    before, store, begun = children()[0], scheduled(redis.pid), time.monotonic()
                    subprocess.run([binary, "run", "--once", "--redis", f"redis://127.0.0.1:{port}"], check=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    wall = time.monotonic() - begun
                    if count > 0:  # the first run also creates the store
                        found.setdefault(name, []).append((children()[0] - before, wall, scheduled(redis.pid) - store))
        finally:
            redis.terminate()
            redis.wait()
    print("| an empty run --once, ms | CPU | wall | store CPU |\n|---|---|---|---|")
    for name, rows in found.items():
        print(f"| {name} | " + " | ".join(f"{statistics.median(column) * 1000:.1f}" for column in zip(*rows)) + " |")


def scheduled(pid):
    """Seconds that a process with one busy thread has run, more precise than its clock ticks."""
    with open(f"/proc/{pid}/schedstat") as stat:
        return int(stat.read().split()[0]) / 1e9


if __name__ == "__main__":
    {"run": run, "table": table, "empty": empty}[sys.argv[1]](*sys.argv[2:])
