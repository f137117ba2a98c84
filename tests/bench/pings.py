#!/usr/bin/env python3
"""How long a post takes from a hub's ping to its consumers (WEBSUB §5, RELIABILITY L14).

tests/bench/pings.py    with a single server, one primary and three primaries, each 0, 1 and 2 ms away: to pub/sub, and
                         to the timeline of a channel

    --pings N     pings of each kind, one after another, each for another feed (300)
    --tiny        as in the tests: a few pings, and 0 ms alone

A worker of 16 partitions, or of an unpartitioned store, feeds in one channel, and a hub without TLS, which has no
secret to sign with: its pings only announce news, and the worker polls the feed. The clock starts when the hub begins
to send. Consumers listen at the servers directly; a process between the servers and the worker delays each direction by
half of that time. Has the requirements of scale.py.
"""
import argparse
import contextlib
import http.client
import http.server
import multiprocessing
import socket
import statistics
import sys
import threading
import time
import urllib.parse
import urllib.request

import scale

hosts, partitions, first = 16, 16, 5  # the first few pings load scripts


class Hub(scale.Site):
    """Serves feeds that name it as their hub, and verifies every subscriber."""

    callbacks, newest = {}, {}  # by topic
    disable_nagle_algorithm = True  # a response is written in two pieces

    def do_GET(self):
        host, topic = self.headers["Host"], f"http://{self.headers['Host']}{self.path}"
        links = {"hub": f"http://127.3.0.99:{host.rpartition(':')[2]}/hub", "self": topic}
        self.answer("".join(f'<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="{rel}" href="{url}"/>'
                            for rel, url in links.items())
                    + f"<item><guid>{Hub.newest.get(topic, 'first')}</guid><title>t</title></item>")

    def do_POST(self):
        asked = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()
        threading.Thread(target=self.verify, args=(asked,)).start()

    @staticmethod
    def verify(asked):
        topic, callback = asked["hub.topic"][0], asked["hub.callback"][0]
        question = {"hub.mode": "subscribe", "hub.topic": topic, "hub.challenge": "c", "hub.lease_seconds": "86400"}
        with urllib.request.urlopen(f"{callback}?{urllib.parse.urlencode(question)}") as answer:
            if answer.read() == b"c":
                Hub.callbacks[topic] = callback


class Receivers:
    """The consumers at the servers: record when an event arrived, and when its post entered the timeline."""

    def __init__(self, deployment):
        self.told, self.timeline, self.both = None, None, threading.Event()
        for node in deployment.nodes:
            node.client.config_set("notify-keyspace-events", "Kz")
            hears = node.client.pubsub(ignore_subscribe_messages=True)
            hears.psubscribe("__keyspace@0__:*zchannel:anna/news:posts")
            if node is deployment.first:  # a cluster forwards published messages to all nodes
                hears.subscribe("post_created")
            threading.Thread(target=self.hear, args=(hears,), daemon=True).start()
        scale.until(lambda: all(node.client.pubsub_numpat() for node in deployment.nodes)
                    and deployment.first.client.pubsub_numsub("post_created")[0][1], 30, "that somebody listens")

    def hear(self, hears):
        with contextlib.suppress(scale.redis.ConnectionError, ValueError, OSError):
            for message in hears.listen():
                if message["type"] == "message":
                    self.told = self.told or time.monotonic()
                else:
                    self.timeline = self.timeline or time.monotonic()
                if self.told and self.timeline:
                    self.both.set()

    def begin(self):
        self.told = self.timeline = None
        self.both.clear()


def carry(source, sink, seconds):
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 18):
            time.sleep(seconds)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def way(listener, port, seconds):
    while True:
        here, there = listener.accept()[0], socket.create_connection(("127.0.0.1", port))
        for source, sink in ((here, there), (there, here)):
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=carry, args=(source, sink, seconds), daemon=True).start()


