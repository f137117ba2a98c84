#!/usr/bin/python3
"""Runs the recipes of deploy/examples against a real worker while each recipe, the worker, Redis and PostgreSQL are
killed: every request is executed and answered once, nothing is lost, nothing is duplicated.

    recipes.py PROGRAM DIRECTORY_OF_EXAMPLES [NAME…]     exit 77: no recipe has its Debian packages installed

The recipes do without the feedmill binary: they use Redis as the published user feedmill_app or feedmill_reader.
"""
import collections
import hashlib
import html.parser
import http.client
import http.server
import json
import os
import pathlib
import pwd
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "characterisation"))
from examples import GO, has  # noqa: E402
from world import end_with_us  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
FULL = "FULL_TESTS" in os.environ
PATIENCE = 90  # seconds; other tests run at the same time
RIGHTS = "~myapp:* +set +hset +hdel"  # rights that an operator adds for the application's own keys


def wait_for(what, done):
    until, found = time.monotonic() + PATIENCE, None
    while not (found := done()):
        if time.monotonic() > until:
            raise TimeoutError("waited in vain for " + what)
        time.sleep(0.02)  # poll interval
    return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Part:
    """A process that is killed and restarted."""

    def __init__(self, name, command, directory, **environment):
        self.name, self.command, self.environment = name, command, environment
        self.log = open(os.path.join(directory, name + ".log"), "ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=end_with_us,
            env={"PATH": "/usr/bin:/bin", "NODE_PATH": "/usr/share/nodejs", "HOME": "/", **self.environment})

    def kill(self):
        self.process.kill()
        self.process.wait()


class Redis(Part):
    def __init__(self, directory):
        self.port = free_port()
        with open(os.path.join(directory, "users.acl"), "w") as users:
            for line in (ROOT / "deploy/redis/users.acl").read_text().splitlines():
                name = line.split()[1]
                password = "resetpass" if name == "default" else "#" + hashlib.sha256(name.encode()).hexdigest()
                more = f" {RIGHTS}\n" if name == "feedmill_app" else "\n"
                users.write(line.replace("resetpass", password, 1) + more)
            users.write("user admin on nopass ~* &* +@all\n")
        super().__init__("redis", [
            "redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", directory, "--aclfile",
            os.path.join(directory, "users.acl"), "--appendonly", "yes", "--appendfsync", "always", "--save", ""],
            directory)

    def start(self):
        super().start()
        wait_for("Redis", lambda: self.call("PING") == ["PONG"])

    def url(self, user):
        return f"redis://{user}:{user}@127.0.0.1:{self.port}/0"

    def call(self, *words):
        """The lines of the reply."""
        done = subprocess.run(["redis-cli", "--raw", "--user", "admin", "--pass", "-", "--no-auth-warning", "-p",
                               str(self.port), *map(str, words)], capture_output=True, text=True)
        return done.stdout.splitlines()

    def hash_of(self, key):
        words = self.call("HGETALL", key)
        return dict(zip(words[::2], words[1::2]))

    def events(self):
        return [json.loads(line) for line in self.call("XRANGE", "stream:signals", "-", "+") if line.startswith("{")]


class Worker(Part):
    def __init__(self, program, redis, directory):
        self.redis = redis
        super().__init__("worker", [program, "run"], directory, FEEDMILL_REDIS_URL=redis.url("feedmill"),
                         FEEDMILL_EGRESS_ALLOW="127.0.0.0/8:1024-65535", FEEDMILL_ADMIN_LISTEN="off",
                         FEEDMILL_HOST_SPACING="0ms", FEEDMILL_HOST_CONCURRENCY="64", FEEDMILL_SCHEDULE_POLL="50ms",
                         FEEDMILL_SCHEDULE_LEASE="6s", FEEDMILL_FETCH_WALL="4s", FEEDMILL_SCHEDULE_MANUAL_FLOOR="1s",
                         FEEDMILL_MEMORY_BUDGET="512MiB")

    def kill(self):
        super().kill()
        self.redis.call("DEL", "lock:requests", "lock:delivery:000")  # the killed worker's locks would outlast it


