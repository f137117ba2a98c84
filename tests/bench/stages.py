#!/usr/bin/env python3
"""Sums up a feedmill's samples by stage; the helper of profile.

perf script --no-inline --no-demangle -F ip,sym,dso | stages.py FEEDMILL

A sample belongs to the stage of its innermost function of ours, or of a library that is a stage by itself. The source
file of a function determines its stage; inlined code counts where it was inlined.
"""

import collections
import os
import re
import subprocess
import sys

# By library or by source file; the first match counts.
STAGES = [
    (r"/libcurl", "libcurl with its system calls"),
    (r"/lib(deflate|z|zstd|brotli)", "inflate"),
    (r"/lib(pugixml|simdjson)", "pugixml, simdjson"),
    (r"/ld-linux", "start-up: the loader"),
    (r"(parsers/feed|storage/records)/\w+\.hpp", "documents and commits, copied and freed"),
    (r"worker/(http|egress)/|worker/ingest/fetched", "own HTTP: fetch, transfer, engine"),
    (r"parsers/(text/charset|markup/(well_formed|salvage|json_salvage))", "charset, well-formedness"),
    (r"parsers/markup/(sanitise|html_|css)", "sanitise"),
    (r"parsers/(text/|feed/(normalise|entries|entry_values))", "normalise: dates, URLs, text"),
    (r"parsers/", "XML or JSON to the model"),
    (r"storage/records/(entry_record|settled|post_identity)", "records and digests of posts"),
    (r"storage/records/(diff|rekey)|worker/policy/", "decide, diff"),
    (r"storage/records/event_record|(storage|worker)/timelines/|storage/events/", "delivery"),
    (r"storage/(records/|ingest/commit)", "the commit's arguments, events' JSON"),
    (r"storage/(redis|store)/", "Redis: encoding, connection, replies"),
    (r"storage/", "claims, look-ups"),
    (r"worker/(ingest|trace)/", "Refresher, Worker, their threads"),
    (r"worker/base/(run_on|descriptor_watch|cancellation|interrupt)", "hand-over between threads"),
    (r"worker/(observe|base)/", "metrics, log"),
    (r"worker/", "the process: start, options, stop"),
]
MALLOC = re.compile(r"(_int_)?(malloc|free|realloc|calloc|memalign)|cfree|malloc_consolidate|unlink_chunk|_Zn[wa]|_Zd[la]|"
                    r"sysmalloc|tcache|arena_|sdallocx|mallocx")
COPIES = re.compile(r"_*(mem|str|wcs)[a-z]+(_|$)")


def files_of(binary):
    """By symbol: the source file of ours that it was compiled from."""
    lines = subprocess.run(["nm", "-l", "--defined-only", binary], capture_output=True, text=True).stdout.splitlines()
    found = {}
    for line in lines:
        named, _, place = line.partition("\t")
        ours = re.search(r"(?:.*/)?((?:parsers|storage|worker)/[^:]+):", place)
        if ours and "/usr/" not in place:
            found[named.split(" ", 2)[2]] = ours[1]
    if not found:
        sys.exit(f"profile: {binary} has no line numbers (-g1)")
    return found


def samples(lines):
    """For each sample [(symbol, library)], innermost first."""
    frames = []
    for line in lines:
        frame = re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line)
        if frame:
            frames.append(frame.groups())
        elif frames:
            yield frames
            frames = []
    if frames:
        yield frames


def place_of(frames, files, binary):
    """The stage of a sample, and its function of ours."""
    stage = None
    for symbol, library in frames:
        ours = files.get(symbol) if library == binary else None
        where = ours or (library if library != binary else "")
        stage = stage or next((name for pattern, name in STAGES if re.search(pattern, where)), None)
        if ours:
            return stage, symbol
        if "5boost4asio" in symbol:  # not inside a function of ours, but around one or between two
            stage = stage or "Asio, coroutines"
    return stage or "none of ours: threads, exit", None


def main():
    binary = os.path.realpath(sys.argv[1])
    files = files_of(binary)
    stages, functions, across, count = collections.Counter(), collections.Counter(), collections.Counter(), 0
    mallocs = collections.Counter()
    for frames in samples(sys.stdin):
        count += 1
        stage, function = place_of(frames, files, binary)
        symbol, library = frames[0]
        stages[stage] += 1
        functions[function] += function is not None
        if "kernel" in library or "vdso" in library:
            across["kernel"] += 1
        elif MALLOC.match(symbol) or "jemalloc" in library or "tcmalloc" in library:
            across["malloc and its kin"] += 1
            mallocs[stage] += 1
        elif COPIES.match(symbol):
            across["copies and searches of libc"] += 1
    if count == 0:
        sys.exit("profile: no samples")
    share = lambda part: f"{100 * part / count:5.1f}"
    print(f"{count} samples\n\n| stage | % | of it malloc |\n|---|---|---|")
    for stage, part in stages.most_common():
        print(f"| {stage} | {share(part)} | {share(mallocs[stage])} |")
    for name, part in across.most_common():
        print(f"| *across: {name}* | {share(part)} | |")
    names = [name for name, _ in functions.most_common(10) if name]
    plain = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True).stdout.splitlines()
    print("\n| function, with what libraries do for it | file | % |\n|---|---|---|")
    for name, text in zip(names, plain):
        print(f"| {re.sub(r'<.*>', '<…>', text)} | {files[name]} | {share(functions[name])} |")


if __name__ == "__main__":
    main()
