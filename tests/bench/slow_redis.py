#!/usr/bin/env python3
"""What a Redis that is 2 ms away costs: CPU and time of `run --once`, direct and through a proxy that delays.

tests/bench/slow_redis.py [--feeds N] [--build DIR] [--ms MS] [--rounds N]   needs a release build with
feedmill_sample_publisher, and redis-server. Interleaved rounds; prints medians and their ratios.
"""
import argparse
import asyncio
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import tempfile
import threading
import time


async def carry(reader, writer, delay):
    loop, waiting = asyncio.get_running_loop(), asyncio.Queue()

    async def send():
        while True:
            at, data = await waiting.get()
            if not data:
                writer.close()
                return
            await asyncio.sleep(max(0, at - loop.time()))
            writer.write(data)
            await writer.drain()

    sender = asyncio.create_task(send())
    try:
        while data := await reader.read(1 << 18):
            waiting.put_nowait((loop.time() + delay, data))
    except ConnectionError:
        pass
    waiting.put_nowait((0, b""))
    try:
        await sender
    except ConnectionError:
        pass


def proxy(listen, to, delay):
    async def client(reader, writer):
        there, back = await asyncio.open_connection("127.0.0.1", to)
        await asyncio.gather(carry(reader, back, delay), carry(there, writer, delay))

    async def serve():
        server = await asyncio.start_server(client, "127.0.0.1", listen)
        await server.serve_forever()

    asyncio.run(serve())


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--feeds", type=int, default=2000)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--ms", type=float, default=2.0, help="of a round trip")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    program = os.path.join(options.build, "feedmill")
    near, far, publisher_port = free_port(), free_port(), free_port()
    with tempfile.TemporaryDirectory() as directory:
        urls = pathlib.Path(directory, "urls.txt")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        redis = subprocess.Popen(["redis-server", "--port", str(near), "--save", "", "--dir", directory], **quiet)
        publisher = subprocess.Popen(
            [os.path.join(options.build, "tests/support/feedmill_sample_publisher"), "--port", str(publisher_port),
             "--feeds", str(options.feeds), "--print-urls", str(urls)], stdout=subprocess.PIPE, text=True)
        try:
            publisher.stdout.readline()
            while subprocess.run(["redis-cli", "-p", str(near), "ping"], **quiet).returncode != 0:
                time.sleep(0.05)
            generated = pathlib.Path(directory, "generated.txt")
            generated.write_text("".join(line for line in urls.open() if "/gen/" in line))
            threading.Thread(target=proxy, args=(far, near, options.ms / 2000), daemon=True).start()
            environment = dict(os.environ, FEEDMILL_EGRESS_ALLOW="127.0.0.0/8:1024-65535", FEEDMILL_HOST_SPACING="0ms",
                               FEEDMILL_HOST_CONCURRENCY="1000", FEEDMILL_SCHEDULE_IMPORT_RATE="0", FEEDMILL_ADMIN_LISTEN="off",
                               FEEDMILL_FETCH_CONTACT="https://example.org/")

            def feedmill(port, *arguments):
                before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
                subprocess.run([program, *arguments, "--redis", f"redis://127.0.0.1:{port}"], env=environment, check=True,
                               **quiet)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                return cpu, time.monotonic() - begun

            times = {}
            for _ in range(options.rounds):
                for name, port in (("direct", near), ("delayed", far)):
                    subprocess.run(["redis-cli", "-p", str(near), "flushall"], check=True, **quiet)
                    feedmill(near, "import", str(generated))
                    times.setdefault(("first fetch", name), []).append(feedmill(port, "run", "--once"))
                    feedmill(near, "refresh", "--all", "--defer", "--ignore-floor")
                    times.setdefault(("unchanged", name), []).append(feedmill(port, "run", "--once"))
            for what in ("first fetch", "unchanged"):
                row = {name: [statistics.median(column) for column in zip(*times[what, name])]
                       for name in ("direct", "delayed")}
                for name, (cpu, took) in row.items():
                    print(f"{what:12} {name:8} CPU {cpu * 1e6 / options.feeds:6.0f} us a feed "
                          f"{options.feeds / took:7.0f} feeds/s")
                print(f"{what:12} delayed / direct: CPU {row['delayed'][0] / row['direct'][0]:.2f}, "
                      f"rate {row['direct'][1] / row['delayed'][1]:.2f}")
        finally:
            publisher.terminate()
            redis.terminate()
            publisher.wait()
            redis.wait()


if __name__ == "__main__":
    main()