def away(deployment, ms):
    """Routes the worker's connection to each server through a proxy with a round trip of `ms`."""
    ports = set()
    for node in deployment.nodes if ms else []:
        listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        port = listener.getsockname()[1]
        process = multiprocessing.Process(target=way, args=(listener, node.port, ms / 2000), daemon=True)
        process.start()
        deployment.callback(process.kill)
        if deployment.tags[0]:
            node.client.config_set("cluster-announce-port", port)
            ports.add(port)
        if node is deployment.first:
            url = deployment.first.environment["FEEDMILL_REDIS_URL"]
            deployment.first.environment["FEEDMILL_REDIS_URL"] = url.replace(f":{node.port}", f":{port}")
    for node in deployment.nodes if ports else []:
        scale.until(lambda: {one[2][1] for one in node.client.execute_command("CLUSTER", "SLOTS", keys=[])} == ports, 30,
                    "that all nodes know the way to each")


def ping(topic, guid):
    Hub.newest[topic] = guid
    to = urllib.parse.urlsplit(Hub.callbacks[topic])
    connection = http.client.HTTPConnection(to.hostname, to.port, timeout=30)
    begun = time.monotonic()
    connection.request("POST", to.path, b"", {"Content-Type": "application/rss+xml"})
    status = connection.getresponse().status
    connection.close()
    scale.hold(200 <= status < 300, f"a ping was answered by {status}")
    return begun


def measure(primaries, ms, pings):
    """Milliseconds to pub/sub and to the timeline, for each ping."""
    server = scale.Server()
    server.RequestHandlerClass = Hub
    Hub.callbacks.clear()
    topics = [f"http://127.3.0.{i % hosts + 1}:{server.port}/feed/{i}.rss" for i in range(first + pings)]
    with scale.Deployment(primaries, partitions if primaries else 1) as deployment:
        deployment.callback(server.shutdown)
        port = scale.free_port()
        deployment.first.environment.update(
            FEEDMILL_WEBSUB_LISTEN=f"127.0.0.1:{port}", FEEDMILL_WEBSUB_PUBLIC_URL=f"http://127.0.0.1:{port}",
            FEEDMILL_SCHEDULE_MIN_FLOOR="1s", FEEDMILL_SCHEDULE_FLOOR="1s", FEEDMILL_WEBSUB_ALLOW_HTTP="true", FEEDMILL_WEBSUB_HUB_SPACING="0ms", FEEDMILL_WEBSUB_HUB_CONCURRENCY="64")
        away(deployment, ms)
        deployment.first.verb("add", *topics, "--channel", "anna/news")
        deployment.start()
        scale.until(lambda: len(Hub.callbacks) == len(topics), 120, "that all feeds are subscribed to")
        receivers = Receivers(deployment)
        took = []
        for i, topic in enumerate(topics):
            receivers.begin()
            begun = ping(topic, f"guid {i}")
            if not receivers.both.wait(30):
                sys.exit(f"the post that a ping told of did not come: {topic}")
            if i >= first:
                took.append([(at - begun) * 1000 for at in (receivers.told, receivers.timeline)])
    return list(zip(*took))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pings", type=int, default=300)
    parser.add_argument("--tiny", action="store_true")
    wanted = parser.parse_args()
    scale.tiny = wanted.tiny
    print("| | Redis is away | pub/sub, p50 | p99 | timeline, p50 | p99 |\n|---|---|---|---|---|---|")
    for primaries, what in ((0, "a server"), (1, "a primary"), (3, "3 primaries")):
        for ms in (0,) if wanted.tiny else (0, 1, 2):
            took = measure(primaries, ms, 10 if wanted.tiny else wanted.pings)
            columns = [f"{statistics.quantiles(one, n=100)[at - 1]:.1f}" for one in took for at in (50, 99)]
            print(f"| {what} | {ms} ms | " + " | ".join(columns) + " |", flush=True)
    for what in scale.broken:
        print(f"BROKEN: {what}", file=sys.stderr)
    sys.exit(1 if scale.broken else 0)


if __name__ == "__main__":
    main()
