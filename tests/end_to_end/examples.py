#!/usr/bin/env python3
"""Runs deploy/examples against a real Redis: each example is killed while it works, and so is Redis; nothing is lost or
handled twice.

    examples.py DIRECTORY_OF_EXAMPLES     exit 77: no Redis client for Python, Node or Go is installed
"""
import atexit
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

TYPES = ["post_created", "post_modified", "post_trimmed"]
TITLES = ["title", "<img src=x onerror=alert(1)>", "'); DROP TABLE posts; --", "%s %d {} $1 `id`", '"\\" \\u0000',
          "\u202e\U0001f980 e\u0301", "-n --help"]


def wait_for(done):
    until = time.monotonic() + 180
    while not done():
        if time.monotonic() > until:
            sys.exit("it did not come to its end")
        time.sleep(0.02)  # poll interval


class Server:
    def __init__(self, directory):
        self.directory = directory
        self.socket = os.path.join(directory, "redis.sock")
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.number = 0
        self.start()
        atexit.register(self.kill)

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.socket, "--dir",
             self.directory, "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--logfile",
             os.path.join(self.directory, "log")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for(lambda: self.cli("PING") == "PONG")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def cli(self, *words):
        done = subprocess.run(["redis-cli", "--raw", "-s", self.socket, *words], capture_output=True, text=True)
        return done.stdout.strip()

    def write(self, count):
        """Writes `count` signals like those of feedmill's commits: posts are created, modified and trimmed."""
        for _ in range(count):
            self.number += 1
            post = (self.number - 1) // 3 if self.number % 6 else self.number // 3 - 1
            kind = TYPES[(self.number - 1) % 3] if self.number % 6 else "post_modified"
            seq = f"{1000 + self.number}-1"
            record = {"v": 1, "seq": seq, "prev": f"{999 + self.number}-1", "type": kind, "entity_type": "post",
                      "entity_id": f"Entry:{post}", "feed_url": "https://example.org/", "guid": str(post),
                      "data": {"title": f"{TITLES[self.number % len(TITLES)]} {self.number}", "timestamp": self.number}}
            self.cli("XADD", "stream:signals", seq, "type", kind, "json", json.dumps(record))

    def expected(self):
        posts = {}
        lines = self.cli("XRANGE", "stream:signals", "-", "+").splitlines()
        for line in lines:
            if not line.startswith("{"):
                continue
            record = json.loads(line)
            if record["type"] == "post_trimmed":
                posts.pop(record["entity_id"], None)
            else:
                posts[record["entity_id"]] = record["data"]["title"]
        return posts


def run(server, command, group, seen):
    """Kills the program while it works, then Redis, and lets it finish; `seen` returns how many events it has
    handled."""
    def start():
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env={**os.environ, "NODE_PATH": "/usr/share/nodejs"})
    for _ in range(3):
        server.write(60)
        example, before = start(), seen()
        wait_for(lambda: seen() > before)
        example.send_signal(signal.SIGKILL)
        example.wait()
    example = start()
    server.write(30)
    server.kill()
    server.start()
    server.write(30)
    wait_for(lambda: seen() == server.number and server.cli("XPENDING", "stream:signals", group).split("\n")[0] == "0")
    example.kill()
    example.wait()


def python_example(examples, directory):
    server, path = Server(directory), os.path.join(directory, "posts.db")
    table = sqlite3.connect(path, timeout=30)

    def count():
        try:
            return table.execute("SELECT count(*) FROM done").fetchone()[0]
        except sqlite3.OperationalError:
            return 0
    run(server, ["/usr/bin/python3", os.path.join(examples, "consumer.py"), server.url, path], "example",
        count)
    posts = dict(table.execute("SELECT id, title FROM posts"))
    assert posts == server.expected(), (posts, server.expected())
    server.kill()


def hash_example(command, group, directory):
    """Tests an example that keeps a hash next to the stream and counts how often it handled each signal."""
    server = Server(directory)
    run(server, [*command, server.url, "myapp:posts"], group, lambda: int(server.cli("HLEN", "myapp:posts:seen") or 0))
    words = server.cli("HGETALL", "myapp:posts").split("\n")
    assert dict(zip(words[::2], words[1::2])) == server.expected()
    assert set(server.cli("HVALS", "myapp:posts:seen").split("\n")) == {"1"}, "something was done twice"
    server.kill()


def node_example(examples, directory):
    hash_example(["node", os.path.join(examples, "consumer.js")], "example-node", directory)


def go_example(examples, directory):
    program = os.path.join(directory, "consumer")
    subprocess.run(["go", "build", "-o", program, os.path.join(examples, "consumer.go")], check=True,
                   env={**GO, "GOCACHE": os.path.join(directory, "cache")})
    hash_example([program], "example-go", directory)


GO = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode"}  # where Debian puts libraries


def has(command):
    try:
        return subprocess.run(command, capture_output=True,
                              env={**GO, "NODE_PATH": "/usr/share/nodejs"}).returncode == 0
    except FileNotFoundError:
        return False


def say_how_they_are_used(examples):
    """Each example says how it is started, also when it is given something else than the URL of a Redis."""
    for example in sorted(pathlib.Path(examples).iterdir()):
        runner = {".py": "/usr/bin/python3", ".js": "node"}.get(example.suffix)
        if example.suffix == ".go":
            assert '"usage: ' in example.read_text(), example
        if runner and has([runner, "--version"]):
            for words in [[], ["/run/redis.sock", "x"]] if example.name in ("consumer.js", "backend.js") else [[]]:
                done = subprocess.run([runner, example, *words], stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True, timeout=60, env={"PATH": "/usr/bin:/bin",
                                                                  "NODE_PATH": "/usr/share/nodejs"})
                assert done.returncode == 1 and done.stderr.startswith("usage: "), (example, done)


def main():
    ran = 0
    if has(["/usr/bin/python3", "-c", "import psycopg2, redis"]) and has(["sh", "-c", "node -e \"require('redis')\""]):
        say_how_they_are_used(sys.argv[1])
    for name, probe, example in [("python", ["/usr/bin/python3", "-c", "import redis"], python_example),
                                 ("node", ["sh", "-c", "node -e \"require('redis')\""], node_example),
                                 ("go", ["go", "list", "github.com/gomodule/redigo/redis"], go_example)]:
        if not has(probe):
            print(name, "skipped: its redis client is not installed")
            continue
        with tempfile.TemporaryDirectory(prefix="feedmill-") as directory:
            example(sys.argv[1], directory)
        print(name, "ok")
        ran += 1
    sys.exit(0 if ran else 77)


if __name__ == "__main__":
    main()