class Postgres(Part):
    """A separate PostgreSQL cluster on a Unix socket; never run as root, which PostgreSQL refuses."""

    def __init__(self, directory):
        self.directory = os.path.join(directory, "postgres")
        os.mkdir(self.directory)
        os.chmod(directory, 0o711)
        self.as_whom = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.directory, user.pw_uid, user.pw_gid)
            self.as_whom = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
                            "--pdeathsig=KILL", "--"]
        programs = self.programs()
        subprocess.run([*self.as_whom, os.path.join(programs, "initdb"), "-D", self.directory + "/data", "-U", "myapp",
                        "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"], check=True, stdout=subprocess.DEVNULL,
                       cwd="/")
        self.url = f"host={self.directory} user=myapp dbname=postgres"
        super().__init__("postgres", [*self.as_whom, os.path.join(programs, "postgres"), "-D", self.directory + "/data",
                                      "-k", self.directory, "-c", "listen_addresses="], directory)

    @staticmethod
    def programs():
        """The directory of PostgreSQL's programs, which Debian keeps out of PATH; None if it is not installed."""
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        return str(found[-1].parent) if found else None

    def start(self):
        def answers():
            if self.process.poll() is not None:  # it exits while processes of its predecessor run
                Part.start(self)
            try:
                self.rows("SELECT 1")
                return True
            except self.errors():
                return False
        super().start()
        wait_for("PostgreSQL", answers)

    @staticmethod
    def errors():
        import psycopg2
        return psycopg2.Error

    def rows(self, *statements):
        """Executes the statements in one transaction; returns the rows of the last one."""
        import psycopg2
        connection = psycopg2.connect(self.url)
        try:
            with connection, connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(*statement) if isinstance(statement, tuple) else cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()


HOSTILE = ["<img src=x onerror=alert(1)>", "</textarea><script>alert(1)</script>", "'); DROP TABLE posts; --",
           "\" onmouseover=alert(1) x='", "%s {} $1 `id` \\u0000", "\u202e&lt;b&gt;\U0001f980"]
MARKUP = "<p>text<script>alert(1)</script><a href='javascript:alert(1)' onclick='alert(1)'>link</a></p>"


def hostile_feed(kind):
    """A JSON Feed with titles, texts and names that look like markup; of the kind "raw" its HTML is stored as it is."""
    items = [{"id": f"{title} {kind}", "title": title, "authors": [{"name": title}],
              "url": f"https://example.org/{number}?\"><script>alert(1)</script>",
              "date_published": f"2026-11-02T08:0{number}:00Z",
              **({"content_text": title} if number % 2 else {"content_html": MARKUP + title})}
             for number, title in enumerate(HOSTILE)]
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": HOSTILE[0], "description": HOSTILE[1],
                       "items": items})


class Harmless(html.parser.HTMLParser):
    """Fails on markup that could run, and collects the text."""

    def __init__(self):
        super().__init__()
        self.text, self.tags = "", []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        assert tag not in ("script", "style", "iframe", "svg", "object", "embed", "form", "base"), self.rawdata
        for name, value in attributes:
            assert not name.startswith("on") and not (value or "").lower().startswith("javascript:"), self.rawdata

    def handle_data(self, data):
        self.text += data


def text_of(markup, plain=False):
    """The text of HTML that a page may contain. `plain`: it has no element at all."""
    parser = Harmless()
    parser.feed(markup or "")
    parser.close()
    assert not plain or not parser.tags, markup
    return parser.text


