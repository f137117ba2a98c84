"""Verbs of operators and users: feeds and entries, channels and notices, a damaged store, an archive."""
import difflib
import json
import re

import corpus
from feeds import ATOM, CDF, DOWN, JSON, RDF, RSS, TRIM
from masks import in_any_order, log_lines, spans, steps
from store import Store
from world import Redis


def operate(it, told):
    """Changes feeds and entries by hand."""
    told.run("set", RSS, "keep=2", "interval_min=6h", "--dry-run")
    told.both("set", RSS, "keep=2", "interval_min=6h", "header.Accept-Language=de", "html_policy=raw")
    told.both("show", RSS)
    it.refresh(told, RSS)
    told.run("set", RSS, "keep=", "interval_min=", "header.Accept-Language=")
    told.run("pause", ATOM, "--dry-run")
    told.both("pause", ATOM)
    told.run("refresh", ATOM)
    told.both("trace", ATOM, "--ignore-floor", mask=steps)
    told.run("show", ATOM)
    told.run("resume", ATOM, "--dry-run")
    told.both("resume", ATOM)
    told.run("entry", "put", "--feed", ATOM, "--guid", "note-1", "title=<b>Note</b>", "title_type=text/html",
             "link=http://atom.example/n", "date_published=2014-05-01T12:00:00Z", 'categories=[{"term":"x"}]')
    told.run("entry", "put", "--feed", ATOM, "--guid", "note-1", "title=Note, edited", "categories=", "--json")
    told.run("entry", "put", "--feed", ATOM, "--guid", "note-1", "title=Note, edited")
    told.run("entry", "put", "--file", "-", "--replace", stdin=json_lines(
        {"feed_url": ATOM, "guid": "note-2", "title": "Second", "content": "<p onclick=x>HTML</p>",
         "content_type": "text/html"},
        {"feed_url": ATOM, "guid": "note-1", "title": "First"}))
    told.run("entry", "put", "--file", "-", stdin="{\"guid\":1}\nnonsense\n")
    told.run("entry", "put", "--feed", ATOM, "--guid", "g", "date_published=soon")
    told.run("entry", "put", "--feed", ATOM, "--guid", "g", "authors=[")
    note = it.world.redis.call("HGET", ATOM + ":guidmap", "note-2").decode()
    told.run("entry", "remove", note, "--dry-run")
    told.both("entry", "remove", note, "--yes")
    told.run("entry", "remove", "Entry:3", "--yes")
    it.refresh(told, RSS)
    opml = it.world.file("list.opml", corpus.OPML)
    told.both("import", opml, "--dry-run")
    told.run("import", opml)
    told.run("import", opml, "--json")
    told.run("import", "-", "--user", "anna", stdin=corpus.OPML)
    told.run("import", "-", stdin="http://a.example/feed\n\n# comment\nnonsense\n")
    told.run("import", "-", stdin="<opml><body><outline xmlUrl='http://a.example/feed'")
    told.run("export")
    told.run("export", "--user", "anna")
    kept = [url for url in feeds(it) if url != "http://c.example/feed?token=s3cret"]
    keep = it.world.file("keep.txt", "".join(url + "\n" for url in kept))
    told.run("import", keep, "--prune", "--dry-run")
    told.run("import", keep, "--prune")
    told.run("import", keep, "--prune", "--yes")
    told.run("remove", "http://a.example/feed", "--dry-run")
    told.run("remove", "http://a.example/feed")
    told.both("remove", "http://a.example/feed", "--yes")
    told.run("remove", TRIM, "--yes", "--json")
    told.run("refresh", RSS, "--defer")
    told.run("refresh", RDF, RSS, "--defer", "--json", "--ignore-floor")
    told.both("notices")
    told.run("notices", "--clear")


def feeds(it):
    return sorted(url.decode() for url in it.world.redis.call("SMEMBERS", "feeds"))


