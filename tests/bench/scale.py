#!/usr/bin/env python3
"""What a store costs by its backlog and by its size (PERFORMANCE §3, F9, RELIABILITY L1, L15, L22, L27).

tests/bench/scale.py waiting [COUNT…]    COUNT feeds that wait for one host, and 1,000 others that come due: CPU of
                                         Redis, time of a claim, lateness of the others
tests/bench/scale.py scheduled [COUNT…]  COUNT feeds, of which 1,000 are due within 20 s: CPU of Redis and of the worker
                                         per due feed, the worker's memory
tests/bench/scale.py verbs [COUNT…]      every verb that visits all feeds: time to its first output, total time, CPU and
                                         memory, and the longest single command in Redis
tests/bench/scale.py channels [COUNT…]   30 posts of a feed in COUNT channels: the longest script, CPU of Redis
tests/bench/scale.py crowds [COUNT…]     COUNT feeds in one channel, and a tenth as many channels: as for verbs
tests/bench/scale.py partitions [COUNT…] unchanged polls of COUNT feeds by 4 partitions in a cluster, and by one worker
                                         at one server: CPU of Redis and of workers, commands; the memory of 256 empty
                                         partitions, the commands of an idle worker, how partitions spread over nodes
tests/bench/scale.py workers [COUNT…]    COUNT feeds polled about every 10 s, by one worker of 16 partitions and by
                                         four: CPU of Redis and of workers, commands
tests/bench/scale.py fleets [COUNT…]     the commands of each of COUNT idle workers of all partitions
tests/bench/scale.py all

    --rounds N    rounds of waiting, scheduled and partitions, interleaved: medians are printed (3)
    --own-clock   counts a command's CPU time instead of elapsed time: for a machine that others use
    --check       then prints for each figure with a limit whether it is within or over; exit 1 if one is over
    --tiny        as in the tests: sizes that take seconds; judges counts, not times

Needs redis-server, python3-redis (exit 77 without) and build/release/feedmill; FEEDMILL=PATH measures another build.
"""
import argparse
import binascii
import concurrent.futures
import contextlib
import functools
import http.server
import itertools
import os
import pathlib
import re
import signal
import socket
import statistics
import string
import subprocess
import sys
import tempfile
import threading
import time

try:
    import redis
except ImportError:
    print("scale: skipped, python3-redis is not installed")
    sys.exit(77)

program = os.environ.get("FEEDMILL", "build/release/feedmill")
longest_limit, memory_limit, import_limit, late_limit, flat_limit = 20.0, 128.0, 60.0, 1.0, 1.1
empty_limit, threads_limit = 16.0, 64  # MiB of Redis, and threads, for 256 partitions
idle_limit = 50  # commands a second
slots = 16_384
page_limit = 1000  # members that one command may name or return
tiny = own_clock_wanted = False
judged, broken = [], []


def judge(name, value, limit, unit):
    judged.append((name, value, limit, unit))


def hold(is_so, what):
    """Checks a condition that does not depend on time; failures are reported at the end, whatever the measure."""
    if not is_so:
        broken.append(what)
        print(f"BROKEN: {what}", flush=True)


