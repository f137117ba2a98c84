"""Queries to the store and to the origin, and names and addresses without a proxy."""
import re

import corpus
from feeds import ATOM, BROKEN, BUSY, CDF, DOWN, GAP, GONE, IDS, JSON, LOST, OLD, PAGE, RSS, TRIM, XML
from masks import machine, steps


def ask(it, told):
    """Queries, as text and as JSON."""
    for flags in ([], ["--state", "failing"], ["--state", "gone"], ["--host", "rss.example"], ["--due"]):
        told.both("list", *flags)
    told.run("list", "--color", "always")
    told.run("list", "--quiet")
    told.run("list", "--verbose")
    told.run("list", "--key-prefix", "other:")
    told.run("verify", "--quiet")
    for url in (RSS, ATOM, TRIM, OLD, GAP, BROKEN, GONE, BUSY, DOWN):
        told.both("show", url)
        told.both("explain", url)
    told.both("entries", RSS)
    told.both("entries", RSS, "--limit", "1")
    told.both("entries", IDS, "--limit", "2", "--before", "1393934400:Entry:21")
    told.both("entries", DOWN)
    told.both("entry", "Entry:3")
    told.both("entry", "--feed", ATOM, "--guid", "urn:1")
    told.run("entry", "--feed", ATOM, "--guid", "urn:none")
    told.both("export")
    told.both("stats")
    told.both("notices")
    told.both("verify")
    told.run("verify", "--feed", RSS)
    told.both("plan", mask=schedule)
    told.both("plan", "--host", "rss.example", mask=schedule)
    few = it.world.file("plan.txt", "http://a.example/1\nhttp://a.example/2\nhttp://b.example/\n")
    told.both("plan", "--feeds", few, "--days", "2", mask=schedule)
    told.both("doctor", mask=machine)
    told.run("doctor", "--redis", "unix:/nowhere/redis.sock", mask=machine)
    records = it.world.redis.call("XLEN", "stream:signals")
    told.follow(lambda out: out.count("\n") == records, "tail", "--from", "0", "--verbose")
    told.follow(lambda out: out.count("\n") == records, "tail", "--from", "0", "--json")
    of_feeds = ["--type", "feed_moved", "--type", "feed_gone", "--type", "feed_gap"]
    told.follow(lambda out: "feed_gap" in out and "feed_gone" in out, "tail", "--from", "0", *of_feeds)


def look(it, told):
    """Verbs that contact the origin and store nothing."""
    it.origin.serve(PAGE, corpus.PAGE, Content_Type="text/html")
    it.origin.serve(PAGE + "news.xml", corpus.rss(corpus.numbered("n", 1, 2)), Content_Type=XML)
    it.origin.serve(PAGE + "atom.xml", corpus.atom(), Content_Type=XML)
    it.origin.serve("http://bare-page.example/", "<title>Nothing</title>", Content_Type="text/html")
    it.origin.serve("http://hop.example/", status=302, Location=RSS)
    for url in (RSS, JSON, BROKEN, PAGE, "http://hop.example/", "http://nothing.example/feed", BUSY):
        told.both("check", url)
    for url in (PAGE, RSS, "http://bare-page.example/", "http://nothing.example/"):
        told.both("discover", url)
    told.run("add", PAGE, "--dry-run")
    told.run("add", PAGE)
    told.both("add", PAGE, "--first", "--dry-run")
    told.both("trace", RSS, mask=steps)
    told.both("trace", RSS, "--ignore-floor", mask=steps)
    told.run("trace", LOST, "--ignore-floor", mask=steps)
    it.origin.serve(CDF, corpus.CDF.replace("First", "First, edited"), Content_Type=XML)
    told.run("trace", CDF, "--ignore-floor", mask=steps)
    told.run("trace", RSS, "--live", "--for", "1s", mask=steps)
    told.both("trace", BUSY, "--ignore-floor", mask=steps)


def go_directly(it, told):
    """Without a proxy: the program resolves names and decides itself which addresses it may connect to."""
    here = f"http://direct.example:{it.origin.port}"
    it.origin.serve("http://direct.example/feed", corpus.rss(corpus.numbered("n", 1, 2)), Content_Type=XML)
    it.origin.serve("http://direct.example/inside", status=302, Location="http://inside.example/")
    page = corpus.PAGE.replace("/news.xml", "/feed")
    it.origin.serve("http://direct.example/page", page, Content_Type="text/html")
    proxy, it.world.environment["FEEDMILL_FETCH_PROXY"] = it.world.environment["FEEDMILL_FETCH_PROXY"], ""
    told.both("check", here + "/feed")
    told.run("check", here + "/feed", FEEDMILL_EGRESS_ALLOW="")
    told.both("check", here + "/inside")
    told.both("check", "http://inside.example/feed")
    told.both("check", "http://unknown.example/feed")
    told.run("check", f"http://direct.example:{it.world.names.port}/feed")  # nothing listens there
    told.run("check", "http://169.254.169.254/latest/meta-data")
    told.run("check", "http://direct.example:22/")
    told.both("discover", here + "/page")
    others = ["http://inside.example/feed", "http://unknown.example/feed"]
    told.both("add", here + "/page", *others, "--first", "--dry-run")
    told.run("add", here + "/page", "--first", "--now")
    told.run("trace", here + "/feed", "--ignore-floor", mask=steps)
    told.run("remove", here + "/feed", "--yes")
    told.both("doctor", mask=machine)
    it.world.environment["FEEDMILL_FETCH_PROXY"] = proxy


def schedule(text):
    """Masks figures that depend on the clock or the server."""
    lines = "hour \\d+|requests|latest poll|busiest second|conditional|early polls|needs|received|memory of Redis"
    text = re.sub(rf"(?m)^((?:{lines}) +)\d.*", r"\1<figures>", text)
    text = re.sub(r"(?m)^(busy host +)\S+: \d+ requests", r"\1<host>: <number> requests", text)
    text = re.sub(r'("host":)"[^"]*"', r'\1"<host>"', text)
    names = "requests|requests_by_hour|conditional_requests|early_polls|deferrals|latest_s|at_s|wanted_a_day|possible_a_day" \
        "|requests_with_news|loop_use|redis_use|redis_bytes(?:_full|_least)?|received_bytes_a_day"
    return re.sub(rf'("(?:{names})":)(?:\[[\d,]*\]|[\d.E+-]+|null)', r"\1<figures>", text)
