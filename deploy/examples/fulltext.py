#!/usr/bin/env python3
"""Writes the full text of new posts back into the store, through the request stream.

    fulltext.py redis://feedmill_app:PASSWORD@localhost:6379/0 COMMAND…      (Debian: python3-redis)

COMMAND gets the link of a post as its last argument and prints the text as HTML, as `trafilatura --html --URL` does.
Links come from strangers: COMMAND must check where they lead, for example with a proxy that blocks your own addresses.

The request and the position in the event stream are one transaction: after a crash a post may be processed again, but
is written once. feedmill sanitises the text as it does that of feeds, and keeps it until the publisher changes the
post, which causes another event.
"""
import json
import subprocess
import sys
import time

import redis

SEEN = "myapp:fulltext"


def text_of(command, link):
    try:
        done = subprocess.run([*command, link], capture_output=True, text=True, timeout=60)
    except (subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def follow(server, command):
    seen = server.get(SEEN) or "0-0"
    while True:
        for _, records in server.xread({"stream:signals": seen}, count=10, block=1000):
            for seen, record in records:
                both = server.pipeline(transaction=True)
                if record["type"] in ("post_created", "post_modified"):
                    event = json.loads(record["json"])
                    link, has = server.hmget(event["entity_id"], "link", "content")
                    text = "" if has or not (link or "").startswith(("http://", "https://")) else text_of(command, link)
                    if text:
                        entry = json.dumps({"content": text, "content_type": "text/html"})
                        both.xadd("stream:requests", {"op": "entry_put", "url": event["feed_url"],
                                                      "guid": event["guid"], "entry": entry,
                                                      "app": "fulltext", "ref": event["seq"]})
                both.set(SEEN, seen).execute()


def main(url, *command):
    while True:
        try:
            follow(redis.Redis.from_url(url, decode_responses=True), command)
        except redis.RedisError as error:
            print("Redis is away:", error, file=sys.stderr)
            time.sleep(0.2)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: fulltext.py REDIS_URL COMMAND…")
    main(*sys.argv[1:])
