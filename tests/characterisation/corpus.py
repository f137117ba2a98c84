"""The sample feeds: small ones of each format, and their later versions."""
from xml.sax.saxutils import escape

PICTURE = "http://rss.example/p.png"


def rss(posts, title="Sample", more="", start=0):
    """An RSS 2.0 document of (guid, title, link), newest first, published a day apart."""
    items = ""
    for place, (guid, name, link) in enumerate(posts):
        day = start + len(posts) - place
        items += "<item>" + (f'<guid isPermaLink="false">{escape(guid)}</guid>' if guid else "")
        items += (f"<link>{escape(link)}</link>" if link else "") + f"<title>{escape(name)}</title>"
        items += f"<description>About {escape(name)}</description>"
        items += f"<pubDate>{day:02} Mar 2014 12:00:00 GMT</pubDate></item>"
    return (f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" '
            f'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><title>{title}</title>'
            f"<link>http://site.example/</link><description>Of {title}</description>{more}{items}</channel></rss>")


def numbered(guid, first, last, scheme="http", host="site.example"):
    return [(f"{guid}{n}", f"Post {n}", f"{scheme}://{host}/post/{n}") for n in range(last, first - 1, -1)]


def rich_rss(edited=False):
    first = "Naïve &amp; edited" if edited else "Naïve &amp; new"
    item = f"""<item><guid>http://rss.example/1</guid><link>http://rss.example/1?utm_source=feed</link>
<title>{first}</title><description>&lt;p onclick="x()"&gt;Short&lt;/p&gt;</description>
<content:encoded><![CDATA[<p>Long <script>bad()</script><img src="/p.png" onerror="bad()">
<a href="javascript:bad()">no</a><a href="../up">up</a></p>]]></content:encoded>
<dc:creator>Ann Author</dc:creator><category domain="http://t.example/">Birds</category><category>Bees</category>
<enclosure url="http://rss.example/a.mp3" length="123" type="audio/mpeg"/><comments>http://rss.example/1#c</comments>
<media:thumbnail url="{PICTURE}" width="10" height="10"/><itunes:duration>1:02:03</itunes:duration>
<pubDate>Sat, 01 Mar 2014 10:00:00 GMT</pubDate></item>
<item><guid isPermaLink="false">two</guid><title>&lt;b&gt;Bold&lt;/b&gt; title</title><link>http://rss.example/2</link>
<description>Plain text, no markup</description><pubDate>Fri, 28 Feb 2014 10:00:00 +0100</pubDate></item>
"""
    if edited:
        item = """<item><guid isPermaLink="false">three</guid><title>Third</title><link>http://rss.example/3</link>
<pubDate>Sun, 02 Mar 2014 10:00:00 GMT</pubDate></item>
""" + item
    return f"""<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/"
 xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><title>Rich</title><link>http://rss.example/</link>
<description>All of RSS</description><language>en-GB</language><copyright>© Ann</copyright><generator>Hand</generator>
<managingEditor>ann@rss.example (Ann)</managingEditor><ttl>120</ttl><category>Nature</category>
<image><url>{PICTURE}</url><title>Rich</title><link>http://rss.example/</link></image>
{item}</channel></rss>"""


def atom(edited=False, links=""):
    changed = "2014-03-02T09:00:00Z" if edited else "2014-03-01T09:00:00Z"
    return f"""<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de" xml:base="http://atom.example/b/"><id>urn:atom</id>
<title type="html">Atom &lt;i&gt;feed&lt;/i&gt;</title><subtitle>Sub</subtitle><updated>{changed}</updated>{links}
<link href="http://atom.example/"/><author><name>Bob</name><email>bob@atom.example</email></author>
<entry><id>urn:1</id><title type="text">One &lt; two</title><updated>{changed}</updated>
<published>2014-03-01T08:00:00+02:00</published><link rel="alternate" href="1"/>
<link rel="enclosure" href="1.ogg" length="7" type="audio/ogg"/><category term="t" label="Term"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Edited {str(edited).lower()} <em>so</em></p></div>
</content></entry>
<entry xml:lang="fr"><id>urn:2</id><title>Deux</title><updated>2014-02-28T09:00:00Z</updated><link href="2"/>
<author><name>Claire</name><uri>http://claire.example/</uri></author>
<summary type="html">&lt;p&gt;Résumé&lt;/p&gt;</summary></entry>
</feed>"""


