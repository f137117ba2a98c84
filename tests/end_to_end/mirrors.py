#!/usr/bin/python3
"""Runs deploy/examples/mirror.py, once with --archive and once without, through every event of "Keeping a copy of the
store" (docs/DATA.md) and through hostile posts, while it, the worker, Redis and PostgreSQL are killed.

    mirrors.py PROGRAM DIRECTORY_OF_EXAMPLES     exit 77: its Debian packages are not installed
"""
import json
import os
import random
import sys
import tempfile
import time

from recipes import HOSTILE, Part, Postgres, World, has, text_of, wait_for

EVENTS = {"post_created", "post_modified", "post_mended", "post_trimmed", "post_deleted", "feed_created",
          "feed_modified", "feed_rekeyed", "feed_moved", "feed_removed"}


def document(title, *posts):
    """A JSON Feed of (guid, name, title, version of a picture)."""
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": title, "items": [
        {"id": guid, "url": f"https://example.org/{name}", "title": text, "content_text": f"All of {name}",
         "image": f"https://example.org/{name}.png?v={version}",
         "date_published": f"2026-11-{ord(name) - ord('a') + 1:02}T08:00:00Z"}
        for guid, name, text, version in posts]})


class Mirrors:
    def __init__(self, world, examples):
        self.world, self.seen = world, set()
        self.database = world.add(Postgres(world.directory))
        self.database.rows("CREATE SCHEMA archive")
        script = ["/usr/bin/python3", os.path.join(examples, "mirror.py")]
        user = world.redis.url("feedmill_reader")
        self.mirrors = [
            world.add(Part("mirror", [*script, user, self.database.url], world.directory)),
            world.add(Part("archive", [*script, "--archive", user,
                                       self.database.url + " options=-csearch_path=archive"], world.directory))]

    def stored(self):
        """Entry -> its hash, of all feeds in the store."""
        redis = self.world.redis
        return {entry: redis.hash_of(entry) for feed in redis.call("SMEMBERS", "feeds")
                for entry in redis.call("ZRANGE", feed + ":sort", 0, -1)}

    def kept(self, schema):
        columns = "id, feed, guid, title_html, link, html, rev, trimmed"
        return {row[0]: row[1:] for row in self.database.rows(f"SELECT {columns} FROM {schema}.posts")}

    def follows(self, schema, trimmed=()):
        """Whether the table has all posts of the store and those trimmed ones, and its feeds; checks their markup."""
        try:
            rows, posts = self.kept(schema), self.stored()
            feeds = dict(self.database.rows(f"SELECT url, title_html FROM {schema}.feeds"))
        except self.database.errors():
            return False
        urls = set(self.world.redis.call("SMEMBERS", "feeds"))
        if rows.keys() != posts.keys() | set(trimmed) or feeds.keys() != urls:
            return False
        for entry, (feed, guid, title, link, html, rev, is_trimmed) in rows.items():
            text_of(html)
            text_of(title, plain=True)
            post = posts.get(entry)
            if is_trimmed != (post is None):
                return False
            if post and (feed, guid, text_of(title), link, rev) != (
                    post["feed_url"], post["guid"], post["title"], post.get("link"), int(post["rev"])):
                return False
            is_html = post and post["content_type"] == "text/html" and post["san_ver"] != "0"
            if post and (html if is_html else text_of(html, plain=True)) != post["content"]:
                return False
        return all(text_of(title, plain=True) == self.world.redis.call("HGET", "Feed:" + url, "title")[0]
                   for url, title in feeds.items())

    def wait(self, trimmed=()):
        wait_for("the mirror", lambda: self.follows("public"))
        wait_for("the archive", lambda: self.follows("archive", trimmed))

    def guids(self, url):
        return self.world.redis.hash_of(url + ":guidmap")

    def has_seen(self, event):
        self.seen |= {event["type"] for event in self.world.redis.events()}
        return event in self.seen

    def step(self, name, url, new, done):
        """Publishes a document, and waits until it is stored."""
        def go():
            self.world.publisher.documents[name] = new
            self.world.refresh_until(new, url, done)
        return go


