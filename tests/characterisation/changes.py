"""Feeds are added, change, lose posts, move, change their guids and fail, one after another in a defined order."""
import corpus
from feeds import (ATOM, BARE, BROKEN, BUSY, CDF, DOWN, GAP, GONE, IDS, JSON, LOST, NEW, OLD, RDF, RSS, TRIM, XML)


def ingest(it, told):
    serve = it.origin.serve
    serve(RSS, corpus.rich_rss(), Content_Type="application/rss+xml", ETag='"1"', Cache_Control="max-age=7200")
    serve(ATOM, corpus.atom(), Content_Type="application/atom+xml", Last_Modified="Sat, 01 Mar 2014 10:00:00 GMT")
    serve(RDF, corpus.RDF, Content_Type="application/rdf+xml")
    serve(CDF, corpus.CDF, Content_Type=XML)
    serve(JSON, corpus.JSON, Content_Type="application/feed+json")
    serve(TRIM, corpus.rss(corpus.numbered("t", 1, 5)), Content_Type=XML)
    serve(OLD, corpus.rss(corpus.numbered("o", 1, 2)), Content_Type=XML)
    serve(IDS, corpus.rss(corpus.numbered("g", 1, 5)), Content_Type=XML)
    bare = [("", "No guid", "http://bare.example/1"), ("", "Nor link", ""), ("", "Nor here", "")]
    serve(BARE, corpus.rss(bare), Content_Type=XML)
    serve(GAP, corpus.rss(corpus.numbered("g", 1, 5)), Content_Type=XML)
    serve(BROKEN, corpus.BROKEN, Content_Type="text/html; charset=iso-8859-1")
    serve(GONE, corpus.rss(corpus.numbered("x", 1, 1)), Content_Type=XML)
    serve(DOWN, corpus.rss(corpus.numbered("d", 1, 1)), Content_Type=XML)
    told.run("add", RSS, ATOM, "--dry-run")
    told.both("add", RSS)
    told.run("add", ATOM, RDF, CDF, JSON, OLD, IDS, BARE, GAP, BROKEN, GONE)
    told.run("add", TRIM, "--keep", "3", "--interval-min", "24h", "--json")
    told.run("add", DOWN, "--now")
    told.run("refresh", RSS)
    told.run("refresh", RSS, "--ignore-floor", "--json")
    for url in (ATOM, RDF, CDF, JSON, TRIM, OLD, IDS, BARE, GAP, BROKEN, GONE):
        it.refresh(told, url)


def edit(it, told):
    it.origin.serve(RSS, corpus.rich_rss(edited=True), Content_Type="application/rss+xml", ETag='"2"')
    it.origin.serve(ATOM, corpus.atom(edited=True), Content_Type="application/atom+xml")
    it.origin.serve(JSON, corpus.JSON.replace("Second", "Second, edited").replace("Braces", "Brackets"))
    it.origin.serve(RDF, corpus.RDF + "<!-- written again -->", Content_Type="application/rdf+xml")
    for url in (RSS, ATOM, JSON, RDF):
        it.refresh(told, url)
    it.refresh(told, RSS)  # not modified


def trim(it, told):
    strict = {"FEEDMILL_RETENTION_STRICT": "true"}
    it.origin.serve(TRIM, corpus.rss(corpus.numbered("t", 4, 8)), Content_Type=XML)
    it.refresh(told, TRIM, **strict)
    it.origin.serve(TRIM, corpus.rss(corpus.numbered("t", 1, 9)), Content_Type=XML)  # trimmed posts do not return
    it.refresh(told, TRIM, **strict)
    it.refresh(told, TRIM, FEEDMILL_SIGNALS_DELETED="true", FEEDMILL_RETENTION_ENTRIES="1", **strict)
    told.run("expire", TRIM, "--limit", "2", "--dry-run")
    told.both("expire", TRIM, "--limit", "2", "--yes")
    told.run("expire", TRIM, "--bytes", "1KiB", "--yes")
    told.run("expire", TRIM, "--age", "1d", "--yes")


def move(it, told):
    it.origin.serve(NEW, corpus.rss(corpus.numbered("o", 1, 3)), Content_Type=XML)
    it.origin.serve(OLD, status=301, Location=NEW)
    it.refresh(told, OLD)
    it.origin.serve(OLD, status=308, Location=NEW)
    it.refresh(told, OLD)
    it.age(OLD, "moving")
    it.refresh(told, OLD)
    told.both("show", OLD)
    it.refresh(told, OLD)
    told.both("move", OLD, "--undo")
    told.run("move", OLD, "--undo")
    it.refresh(told, OLD)
    told.both("move", OLD, "http://newer.example/feed")
    it.origin.serve("http://newer.example/feed", status=302, Location="http://new.example/feed")
    it.refresh(told, OLD)
    # A redirect loop, a redirect to a forbidden address, and one to an unsupported scheme.
    ways = {"ring": "http://ring.example/feed", "inside": "http://10.0.0.1/feed", "odd": "ftp://x.example/"}
    for name, way in ways.items():
        url = f"http://{name}.example/feed"
        it.origin.serve(url, status=302, Location=way)
        told.run("add", url)
        it.refresh(told, url)


def rekey(it, told):
    for fetch in range(1, 5):
        it.origin.serve(IDS, corpus.rss(corpus.numbered(f"fetch-{fetch}-", 1, 5, "https")), Content_Type=XML)
        it.refresh(told, IDS)
    told.both("explain", IDS)
    it.origin.serve(GAP, corpus.rss(corpus.numbered("g", 20, 25), start=15), Content_Type=XML)
    it.refresh(told, GAP)
    newer = [("", "Newer", ""), ("", "No guid", "http://bare.example/1"), ("", "Nor link", "")]
    it.origin.serve(BARE, corpus.rss(newer), Content_Type=XML)
    it.refresh(told, BARE)


def fail(it, told):
    it.origin.serve(GONE, status=410)
    it.refresh(told, GONE)
    it.refresh(told, GONE)
    it.age(GONE, "failures")
    it.refresh(told, GONE)
    told.run("add", LOST, BUSY)
    it.refresh(told, LOST)
    it.refresh(told, LOST)
    it.origin.serve(BUSY, status=429, Retry_After="3600")
    it.refresh(told, BUSY)
    told.run("refresh", BUSY)
    told.run("refresh", BUSY, "--ignore-floor", "--json")
    for status in (503, 200, 401, 403, 451, 204):
        it.origin.serve(DOWN, b"", status)
        it.refresh(told, DOWN)
    for body in (b"<html><p>Hello</html>", b"\x1f\x8b\x08 no gzip", b"<rss"):
        it.origin.serve(DOWN, body, Content_Type="text/html")
        it.refresh(told, DOWN)
    it.origin.serve(DOWN, corpus.rss(corpus.numbered("d", 1, 2)), Content_Type=XML, Content_Encoding="gzip")
    it.refresh(told, DOWN)
    it.origin.serve(DOWN, corpus.rss(corpus.numbered("d", 1, 2)), Content_Type=XML)
    it.refresh(told, DOWN)
    it.origin.serve(BROKEN, corpus.BROKEN + "</description></item></channel></rss>", Content_Type=XML)
    it.refresh(told, BROKEN)
