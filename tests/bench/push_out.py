#!/usr/bin/python3
"""What pushing out costs, and how soon events are delivered (PERFORMANCE F12).

tests/bench/push_out.py latency   webhooks for one feed each, of which one in a hundred refuses connections and one in a
                                  hundred answers after 10 s, while posts arrive: time from commit to delivery at the
                                  others; the cost of an event for Redis and the worker
tests/bench/push_out.py fan_out   one event for all webhooks, compared with libcurl alone posting as much to the same
                                  receiver
tests/bench/push_out.py apart     how a worker that fetches is affected by one that pushes out at the same pace: CPU per
                                  fetch, and how long its loop does not respond
tests/bench/push_out.py memory    the worker and Redis per webhook, the worker per client of the live stream
tests/bench/push_out.py all

    --webhooks N   10000
    --rounds N     rounds of fan_out, and twice as many of apart, interleaved: medians are printed (5)
    --check        then prints for each figure with a limit whether it is within or over; exit 1 if one is over
    --tiny         as in the tests: sizes that take seconds; judges counts, not times

Needs redis-server, python3-redis (exit 77 without), build/release/feedmill and the programs of
build/release/tests/bench that receive and create posts; FEEDMILL=PATH and PUSH_OUT_TOOLS=FOLDER measure another build.
"""
import argparse
import http.client
import json
import os
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import sys
import threading
import time

import scale
from scale import Store, cpu_of, finish, free_port, hold, judge, program, until

tools = os.environ.get("PUSH_OUT_TOOLS", "build/release/tests/bench")
latency_limit, fan_out_limit, apart_limit = 2000.0, 1.5, 1.03
pace = 200  # posts a second
tiny = False


def address_of(network, number):
    """A loopback address that counts as a separate host."""
    return f"127.{network}.{number // 250}.{number % 250 + 1}"


class Receiver:
    def __init__(self, store, name="received"):
        self.port, self.log = free_port(), store.path(name)
        open(self.log, "w").close()
        self.process = subprocess.Popen([f"{tools}/feedmill_push_out_receiver", str(self.port), self.log])
        until(lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0, 30, "a receiver")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def size(self):
        return os.path.getsize(self.log)

    def since(self, offset):
        """(microseconds, path, webhook-id) of each delivery after `offset`."""
        with open(self.log) as log:
            log.seek(offset)
            rows = [line.rstrip("\n").split(" ") for line in log if line.endswith("\n")]
        return [(int(at), path, name) for at, path, name in rows]

    def count(self, offset):
        with open(self.log, "rb") as log:
            log.seek(offset)
            return sum(block.count(b"\n") for block in iter(lambda: log.read(1 << 20), b""))


class Worker:
    """A worker that only pushes out, unless `arguments` override that."""

    def __init__(self, store, *arguments, processors=None, **environment):
        arguments = arguments or ("--no-ingest", "--no-deliver", "--push-out")
        self.process = subprocess.Popen([program, "run", *arguments], env={**store.environment, **environment},
                                        stdout=subprocess.DEVNULL,
                                        preexec_fn=processors and (lambda: os.sched_setaffinity(0, processors)))
        self.pid = self.process.pid
        if "--push-out" in arguments:
            # Including its position in the stream: a store's first worker starts at the stream's end.
            place = ["deliver:push_out:000"] if store.client.xlen("stream:signals") else []
            until(lambda: store.client.exists("lock:push_out", *place) == 1 + len(place), 60, "who leads")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def cpu(self):
        return cpu_of(self.pid)

    def exact_cpu(self):
        """CPU nanoseconds of the threads that exist now."""
        return sum(int(task.read_text().split()[0]) for task in pathlib.Path(f"/proc/{self.pid}/task").glob("*/schedstat"))

    def slept(self):
        """Number of voluntary context switches of the threads that exist now."""
        return sum(int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", task.read_text())[1])
                   for task in pathlib.Path(f"/proc/{self.pid}/task").glob("*/status"))

    def resident(self):
        """Resident memory in KiB."""
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.pid}/status").read_text())[1])


def load(store, *arguments):
    what, *rest = map(str, arguments)
    subprocess.run([f"{tools}/feedmill_push_out_load", what, f"redis://127.0.0.1:{store.port}/0", *rest], check=True)


def feed_url(number):
    return f"http://feed-{number}.example/"