def finish(check):
    """Ends the program: 1 if a condition did not hold or, with `check`, a figure is over its limit."""
    over = 0
    if check:
        print("\n| figure | measured | limit | |\n|---|---|---|---|")
        for name, value, limit, unit in judged:
            over += value > limit
            print(f"| {name} | {value:.2f} {unit} | {limit:g} | {'over' if value > limit else 'within'} |")
    for what in broken:
        print(f"BROKEN: {what}", file=sys.stderr)
    sys.exit(1 if broken or over else 0)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Site(http.server.BaseHTTPRequestHandler):
    """/crowd never ends; any other path is a small feed, and its arrival is recorded."""

    protocol_version = "HTTP/1.1"
    came, polls = {}, itertools.count()
    posts = 1

    def do_GET(self):
        if self.path.startswith("/crowd"):
            time.sleep(3600)
        Site.came.setdefault(self.path, time.time())
        next(Site.polls)
        self.answer("".join(f"<item><guid>{self.path}/{i}</guid><title>t{i}</title></item>" for i in range(Site.posts)))

    @staticmethod
    def page(items):
        return f"<rss version='2.0'><channel><title>t</title><link>http://x.example/</link>{items}</channel></rss>".encode()

    def answer(self, items):
        body = self.page(items)
        self.send_response(200)
        self.send_header("Content-Type", "application/rss+xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size, daemon_threads, block_on_close = 512, True, False

    def __init__(self, address="0.0.0.0"):
        super().__init__((address, 0), Site)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def server_bind(self):
        self.socket.bind(self.server_address)  # skips the reverse look-up of the address

    def handle_error(self, *_):
        pass  # a killed worker closed the connection


# Runs a program and writes its exit code, CPU seconds and peak MiB to a file. The peak memory of a process includes
# that of the process that forked it, hence this small parent. It ignores SIGINT, which is for the program.
measured = """
import os, signal, sys
child = os.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
signal.signal(signal.SIGINT, signal.SIG_IGN)
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w") as out:
    print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, file=out)
"""


# Preloaded into Redis: removes from its clock the time that it lost to other processes while it worked, so that
# SLOWLOG's durations are CPU time, to a millisecond. The clock is real again whenever Redis has waited for events.
clock_of_work = """
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static __thread long long begun, begun_work, last, lost;
static long long look(clockid_t id) {
  struct timespec at;
  clock_gettime(id, &at);
  return at.tv_sec * 1000000LL + at.tv_nsec / 1000;
}
int epoll_wait(int poll, struct epoll_event* events, int most, int timeout) {
  int found = (int)syscall(SYS_epoll_pwait, poll, events, most, timeout, (void*)0, 8L);
  begun = last = look(CLOCK_REALTIME);
  begun_work = look(CLOCK_THREAD_CPUTIME_ID);
  lost = 0;
  return found;
}
int gettimeofday(struct timeval* at, void* zone) {
  long long now = look(CLOCK_REALTIME);
  (void)zone;
  if (begun && now - last > 1000) {
    long long gone = now - begun - (look(CLOCK_THREAD_CPUTIME_ID) - begun_work);
    if (gone > lost) lost = gone;
  }
  last = now;
  at->tv_sec = (now - lost) / 1000000;
  at->tv_usec = (now - lost) % 1000000;
  return 0;
}
"""


def first_of_all():
    """Raises this process' priority where allowed, so that Redis does not wait for other programs and slow commands are
    slow by themselves."""
    try:
        os.nice(-15)
    except OSError:
        pass


class Run:
    """A verb's cost: seconds to its first byte and to its end, CPU seconds, MiB, lines printed."""

    first = whole = cpu = memory = lines = 0


class Store:
    def __init__(self, *options):
        self.directory = tempfile.TemporaryDirectory()
        self.port = free_port()
        environment = dict(os.environ)
        if own_clock_wanted:
            clock = self.path("own_clock.so")
            subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-x", "c", "-", "-o", clock], input=clock_of_work.encode(), check=True)
            environment["LD_PRELOAD"] = clock
        self.server = subprocess.Popen(["redis-server", "--port", str(self.port), "--save", "", "--dir",
                                        self.directory.name, "--slowlog-log-slower-than", "1000", "--slowlog-max-len",
                                        "2000", *options], stdout=subprocess.DEVNULL, env=environment,
                                       preexec_fn=first_of_all)
        self.client = redis.Redis(port=self.port)
        while True:
            try:
                self.client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.05)
        self.environment = dict(os.environ, FEEDMILL_REDIS_URL=f"redis://127.0.0.1:{self.port}/0", FEEDMILL_SCHEDULE_IMPORT_RATE="0",
                                FEEDMILL_EGRESS_ALLOW="127.0.0.0/8:1024-65535", FEEDMILL_ADMIN_LISTEN="off",
                                FEEDMILL_FETCH_CONTACT="https://example.org/", FEEDMILL_LOG_LEVEL="error")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()
        self.directory.cleanup()

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def cpu(self):
        info = self.client.info("cpu")
        return info["used_cpu_user"] + info["used_cpu_sys"]

    def slow(self):
        """Commands since forget() that took at least a millisecond, as (milliseconds, command), slowest first."""
        return sorted(((entry["duration"] / 1000, entry["command"]) for entry in self.client.slowlog_get(100_000)
                       if not entry["command"].startswith((b"BLPOP", b"SLOWLOG", b"INFO"))), reverse=True)

    def longest(self):
        """The longest command since forget(), in ms, and its name; (0, "") below a millisecond."""
        slow = self.slow()
        return (slow[0][0], name_of(slow[0][1])) if slow else (0, "")

    def claims(self):
        """Microseconds of each claim since forget(); needs note_all()."""
        call = re.compile(rb"EVALSHA [0-9a-f]{40} 2 \S+ \S+ \S* ?[0-9a-f]{32} \d+ \d+ \d+ \d+ \d+ ")
        return [entry["duration"] for entry in self.client.slowlog_get(1_000_000) if call.match(entry["command"])]

    def note_all(self):
        self.client.config_set("slowlog-max-len", 1_000_000)
        self.client.config_set("slowlog-log-slower-than", 0)

    def forget(self):
        self.client.slowlog_reset()

    def verb(self, *arguments, codes=(0,), stop_after=None, out=None):
        run, begun, took = Run(), time.monotonic(), self.path("took")
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", measured, took, os.path.abspath(program), *arguments],
                                 env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
        timer = threading.Timer(stop_after or 0, lambda: os.killpg(child.pid, signal.SIGINT))
        if stop_after:
            timer.start()
        with open(out or os.devnull, "wb") as sink:
            while data := os.read(child.stdout.fileno(), 1 << 16):
                run.first = run.first or time.monotonic() - begun
                run.lines += data.count(b"\n")
                sink.write(data)
        child.wait()
        timer.cancel()
        run.whole = time.monotonic() - begun
        run.first = run.first or run.whole
        code, cpu, memory = pathlib.Path(took).read_text().split()
        if int(code) not in codes and not stop_after:
            sys.exit(f"feedmill {' '.join(arguments)}: exit {code}")
        run.cpu, run.memory = float(cpu), float(memory)
        return run

    def write_list(self, urls, name="list.txt"):
        with open(self.path(name), "w") as out:
            for url in urls:
                out.write(url + "\n")
        return self.path(name)

    def in_batches(self, rows, add):
        pipe = self.client.pipeline(transaction=False)
        for count, row in enumerate(rows):
            add(pipe, row)
            if count % 5000 == 4999:
                pipe.execute()
        pipe.execute()

    def put_off(self, urls):
        """Marks feeds as deferred: they were claimed before, and their host had no free slot."""
        held = int((time.time() - 3600) * 1000)
        self.in_batches(urls, lambda pipe, url: pipe.hset(f"state:feed:{url}", "held", held))

    def schedule(self, dues):
        """Sets due times, given by URL as seconds from now."""
        now = time.time()
        self.in_batches(dues, lambda pipe, row: pipe.zadd("schedule", {row[0]: int((now + row[1]) * 1000)}))
        self.client.lpush("state:wake", 1)  # waiting workers look at once
        self.client.pexpire("state:wake", 5000)
        return now