def deliver(it, told):
    """Channels and notices of users."""
    told.run("channel", "add", "anna/news", "anna/work", "all")
    told.run("channel", "add", "anna/news", "--json")
    told.run("channel", "feeds", "anna/news", "--add", RSS, "--add", JSON)
    told.run("channel", "feeds", "anna/news", "--add", "http://nothing.example/")
    told.run("channel", "feeds", "all", "--add", RDF, "--add", JSON, "--json")
    told.run("channel", "feeds", "anna/news", "--remove", RSS, "--add", RSS)
    told.both("notify", "rules", "anna", "--words", "third post", "--channel", "anna/news", "--feed", DOWN)
    told.both("notify", "rules", "anna")
    third = '{"id":"j3","title":"The third post","content_text":"x","date_published":"2014-03-02T10:00:00Z"},'
    it.origin.serve(JSON, corpus.JSON.replace('"items":[', '"items":[' + third))
    it.refresh(told, JSON)
    it.origin.serve(RDF, corpus.RDF.replace("Zwei", "Zwei, edited"))
    it.refresh(told, RDF)
    for verb in ("list", "list --user anna", "feeds anna/news", "timeline anna/news", "timeline anna/news --limit 1",
                 "timeline all", "unread-count anna/news", "unread-count"):
        told.both("channel", *verb.split())
    told.both("channel", "read", "anna/news", "Entry:10")
    told.both("channel", "read", "anna/news", "Entry:10", "Entry:999")
    told.both("channel", "timeline", "anna/news")
    told.both("channel", "unread", "anna/news", "Entry:10")
    told.run("channel", "read", "anna/news", "--all")
    told.both("channel", "order", "anna/work", "anna/news")
    told.run("channel", "list")
    told.both("notify", "list", "anna")
    told.run("notify", "list", "_operator")
    notice = it.world.redis.call("LRANGE", "list:notification:user_id:anna", 0, 0)[0].decode()
    told.both("notify", "read", "anna", notice)
    told.run("notify", "list", "anna", "--unread")
    told.run("notify", "read", "anna", "--all")
    told.run("notify", "delete", "anna", notice)
    told.both("notify", "delete", "anna", "--all")
    rule = it.world.run("notify", "rules", "anna", "--json").stdout.decode().splitlines()[0]
    told.run("notify", "rules", "anna", "--remove", re.search(r'"id":"?([^",}]+)', rule).group(1))
    told.run("channel", "remove", "anna/work")
    told.both("channel", "remove", "anna/work", "--yes")
    told.run("verify")


def mend(it, told):
    """Detects and repairs a damaged store."""
    call = it.world.redis.call
    call("ZREM", RDF + ":sort", "Entry:7")
    call("HDEL", JSON + ":guidmap", "j2")
    call("HSET", "stats:feeds:states", "healthy", 99)
    call("SREM", "feeds", CDF)
    call("HSET", "Entry:4", "title", "Damaged", "san_ver", "1",
         "content", "<p onclick='x()'>Old<script>x</script></p>", "content_type", "text/html")
    call("ZADD", "zchannel:anna/news:posts", "5", "Entry:999")
    call("SET", "Entry:nonsense", "x")
    told.both("verify", mask=in_any_order)
    told.run("verify", "--feed", RDF, "--json", mask=in_any_order)
    journal, other = (f"{it.world.directory}/{name}.jsonl" for name in ("journal", "other"))
    told.run("verify", "--repair", "--journal", journal, mask=in_any_order)
    told.say("journal\n" + in_any_order(it.masks.text(read(journal))))
    told.run("verify", "--repair", "--journal", journal, mask=in_any_order)
    told.both("verify", mask=in_any_order)
    told.both("verify", "--resanitise", mask=in_any_order)
    told.run("verify", "--resanitise", "--repair", "--journal", other, mask=in_any_order)
    told.say("journal\n" + in_any_order(it.masks.text(read(other))))
    told.run("verify", "--resanitise", mask=in_any_order)


def archive(it, told):
    """Exports the store and imports the file into an empty store; prints the differences between the two by line."""
    other = Redis(it.world.directory, "other")
    file = it.world.directory + "/store.jsonl"
    try:
        there = ["--redis", other.url]
        told.run("store", "export", file)
        told.run("store", "export", "--feed", RSS, "--json")
        told.run("store", "import", file, "--dry-run", *there)
        told.both("store", "import", file, *there)
        before, after = (Store(redis, it.masks).everything(but="stream:signals").splitlines(True)
                         for redis in (it.world.redis, other))
        told.say("stream:signals is not archived; of all the rest\n")
        told.say("".join(difflib.unified_diff(before, after, "before", "after", n=1)))
        told.run("verify", *there)
        told.run("store", "import", file, "--replace", *there)
        told.run("store", "import", it.world.file("cut.jsonl", read(file)[:2000]), "--dry-run", *there)
        told.run("store", "import", it.world.file("none.jsonl", "nonsense\n"), *there)
    finally:
        other.kill()


def work(it, told):
    """All feeds at once, in no particular order."""
    told.run("refresh", "--all", "--defer", "--ignore-floor")
    told.run("run", "--once", "--log-level", "debug", mask=log_lines)
    told.run("run", "--once", "--no-ingest", mask=log_lines)
    told.run("refresh", "--all", mask=lambda text: in_any_order(spans(text)))


def json_lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()