def commands(store):
    """Number of commands that Redis has run, including those in scripts."""
    return sum(stat["calls"] for stat in store.client.info("commandstats").values())


def events_of(store, after):
    """Stream ids of new posts after the id `after`, with the numbers of their feeds."""
    found = []
    for seq, fields in store.client.xrange("stream:signals", min="(" + after):
        for value in fields.values():
            if value.startswith(b"{"):
                event = json.loads(value)
                if event["type"] == "post_created" and not event.get("initial"):
                    found.append((seq.decode(), int(re.search(r"feed-(\d+)", event["feed_url"])[1])))
    return found


def newest(store):
    last = store.client.xrevrange("stream:signals", count=1)
    return last[0][0].decode() if last else "0-0"


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def measure_latency(count, _):
    bad, per_second, seconds = (2, 50, 2) if tiny else (count // 100, pace, 60)
    posts = per_second * seconds
    with Store() as store, Receiver(store) as receiver:
        load(store, "feeds", count)
        ours = commands(store)
        load(store, "commits", posts // 4, per_second)
        without = (commands(store) - ours) / (posts // 4)
        refused = free_port()

        def address(i):
            if i < bad:
                return f"http://{address_of(2, i)}:{refused}/{i}"
            return f"http://{address_of(1, i)}:{receiver.port}/{'slow' if i < 2 * bad else 'well'}/{i}"

        load(store, "webhooks", store.write_list(f"{address(i)} {feed_url(i)}" for i in range(count)))
        with Worker(store) as worker:
            time.sleep(0.1 if tiny else 5)
            idle = commands(store)
            time.sleep(0.5 if tiny else 10)
            idle = (commands(store) - idle) / (0.5 if tiny else 10)
            place, before, cpu, redis_cpu, began = newest(store), commands(store), worker.cpu(), store.cpu(), time.monotonic()
            load(store, "commits", posts, per_second)
            expected = [(seq, i) for seq, i in events_of(store, place) if i >= 2 * bad]
            hold(len(expected) > posts // 2, f"{posts} commits made {len(expected)} events for those that live")
            until(lambda: sum("/well/" in path for _, path, _ in receiver.since(0)) >= len(expected), 120, "the last delivery")
            took = time.monotonic() - began
            spent, redis_spent = worker.cpu() - cpu, store.cpu() - redis_cpu
            more = (commands(store) - before - idle * took) / posts - without
            came = {}
            for at, path, seq in receiver.since(0):
                if "/well/" in path:
                    came.setdefault((seq, int(path.rsplit("/", 1)[1])), []).append(at)
            missing = [pair for pair in expected if pair not in came]
            hold(not missing, f"{len(missing)} of {len(expected)} events were not delivered")
            again = sum(len(times) > 1 for times in came.values())
            hold(again == 0, f"{again} events were delivered twice")
            late = [came[pair][0] / 1000 - int(pair[0].split("-")[0]) for pair in expected if pair in came]
            print(f"\n| webhooks, of which {bad} refuse and {bad} take 10 s | events a second | p50 | p99 | latest | CPU of the "
                  "worker an event | of Redis, commits included | commands an event | idle: commands a second |\n"
                  "|---|---|---|---|---|---|---|---|---|")
            print(f"| {count:,} | {per_second} | {percentile(late, 0.5):.0f} ms | {percentile(late, 0.99):.0f} ms | "
                  f"{max(late):.0f} ms | {spent / posts * 1e6:.0f} µs | {redis_spent / posts * 1e6:.0f} µs | {more:.1f} beside "
                  f"{without:.1f} of its commit | {idle:.1f} |", flush=True)
            judge("latency: p99 from commit to delivery", percentile(late, 0.99), latency_limit, "ms")


def measure_fan_out(count, rounds):
    with Store() as store, Receiver(store) as receiver:
        load(store, "feeds", 1)
        urls = [f"http://{address_of(1, i)}:{receiver.port}/well/{i}" for i in range(count)]
        load(store, "webhooks", store.write_list(f"{url} {feed_url(0)}" for url in urls))
        listed, body = store.write_list(urls, "urls.txt"), store.path("body")
        rows = []
        with Worker(store) as worker:
            for _ in range(rounds):
                offset, place, cpu, redis_cpu, before = receiver.size(), newest(store), worker.cpu(), store.cpu(), commands(store)
                load(store, "commits", 1, 0)
                until(lambda: receiver.count(offset) >= count, 300, "the last delivery")
                (seq, _), = events_of(store, place)
                until(lambda: not store.client.zcard("push_out:due"), 60, "the end of a round")
                came = receiver.since(offset)
                hold(len(came) == count and {path for _, path, _ in came} == {f"/well/{i}" for i in range(count)},
                     f"{len(came)} deliveries to {count} webhooks")
                ours = max(at for at, _, _ in came) / 1e6 - int(seq.split("-")[0]) / 1e3
                spent, redis_spent, asked = worker.cpu() - cpu, store.cpu() - redis_cpu, commands(store) - before
                event = next(value for value in store.client.xrange("stream:signals", min=seq, max=seq)[0][1].values()
                             if value.startswith(b"{"))
                pathlib.Path(body).write_bytes(b'{"type":"post_created","timestamp":"2026-11-23T01:41:50Z","data":' + event + b"}")
                offset = receiver.size()
                done = subprocess.run([f"{tools}/feedmill_push_out_loop", listed, body, "256"], capture_output=True,
                                      text=True, check=True)
                until(lambda: receiver.count(offset) >= count, 60, "all of libcurl's")
                start, loop_cpu = done.stdout.split()
                bare = (max(at for at, _, _ in receiver.since(offset)) - int(start)) / 1e6
                rows.append((ours, bare, ours / bare, spent, float(loop_cpu), redis_spent, asked / count))
        ours, bare, ratio, spent, loop_cpu, redis_spent, asked = map(statistics.median, zip(*rows))
        print("\n| webhooks of one feed | the last is told after | libcurl alone | ratio | CPU of the worker | of libcurl | of Redis | "
              "commands a webhook |\n|---|---|---|---|---|---|---|---|")
        print(f"| {count:,} | {ours:.2f} s | {bare:.2f} s | {ratio:.2f} ({', '.join(f'{row[2]:.2f}' for row in rows)}) | "
              f"{spent:.2f} s | {loop_cpu:.2f} s | {redis_spent:.2f} s | {asked:.1f} |", flush=True)
        judge("fan_out: time to that of libcurl alone", ratio, fan_out_limit, "")


class Prober:
    """Polls a worker's loop and records how long each response took."""

    def __init__(self, port):
        self.port, self.took, self.stopped = port, [], False
        self.thread = threading.Thread(target=self.ask, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.thread.join()

    def ask(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.stopped:
            began = time.monotonic()
            try:
                connection.request("GET", "/livez")
                connection.getresponse().read()
            except (http.client.HTTPException, ConnectionError):
                connection.close()
                continue
            self.took.append((time.monotonic() - began) * 1000)
            time.sleep(0.05)  # responses cost CPU, too, and the more the longer a pass takes


def measure_apart(_, rounds):
    """One worker fetches at the pace of `latency`; in alternate passes a second worker pushes out everything it stores,
    or is absent. The fetching worker has a CPU of its own, as on a separate machine; all else shares the others. An
    unpaced pass would mostly measure how often its threads sleep, which varies between passes regardless of the
    neighbour and costs more than the neighbour does."""
    count, rounds = (50, 1) if tiny else (1000, 2 * rounds)
    all_processors = sorted(os.sched_getaffinity(0))
    own = all_processors[:1] if len(all_processors) > 1 else None
    os.sched_setaffinity(0, all_processors[1:] or all_processors)
    with Store() as store, Receiver(store) as receiver:
        urls = [f"http://{address_of(4, i)}:{receiver.port}/feed/{i}" for i in range(count)]
        port, passes = free_port(), 0
        posts = lambda: int(store.client.get("ids:Entry") or 0)  # noqa: E731
        told = lambda: receiver.count(0)  # noqa: E731
        store.verb("import", store.write_list(urls))
        with Worker(store, "--no-deliver", processors=own, FEEDMILL_ADMIN_LISTEN=f"127.0.0.1:{port}") as worker:
            until(lambda: posts() >= count, 300, "the first import")
            load(store, "webhooks", store.write_list(
                f"http://{address_of(1, i)}:{receiver.port}/well/{i} {url}" for i, url in enumerate(urls)))

            def alone():
                nonlocal passes
                passes += 1
                cpu, slept = worker.exact_cpu(), worker.slept()
                begin = time.time() * 1000 + 200
                with Prober(port) as prober:
                    store.client.zadd("schedule", {url: begin + i * 1000 / pace for i, url in enumerate(urls)})
                    until(lambda: posts() >= count * (passes + 1), 300, "a pass")
                return ((worker.exact_cpu() - cpu) / count / 1000, (worker.slept() - slept) / count, max(prober.took),
                        percentile(prober.took, 0.99))

            def beside_engine():
                with Worker(store) as other:
                    until(lambda: told() >= count * passes, 300, "the last delivery of what came before")
                    figures = alone()
                    until(lambda: told() >= count * passes, 300, "the last delivery")
                    other.process.terminate()
                    other.process.wait()
                return figures

            beside_engine()  # the first leader starts with events from then on
            arms = {"alone": alone, "beside a worker that pushes each post out": beside_engine}
            took = {name: [] for name in arms}
            for number in range(rounds):
                for turn in range(len(arms)):
                    name = list(arms)[(number + turn) % len(arms)]
                    took[name].append(arms[name]())
    print(f"\n| {count:,} feeds of a new post each, {pace} a second | CPU a fetch | its threads slept | "
          "the loop answers nobody for: longest | p99 |\n|---|---|---|---|---|")
    for name, rows in took.items():
        cpu, slept, longest, usual = (statistics.median(column) for column in zip(*rows))
        print(f"| {name} | {cpu:.0f} µs | {slept:.0f} times | {longest:.1f} ms | {usual:.1f} ms |", flush=True)
    ratios = [row[0] / bare[0] for row, bare in zip(*reversed(took.values()))]
    print(f"\nCPU beside it to that alone: {', '.join(f'{ratio:.2f}' for ratio in ratios)}", flush=True)
    judge("apart: CPU a fetch to that alone", statistics.median(ratios), apart_limit, "")


def measure_memory(count, _):
    streams = 20 if tiny else 5000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Store() as store:
        load(store, "feeds", 1)
        port, token = free_port(), store.path("token")
        pathlib.Path(token).write_text("a-token-of-the-benchmark\n")
        os.chmod(token, 0o600)
        with Worker(store, FEEDMILL_PUSH_OUT_LISTEN=f"127.0.0.1:{port}", FEEDMILL_PUSH_OUT_TOKEN_FILE=token) as worker:
            load(store, "commits", 1, 0)
            time.sleep(0.2 if tiny else 3)
            resident, redis_memory = worker.resident(), store.client.info("memory")["used_memory"]
            load(store, "webhooks", store.write_list(f"http://{address_of(1, i)}:9/ {feed_url(i + 1)}" for i in range(count)))
            load(store, "commits", 1, 0)  # events without receivers; afterwards the leader knows the webhooks
            time.sleep(0.2 if tiny else 5)
            of_webhook, of_redis = worker.resident() - resident, store.client.info("memory")["used_memory"] - redis_memory
            resident = worker.resident()
            clients = []
            end = time.monotonic() + 120
            while len(clients) < streams and time.monotonic() < end:  # only so many are admitted per second
                client = socket.create_connection(("127.0.0.1", port))
                client.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                               f"Authorization: Bearer a-token-of-the-benchmark\r\n\r\n".encode())
                if b" 200 " in client.recv(4096):
                    clients.append(client)
                else:
                    client.close()
                    time.sleep(0.1)
            hold(len(clients) == streams, f"{len(clients)} of {streams} streams were opened")
            time.sleep(0.2 if tiny else 3)
            of_stream = worker.resident() - resident
            for client in clients:
                client.close()
        print(f"\n| memory | of the worker | of Redis |\n|---|---|---|\n"
              f"| a webhook, of {count:,} | {of_webhook * 1024 / count:.0f} bytes | {of_redis / count:.0f} bytes |\n"
              f"| an idle client of the live stream, of {streams:,} | {of_stream * 1024 / streams:.0f} bytes | |", flush=True)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def main():
    global tiny
    measures = {"latency": measure_latency, "fan_out": measure_fan_out, "apart": measure_apart, "memory": measure_memory}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=[*measures, "all"])
    parser.add_argument("--webhooks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    wanted = parser.parse_args()
    tiny = scale.tiny = wanted.tiny
    for name, measure in measures.items():
        if wanted.measure in (name, "all"):
            measure(200 if tiny else wanted.webhooks, 1 if tiny else wanted.rounds)
    finish(wanted.check)


if __name__ == "__main__":
    main()
