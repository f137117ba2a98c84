#!/usr/bin/env python3
"""What feeds and posts take of Redis' memory (PERFORMANCE F8): every byte by kind of key and by field of a post, for
generated documents and for those of the real web, with hashes as listpacks and as Redis stores them by default, beside
the bare contract (a post's usual fields and the feed's indexes, nothing else), and what follows for a million feeds.
Checks that `feedmill plan` says the same.

    tests/bench/memory.py [--feeds 300] [--documents DIR] [--build build/release]
    tests/bench/memory.py --check FEEDMILL     a few feeds: fails if a post takes 2 % more than memory.json says
    tests/bench/memory.py --update FEEDMILL    writes memory.json

Needs a build and redis-server. Without --documents the real documents are left out, unless ../shared/corpus has them.
"""

import argparse
import http.server
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASELINE = pathlib.Path(__file__).with_name("memory.json")
REAL = ROOT.parent / "shared/corpus/real"
LISTPACK = ["--hash-max-listpack-value", "65536", "--hash-max-listpack-entries", "128"]
BARE = ("feed_url", "guid", "timestamp", "title", "link", "content", "summary", "author", "date_published")
KINDS = (("Entry:", "posts"), (":sort", "index: sort"), (":guidmap", "index: guidmap"),
         ("state:items:", "index: digests and items"), ("state:feed:", "state of feeds"), ("Feed:", "Feed hashes"),
         ("stream:signals", "event stream"))


class Redis:
    """One connection; commands in pipelines."""

    def __init__(self, path):
        for _ in range(3000):
            self.socket = socket.socket(socket.AF_UNIX)
            try:
                self.socket.connect(path)
                break
            except OSError:
                time.sleep(0.01)
        self.file = self.socket.makefile("rb")

    def all(self, commands):
        replies = []
        for i in range(0, len(commands), 500):
            some = commands[i:i + 500]
            encoded = [[word if isinstance(word, bytes) else str(word).encode() for word in words] for words in some]
            self.socket.sendall(b"".join(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
                                         for words in encoded))
            replies += [self.reply() for _ in some]
        return replies

    def __call__(self, *words):
        return self.all([words])[0]

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest
        if int(rest) < 0:
            return None
        return self.file.read(int(rest) + 2)[:-2] if kind == b"$" else [self.reply() for _ in range(int(rest))]

    def used(self):
        return int(self("INFO", "memory").split(b"used_memory:")[1].split()[0])


def generated_items(number, posts):
    """Short posts with one text, as most blogs have; the same for the same number."""
    some = random.Random(number)
    words = ["".join(some.choice("abcdefghijklmnoprstuvw") for _ in range(some.randint(2, 11))) for _ in range(400)]
    items = []
    for i in range(posts):
        text = "".join(f"<p>{' '.join(some.choices(words, k=some.randint(20, 60)))}</p>" for _ in range(some.randint(1, 6)))
        address = f"https://blog{number}.example/{some.randint(2019, 2026)}/{'-'.join(some.choices(words, k=4))}"
        items.append(f"<item><title>{' '.join(some.choices(words, k=7))}</title><link>{address}</link>"
                     f"<guid>{address}</guid><author>a@b.example (Ann Other)</author><category>{some.choice(words)}</category>"
                     f"<pubDate>{some.randint(1, 28):02} Nov 2026 10:{i % 60:02}:00 GMT</pubDate>"
                     f"<description><![CDATA[{text}]]></description></item>")
    return items


def document(number, items):
    return (f"<rss version='2.0'><channel><title>Blog {number}</title><link>https://blog{number}.example/</link>"
            f"<description>One of many</description>{''.join(items)}</channel></rss>").encode()


def generated(number, posts):
    return document(number, generated_items(number, posts))