class Publisher:
    """Serves feeds of two posts each at /N.xml, the documents that a test puts in `documents`, and hostile_feed()."""

    def __init__(self):
        self.documents = {"hostile": hostile_feed("clean"), "raw": hostile_feed("raw"), "typo": None}
        documents = self.documents

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                number = self.path[1:].removesuffix(".xml")
                if documents.get(number, "") is None:
                    return self.send_error(404)
                if number in documents:
                    return self.answer(documents[number].encode(), "application/feed+json")
                items = "".join(f"<item><guid isPermaLink='false'>{post}</guid><title>{number} {post}</title>"
                                f"<link>https://example.org/{number}/{post}</link>"
                                f"<pubDate>Mon, 02 Nov 2026 08:0{post}:00 GMT</pubDate></item>" for post in (1, 2))
                self.answer(f"<rss version='2.0'><channel><title>Feed {number}</title>{items}</channel></rss>".encode(),
                            "application/rss+xml")

            def answer(self, body, kind):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, number):
        return f"http://127.0.0.1:{self.server.server_port}/{number}.xml"


class World:
    def __init__(self, program, directory):
        self.directory = directory
        self.publisher = Publisher()
        self.redis = Redis(directory)
        self.parts = [self.redis]
        self.add(Worker(program, self.redis, directory))

    def add(self, part):
        self.parts.append(part)
        return part

    def ask(self, op, **fields):
        """Requests something of feedmill; repeats it until Redis has it."""
        words = [str(word) for pair in fields.items() for word in pair]
        ref = f"{random.getrandbits(64):x}"
        wait_for("Redis to take a request", lambda: self.redis.call(
            "XADD", "stream:requests", "*", "op", op, *words, "app", "test", "ref", ref))

    def refresh_until(self, what, url, done):
        """Asks for refreshes, which may come too early after the last one, or to a worker that is killed."""
        asked = 0

        def refreshed():
            nonlocal asked
            if time.monotonic() - asked > 1.5:
                self.ask("refresh", url=url)
                asked = time.monotonic()
            return done()
        wait_for(what, refreshed)

    def close(self):
        for part in self.parts:
            part.kill()

    def print_logs(self):
        for log in sorted(pathlib.Path(self.directory).glob("*.log")):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}")

    def among_kills(self, steps, kills):
        """Runs `steps` one after another while killing the parts in turn, `kills` times in all; recipes come up twice
        as often as Redis and the worker."""
        gone, failed, victims = [], [], self.parts + self.parts[2:]

        def go():
            try:
                for step in steps:
                    step()
                    gone.append(step)
            except BaseException as error:  # raised in the main thread
                failed.append(error)
        walker = threading.Thread(target=go, daemon=True)
        walker.start()
        for kill in range(kills):
            at = len(steps) * kill // kills + random.randrange(max(1, len(steps) // kills))
            while len(gone) < min(at, len(steps)) and not failed:  # each step waits with a limit of its own
                time.sleep(0.02)
            victim = victims[kill % len(victims)]
            victim.kill()
            victim.start()
        walker.join()
        if failed:
            raise failed[0]

    def check(self):
        """Checks what every recipe must achieve: each request was answered once, and no post was created twice."""
        wait_for("the last answer", lambda: self.redis.call("XLEN", "stream:requests") == ["0"])
        done, posts = collections.Counter(), collections.Counter()
        for event in self.redis.events():
            if event["entity_type"] == "request" and not event.get("repeated"):
                done[event["app"], event["ref"]] += 1
            if event["type"] == "post_created":
                posts[event["feed_url"], event["guid"]] += 1
        assert done and set(done.values()) == {1}, [ref for ref, times in done.items() if times != 1]
        assert posts and set(posts.values()) == {1}, [post for post, times in posts.items() if times != 1]
        assert self.redis.call("HLEN", "state:requests") == ["0"]
        return done