def run(world, examples):
    redis, ask = world.redis, world.ask
    worker = world.parts[1]
    worker.environment["FEEDMILL_SIGNALS_CONTENT"] = "true"  # an archive has what is trimmed before it reads it
    worker.kill()
    worker.start()
    kept = Mirrors(world, examples)
    documents = world.publisher.documents
    url, elsewhere, hostile, raw = map(world.publisher.url, ("changing", "elsewhere", "hostile", "raw"))
    documents["changing"] = document("Feed", ("1", "a", "A", 1), ("2", "b", "B", 1))
    rekeyed = [("urn:1", "a", "A2", 2), ("urn:2", "b", "B", 1)]
    documents["elsewhere"] = document("Title", *rekeyed)

    def add():
        ask("add", url=url, **{"set.keep": 2})
        ask("add", url=hostile)
        ask("add", url=raw, **{"set.html_policy": "raw"})
        wait_for("the posts", lambda: len(kept.stored()) == 2 + 2 * len(HOSTILE))

    def field(guid, name):
        return "".join(redis.call("HGET", kept.guids(url).get(guid, ""), name))

    def request(event, op, **fields):
        def go():
            ask(op, **fields)
            wait_for(event, lambda: kept.has_seen(event))
        return go

    known = {}  # guid -> entry

    def stores(*guids):
        def is_stored():
            known.update(found := kept.guids(url))
            return set(found) == set(guids)
        return is_stored

    def remove_post():
        request("post_deleted", "entry_remove", id=known["4"])()

    publish = kept.step
    def follows():
        wait_for("the mirror", lambda: kept.follows("public"))

    world.among_kills([
        add, follows,
        publish("changing", url, document("Feed", ("1", "a", "A2", 1), ("2", "b", "B", 1)),
                lambda: field("1", "title") == "A2"), follows,
        publish("changing", url, document("Feed", ("1", "a", "A2", 2), ("2", "b", "B", 1)),
                lambda: field("1", "image").endswith("v=2")), follows,
        publish("changing", url, document("Title", ("1", "a", "A2", 2), ("2", "b", "B", 1)),
                lambda: redis.call("HGET", "Feed:" + url, "title") == ["Title"]), follows,
        publish("changing", url, document("Title", *rekeyed), stores("urn:1", "urn:2")), follows,
        request("feed_moved", "move", url=url, to=elsewhere),
        publish("elsewhere", url, document("Title", ("3", "c", "C", 1), ("4", "d", "D", 1)), stores("3", "4")), follows,
        remove_post, follows,
        request("feed_removed", "remove", url=hostile)], 14)
    wait_for("all kinds of events", lambda: all(map(kept.has_seen, EVENTS)))
    trimmed = [known["urn:1"], known["urn:2"]]
    kept.wait(trimmed)
    moved = f"SELECT moved_to FROM public.feeds WHERE url = '{url}'"
    assert kept.database.rows(moved) == [(elsewhere,)]

    # Posts that come and go while it is away.
    for mirror in kept.mirrors:
        mirror.kill()
    publish("elsewhere", url, document("Title", ("5", "e", "E", 1), ("6", "f", "F", 1)),
            stores("5", "6"))()
    trimmed += [known["3"], known["5"], known["6"]]
    publish("elsewhere", url, document("Title", ("7", "g", "G", 1), ("8", "h", "H", 1)),
            stores("7", "8"))()
    for mirror in kept.mirrors:
        mirror.start()
    kept.wait(trimmed)
    assert {row[2] for row in kept.kept("archive").values()} >= {"A2", "B", "C", "E", "F", "G", "H"}

    # Events that are trimmed before it reads them: it starts over.
    for mirror in kept.mirrors:
        mirror.kill()
    trimmed += [known["7"], known["8"]]
    publish("elsewhere", url, document("Title", ("9", "i", "I", 1), ("10", "j", "J", 1)),
            stores("9", "10"))()
    request("feed_removed", "remove", url=raw)()
    wait_for("an empty stream", lambda: redis.call("XTRIM", "stream:signals", "MAXLEN", 0) and
             redis.call("XLEN", "stream:signals") == ["0"])
    publish("elsewhere", url, document("Other", ("9", "i", "I", 1), ("10", "j", "J", 1)),
            lambda: redis.call("HGET", "Feed:" + url, "title") == ["Other"])()
    for mirror in kept.mirrors:
        mirror.start()
    kept.wait(trimmed)
    assert kept.database.rows(moved) == [(elsewhere,)]


def main(program, examples):
    if not has(["/usr/bin/python3", "-c", "import psycopg2, redis"]) or not Postgres.programs():
        print("mirrors skipped: python3-psycopg2, python3-redis or PostgreSQL is not installed")
        sys.exit(77)
    seed = int(os.environ.get("SEED", time.time()))
    random.seed(seed)
    with tempfile.TemporaryDirectory(prefix="feedmill-") as directory:
        world = World(program, directory)
        try:
            run(world, examples)
        except BaseException:
            print(f"failed, SEED={seed}")
            world.print_logs()
            raise
        finally:
            world.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
