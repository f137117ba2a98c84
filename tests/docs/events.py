"""example.org's documents, and a history in which every type of event occurs."""
import json
import re

FEED = "https://example.org/feed.xml"
LONG = "The lamp was lit again on Friday. " * 20


def item(number, title=None, guid=None, text=None, link=None, day=None):
    guid = guid or f"note-{number}"
    return (f"<item><title>{title or f'Note {number}'}</title>"
            f"<link>{link or f'https://example.org/notes/{number}'}</link>"
            f'<guid isPermaLink="false">{guid}</guid><dc:creator>Ada</dc:creator>'
            f"<pubDate>Mon, {day or number:02} Nov 2026 08:00:00 GMT</pubDate>"
            f"<description>{text or f'&lt;p&gt;Text of note {number}.&lt;/p&gt;'}</description></item>")


def rss(items, title="Harbour notes", more=""):
    return ('<?xml version="1.0"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" '
            'xmlns:at="http://purl.org/atompub/tombstones/1.0"><channel>'
            f"<title>{title}</title><link>https://example.org/</link><description>Boats and weather</description>"
            f"{more}{''.join(items)}</channel></rss>")


# Files that commands read.
FILES = {
    "subscriptions.opml": '<opml version="2.0"><body><outline text="News"><outline type="rss" text="Old notes" '
                          'xmlUrl="https://example.org/old.xml"/></outline></body></opml>\n',
    "feeds.txt": "https://example.org/feed.xml\nhttps://example.org/atom.xml\n",
    "feed.xml": rss([item(2), item(1)]),
}
FIRST = item(1, "The lamp is out", text="&lt;p&gt;The lamp on the east pier is out.&lt;/p&gt;")


def publish(publisher):
    publisher.serve("/feed.xml", rss([item(3, "High water at six"), item(2, "Redis cluster of gulls"), FIRST]))
    publisher.serve("/atom.xml", rss([item(12), item(11)], "More notes"))
    publisher.serve("/old.xml", rss([item(22), item(21)], "Old notes"))
    publisher.serve("/", '<html><head><title>Harbour</title><link rel="alternate" type="application/rss+xml" '
                         'title="Harbour notes" href="/feed.xml"></head></html>', "text/html")


def age(redis, url, hours=25):
    """Moves the beginning of a feed's failures `hours` back."""
    key = "state:feed:" + url
    value = redis.call("HGET", key, "failures").decode()
    earlier = re.sub(r"\b1[6-9]\d{11}\b", lambda found: str(int(found.group()) - hours * 3600 * 1000), value)
    redis.call("HSET", key, "failures", earlier)


