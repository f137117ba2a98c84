#!/usr/bin/env python3
"""Keeps all posts in a PostgreSQL table: inserts new ones, updates changed ones, deletes removed ones.

    mirror.py redis://feedmill_reader:PASSWORD@localhost:6379/0 dbname=myapp      (Debian: python3-redis, python3-psycopg2)

It begins with a snapshot and continues with the events after it. Changes to the table and the position in the event
stream are one transaction, so no crash loses anything or applies anything twice. An event names the changed post; its
current content is read from its hash. If the mirror was away for longer than the stream is kept, `prev` shows it, and
the mirror starts over.
"""
import json
import sys
import time

import psycopg2
import redis

TABLES = """
CREATE TABLE IF NOT EXISTS posts (id text PRIMARY KEY, feed text NOT NULL, title text, link text, html text,
                                  at timestamptz NOT NULL, rev integer NOT NULL);
CREATE TABLE IF NOT EXISTS posts_seen (seq text NOT NULL);
"""
STORE = """
INSERT INTO posts VALUES (%s, %s, %s, %s, %s, to_timestamp(%s), %s) ON CONFLICT (id) DO UPDATE SET
  title = excluded.title, link = excluded.link, html = excluded.html, at = excluded.at, rev = excluded.rev
"""


def store(table, server, ids):
    """Copies the current content of these posts. A post that was deleted in the meantime has an event that deletes it
    here."""
    reads = server.pipeline(transaction=False)
    for entry in ids:
        reads.hgetall(entry)
    for entry, post in zip(ids, reads.execute()):
        if post:
            table.execute(STORE, (entry, post["feed_url"], post.get("title"), post.get("link"),
                                  post.get("content", post.get("summary")), post["timestamp"], post["rev"]))


def begin(table, server):
    last = server.xrevrange("stream:signals", count=1)  # events from here on are read again
    seen = last[0][0] if last else "0-0"
    table.execute("DELETE FROM posts; DELETE FROM posts_seen")
    for feed in server.smembers("feeds"):
        store(table, server, server.zrange(feed + ":sort", 0, -1))
    table.execute("INSERT INTO posts_seen VALUES (%s)", (seen,))
    return seen


def apply(table, server, records):
    changed, gone = {}, []
    for _, record in records:
        if record["type"] in ("post_created", "post_modified"):
            changed[json.loads(record["json"])["entity_id"]] = True
        elif record["type"] in ("post_deleted", "post_trimmed"):
            gone.append(json.loads(record["json"])["entity_id"])
    store(table, server, list(changed))
    table.execute("DELETE FROM posts WHERE id = ANY(%s)", (gone,))  # ids are never reused
    table.execute("UPDATE posts_seen SET seq = %s", (records[-1][0],))


def follow(server, database):
    with database, database.cursor() as table:
        table.execute(TABLES)
        table.execute("SELECT seq FROM posts_seen")
        found = table.fetchone()
        seen = found[0] if found else begin(table, server)
    while True:
        for _, records in server.xread({"stream:signals": seen}, count=1000, block=1000):
            with database, database.cursor() as table:
                if json.loads(records[0][1]["json"])["prev"] != seen:
                    seen = begin(table, server)
                else:
                    apply(table, server, records)
                    seen = records[-1][0]


def main(url, database):
    while True:
        try:
            follow(redis.Redis.from_url(url, decode_responses=True), psycopg2.connect(database))
        except (redis.RedisError, psycopg2.Error) as error:
            print("trying again:", error, file=sys.stderr)
            time.sleep(0.2)


if __name__ == "__main__":
    main(*sys.argv[1:3])
