#!/usr/bin/env python3
"""Keeps a table of posts from feedmill's events, through disconnects and crashes: no event is lost or handled twice.

    consumer.py redis://feedmill_consumer:PASSWORD@localhost:6379/0 posts.db      (Debian: python3-redis)

A consumer group remembers events that were delivered and not acknowledged. Those are read first. The result of an event
and the fact that it was handled are written in one transaction; only then is the event acknowledged. If the
acknowledgement is lost, the event arrives again and is recognised as handled. The titles are plain text: escape them
in a page.
"""
import json
import sqlite3
import sys
import time

import redis

STREAM, GROUP, CONSUMER = "stream:signals", "example", "one"


def connect(url):
    server = redis.from_url(url, decode_responses=True)
    try:
        server.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
    except redis.ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise
    return server


def apply(table, stream_id, event):
    with table:  # one transaction
        done = table.execute("INSERT OR IGNORE INTO done VALUES (?)", (stream_id,)).rowcount == 0
        if done:
            return
        if event["type"] in ("post_created", "post_modified"):
            data = event["data"]
            table.execute("INSERT OR REPLACE INTO posts VALUES (?, ?, ?, ?)",
                          (event["entity_id"], event["feed_url"], data.get("title", ""), data["timestamp"]))
        elif event["type"] in ("post_deleted", "post_trimmed"):
            table.execute("DELETE FROM posts WHERE id = ?", (event["entity_id"],))
    print(stream_id, event["type"], event["entity_id"], flush=True)


def follow(server, table):
    begin = "0"  # unacknowledged events first, then (">") new ones
    while True:
        answer = server.xreadgroup(GROUP, CONSUMER, {STREAM: begin}, count=100, block=1000)
        records = answer[0][1] if answer else []
        if begin == "0" and not records:
            begin = ">"
        for stream_id, fields in records:
            if fields:  # else it was trimmed before we read it
                apply(table, stream_id, json.loads(fields["json"]))
            server.xack(STREAM, GROUP, stream_id)


def main(url, path):
    table = sqlite3.connect(path)
    table.execute("CREATE TABLE IF NOT EXISTS done (id TEXT PRIMARY KEY)")
    table.execute("CREATE TABLE IF NOT EXISTS posts (id TEXT PRIMARY KEY, feed TEXT, title TEXT, at INTEGER)")
    while True:
        try:
            follow(connect(url), table)
        except (redis.ConnectionError, redis.TimeoutError) as error:
            print("Redis is away:", error, file=sys.stderr)
            time.sleep(0.2)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: consumer.py REDIS_URL DATABASE")
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        pass