def pushed(posts, links):
    """The Atom feed's document as a hub pushes it, with entries (id, title, date)."""
    entries = "".join(f"<entry><id>{name}</id><title>{title}</title><updated>{date}</updated>"
                      f"<link href='{title}'/></entry>" for name, title, date in posts)
    return (f'<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://atom.example/b/"><id>urn:atom</id>'
            f"<title>Atom</title><updated>2014-03-03T09:00:00Z</updated>{links}{entries}</feed>")


RDF = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">
<channel rdf:about="http://rdf.example/index.rdf"><title>Triples</title><link>http://rdf.example/</link>
<description>Items beside</description><dc:language>de</dc:language><sy:updatePeriod>daily</sy:updatePeriod>
<sy:updateFrequency>2</sy:updateFrequency></channel>
<item rdf:about="http://rdf.example/1"><title>Eins</title><link>http://rdf.example/1</link>
<description>Erstens</description><dc:creator>Max</dc:creator><dc:date>2014-02-27</dc:date></item>
<item rdf:about="http://rdf.example/2"><title>Zwei</title><link>http://rdf.example/2</link>
<dc:date>2014-02-26T10:00:00Z</dc:date></item></rdf:RDF>"""

CDF = """<CHANNEL HREF="http://cdf.example/" LASTMOD="1997-11-05T08:15-05:00"><TITLE>Push</TITLE>
<ABSTRACT>From 1997</ABSTRACT><LOGO HREF="http://cdf.example/logo.gif" STYLE="IMAGE"/>
<ITEM HREF="http://cdf.example/1" LASTMOD="1997-11-04T08:15Z"><TITLE>One</TITLE><ABSTRACT>First</ABSTRACT></ITEM>
</CHANNEL>"""

JSON = """{"version":"https://jsonfeed.org/version/1.1","title":"JSON","home_page_url":"http://json.example/",
"description":"Braces","language":"en","authors":[{"name":"Dora","url":"http://dora.example/"}],"items":[
{"id":"j2","url":"http://json.example/2","title":"Second","content_html":"<p>HTML<script>x</script></p>",
"date_published":"2014-03-01T10:00:00Z","tags":["a","b"],
"attachments":[{"url":"http://json.example/a.mp4","mime_type":"video/mp4","size_in_bytes":9}]},
{"id":1,"content_text":"Plain <text>","date_published":"2014-02-01T10:00:00Z",
"date_modified":"2014-02-02T10:00:00Z"}]}"""

BROKEN = """<rss version=2.0><channel><title>Broken & bent<link>http://broken.example/</link>
<item><title>Open <b>end</title><guid>b1</guid><pubDate>someday</pubDate>
<item><title>Cut off</title><guid>b2</guid><description>It ends in the mid"""

PAGE = """<!doctype html><html><head><title>A page</title>
<link rel="alternate" type="application/rss+xml" title="News" href="/news.xml">
<link rel="alternate" type="application/atom+xml" title="All" href="/atom.xml"></head><body><p>Text</p></body></html>"""

OPML = """<?xml version="1.0"?><opml version="2.0"><head><title>List</title></head><body>
<outline text="Folder"><outline text="A" type="rss" xmlUrl="http://a.example/feed" htmlUrl="http://a.example/"/>
<outline text="B" xmlUrl="gopher://b.example/"/></outline>
<outline text="C" xmlUrl="http://c.example/feed?token=s3cret"/><outline text="Nothing"/></body></opml>"""