def backend(command):
    """Tests a web backend: 4 users subscribe to 5 feeds each, read them, and leave some of them."""
    def run(world):
        port = free_port()
        world.add(Part("backend", [*command, world.redis.url("feedmill_app"), str(port)], world.directory))
        users, feeds = ["anna", "bert", "carla", "dora"], [world.publisher.url(number) for number in range(5)]

        def call(method, user, url=""):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                connection.request(method, f"/{user}" + (f"?url={url}" if url else ""))
                answer = connection.getresponse()
                return json.load(answer) if answer.status in (200, 202) else None
            except (OSError, http.client.HTTPException):  # the backend was killed
                return None
            finally:
                connection.close()

        def step(method, user, url):  # retries, as a user would who sees an error
            return lambda: wait_for(f"{method} {url}", lambda: call(method, user, url) is not None)

        def shows(user, states, posts):
            page = call("GET", user)
            return page and page["feeds"] == states and collections.Counter(
                text_of(post["title_html"], plain=True) for post in page["posts"]) == collections.Counter(posts)

        bad, typo, hostile = "ftp://example.org/", world.publisher.url("typo"), world.publisher.url("hostile")
        as_typed = {feeds[4]: feeds[4].replace("http:", "HTTP:") + "#news"}  # another spelling of the same address
        world.among_kills([step("PUT", user, as_typed.get(url, url)) for url in [*feeds, bad, typo, hostile]
                           for user in users], 20 if FULL else 8)
        subscribed = dict.fromkeys([*feeds, hostile], "subscribed")
        states = {**subscribed, bad: "refused: bad_value", typo: "never read, is the address right? (status.not_found)"}
        titles = [f"{number} {post}" for number in range(5) for post in (1, 2)] + HOSTILE
        for user in users:
            wait_for("the posts of " + user, lambda: shows(user, states, titles))
        world.publisher.documents["typo"] = json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": []})
        states[typo] = "subscribed"
        world.refresh_until("the feed that can be read again", typo,
                            lambda: all(shows(user, states, titles) for user in users))
        gone = [*feeds[:2], feeds[4], bad]
        world.among_kills([step("DELETE", user, as_typed.get(url, url)) for url in gone for user in users],
                          12 if FULL else 4)
        states, titles = {url: state for url, state in states.items() if url not in gone}, titles[4:8] + titles[10:]
        for user in users:
            wait_for("the posts that are left to " + user, lambda: shows(user, states, titles))
        answered = world.check()
        assert len(answered) >= len(users) * 10
        assert world.redis.call("HLEN", "myapp:asked") == ["0"]
    return run


