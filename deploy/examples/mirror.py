#!/usr/bin/env python3
"""Keeps all feeds and posts in PostgreSQL tables: inserts new ones, updates changed ones, deletes removed ones.

    mirror.py [--archive] redis://feedmill_reader:PASSWORD@localhost:6379/0 dbname=myapp

It needs Debian's python3-redis and python3-psycopg2. With --archive it keeps the posts that feedmill trims (retention),
and marks them `trimmed`; posts that their publisher or an operator deletes, and those of removed feeds, are deleted.

It begins with a snapshot and continues with the events after it. Changes to the tables and the position in the event
stream are one transaction, so no crash loses anything or applies anything twice. An event names what changed; the
current content is read from its hash. If the mirror was away for longer than the stream is kept, `prev` shows it, and
the mirror starts over.

The columns title_html, html and description_html are HTML that may be inserted into a page. All other texts are plain:
escape them.
"""
import html
import json
import sys
import time

import psycopg2
import redis

TABLES = """
CREATE TABLE IF NOT EXISTS feeds (url text PRIMARY KEY, title_html text, description_html text, link text,
                                  moved_to text); -- where it is fetched, from feed_moved; NULL: no such event was seen
CREATE TABLE IF NOT EXISTS posts (id text PRIMARY KEY, feed text NOT NULL, guid text NOT NULL, title_html text,
                                  link text, html text, at timestamptz NOT NULL, rev integer NOT NULL,
                                  trimmed boolean NOT NULL DEFAULT false);
CREATE INDEX IF NOT EXISTS posts_of_feeds ON posts (feed, guid);
CREATE TABLE IF NOT EXISTS posts_seen (seq text NOT NULL);
"""
STORE_FEED = """
INSERT INTO feeds VALUES (%s, %s, %s, %s) ON CONFLICT (url) DO UPDATE SET
  title_html = excluded.title_html, description_html = excluded.description_html, link = excluded.link
"""
STORE_POST = """
INSERT INTO posts VALUES (%s, %s, %s, %s, %s, %s, to_timestamp(%s), %s) ON CONFLICT (id) DO UPDATE SET
  feed = excluded.feed, guid = excluded.guid, title_html = excluded.title_html, link = excluded.link,
  html = excluded.html, at = excluded.at, rev = excluded.rev, trimmed = false
"""


def as_html(record, field):
    """Escapes what is not HTML, or was not sanitised (san_ver 0)."""
    text, kind = record.get(field), record.get(field + "_type")
    if text is None or record.get("san_ver") != "0" and kind in ("text/html", "application/xhtml+xml"):
        return text
    return html.escape(text)


def store_feeds(tables, server, urls):
    """Copies the current records of these feeds. A feed that has never been read has none yet."""
    reads = server.pipeline(transaction=False)
    for url in urls:
        reads.hgetall("Feed:" + url)
    for url, feed in zip(urls, reads.execute()):
        tables.execute(STORE_FEED, (url, as_html(feed, "title"), as_html(feed, "description"), feed.get("link")))


def store_posts(tables, server, posts):
    """Copies the current content of these posts: id -> the post in its event, or None. A post that was deleted in the
    meantime has an event that deletes it here, too."""
    reads = server.pipeline(transaction=False)
    for entry in posts:
        reads.hgetall(entry)
    for entry, post in zip(posts, reads.execute()):
        post = post or posts[entry]
        if post:
            tables.execute(STORE_POST, (
                entry, post["feed_url"], post["guid"], as_html(post, "title"), post.get("link"),
                as_html(post, "content" if "content" in post else "summary"), post["timestamp"], post["rev"]))
            tables.execute("DELETE FROM posts WHERE trimmed AND feed = %s AND guid = %s AND id <> %s",
                           (post["feed_url"], post["guid"], entry))  # feedmill stores it again, under a new id