class Publisher(http.server.ThreadingHTTPServer):
    request_queue_size = 1000

    def __init__(self, documents, validators=False):
        """`documents` by path and, with `validators`, their entity tags; both may change while it runs."""
        self.validators = validators
        publisher = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = documents[self.path]
                tag = f'"{zlib.crc32(body)}"'
                if publisher.validators and self.headers["If-None-Match"] == tag:
                    self.send_response(304)
                    self.send_header("ETag", tag)
                    self.end_headers()
                    return
                self.send_response(200)
                if publisher.validators:
                    self.send_header("ETag", tag)
                self.send_header("Content-Type", "application/json" if self.path.endswith(".json") else "application/xml")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Server:
    """A Redis of this run's own; `under`: the command that runs it, as valgrind does."""

    def __init__(self, directory, arguments, under=()):
        self.path = f"{directory}/{len(arguments)}.sock"
        self.process = subprocess.Popen([*under, "redis-server", "--port", "0", "--unixsocket", self.path, "--save", "",
                                         "--dir", directory, *arguments], stdout=subprocess.DEVNULL)
        self.redis = Redis(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def measure(feedmill, documents, arguments):
    """Bytes a post by kind and field, and of the whole store, after all documents were stored."""
    with tempfile.TemporaryDirectory() as directory, Server(directory, arguments) as server:
        publisher = Publisher(documents)
        urls = pathlib.Path(directory, "urls")
        urls.write_text("".join(f"http://h{i}.localhost:{publisher.server_port}{path}\n" for i, path in enumerate(documents)))
        environment = {**os.environ, "FEEDMILL_REDIS_URL": f"unix://{server.path}", "HOME": directory,
                       "FEEDMILL_EGRESS_ALLOW": "127.0.0.0/8:1024-65535", "FEEDMILL_SCHEDULE_IMPORT_RATE": "0",
                       "FEEDMILL_HOST_SPACING": "0ms", "FEEDMILL_ADMIN_LISTEN": "off", "FEEDMILL_WORKER_DELIVER": "false"}

        def call(*words):
            return subprocess.run([feedmill, *words], env=environment, check=False, capture_output=True, text=True)

        call("import", str(urls))
        call("run", "--once")
        plan = json.loads(call("plan", "--json").stdout.splitlines()[-1])["needs"]["redis_bytes"]
        publisher.shutdown()
        redis = server.redis
        cursor, keys = b"0", []
        while True:
            cursor, page = redis("SCAN", cursor, "COUNT", 1000)
            keys += page
            if cursor == b"0":
                break
        sizes = redis.all([("MEMORY", "USAGE", key, "SAMPLES", 0) for key in keys])
        entries = [key for key in keys if key.startswith(b"Entry:")]
        kinds, fields = {}, {}
        for key, size in zip(keys, sizes):
            text = key.decode(errors="replace")
            kind = next((name for mark, name in KINDS if text.startswith(mark) or text.endswith(mark)), "others")
            kinds[kind] = kinds.get(kind, 0) + size
        hashes = redis.all([("HGETALL", key) for key in entries])
        for reply in hashes:
            for name, value in zip(reply[::2], reply[1::2]):
                fields[name.decode()] = fields.get(name.decode(), 0) + len(value)
        feeds = redis("SCARD", "feeds")
        used = redis.used()
        return {"feeds": feeds, "posts": len(entries), "used": used, "plan": plan,
                "stored": used - kinds.get("event stream", 0) - startup(redis),
                "kinds": kinds, "fields": fields, "bare": bare(directory, hashes, arguments)}


def startup(redis):
    """Memory of a server without data, with its scripts and clients."""
    info = redis("INFO", "memory").decode()
    named = dict(line.split(":", 1) for line in info.split("\r\n") if ":" in line)
    return sum(int(named.get(name, 0)) for name in ("used_memory_startup", "used_memory_scripts", "mem_clients_normal"))


def bare(directory, hashes, arguments):
    """Bytes that the bare contract takes for the same posts."""
    with Server(directory, [*arguments, "--loglevel", "warning"]) as server:
        redis, commands = server.redis, []
        before = redis.used()
        for i, reply in enumerate(hashes):
            fields = dict(zip(reply[::2], reply[1::2]))
            kept = [word for name in BARE if name.encode() in fields for word in (name, fields[name.encode()])]
            feed = fields[b"feed_url"]
            commands += [("HSET", f"Entry:{i}", *kept), ("ZADD", feed + b":sort", fields[b"timestamp"], f"Entry:{i}"),
                         ("HSET", feed + b":guidmap", fields[b"guid"], i)]
        redis.all(commands)
        return redis.used() - before


def told(name, loose, packed):
    posts, feeds = packed["posts"], packed["feeds"]
    print(f"{name}: {feeds} feeds, {posts} posts, {sum(packed['fields'].values()) / posts:,.0f} bytes of values a post")
    print(f"  {'bytes a post':28}{'default':>10}{'listpack':>10}")
    for kind in sorted(packed["kinds"], key=packed["kinds"].get, reverse=True):
        print(f"  {kind:28}{loose['kinds'].get(kind, 0) / loose['posts']:10,.1f}{packed['kinds'][kind] / posts:10,.1f}")
    for label, key in (("all but stream and server", "stored"), ("bare contract", "bare")):
        print(f"  {label:28}{loose[key] / loose['posts']:10,.0f}{packed[key] / posts:10,.0f}")
    for side, found in (("default", loose), ("listpack", packed)):
        off = found["plan"] / found["used"] - 1
        print(f"  plan, {side}: {found['plan']:,} bytes, {100 * off:+.1f} % of used_memory")
        if abs(off) > 0.1:
            sys.exit(f"{name}: plan is more than 10 % off")
    largest = sorted(packed["fields"], key=packed["fields"].get, reverse=True)
    print("  fields: " + ", ".join(f"{field} {packed['fields'][field] / posts:.0f}" for field in largest[:24]))
    million = {side: 1e6 * 50 * found["stored"] / found["posts"] / 1e9 for side, found in (("default", loose), ("listpack", packed))}
    print(f"  a million feeds of 50 such posts: {million['default']:.0f} GB, {million['listpack']:.0f} GB with listpacks")


def small(feedmill):
    """A post's bytes in a few generated feeds, by kind; independent of the machine."""
    found = measure(feedmill, {f"/{i}.xml": generated(i, 20) for i in range(10)}, LISTPACK)
    loose = measure(feedmill, {f"/{i}.xml": generated(i, 20) for i in range(10)}, [])
    for one in (found, loose):
        if abs(one["plan"] / one["used"] - 1) > 0.1:
            sys.exit(f"plan says {one['plan']} bytes, the store takes {one['used']}")
    kinds = ("posts", "index: sort", "index: guidmap", "index: digests and items", "state of feeds", "Feed hashes")
    return {kind: round(found["kinds"].get(kind, 0) / found["posts"], 1) for kind in kinds}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--feeds", type=int, default=300)
    options.add_argument("--documents", type=pathlib.Path, default=REAL if REAL.is_dir() else None)
    options.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options.add_argument("--check", type=pathlib.Path)
    options.add_argument("--update", type=pathlib.Path)
    given = options.parse_args()
    if shutil.which("redis-server") is None:
        print("skipped: redis-server is not installed")
        return 77
    if given.update:
        BASELINE.write_text(json.dumps(small(given.update), indent=1) + "\n")
        return 0
    if given.check:
        before, now = json.loads(BASELINE.read_text()), small(given.check)
        print(json.dumps(now, indent=1))
        more = [f"{kind}: {now[kind]} bytes a post, {before[kind]} before" for kind in now if now[kind] > 1.02 * before[kind] + 1]
        print("\n".join(more))
        return 1 if more else 0
    mixes = {"generated": {f"/{i}.xml": generated(i, 29) for i in range(given.feeds)}}
    if given.documents:
        files = sorted(file for file in given.documents.iterdir() if file.suffix in (".xml", ".json", ".rss", ".atom", ".rdf"))
        mixes["real"] = {f"/{file.name}": file.read_bytes() for file in files}
        mixes["mixed"] = {**dict(list(mixes["generated"].items())[:len(files)]), **mixes["real"]}
    for name, documents in mixes.items():
        told(name, *(measure(given.build / "feedmill", documents, arguments) for arguments in ([], LISTPACK)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
