#!/usr/bin/env python3
"""What feeds and entries cost Redis (PERFORMANCE F8): bytes per scheduled feed and per entry beyond its content; CPU of
Redis and of the workers per created entry and per unchanged poll; bytes per event; microseconds per claimed feed. Once
with a few feeds on each host, once with all of them on one. Several builds or numbers of workers take turns; the last
column compares the last with the first. Needs nothing but a build and redis-server:
    scripts/build release feedmill feedmill_sample_publisher
    [FEEDMILL_SIGNALS_CONTENT=true] tests/bench/redis_cost.py [--feeds 2000] [--hosts 400] [--rounds 1] [--build DIR]...
                                                              [--workers 1]...

Redis' instructions in user space, counted by valgrind, for one feed of 29 posts: its first fetch, a poll answered with
304, one with the same body, one with a new and an edited post; a run without due feeds is subtracted. Then for a
commit that is stale. The machine and its load hardly matter:
    tests/bench/redis_cost.py --instructions FEEDMILL [--feeds 300] [--loose]
                              hashes as the private server stores them; --loose: as Redis does by default
    tests/bench/redis_cost.py --check FEEDMILL       fails if they are 5 % above redis_cost.json
    tests/bench/redis_cost.py --update FEEDMILL      writes redis_cost.json
"""

import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import memory

BASELINE = pathlib.Path(__file__).with_name("redis_cost.json")
MOST = 1.05  # how many commits reach Redis together depends on the machine a little


class Redis(memory.Redis):
    """With texts as strings."""

    def reply(self):
        reply = super().reply()
        return reply.decode(errors="replace") if isinstance(reply, bytes) else reply

    def info(self, name):
        return float(re.search(rf"^{name}:([0-9.]+)", self("INFO", "all"), re.M).group(1))

    def cpu(self):
        return self.info("used_cpu_user_main_thread") + self.info("used_cpu_sys_main_thread")