def name_of(command):
    words = command.decode(errors="replace").split(" ")
    return " ".join(words[:2] if words[0] != "EVALSHA" else ["EVALSHA", words[1][:8], *words[5:10]])[:70].strip()


class Watched:
    """While tiny: checks that no command on a large key asks for all of it, and that none names or returns too much."""

    def __init__(self, store, keys):
        self.store, self.seen, self.large = store, [], set()
        counts = {b"set": "SCARD", b"zset": "ZCARD", b"hash": "HLEN", b"list": "LLEN"}
        for key in keys:
            kind = store.client.type(key)
            if kind in counts and store.client.execute_command(counts[kind], key) > page_limit:
                self.large.add(key)

    def __enter__(self):
        if tiny:
            self.monitor = redis.Redis(port=self.store.port).monitor().__enter__()
            self.thread = threading.Thread(target=self.listen, daemon=True)
            self.thread.start()
        return self

    def listen(self):
        for command in self.monitor.listen():
            words = command["command"].split(" ")
            if words[0].upper() == "ECHO" and words[-1] == "that's-all":
                return
            self.seen.append(words)

    def __exit__(self, *_):
        if not tiny:
            return
        self.store.client.execute_command("ECHO", "that's-all")
        self.thread.join()
        for words in self.seen:
            name = words[0].upper()
            whole = name in ("SMEMBERS", "HGETALL", "HKEYS", "HVALS") or (
                name in ("ZRANGE", "ZREVRANGE", "LRANGE") and words[2:4] == ["0", "-1"])
            hold(not (whole and words[1] in self.large), f"{' '.join(words[:4])}: all of a large key in one reply")


def others_of(port, count):
    return [f"http://127.1.{i // 250}.{i % 250 + 1}:{port}/other/{i}" for i in range(count)]


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(is_so, seconds, what):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            sys.exit(f"scale: {what} did not come about in {seconds} s")
        time.sleep(0.05)


