#!/usr/bin/env python3
"""A web backend: users subscribe to feeds, read new posts, and unsubscribe. It needs only a Redis client.

    backend.py redis://feedmill_app:PASSWORD@localhost:6379/0 8080      (Debian: python3-redis)

    curl -X PUT 'http://localhost:8080/anna?url=https://example.org/feed.xml'       anna subscribes
    curl http://localhost:8080/anna                                                 her feeds, and her newest posts
    curl -X DELETE 'http://localhost:8080/anna?url=https://example.org/feed.xml'    she unsubscribes

The application's own data and its request to feedmill are one transaction. So are a request's outcome and the position
up to which events have been read. Whatever is killed, and whenever: each request is executed once, and its answer
recorded. A feed that cannot be read is shown as such: the user may have mistyped its address.
"""
import html
import http.server
import json
import re
import sys
import threading
import time
import urllib.parse
import uuid

import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

APP = "myapp"


def ask(store, user, url, op):
    ref = str(uuid.uuid4())  # makes it harmless that the client repeats the transaction if it gets no reply
    both = store.pipeline(transaction=True)
    both.hset(f"{APP}:feeds:{user}", url, "asked" if op == "add" else "leaving")
    both.hset(f"{APP}:asked", ref, json.dumps([user, url]))
    both.xadd("stream:requests", {"op": op, "url": url, "channel": f"{user}/news", "app": APP, "ref": ref})
    both.execute()


def note(both, asked, event):
    """Records the outcome of one of our requests."""
    user, url = json.loads(asked)
    if event["data"]["op"] == "channel_unfollow":
        both.hdel(f"{APP}:feeds:{user}", url, event.get("feed_url", url))
    elif event["type"] == "request_done":
        both.hdel(f"{APP}:feeds:{user}", url)
        both.hset(f"{APP}:feeds:{user}", event["feed_url"], "subscribed")  # the canonical form of the address
    else:
        both.hset(f"{APP}:feeds:{user}", url, "refused: " + event["data"]["reason"])
    both.hdel(f"{APP}:asked", event["ref"])


def note_feed(both, event):
    """Records why a feed cannot be read, until it can be again."""
    data = event["data"]
    if event["type"] == "feed_failing" and data.get("first"):
        both.hset(f"{APP}:failing", event["feed_url"], f"never read, is the address right? ({data['reason']})")
    elif event["type"] in ("feed_failing", "feed_gone"):
        both.hset(f"{APP}:failing", event["feed_url"], f"{data['state']} ({data['reason']})")
    elif event["type"] in ("feed_created", "feed_recovered", "feed_removed"):
        both.hdel(f"{APP}:failing", event["feed_url"])


def follow(store):
    seen = store.get(f"{APP}:seen") or "0-0"
    while True:
        for _, records in store.xread({"stream:signals": seen}, count=1000, block=1000):
            both = store.pipeline(transaction=True)
            for seen, record in records:
                event = json.loads(record["json"])
                if record["type"].startswith("feed_"):
                    note_feed(both, event)
                elif record["type"].startswith("request_"):
                    asked = store.hget(f"{APP}:asked", event["ref"]) if event.get("app") == APP else None
                    if asked:
                        note(both, asked, event)
            both.set(f"{APP}:seen", seen).execute()


def as_html(text, kind, san_ver):
    """Posts come from strangers: escapes what is not HTML, or was not sanitised."""
    if text is None or kind in ("text/html", "application/xhtml+xml") and san_ver != "0":
        return text
    return html.escape(text)


def page(store, user):
    feeds = store.hgetall(f"{APP}:feeds:{user}")
    failing = store.hmget(f"{APP}:failing", list(feeds)) if feeds else []
    feeds = {url: why if why and state == "subscribed" else state
             for (url, state), why in zip(feeds.items(), failing)}
    posts = store.pipeline(transaction=False)
    for entry in store.zrevrange(f"zchannel:{user}/news:posts", 0, 19):
        posts.hmget(entry, "title", "title_type", "san_ver", "link")
    return {"feeds": feeds,
            "posts": [{"title_html": as_html(*title), "link": link} for *title, link in posts.execute()]}


class Handler(http.server.BaseHTTPRequestHandler):
    def handle_call(self):
        path, _, query = self.path.partition("?")
        user, url = path[1:], dict(urllib.parse.parse_qsl(query)).get("url")
        if not re.fullmatch("[a-z0-9]{1,50}", user) or (self.command != "GET" and not url):
            return self.send_error(400)
        try:
            if self.command == "GET":
                return self.answer(200, page(self.server.store, user))
            ask(self.server.store, user, url, "add" if self.command == "PUT" else "channel_unfollow")
            self.answer(202, {})
        except redis.RedisError as error:
            self.send_error(503, str(error))

    do_GET = do_PUT = do_DELETE = handle_call

    def answer(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def main(url, port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    server.store = redis.Redis.from_url(url, decode_responses=True, retry=Retry(ExponentialBackoff(1, 0.05), 10),
                                        retry_on_error=[redis.ConnectionError, redis.TimeoutError])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while True:
        try:
            follow(server.store)
        except redis.RedisError as error:
            print("Redis is away:", error, file=sys.stderr)
            time.sleep(0.2)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: backend.py REDIS_URL PORT")
    main(*sys.argv[1:])