def happen(world):
    """Causes every type of event in one history, without a worker; returns the events."""
    publisher, redis = world.publisher, world.redis
    publish(publisher)

    def refresh(url=FEED, expected=0):
        world.run(f"feedmill refresh {url} --ignore-floor", expected)

    def change(items, path="/feed.xml", **more):
        publisher.serve(path, rss(items, **more))
        refresh("https://example.org" + path)

    world.run(f"feedmill add {FEED}")
    refresh()
    edited = item(1, "The lamp is lit again", text="&lt;p&gt;The lamp on the east pier is lit again.&lt;/p&gt;")
    change([item(3, "High water at six"), item(2), edited])
    change([item(3, "High water at six"), item(2), item(1, "The lamp is lit again", text=LONG)])
    change([item(4, "Fog until noon"), item(3, "High water at six"), item(2), item(1, "The lamp is lit again", text=LONG)],
           title="Harbour notes and tides")
    world.run(f"feedmill entry remove $(redis-cli hget {FEED}:guidmap note-2) --yes")
    world.run(f"feedmill expire {FEED} --limit 2 --yes")
    change([item(4, "Fog until noon", "urn:note:4"), item(3, "High water at six", "urn:note:3")],
           title="Harbour notes and tides")
    change([item(9, day=21), item(8, day=20)], title="Harbour notes and tides")
    world.run(f"feedmill move {FEED} https://example.org/tides.xml")
    # The publisher withdraws a post, which Atom supports.
    atom = ('<feed xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0">'
            "<id>urn:tides</id><title>Tides</title><updated>2026-11-02T08:00:00Z</updated>{}</feed>")
    entry = ("<entry><id>urn:tide:{0}</id><title>Tide {0}</title><updated>2026-11-0{0}T08:00:00Z</updated>"
             '<link href="https://example.org/tides/{0}"/></entry>')
    publisher.serve("/tides.atom", atom.format(entry.format(2) + entry.format(1)), "application/atom+xml")
    world.run("feedmill add https://example.org/tides.atom")
    refresh("https://example.org/tides.atom")
    gone = '<at:deleted-entry ref="urn:tide:2" when="2026-11-03T08:00:00Z"/>'
    publisher.serve("/tides.atom", atom.format(gone + entry.format(1)), "application/atom+xml")
    refresh("https://example.org/tides.atom")
    # Failures, which would take days.
    world.run("feedmill add https://example.org/old.xml https://example.org/typo.xml")
    refresh("https://example.org/old.xml")
    refresh("https://example.org/typo.xml", 1)
    publisher.serve("/old.xml", "", status=503)
    refresh("https://example.org/old.xml", 1)
    age(redis, world.here("https://example.org/old.xml"), 8 * 24)
    refresh("https://example.org/old.xml", 1)
    change([item(22), item(21)], "/old.xml", title="Old notes")
    publisher.serve("/old.xml", "", status=410)
    refresh("https://example.org/old.xml", 1)
    age(redis, world.here("https://example.org/old.xml"))
    refresh("https://example.org/old.xml", 1)
    # A repair without news: addresses as an older release stored them.
    tides, tide = world.here("https://example.org/tides.atom"), redis.call("HGET", world.here("https://example.org/tides.atom") + ":guidmap", "urn:tide:1")
    redis.call("HSET", tide, "link", "javascript:1")
    redis.call("HSET", "Feed:" + tides, "link", "javascript:1")
    world.run("feedmill verify --resanitise --repair --journal journal.jsonl")
    world.run("feedmill remove https://example.org/tides.atom --yes")
    # Requests from programs.
    world.run(f"redis-cli xadd stream:requests '*' op add url {FEED} channel anna/news app reader ref anna-1")
    world.run("redis-cli xadd stream:requests '*' op pause url https://example.org/none.xml")
    # A feed without followers.
    world.run("feedmill add https://example.org/harbour.atom --channel anna/tides")
    world.run("feedmill channel feeds anna/tides --remove https://example.org/harbour.atom")
    redis.call("ZADD", "state:orphans", 1, world.here("https://example.org/harbour.atom"))
    world.run("FEEDMILL_FEEDS_ORPHAN_AFTER=30d feedmill run --once")
    # The same story in two feeds.
    world.run("FEEDMILL_SIGNALS_SAME_AS=true feedmill run --once")
    publisher.serve("/planet.xml", rss([item(8, guid="planet-8")], title="Planet"))
    world.run("feedmill add https://example.org/planet.xml")
    refresh("https://example.org/planet.xml")
    world.run("FEEDMILL_SIGNALS_SAME_AS=true feedmill run --once")
    stream = redis.call("XRANGE", "stream:signals", "-", "+")
    def as_written(members):
        return {name: world.as_written(value) if isinstance(value, str) else value for name, value in members.items()}

    events = []
    for name, record in stream:
        fields = dict(zip(record[::2], record[1::2]))
        if list(fields) != [b"type", b"json"]:
            raise AssertionError(f"a record of the stream has the fields {list(fields)}")
        event = json.loads(fields[b"json"], object_hook=as_written)
        if event["seq"] != name.decode() or event["type"] != fields[b"type"].decode():
            raise AssertionError(f"the record {name} says something else than its event")
        events.append(event)
    return events
