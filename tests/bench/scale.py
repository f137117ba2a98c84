#!/usr/bin/env python3
"""What a store costs by what waits in it and by what there is (PERFORMANCE §3, RELIABILITY L1, L15, L22).

tests/bench/scale.py waiting [COUNT…]    feeds that wait for one host, beside 1,000 others that come due: CPU of Redis,
                                         time of a claim, how late the others are
tests/bench/scale.py scheduled [COUNT…]  feeds of which 1,000 are due within 20 s: CPU of Redis and of the worker, its
                                         memory
tests/bench/scale.py verbs [COUNT…]      every verb that goes over all feeds: its time and memory, and the longest single
                                         command that it makes Redis run
tests/bench/scale.py channels [COUNT…]   30 posts of a feed in so many channels: the longest script, CPU of Redis

Needs build/release/feedmill, redis-server and python3-redis. FEEDMILL=PATH measures another build.
"""
import http.server
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

import redis

program = os.environ.get("FEEDMILL", "build/release/feedmill")
others, window = 1000, 20.0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Site(http.server.BaseHTTPRequestHandler):
    """/crowd never ends; any other path is a small feed, and its arrival is noted."""

    protocol_version = "HTTP/1.1"
    came = {}
    posts = 1

    def do_GET(self):
        if self.path.startswith("/crowd"):
            time.sleep(3600)
        Site.came[self.path] = time.time()
        items = "".join(f"<item><guid>{self.path}/{i}</guid><title>t{i}</title></item>" for i in range(Site.posts))
        body = f"<rss version='2.0'><channel><title>t</title><link>http://x.example/</link>{items}</channel></rss>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/rss+xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size, daemon_threads = 512, True

    def server_bind(self):
        self.socket.bind(self.server_address)  # without a look at the name of every address