def worker_round(count, feeds_of, waiting):
    """One store and one worker; returns a row of figures by name."""
    others, window = (20, 1.0) if tiny else (1000, 20.0)
    server = Server()
    with Store() as store:
        feeds, beside = feeds_of(count, server.port), others_of(server.port, others)
        store.verb("import", store.write_list([url for url, _ in feeds] + beside))
        if waiting:
            store.put_off(url for url, _ in feeds)
        store.schedule(feeds + [(url, 3600.0) for url in beside])
        Site.came.clear()
        worker = subprocess.Popen([program, "run"], env=store.environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        if waiting:
            until(lambda: store.client.zcard("line:127.0.0.1") >= count - 1, 600, "a line")
        else:
            until(lambda: store.client.zcard("state:workers") > 0 or store.client.exists("lock:fleet"), 60, "a worker")
        time.sleep(0.2 if tiny else 2)
        store.note_all()
        store.forget()
        before, before_worker = store.cpu(), cpu_of(worker.pid)
        step = window / others
        began = store.schedule([(url, 1.0 + i * step) for i, url in enumerate(beside)])
        due_at = {f"/other/{i}": began + 1.0 + i * step for i in range(others)}
        if tiny:
            until(lambda: all(path in Site.came for path in due_at), 60, "the last of the others")
        else:
            time.sleep(window + 4)
        spent, spent_worker = store.cpu() - before, cpu_of(worker.pid) - before_worker
        claims = store.claims()
        status = pathlib.Path(f"/proc/{worker.pid}/status").read_text()
        worker.kill()
        worker.wait()
        late = sorted(Site.came[path] - due_at[path] for path in due_at if path in Site.came)
        hold(len(late) == others, f"{count:,}: {len(late)} of {others} others were fetched")
        hold(len(claims) > 0, f"{count:,}: no claim was seen")
        if waiting:
            hold(store.client.zcard("line:127.0.0.1") >= count - 2, f"{count:,}: who waits left the line")
            hold(sum(path.startswith("/crowd") for path in Site.came) == 0, "a request that hangs has ended")
        server.shutdown()
        return {"redis": spent, "worker": spent_worker, "redis_each": spent / others * 1e6,
                "worker_each": spent_worker / others * 1e6, "memory": int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024,
                "claims": len(claims), "claim": statistics.mean(claims or [0]),
                "claim_p50": statistics.median(claims or [0]), "late_p50": late[len(late) // 2] if late else 99,
                "late": late[-1] if late else 99}


def rounds_of(counts, rounds, columns, feeds_of, waiting):
    """Interleaved rounds; returns medians by count."""
    all_rows = {count: [] for count in counts}
    for _ in range(rounds):
        for count in counts:
            all_rows[count].append(worker_round(count, feeds_of, waiting))
            print(f"  ({count:,}: " + ", ".join(f"{name} {all_rows[count][-1][name]:.2f}" for name in columns) + ")",
                  file=sys.stderr, flush=True)
    medians = {count: {name: statistics.median(row[name] for row in rows) for name in rows[0]}
               for count, rows in all_rows.items()}
    print(f"\n| {'waiting' if waiting else 'scheduled'} | " + " | ".join(columns.values()) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for count, row in medians.items():
        print(f"| {count:,} | " + " | ".join(f"{row[name]:,.2f}" if row[name] < 100 else f"{row[name]:,.0f}"
                                             for name in columns) + " |", flush=True)
    return medians


def judge_flat(measure, medians, names):
    least = min(medians)
    for count in medians:
        for name, unit in names.items():
            if count != least:
                judge(f"{measure}: {unit} at {count:,} by that at {least:,}", medians[count][name] / medians[least][name],
                      flat_limit, "times")


def measure_waiting(counts, rounds):
    columns = {"redis": "Redis CPU s", "claims": "claims", "claim": "a claim µs", "claim_p50": "median µs",
               "late_p50": "others late, median s", "late": "most s"}
    medians = rounds_of(counts, rounds, columns, lambda count, port: [
        (f"http://127.0.0.1:{port}/crowd/{i}", -3600.0 + i / count) for i in range(count)], True)
    judge_flat("waiting", medians, {"redis": "CPU of Redis", "claim": "a claim"})
    for count, row in medians.items():
        judge(f"waiting: others late beside {count:,}", row["late"], late_limit, "s")


def measure_scheduled(counts, rounds):
    columns = {"redis_each": "Redis CPU µs a feed", "worker_each": "worker CPU µs a feed", "memory": "worker MiB",
               "late_p50": "late, median s", "late": "most s"}
    medians = rounds_of(counts, rounds, columns, lambda count, port: [
        (f"http://127.2.{i // 250 % 250}.{i % 250 + 1}:{port}/far/{i}", 7200.0) for i in range(count)], False)
    judge_flat("scheduled", medians, {"redis_each": "CPU of Redis", "worker_each": "CPU of the worker", "memory": "memory"})


class Verbs:
    """A table of verbs over one size of store."""

    def __init__(self, store, count, title):
        self.store, self.count = store, count
        print(f"\n| {title} | first byte s | whole s | CPU s | Redis CPU s | MiB | longest command ms | which |\n" + "|---" * 8 + "|")

    def run(self, *words, name=None, at_once=False, store=None, **more):
        store = store or self.store
        large = ["feeds", "state:feeds", "schedule", "channels", "channel_floors", "state:removals", "state:watchers",
                 "channel:crowd:feeds", "zchannel:crowd:posts", "zchannel:crowd:all", "state:channels:" + url_of(0)]
        name = name or " ".join(words)
        store.forget()
        before = store.cpu()
        with Watched(store, large):
            run = store.verb(*words, **more)
        spent = store.cpu() - before
        longest, which = store.longest()
        print(f"| {name} | {run.first:.2f} | {run.whole:.1f} | {run.cpu:.1f} | {spent:.1f} | {run.memory:.0f} | "
              f"{longest:.1f} | {which} |", flush=True)
        judge(f"{name} at {self.count:,}: longest command", longest, longest_limit, "ms")
        judge(f"{name} at {self.count:,}: memory", run.memory, memory_limit, "MiB")
        if at_once:
            judge(f"{name} at {self.count:,}: first byte", run.first, late_limit, "s")
        return run


def url_of(i):
    return f"https://h{i // 5}.example/feed/{i}"


def measure_verbs(counts, _):
    for count in counts:
        with Store() as store, Store() as other:
            verbs = Verbs(store, count, f"{count:,} feeds")
            listed = store.write_list(url_of(i) for i in range(count))
            before = store.cpu()
            run = verbs.run("import", listed, name="import")
            client, server = run.cpu / count * 1e6, (store.cpu() - before) / count * 1e6
            memory = store.client.info("memory")["used_memory"] / count
            print(f"import: {client:.1f} µs of CPU a row, and {server:.1f} µs of Redis; {memory:.0f} bytes of Redis a feed",
                  file=sys.stderr, flush=True)
            judge(f"import at {count:,}: both CPUs for a row", client + server, import_limit, "µs")
            hold(store.client.scard("feeds") == count, f"import of {count}: {store.client.scard('feeds')} feeds")
            for words in (["list"], ["list", "--json"], ["export"]):
                run = verbs.run(*words, at_once=True)
                hold(run.lines >= count, f"{words} prints {run.lines} lines of {count} feeds")
            verbs.run("doctor", codes=(0, 1))
            verbs.run("plan", "--days", "1", codes=(0, 1))
            run = verbs.run("refresh", "--all", "--defer", codes=(0, 1, 75))
            hold(run.lines >= count, f"refresh --all --defer says {run.lines} lines of {count} feeds")
            archive = store.path("archive.jsonl")
            run = verbs.run("store", "export", at_once=True, out=archive)
            hold(run.lines >= 2 * count, f"store export writes {run.lines} lines of {count} feeds")
            verbs.run("verify", codes=(0, 1))
            most = store.write_list((url_of(i) for i in range(count) if i % 10 > 0), "most.txt")
            verbs.run("import", most, "--prune", "--yes", name="import --prune of a tenth")
            left = count - (count + 9) // 10
            hold(store.client.scard("feeds") == left, f"import --prune leaves {store.client.scard('feeds')} feeds of {left}")
            verbs.run("refresh", "--all", name="refresh --all, stopped", stop_after=2 if tiny else 60)
            verbs.run("stats")
            verbs.run("store", "import", archive, name="store import", store=other)
            hold(other.client.scard("feeds") == count, f"store import: {other.client.scard('feeds')} feeds of {count}")
            verbs.run("import", listed, name="import again", store=other)
            if tiny:
                verbs.run("verify", codes=(0,), name="verify behind it", store=other)


def measure_channels(counts, _):
    print("\n| channels | Redis CPU s | longest script ms | which |\n|---|---|---|---|")
    for count in counts:
        server = Server("127.0.0.1")
        Site.posts = 30
        with Store() as store:
            url = f"http://127.0.0.1:{server.port}/one"
            store.verb("import", store.write_list([url]))

            def follow(pipe, i):
                pipe.sadd("channels", f"c{i}")
                pipe.set(f"channel_sortorder_c{i}", i + 1)
                pipe.hset("channel_floors", f"c{i}", "")
                pipe.sadd(f"channel:c{i}:feeds", url)
                pipe.sadd(f"state:channels:{url}", f"c{i}")

            store.in_batches(range(count), follow)
            store.forget()
            before = store.cpu()
            end = time.monotonic() + 600
            store.verb("run", "--once")
            while store.client.zcard(f"zchannel:c{count - 1}:posts") < 30 and time.monotonic() < end:
                store.verb("run", "--once")
            spent, (longest, which) = store.cpu() - before, store.longest()
            print(f"| {count:,} | {spent:.2f} | {longest:.1f} | {which} |", flush=True)
            judge(f"channels: longest script at {count:,}", longest, longest_limit, "ms")
            pipe = store.client.pipeline(transaction=False)
            for i in range(count):
                pipe.zcard(f"zchannel:c{i}:posts")
            short = sum(number != 30 for number in pipe.execute())
            hold(short == 0, f"{short} of {count} channels have not got all posts")
        server.shutdown()
        Site.posts = 1


def measure_crowds(counts, _):
    for count in counts:
        channels = max(count // 10, 1)
        with Store() as store, Store() as other:
            store.verb("import", store.write_list(url_of(i) for i in range(count)))

            def follow(pipe, i):
                pipe.sadd("channel:crowd:feeds", url_of(i))
                pipe.sadd(f"state:channels:{url_of(i)}", "crowd")

            def create(pipe, i):
                pipe.sadd("channels", f"c{i}")
                pipe.set(f"channel_sortorder_c{i}", i + 2)
                pipe.hset("channel_floors", f"c{i}", "")
                pipe.sadd(f"channel:c{i}:feeds", url_of(0))
                pipe.sadd(f"state:channels:{url_of(0)}", f"c{i}")
                pipe.hset(f"state:watches:u{i}", "1", f"channel c{i}")
                pipe.sadd("state:watchers", f"u{i}")

            store.client.sadd("channels", "crowd")
            store.client.set("channel_sortorder_crowd", 1)
            store.in_batches(range(count), follow)
            store.in_batches(range(channels), create)
            verbs = Verbs(store, count, f"{count:,} feeds in a channel, {channels:,} channels")
            run = verbs.run("channel", "list")
            hold(run.lines >= channels, f"channel list prints {run.lines} lines of {channels} channels")
            run = verbs.run("channel", "feeds", "crowd")
            hold(run.lines == count, f"channel feeds prints {run.lines} lines of {count} feeds")
            verbs.run("channel", "unread-count")
            verbs.run("channel", "order", f"c{channels - 1}")
            verbs.run("run", "--once", name="its index is built, stopped", stop_after=5 if tiny else 120)
            verbs.run("export", at_once=True)
            verbs.run("verify", codes=(0, 1))
            archive = store.path("archive.jsonl")
            verbs.run("store", "export", out=archive)
            verbs.run("store", "import", archive, name="store import", store=other)
            for key in ("feeds", "channels", "channel:crowd:feeds", f"state:channels:{url_of(0)}"):
                hold(other.client.scard(key) == store.client.scard(key),
                     f"store import: {other.client.scard(key)} members of {key}, not {store.client.scard(key)}")
            verbs.run("channel", "remove", "crowd", "--yes")
            hold(not store.client.exists("channel:crowd:feeds") and not store.client.exists(f"state:channels:{url_of(1)}"),
                 "channel remove leaves feeds in the channel")
            verbs.run("remove", url_of(0), "--yes", name="remove of a feed in all channels")
            hold(not store.client.exists(f"state:channels:{url_of(0)}"), "remove leaves the feed in channels")
            verbs.run("verify", codes=(0, 1), name="verify behind it")


def tag_of(index, count):
    """The tag of one of several partitions, as in storage/store/partition.hpp."""
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_lowercase, repeat=length):
            tag = f"p{index:03}." + "".join(letters)
            if slot_of(tag) * count // slots == index:
                return tag


def slot_of(tag):
    return binascii.crc_hqx(tag.encode(), 0) % slots


def partition_of(url, count):
    return binascii.crc_hqx(re.match("[a-z]+://([^/:]+)", url)[1].encode(), 0) % count


def node_of(slot, nodes):
    """The node of a slot if each node has an equal share of the slots."""
    return (slot * nodes + nodes - 1) // slots


class Deployment(contextlib.ExitStack):
    """Partitions in a cluster of `primaries` nodes, or an unpartitioned store at a single server for 0 primaries."""

    def __init__(self, primaries, partitions):
        super().__init__()
        self.partitions, self.workers = partitions, []
        self.tags = [tag_of(i, partitions) if primaries else "" for i in range(partitions)]
        with contextlib.ExitStack() as started:
            self.nodes = [started.enter_context(Store("--cluster-enabled", "yes", "--cluster-port", str(free_port())))
                          for _ in range(primaries)] or [started.enter_context(Store())]
            self.first = self.nodes[0]
            self.first.environment.update(FEEDMILL_SCHEDULE_CATCH_UP_RATE="0", FEEDMILL_HOST_SPACING="0ms", FEEDMILL_WORKER_LANES="64",
                                          FEEDMILL_HOST_CONCURRENCY="1000", FEEDMILL_REDIS_PARTITIONS=str(partitions))
            if primaries:
                self.join()
            self.enter_context(started.pop_all())

    def join(self):
        self.first.environment["FEEDMILL_REDIS_URL"] = f"redis+cluster://127.0.0.1:{self.first.port}"
        for i, node in enumerate(self.nodes):
            node.client.execute_command("CLUSTER SET-CONFIG-EPOCH", i + 1)
            own = [slot for slot in range(slots) if node_of(slot, len(self.nodes)) == i]
            node.client.execute_command("CLUSTER ADDSLOTSRANGE", own[0], own[-1])
        bus = self.first.client.config_get("cluster-port")["cluster-port"]
        for node in self.nodes[1:]:
            node.client.execute_command("CLUSTER MEET", "127.0.0.1", self.first.port, bus)
        for node in self.nodes:
            until(lambda: node.client.execute_command("CLUSTER", "INFO").startswith(b"cluster_state:ok"), 30, "a cluster")

    def key(self, partition, name):
        return f"{{{self.tags[partition]}}}:{name}" if self.tags[partition] else name

    def client(self, partition):
        return self.nodes[node_of(slot_of(self.tags[partition]), len(self.nodes))].client

    def each(self, ask):
        return [ask(self.client(i), functools.partial(self.key, i)) for i in range(self.partitions)]

    def verb(self, partition, *words):
        return self.first.verb("--partition", str(partition), *words)

    def start(self, partition=None):
        """Starts a worker for one partition, or for all."""
        which = [] if partition is None else ["--partition", str(partition)]
        self.workers.append(subprocess.Popen([program, *which, "run"], stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL, env=self.first.environment))
        self.callback(self.workers[-1].wait)
        self.callback(self.workers[-1].kill)

    def signal(self, number):
        for worker in self.workers:
            worker.send_signal(number)

    def spent(self):
        """Totals up to now: seconds; CPU seconds of all servers, their commands including those in scripts, and their
        socket reads; CPU seconds of the workers."""
        told = [node.client.info("all") for node in self.nodes]
        commands, reads = (sum(info[f"total_{what}_processed"] for info in told) for what in ("commands", "reads"))
        return [time.monotonic(), sum(info["used_cpu_user"] + info["used_cpu_sys"] for info in told), commands, reads,
                sum(cpu_of(worker.pid) for worker in self.workers)]

    def sent(self, seconds):
        """Commands that reach the servers within `seconds`, without those in scripts."""
        def listen(node):
            with socket.create_connection(("127.0.0.1", node.port)) as server:
                server.sendall(b"MONITOR\r\n")
                begun, rest, count = time.monotonic(), b"", 0
                while (left := begun + seconds - time.monotonic()) > 0:
                    server.settimeout(left)
                    with contextlib.suppress(TimeoutError):
                        *lines, rest = (rest + server.recv(1 << 16)).split(b"\n")
                        count += sum(b" [0 lua] " not in line for line in lines)
                return count - 1  # without the reply to MONITOR itself
        with concurrent.futures.ThreadPoolExecutor() as pool:
            return sum(pool.map(listen, self.nodes))

    def idle(self, seconds):
        """Use per second of elapsed time while there is nothing to do."""
        before = self.spent()
        time.sleep(seconds)
        seconds, *rest = (end - begin for end, begin in zip(self.spent(), before))
        return [1.0] + [part / seconds for part in rest]

    def await_polls(self, count):
        """Waits until every feed was polled and stored."""
        until(lambda: len(Site.came) == count and not any(self.each(lambda client, key: client.zcount(
            key("schedule"), "-inf", int((time.time() + 120) * 1000)))), 120, "a poll of all")

    def import_and_poll(self, urls, workers):
        """Returns the use of an idle second after the import; then stops the workers with SIGSTOP."""
        listed = self.first.write_list(urls)
        for i in range(self.partitions):
            self.verb(i, "import", listed)
        expected = [sum(partition_of(url, self.partitions) == i for url in urls) for i in range(self.partitions)]
        found = self.each(lambda client, key: client.scard(key("feeds")))
        hold(found == expected and all(found), f"feeds of the partitions: {found}, not {expected}")
        Site.came.clear()
        for i in range(workers):
            self.start(None if workers == 1 else i % self.partitions)
        self.await_polls(len(urls))
        time.sleep(0.5 if tiny else 3)
        idle = self.idle(1 if tiny else 8)
        self.signal(signal.SIGSTOP)
        return idle

    def poll_again(self, idle):
        """Polls unchanged feeds; returns figures per poll, less the same workers' idle use, except for `gross`."""
        self.signal(signal.SIGCONT)
        time.sleep(0.2 if tiny else 1)  # until they have caught up on their idle work
        self.signal(signal.SIGSTOP)
        count = sum(self.each(lambda client, key: client.zadd(
            key("schedule"), {url: int(time.time() * 1000) for url in client.smembers(key("feeds"))}, ch=True)))
        # Waiting workers look at once.
        self.each(lambda client, key: client.lpush(key("state:wake"), *["1"] * -(-len(self.workers) // self.partitions)))
        Site.came.clear()
        before = self.spent()
        self.signal(signal.SIGCONT)
        self.await_polls(count)
        whole = [end - begin for end, begin in zip(self.spent(), before)]
        self.signal(signal.SIGSTOP)
        _, of_redis, commands, reads, of_workers = ((part - rate * whole[0]) / count for part, rate in zip(whole, idle))
        return {"redis": of_redis * 1e6, "gross": whole[1] / count * 1e6, "worker": of_workers * 1e6,
                "commands": commands, "reads": reads, "rate": count / whole[0]}


def measure_partitions(counts, rounds):
    shapes = {"a server, 1 worker": (0, 1, 1), "a server, 4 workers": (0, 1, 4), "1 primary, 4 partitions": (1, 4, 4),
              "3 primaries, 4 partitions": (3, 4, 4), "3 primaries, 1 worker of all": (3, 4, 1)}
    # primaries, partitions, workers
    columns = {"redis": "Redis CPU µs a poll", "gross": "with what is asked when idle", "worker": "worker CPU µs a poll",
               "commands": "commands a poll", "reads": "reads of sockets a poll", "rate": "polls a second"}
    for count in counts:
        server, hosts, rows = Server(), max(count // 5, 1), {side: [] for side in shapes}
        urls = [f"http://127.3.{i % hosts // 250}.{i % hosts % 250 + 1}:{server.port}/other/{i}" for i in range(count)]
        with contextlib.ExitStack() as stack:
            sides = {side: stack.enter_context(Deployment(*shape[:2])) for side, shape in shapes.items()}
            idle = {side: deployment.import_and_poll(urls, shapes[side][2]) for side, deployment in sides.items()}
            for _ in range(2 if tiny else 5 * rounds):
                for side, deployment in sides.items():
                    rows[side].append(deployment.poll_again(idle[side]))
        server.shutdown()
        medians = {side: {name: statistics.median(row[name] for row in rows[side]) for name in columns} for side in shapes}
        first = medians[next(iter(shapes))]
        print(f"\n| {count:,} feeds in | " + " | ".join(columns.values()) + " |")
        print("|---" * (len(columns) + 1) + "|")
        for side, row in medians.items():
            print(f"| {side} | " + " | ".join(f"{row[name]:.2f}, x {row[name] / (first[name] or 1):.2f}" for name in columns)
                  + " |", flush=True)
            if shapes[side][1] > 1:
                for name, what in (("redis", "CPU of Redis"), ("commands", "commands")):
                    judge(f"{side}: {what} a poll by that of a server", row[name] / (first[name] or 1), flat_limit, "times")
    measure_empty(16 if tiny else 256)
    tell_shares()


def measure_workers(counts, _):
    """Feeds come due continuously, so that the first worker to look gets them; after 40 s each partition has its
    primary worker."""
    columns = {"worker": "worker CPU µs a poll", "redis": "Redis CPU µs a poll", "commands": "commands a poll",
               "rate": "polls a second"}
    for count in counts:
        server, hosts, rows = Server(), max(count // 5, 1), {}
        urls = [f"http://127.3.{i % hosts // 250}.{i % hosts % 250 + 1}:{server.port}/other/{i}" for i in range(count)]
        for workers in (1, 4):
            with Deployment(3, 4 if tiny else 16) as deployment:
                deployment.first.environment.update(dict.fromkeys(
                    ("FEEDMILL_SCHEDULE_MIN_FLOOR", "FEEDMILL_SCHEDULE_FLOOR", "FEEDMILL_SCHEDULE_CEILING"), "1s" if tiny else "10s"))
                deployment.first.verb("import", deployment.first.write_list(urls))
                for _ in range(workers):
                    deployment.start()
                time.sleep(3 if tiny else 40)
                polls, before = next(Site.polls), deployment.spent()
                time.sleep(3 if tiny else 30)
                seconds, redis_s, commands, _, worker_s = (end - begin for end, begin in zip(deployment.spent(), before))
                polls = next(Site.polls) - polls
                hold(polls, f"{workers} workers polled nothing")
                rows[workers] = {"worker": worker_s / polls * 1e6, "redis": redis_s / polls * 1e6,
                                 "commands": commands / polls, "rate": polls / seconds}
        server.shutdown()
        print(f"\n| {count:,} feeds, workers of all of 16 partitions | " + " | ".join(columns.values()) + " |")
        print("|---" * (len(columns) + 1) + "|")
        for workers, row in rows.items():
            print(f"| {workers} | " + " | ".join(f"{row[name]:.1f}, x {row[name] / rows[1][name]:.2f}" for name in columns)
                  + " |", flush=True)
        for name, what, limit in (("worker", "their CPU", flat_limit), ("redis", "CPU of Redis", flat_limit),
                                  ("commands", "commands", flat_limit)):
            if not tiny:
                judge(f"4 workers: {what} a poll by that of one", rows[4][name] / rows[1][name], limit, "times")


def measure_empty(partitions):
    """Memory of partitions without feeds, and the commands of idle workers of one, of some and of all partitions."""
    def taken():
        info = client.info("memory")
        return info["used_memory"], info["used_memory_vm_total"]

    with Deployment(1, partitions) as deployment:
        client = deployment.first.client
        sizes = [taken()]
        for i in range(partitions):
            deployment.verb(i, "run", "--once")
            if i in (0, partitions - 1):
                until(lambda: client.info("clients")["connected_clients"] == 1, 10, "that the worker's connections end")
                sizes.append(taken())
        hold(all(deployment.each(lambda client, key: client.exists(key("meta:store")))), "a partition was not made")
        idle = [measure_idle(deployment, 0)]
    for some in (4, 16, partitions):
        with Deployment(1, some) as deployment:
            idle.append(measure_idle(deployment))
    whole = sum(sizes[2]) - sum(sizes[0])
    more = (sizes[2][0] - sizes[1][0]) / (partitions - 1)  # the first partition loads the scripts
    print(f"\n{partitions} empty partitions take {whole / 1024:.0f} KiB of Redis, {more / 1024:.1f} each behind the first")
    print(f"\n| an idle worker of | one | all of 4 | all of 16 | all of {partitions} |\n|---|---|---|---|---|")
    for name in idle[0]:
        print(f"| {name} | " + " | ".join(f"{row[name]:.1f}" for row in idle) + " |", flush=True)
    judge(f"{partitions} empty partitions: memory of Redis", whole / 2**20, empty_limit, "MiB")


def measure_fleets(counts, _):
    """Commands of each of `workers` idle workers of all partitions."""
    for partitions in (4,) if tiny else (16, 256):
        rows = {}
        for workers in counts:
            if workers * partitions <= 4_096:  # more would exceed a machine's connections and memory
                with Deployment(3, partitions) as deployment:
                    rows[workers] = measure_idle(deployment, workers=workers)
        print(f"\n| {partitions} partitions, 3 primaries; each idle worker of | " + " | ".join(map(str, rows)) + " |")
        print("|---" * (len(rows) + 1) + "|")
        for name in rows[min(rows)]:
            print(f"| {name} | " + " | ".join(f"{row[name]:.1f}" for row in rows.values()) + " |", flush=True)


def measure_idle(deployment, partition=None, workers=1):
    """Starts workers; returns the use of each while idle."""
    for _ in range(workers):
        deployment.start(partition)
    until(lambda: all(deployment.each(lambda client, key: client.exists(key("meta:store")))) or partition is not None, 60,
          "that all partitions are served")
    def status():
        return dict(line.split(":", 1) for line in open(f"/proc/{deployment.workers[0].pid}/status"))

    time.sleep(1 if tiny else 80)  # until every partition has elected its primary worker and its deliverer
    until(lambda: int(status()["Threads"]) <= threads_limit, 180, "that threads end which only the start needed")
    served = deployment.partitions if partition is None else 1
    seconds = 2 if tiny else 60 if served < 64 else 300  # many partitions are sampled that seldom
    before = deployment.spent()
    sent = deployment.sent(seconds) / seconds / workers
    took, *spent = (end - begin for end, begin in zip(deployment.spent(), before))
    spent = [part / took / workers for part in spent]
    clients = sum(node.client.info("clients")["connected_clients"] - 1 for node in deployment.nodes) / workers
    if not tiny:
        judge(f"{workers} idle workers of {served} partitions: sent by each", sent, idle_limit, "a second")
    return {"MiB of memory": int(status()["VmRSS"].split()[0]) / 1024, "threads": int(status()["Threads"]),
            "connections to Redis": clients, "commands sent a second": sent,
            "commands a second, with those of scripts": spent[1],
            "ms of CPU of Redis a second": spent[0] * 1000, "ms of CPU a second": spent[3] * 1000}


def tell_shares():
    print("\n| partitions | nodes | of each |\n|---|---|---|")
    for partitions in (16, 256):
        for nodes in (3, 8):
            shares = [0] * nodes
            for i in range(partitions):
                shares[node_of(slot_of(tag_of(i, partitions)), nodes)] += 1
            print(f"| {partitions} | {nodes} | {', '.join(map(str, shares))} |", flush=True)
            hold(max(shares) - min(shares) <= 1, f"{partitions} partitions on {nodes} nodes: {shares}")


def main():
    global tiny, own_clock_wanted
    measures = {"waiting": (measure_waiting, [1_000, 10_000, 100_000, 500_000], [20, 200]),
                "scheduled": (measure_scheduled, [1_000, 10_000, 100_000, 1_000_000], [20, 200]),
                "verbs": (measure_verbs, [1_000_000], [2_000]),
                "channels": (measure_channels, [1, 1_000, 100_000], [1, 1_200]),
                "crowds": (measure_crowds, [1_000_000], [12_000]),
                "partitions": (measure_partitions, [2_000], [40]), "workers": (measure_workers, [2_000], [200]),
                "fleets": (measure_fleets, [1, 10, 100], [1, 2])}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=[*measures, "all"])
    parser.add_argument("counts", nargs="*", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--own-clock", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    wanted = parser.parse_args()
    tiny, own_clock_wanted = wanted.tiny, wanted.own_clock
    for name, (measure, usual, small) in measures.items():
        if wanted.measure in (name, "all"):
            measure(wanted.counts or (small if tiny else usual), 1 if tiny else wanted.rounds)
    finish(wanted.check)


if __name__ == "__main__":
    main()