def entry_overhead(redis, keys):
    """Bytes of each sampled entry beyond its field values."""
    beyond = []
    for key in keys:
        content = sum(len(value.encode()) for value in redis("HVALS", key))
        beyond.append(redis("MEMORY", "USAGE", key, "SAMPLES", 0) - content)
    return beyond


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--feeds", type=int, help="default: 2000, with --instructions 300")
    options.add_argument("--hosts", type=int, default=0, help="how many they are spread over (default: one for five feeds)")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--build", type=pathlib.Path, action="append")
    options.add_argument("--workers", type=int, action="append", help="processes at once (default: 1)")
    options.add_argument("--loose", action="store_true", help="with --instructions: hashes with Redis' own limits")
    for flag in ("--instructions", "--check", "--update"):
        options.add_argument(flag, type=pathlib.Path)
    given = options.parse_args()
    if feedmill := given.instructions or given.check or given.update:
        return counted(feedmill, given)
    given.feeds = given.feeds or 2000
    builds = given.build or [pathlib.Path(__file__).resolve().parents[2] / "build/release"]
    sides = [(build, workers) for build in builds for workers in given.workers or [1]]
    for hosts in dict.fromkeys([given.hosts or max(given.feeds // 5, 1), 1]):
        found = [[run(build, workers, given.feeds, hosts) for build, workers in sides] for _ in range(given.rounds)]
        print(f"{given.feeds} feeds on {hosts} {'host' if hosts == 1 else 'hosts'}")
        for name in found[0][0]:
            middle = [statistics.median(row[i][name] for row in found) for i in range(len(sides))]
            share = f"  x {middle[-1] / middle[0]:.2f}" if len(sides) > 1 else ""
            print(f"  {name:42}" + "".join(f"{value:9.1f}" for value in middle) + share)
    return 0


def counted(feedmill, given):
    """Prints Redis' instructions a feed; compares them with the baseline, or writes it."""
    if shutil.which("valgrind") is None or shutil.which("redis-server") is None:
        print("skipped: valgrind or redis-server is not installed")
        return 77
    now = instructions(feedmill, (given.feeds or 300) if given.instructions else 150, [] if given.loose else memory.LISTPACK)
    before = json.loads(BASELINE.read_text()) if given.check else {}
    for name, value in now.items():
        print(f"{name:28}{value:12,}" + (f"  {value / before[name] - 1:+.1%}" if name in before else ""))
    if given.update:
        BASELINE.write_text(json.dumps(now, indent=1) + "\n")
    worse = [name for name, value in now.items() if value > MOST * before.get(name, value)]
    if worse:
        print(f"more than {MOST - 1:.0%} above {BASELINE.name}: {', '.join(worse)}; if that is worth it, --update")
    return 1 if worse else 0


def edited(items):
    """With one new and one edited post; the oldest is dropped."""
    new, changed = (re.sub("https://blog[^<]*", lambda address: address[0] + "-new", items[0]),
                    items[3].replace("<p>", "<p>Edited: ", 1))
    return [new, *items[:3], changed, *items[4:-1]]


def instructions(feedmill, feeds, arguments):
    """Instructions of redis-server in user space by scenario, a feed."""
    posts = {f"/{i}.xml": memory.generated_items(i, 29) for i in range(feeds + 1)}
    documents = {path: memory.document(i, items) for i, (path, items) in enumerate(posts.items())}
    with tempfile.TemporaryDirectory() as directory:
        valgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={directory}/counts"]
        with memory.Server(directory, ["--hz", "1", *arguments], valgrind) as server:
            publisher = memory.Publisher(documents)
            environment = {**os.environ, "FEEDMILL_REDIS_URL": f"unix://{server.path}", "HOME": directory,
                           "FEEDMILL_EGRESS_ALLOW": "127.0.0.0/8:1024-65535", "FEEDMILL_SCHEDULE_IMPORT_RATE": "0",
                           "FEEDMILL_HOST_SPACING": "0ms", "FEEDMILL_ADMIN_LISTEN": "off", "FEEDMILL_WORKER_DELIVER": "false",
                           "FEEDMILL_WORKER_LANES": "64", "FEEDMILL_SCHEDULE_CATCH_UP_RATE": "0"}

            def call(*words):
                subprocess.run([feedmill, *words], env=environment, check=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)

            def add(numbers):
                urls = pathlib.Path(directory, "urls")
                urls.write_text("".join(f"http://h{i}.localhost:{publisher.server_port}/{i}.xml\n" for i in numbers))
                call("import", str(urls))

            def make_due():
                call("refresh", "--all", "--defer", "--ignore-floor")

            dumps = 0

            def since_last():
                """Instructions since the last call."""
                nonlocal dumps
                dumps += 1
                subprocess.run(["callgrind_control", "--dump", str(server.process.pid)], check=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                text = pathlib.Path(f"{directory}/counts.{dumps}").read_text()
                return int(re.search(r"^(?:totals|summary): (\d+)", text, re.M).group(1))

            def cost(work):
                since_last()
                work()
                return since_last()

            def poll():
                call("run", "--once")

            # A feed of its own loads the scripts.
            add([feeds])
            poll()
            make_due()
            poll()
            empty = cost(poll)
            add(range(feeds))
            found = {"first fetch": cost(poll)}
            make_due()
            found["same body"] = cost(poll)
            publisher.validators = True
            make_due()
            poll()
            make_due()
            found["not modified"] = cost(poll)
            documents.update({path: memory.document(i, edited(items)) for i, (path, items) in enumerate(posts.items())})
            make_due()
            found["one new, one edited"] = cost(poll)
            publisher.shutdown()
            each = {name: round((value - empty) / feeds) for name, value in found.items()}
            return {**each, "stale commit": stale_commit(server.redis, feedmill, cost)}


def stale_commit(redis, feedmill, cost):
    """Instructions of a commit whose claim has ended."""
    texts = (feedmill.parent / "generated/storage/lua/scripts.cpp").read_text()
    text = re.search(r'const char\* const commit = R"lua\((.*?)\)lua"', texts, re.S).group(1)
    redis("SCRIPT", "LOAD", text)
    call = ("EVALSHA", hashlib.sha1(text.encode()).hexdigest(), 2, "schedule", "", "", "http://h0.localhost/", "none", 1,
            "", 0)
    return round((cost(lambda: redis.all([call] * 200)) - cost(lambda: None)) / 200)


def run(build, workers, feeds, hosts):
    with tempfile.TemporaryDirectory() as directory:
        path, urls = f"{directory}/redis.sock", pathlib.Path(directory, "urls")
        started = [
            subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", directory],
                             stdout=subprocess.DEVNULL),
            subprocess.Popen([build / "tests/support/feedmill_sample_publisher", "--port", "0", "--interval", "3600s",
                              "--feeds", str(feeds), "--print-urls", urls], stdout=subprocess.PIPE)]
        try:
            started[1].stdout.readline()
            # Every name under localhost resolves to this machine (RFC 6761).
            lines = urls.read_text().splitlines()[-feeds:]
            urls.write_text("".join(line.replace("127.0.0.1", f"h{i % hosts}.localhost") + "\n"
                                    for i, line in enumerate(lines)))
            return measure(build, workers, Redis(path), path, urls, directory)
        finally:
            for process in started:
                process.terminate()
                process.wait()


def measure(build, workers, redis, path, urls, directory):
    environment = dict(os.environ, FEEDMILL_REDIS_URL=f"unix://{path}", FEEDMILL_EGRESS_ALLOW="127.0.0.0/8:1024-65535",
                       FEEDMILL_HOST_SPACING="0ms", FEEDMILL_HOST_CONCURRENCY="1000", FEEDMILL_WORKER_LANES="64",
                       FEEDMILL_SCHEDULE_IMPORT_RATE="0", FEEDMILL_SCHEDULE_CATCH_UP_RATE="0", FEEDMILL_WORKER_DELIVER="false",
                       FEEDMILL_FETCH_CONTACT="https://example.org/", FEEDMILL_ADMIN_LISTEN="off", HOME=directory)

    def feedmill(*words):
        subprocess.run([build / "feedmill", *words], env=environment, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    @contextlib.contextmanager
    def idle_workers():
        """Idle workers, stopped with SIGSTOP, so that feeds can be made due without them."""
        running = [subprocess.Popen([build / "feedmill", "run"], env=environment, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL) for _ in range(workers)]
        while redis("ZCARD", "state:workers") < workers:
            time.sleep(0.05)
        time.sleep(2)  # until their start-up work is done
        for worker in running:
            worker.send_signal(signal.SIGSTOP)
        try:
            yield running
        finally:
            for worker in running:
                worker.send_signal(signal.SIGCONT)
                worker.terminate()
                worker.wait()

    def cpu_of(running):
        """CPU seconds of the threads that exist now."""
        return sum(int(task.read_text().split()[0]) for worker in running
                   for task in pathlib.Path(f"/proc/{worker.pid}/task").glob("*/schedstat")) / 1e9

    def poll_all(make_due):
        """Waits until every due feed has been polled: claimed or due feeds are scheduled within the next two minutes.
        Returns CPU seconds of Redis, CPU seconds of all workers, and elapsed seconds."""
        with idle_workers() as running:
            make_due()
            before, of_redis, of_workers = time.monotonic(), redis.cpu(), cpu_of(running)
            for worker in running:
                worker.send_signal(signal.SIGCONT)
            while redis("ZCOUNT", "schedule", "-inf", int(time.time() * 1000) + 120_000) > 0:
                time.sleep(0.05)
            return redis.cpu() - of_redis, cpu_of(running) - of_workers, time.monotonic() - before

    def make_due():
        feedmill("refresh", "--all", "--defer", "--ignore-floor")

    first, first_workers, _ = poll_all(lambda: feedmill("import", urls))
    feeds, entries = redis("SCARD", "feeds"), int(redis("GET", "ids:Entry"))
    unchanged, unchanged_workers, took = poll_all(make_due)

    # A call's arguments identify its script: those of a claim begin with the worker's id.
    def make_due_and_listen():
        make_due()
        redis("CONFIG", "SET", "slowlog-max-len", 1000000)
        redis("CONFIG", "SET", "slowlog-log-slower-than", 0)
        redis("SLOWLOG", "RESET")

    poll_all(make_due_and_listen)
    redis("CONFIG", "SET", "slowlog-log-slower-than", -1)
    claims = [call[2] for call in redis("SLOWLOG", "GET", -1)
              if call[3][0] == "EVALSHA" and len(call[3]) > 9 and re.fullmatch("[0-9a-f]{32}", call[3][6])]

    sample = [redis("SRANDMEMBER", "feeds") for _ in range(200)]
    states = [redis("MEMORY", "USAGE", f"state:feed:{url}", "SAMPLES", 0) for url in sample]
    shared = sum(redis("MEMORY", "USAGE", key, "SAMPLES", 0) for key in ("schedule", "feeds")) / feeds
    indexes, counted, keys = 0, 0, []
    for url in sample:
        indexes += sum(redis("MEMORY", "USAGE", key, "SAMPLES", 0) or 0
                       for key in (f"{url}:sort", f"{url}:guidmap", f"state:items:{url}"))
        ids = redis("ZRANGE", f"{url}:sort", 0, -1)
        counted += len(ids)
        keys += ids[:5]
    events = redis("XLEN", "stream:signals")
    newest = redis("XREVRANGE", "stream:signals", "+", "-", "COUNT", 5000)
    return {"bytes per scheduled feed with its state": statistics.mean(states) + shared,
            "bytes per feed in the index by URL": redis("MEMORY", "USAGE", "state:feeds", "SAMPLES", 0) / feeds,
            "bytes per entry beyond its content": statistics.mean(entry_overhead(redis, keys)) + indexes / counted,
            "entries": entries,
            "bytes of an event in the stream": redis("MEMORY", "USAGE", "stream:signals", "SAMPLES", 0) / events,
            "bytes of an event's JSON": statistics.mean(len(record[1][3].encode()) for record in newest),
            "CPU per entry created, us": first / entries * 1e6,
            "CPU per unchanged poll, us": unchanged / feeds * 1e6,
            "CPU of workers per entry created, us": first_workers / entries * 1e6,
            "CPU of workers per unchanged poll, us": unchanged_workers / feeds * 1e6,
            "unchanged polls a second": feeds / took,
            "script time per claimed feed, us": sum(claims) / feeds}


if __name__ == "__main__":
    sys.exit(main())