class Store:
    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.server = subprocess.Popen(["redis-server", "--port", str(self.port), "--save", "", "--dir",
                                        self.directory.name, "--slowlog-log-slower-than", "1000", "--slowlog-max-len",
                                        "2000"], stdout=subprocess.DEVNULL)
        self.client = redis.Redis(port=self.port)
        while True:
            try:
                self.client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.05)
        self.environment = dict(os.environ, FEEDMILL_REDIS_URL=f"redis://127.0.0.1:{self.port}/0", FEEDMILL_IMPORT_RATE="0",
                                FEEDMILL_EGRESS_ALLOW="127.0.0.0/8:1024-65535", FEEDMILL_ADMIN_LISTEN="off",
                                FEEDMILL_CONTACT="https://example.org/", FEEDMILL_LOG_LEVEL="error")

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

    def longest(self):
        """The longest command since forget(), in ms; what is below one is not told."""
        return max((entry["duration"] for entry in self.client.slowlog_get(2000)
                    if b"BLPOP" not in entry["command"]), default=0) / 1000

    def forget(self):
        self.client.slowlog_reset()

    def verb(self, *arguments, **more):
        """Seconds, and the most memory in MiB."""
        begun = time.monotonic()
        child = subprocess.Popen([program, *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                                 stdout=more.get("stdout", subprocess.DEVNULL), stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in more.get("codes", (0,)):
            sys.exit(f"feedmill {' '.join(arguments)}: exit {child.returncode}")
        return time.monotonic() - begun, usage.ru_maxrss / 1024

    def add(self, urls):
        listed = pathlib.Path(self.path("list.txt"))
        with listed.open("w") as out:
            for url in urls:
                out.write(url + "\n")
        return self.verb("import", str(listed))

    def put_off(self, urls):
        """They have had a place at their host, and it was not free when they came."""
        pipe = self.client.pipeline(transaction=False)
        for count, url in enumerate(urls):
            pipe.hset(f"state:feed:{url}", "held", int((time.time() - 3600) * 1000))
            if count % 5000 == 4999:
                pipe.execute()
        pipe.execute()

    def schedule(self, dues):
        """Due times by URL, as seconds from now."""
        now, pipe = time.time(), self.client.pipeline(transaction=False)
        for count, (url, due) in enumerate(dues):
            pipe.zadd("schedule", {url: int((now + due) * 1000)})
            if count % 5000 == 4999:
                pipe.execute()
        pipe.execute()


def others_of(port):
    return [f"http://127.1.{i // 250}.{i % 250 + 1}:{port}/other/{i}" for i in range(others)]


def run_worker(store, warm_up, seconds):
    """CPU of Redis and of the worker in the seconds behind the warm-up, and the worker's memory in MiB."""
    worker = subprocess.Popen([program, "run"], env=store.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(warm_up)
    store.client.config_resetstat()
    before, before_worker = store.cpu(), cpu_of(worker.pid)
    time.sleep(seconds)
    spent, spent_worker = store.cpu() - before, cpu_of(worker.pid) - before_worker
    status = pathlib.Path(f"/proc/{worker.pid}/status").read_text()
    memory = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024
    worker.kill()
    worker.wait()
    return spent, spent_worker, memory


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def claims_of(store):
    """Calls of scripts, and microseconds of each."""
    stats = store.client.info("commandstats").get("cmdstat_evalsha", {"calls": 0, "usec_per_call": 0})
    return stats["calls"], stats["usec_per_call"]


def measure_worker(counts, head, feeds_of):
    print(head)
    for count in counts:
        server = Server(("0.0.0.0", 0), Site)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.socket.getsockname()[1]
        with Store() as store:
            beside = others_of(port)
            dues = feeds_of(count, port)
            store.add([url for url, _ in dues] + beside)
            begin = 4.0 + count / 8_000  # who waits is in line by then
            store.put_off(url for url, due in dues if due < 0)
            began = time.time()
            store.schedule(list(dues) + [(url, begin + i * (window / others)) for i, url in enumerate(beside)])
            due_at = {f"/other/{i}": began + begin + i * (window / others) for i in range(others)}
            Site.came.clear()
            spent, worker, memory = run_worker(store, began + begin - time.time() - 0.5, window + 4)
            late = sorted(Site.came[path] - due_at[path] for path in due_at if path in Site.came)
            calls, each = claims_of(store)
            print(f"| {count:,} | {spent:.2f} | {worker:.2f} | {memory:.0f} | {calls:,} | {each:.0f} | {len(late)} | "
                  f"{late[len(late) // 2]:.2f} | {late[-1]:.2f} |", flush=True)
        server.shutdown()


head_of_workers = ("| {} | Redis CPU-s | worker CPU-s | worker MiB | scripts | us each | others fetched | late p50 s | max s |\n"
                   "|---|---|---|---|---|---|---|---|---|")


def measure_waiting(counts):
    measure_worker(counts, head_of_workers.format("waiting"),
                   lambda count, port: [(f"http://127.0.0.1:{port}/crowd/{i}", -3600.0 + i / count) for i in range(count)])


def measure_scheduled(counts):
    measure_worker(counts, head_of_workers.format("scheduled"),
                   lambda count, port: [(f"http://127.2.{i // 250 % 250}.{i % 250 + 1}:{port}/far/{i}", 7200.0)
                                        for i in range(count)])


def measure_verbs(counts):
    for count in counts:
        with Store() as store:
            print(f"\n{count:,} feeds\n| verb | s | MiB | longest command ms |\n|---|---|---|---|")

            def tell(name, took):
                print(f"| {name} | {took[0]:.1f} | {took[1]:.0f} | {store.longest():.1f} |", flush=True)
                store.forget()

            before = store.cpu()
            took = store.add(f"https://h{i // 5}.example/feed/{i}" for i in range(count))
            both = store.cpu() - before
            tell(f"import ({(both) / count * 1e6:.0f} us of Redis a row)", took)
            for verb in (["list"], ["list", "--json"], ["export"], ["stats"], ["plan", "--days", "1"],
                         ["doctor"], ["refresh", "--all", "--defer"], ["verify"], ["store", "export"]):
                tell(" ".join(verb), store.verb(*verb, codes=(0, 1, 75)))


def measure_channels(counts):
    print("| channels | Redis CPU-s | longest script ms |\n|---|---|---|")
    for count in counts:
        server = Server(("127.0.0.1", 0), Site)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        Site.posts = 30
        with Store() as store:
            url = f"http://127.0.0.1:{server.socket.getsockname()[1]}/one"
            store.add([url])
            pipe = store.client.pipeline(transaction=False)
            for i in range(count):
                pipe.sadd("channels", f"c{i}")
                pipe.sadd(f"channel:c{i}:feeds", url)
                pipe.sadd(f"state:channels:{url}", f"c{i}")
            pipe.execute()
            store.forget()
            before = store.cpu()
            store.verb("run", "--once")
            while store.client.zcard(f"zchannel:c{count - 1}:posts") < 30:
                store.verb("run", "--once")
            print(f"| {count:,} | {store.cpu() - before:.2f} | {store.longest():.1f} |", flush=True)
        server.shutdown()


def main():
    measures = {"waiting": (measure_waiting, [1_000, 10_000, 100_000]),
                "scheduled": (measure_scheduled, [1_000, 100_000, 1_000_000]),
                "verbs": (measure_verbs, [1_000_000]),
                "channels": (measure_channels, [1, 1_000, 100_000])}
    if len(sys.argv) < 2 or sys.argv[1] not in measures:
        sys.exit(__doc__)
    measure, usual = measures[sys.argv[1]]
    measure([int(count) for count in sys.argv[2:]] or usual)


if __name__ == "__main__":
    main()