def begin(tables, server, archive):
    last = server.xrevrange("stream:signals", count=1)  # events from here on are read again
    seen = last[0][0] if last else "0-0"
    tables.execute("SELECT moved_to, url FROM feeds WHERE moved_to IS NOT NULL")
    moved = tables.fetchall()
    tables.execute("DELETE FROM feeds")
    tables.execute("UPDATE posts SET trimmed = true" if archive else "DELETE FROM posts")
    for feed in server.sscan_iter("feeds", count=1000):
        store_feeds(tables, server, [feed])
        store_posts(tables, server, dict.fromkeys(server.zrange(feed + ":sort", 0, -1)))
    tables.executemany("UPDATE feeds SET moved_to = %s WHERE url = %s", moved)
    tables.execute("DELETE FROM posts WHERE feed NOT IN (SELECT url FROM feeds)")
    tables.execute("DELETE FROM posts_seen")
    tables.execute("INSERT INTO posts_seen VALUES (%s)", (seen,))
    return seen


def apply(tables, server, records, archive):
    posts, gone, trimmed, feeds, moved, removed = {}, [], [], {}, {}, []
    for _, record in records:
        event, kind = json.loads(record["json"]), record["type"]
        name = event["entity_id"]
        if kind in ("post_created", "post_modified", "post_mended"):
            whole = event.get("post")  # only with signals.content
            posts[name] = whole and {**whole, **{field: event[field] for field in ("feed_url", "guid", "rev")}}
        elif kind == "feed_rekeyed":  # their guids and links changed, their rev did not
            for post in event["data"]["posts"]:
                posts.setdefault(post["id"])
        elif kind in ("post_trimmed", "post_deleted"):
            if archive and event["data"]["why"] == "trim":
                trimmed.append(name)
            else:
                posts.pop(name, None)
                gone.append(name)
        elif kind in ("feed_created", "feed_modified", "feed_mended"):
            feeds[name] = True
        elif kind == "feed_moved":
            moved[name] = event["data"]["to"]
        elif kind == "feed_removed":
            feeds.pop(name, None)
            moved.pop(name, None)
            removed.append(name)
    tables.execute("DELETE FROM feeds WHERE url = ANY(%s)", (removed,))
    tables.execute("DELETE FROM posts WHERE feed = ANY(%s)", (removed,))
    tables.execute("DELETE FROM posts WHERE id = ANY(%s)", (gone,))  # ids are never reused
    store_feeds(tables, server, feeds)
    store_posts(tables, server, posts)
    tables.execute("UPDATE posts SET trimmed = true WHERE id = ANY(%s)", (trimmed,))
    tables.executemany("UPDATE feeds SET moved_to = %s WHERE url = %s", [(to, url) for url, to in moved.items()])
    tables.execute("UPDATE posts_seen SET seq = %s", (records[-1][0],))


def follow(server, database, archive):
    with database, database.cursor() as tables:
        tables.execute(TABLES)
        tables.execute("SELECT seq FROM posts_seen")
        found = tables.fetchone()
        seen = found[0] if found else begin(tables, server, archive)
    while True:
        for _, records in server.xread({"stream:signals": seen}, count=1000, block=1000):
            with database, database.cursor() as tables:
                if json.loads(records[0][1]["json"])["prev"] != seen:
                    seen = begin(tables, server, archive)
                else:
                    apply(tables, server, records, archive)
                    seen = records[-1][0]


def main(url, database, archive):
    while True:
        try:
            follow(redis.Redis.from_url(url, decode_responses=True), psycopg2.connect(database), archive)
        except (redis.RedisError, psycopg2.Error) as error:
            print("trying again:", error, file=sys.stderr)
            time.sleep(0.2)


if __name__ == "__main__":
    wanted = [word for word in sys.argv[1:] if word != "--archive"]
    if len(wanted) != 2:
        sys.exit("usage: mirror.py [--archive] REDIS_URL DATABASE")
    main(*wanted, archive="--archive" in sys.argv)
