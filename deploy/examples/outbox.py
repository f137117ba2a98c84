#!/usr/bin/env python3
"""Relays an application's requests from a table in its PostgreSQL to feedmill, and the answers back into the table.

    outbox.py redis://feedmill_app:PASSWORD@localhost:6379/0 dbname=myapp      (Debian: python3-redis, python3-psycopg2)

The application writes its own rows and the request in one transaction:

    BEGIN;
    INSERT INTO subscriptions VALUES ('anna', 'https://example.org/feed.xml');
    INSERT INTO outbox (fields) VALUES ('{"op": "add", "url": "https://example.org/feed.xml", "channel": "anna/news"}');
    COMMIT;

Each row gets an outcome: the event that answers it. What was sent is not recorded: on a start or a reconnection to
Redis, all rows without an outcome are sent again, in order. feedmill answers repeated requests without executing them
again, because the row's `ref` is the same (for requests.keep, 7 days). So any of this may be killed at any time, and
several may run.
"""
import json
import sys
import time

import psycopg2
import redis

APP = "myapp"
TABLE = """
CREATE TABLE IF NOT EXISTS outbox (id bigserial PRIMARY KEY, ref uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
                                   fields jsonb NOT NULL CHECK (jsonb_typeof(fields) = 'object'), outcome jsonb);
CREATE INDEX IF NOT EXISTS outbox_open ON outbox (id) WHERE outcome IS NULL;
"""


def relay(server, database, sent):
    """Sends all rows not sent since we connected. Rows become visible out of order, hence no highest id is kept."""
    with database, database.cursor() as rows:
        rows.execute("SELECT ref::text, fields FROM outbox WHERE outcome IS NULL ORDER BY id")
        for ref, fields in rows:
            if ref not in sent:
                texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
                server.xadd("stream:requests", {**texts, "app": APP, "ref": ref})
                sent.add(ref)


def note(database, sent, events):
    """Stores the outcomes of our requests. A repeated answer leaves its row unchanged."""
    answers = [(json.dumps({"type": event["type"], **event["data"]}), event["ref"]) for event in events
               if event["type"].startswith("request_") and event.get("app") == APP and event.get("ref") in sent]
    if answers:
        with database, database.cursor() as rows:
            rows.executemany("UPDATE outbox SET outcome = %s WHERE ref = %s AND outcome IS NULL", answers)
        sent.difference_update(ref for _, ref in answers)


def follow(server, database):
    sent = set()
    last = server.xrevrange("stream:signals", count=1)  # before anything is requested
    seen = last[0][0] if last else "0-0"
    while True:
        relay(server, database, sent)
        for _, records in server.xread({"stream:signals": seen}, count=1000, block=200):
            note(database, sent, [json.loads(record["json"]) for _, record in records])
            seen = records[-1][0]


def main(url, database):
    while True:
        try:
            connection = psycopg2.connect(database)
            with connection, connection.cursor() as table:
                table.execute(TABLE)
            follow(redis.Redis.from_url(url, decode_responses=True), connection)
        except (redis.RedisError, psycopg2.Error) as error:
            print("trying again:", error, file=sys.stderr)
            time.sleep(0.2)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: outbox.py REDIS_URL DATABASE")
    main(*sys.argv[1:])