def postgres(examples):
    """Tests at once an outbox of requests, a mirror of all posts, and their full text written back."""
    def run(world):
        database = world.add(Postgres(world.directory))
        python = "/usr/bin/python3"
        texts = os.path.join(world.directory, "texts")
        pathlib.Path(texts).write_text("#!/bin/sh\necho \"<p>All of $1</p><script>alert(1)</script>\"\n")
        os.chmod(texts, 0o755)
        for name, user, more in [("outbox", "feedmill_app", [database.url]),
                                 ("mirror", "feedmill_reader", [database.url]),
                                 ("fulltext", "feedmill_app", [texts])]:
            world.add(Part(name, [python, os.path.join(examples, name + ".py"), world.redis.url(user), *more],
                           world.directory))
        wait_for("the tables", lambda: database.rows("SELECT to_regclass('outbox'), to_regclass('posts_seen')")[0] ==
                 ("outbox", "posts_seen"))
        database.rows("CREATE TABLE mine (number integer PRIMARY KEY)")
        known = set()

        def step(number, **fields):
            def go():
                try:  # its own row and the request; retried when the commit's outcome is unknown
                    database.rows(("WITH new AS (INSERT INTO mine VALUES (%s) ON CONFLICT DO NOTHING RETURNING 1) "
                                   "INSERT INTO outbox (fields) SELECT %s FROM new", (number, json.dumps(fields))))
                    return True
                except database.errors():
                    return False
            return lambda: wait_for("a commit", go)

        feeds = [world.publisher.url(number) for number in range(41 if FULL else 16)]  # no multiple of 5: each is added
        steps, expected = [], []
        for number in range(1000 if FULL else 150):
            url, user = feeds[number % len(feeds)], f"user{number // len(feeds)}/news"
            if number % 5 == 4:
                expected.append("no_such_feed")
                steps.append(step(number, op="pause", url=f"https://example.org/{number}"))
            else:
                expected.append("present" if url in known else "added")
                known.add(url)
                steps.append(step(number, op="add", url=url, channel=user))
        world.among_kills(steps, 100 if FULL else 20)
        outcomes = "SELECT coalesce(outcome->>'result', outcome->>'reason') FROM outbox ORDER BY id"
        wait_for("an outcome of every row", lambda: (None,) not in database.rows(outcomes))
        assert [outcome for outcome, in database.rows(outcomes)] == expected, database.rows(outcomes)

        def stored():
            posts = {}
            for url in feeds:
                for entry in filter(None, world.redis.call("ZRANGE", url + ":sort", 0, -1)):
                    post = world.redis.hash_of(entry)
                    posts[entry] = (post.get("title"), post.get("content"), int(post.get("rev", 0)))
            return posts

        def mirrored():
            return {row[0]: row[1:] for row in database.rows("SELECT id, title_html, html, rev FROM posts")}

        wait_for("the posts with their texts", lambda: len(posts := stored()) == 2 * len(feeds) and
                 all(text for _, text, _ in posts.values()))
        wait_for("the mirror", lambda: mirrored() == stored())
        for title, text, rev in stored().values():
            number, post = title.split()
            assert (text, rev) == (f"<p>All of https://example.org/{number}/{post}</p>", 2), "written once"
        gone = feeds[:5]
        world.among_kills([step(len(steps) + number, op="remove", url=url) for number, url in enumerate(gone)], 6)
        # A feed is gone from the mirror with its event, from the store some steps later.
        wait_for("what is forgotten", lambda: len(left := mirrored()) == 2 * (len(feeds) - len(gone)) and left == stored())
        world.check()
    return run


def main(program, examples, *names):
    ran = 0
    with tempfile.TemporaryDirectory(prefix="feedmill-") as built:
        def go():
            subprocess.run(["go", "build", "-o", built + "/backend", os.path.join(examples, "backend.go")], check=True,
                           env={**GO, "GOCACHE": built + "/cache"})
            return backend([built + "/backend"])
        redis = ["/usr/bin/python3", "-c", "import redis"]
        for name, probes, recipe in [
                ("python", [redis], lambda: backend(["/usr/bin/python3", os.path.join(examples, "backend.py")])),
                ("node", [["sh", "-c", "node -e \"require('redis')\""]],
                 lambda: backend(["node", os.path.join(examples, "backend.js")])),
                ("go", [["go", "list", "github.com/gomodule/redigo/redis"]], go),
                ("postgres", [redis, ["/usr/bin/python3", "-c", "import psycopg2"],
                              ["test", "-n", Postgres.programs() or ""]], lambda: postgres(examples))]:
            if names and name not in names:
                continue
            missing = [" ".join(probe) for probe in probes if not has(probe)]
            if missing:
                print(f"{name} skipped: not installed (scripts/install-packages --operations): {'; '.join(missing)}")
                continue
            seed = int(os.environ.get("SEED", time.time()))
            random.seed(seed)
            since = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="feedmill-") as directory:
                world = World(program, directory)
                try:
                    recipe()(world)
                except BaseException:
                    print(f"{name} failed, SEED={seed}")
                    world.print_logs()
                    if "KEEP" in os.environ:
                        shutil.copytree(directory, os.environ["KEEP"], ignore=shutil.ignore_patterns("postgres"))
                    raise
                finally:
                    world.close()
            print(f"{name} ok, {time.monotonic() - since:.0f} s", flush=True)
            ran += 1
    sys.exit(0 if ran else 77)


if __name__ == "__main__":
    main(*sys.argv[1:])
