"""A running worker: feeds that are pushed, and everything that can be observed from outside."""
import hmac
import http.client
import json
import re
import time
import urllib.parse

import corpus
from feeds import XML
from masks import figures, in_any_order, log_lines, spans
from world import wait_for


def push(it, told):
    """The worker subscribes, is verified and gets a post; then its pages and metrics are read."""
    hub, feed, callback = "https://hub.example/hub", "https://push.example/feed", "http://callback.example"
    links = f'<link rel="hub" href="{hub}"/><link rel="self" href="{feed}"/>'
    it.origin.serve(feed, corpus.atom(links=links), Content_Type="application/atom+xml")
    it.origin.serve(hub, status=202)
    told.run("add", feed)
    told.run("set", feed, "ca_file=" + it.origin.certificate)
    worker = it.world.start("run", FEEDMILL_ADMIN_LISTEN="127.0.0.1:0", FEEDMILL_WEBSUB_LISTEN="127.0.0.1:0",
                            FEEDMILL_WEBSUB_PUBLIC_URL=callback, FEEDMILL_WEBSUB_ALLOW_HTTP="true",
                            FEEDMILL_SCHEDULE_POLL="50ms")
    address = r" http://(127\.0\.0\.1:(\d+))"
    admin, listener = (wait_for("the worker", lambda: re.search(words + address, worker.err()))
                       for words in ("ready,", "callbacks at"))
    it.masks.ports |= {int(admin.group(2)): "<admin>", int(listener.group(2)): "<callbacks>"}

    def ask(method, path, body=b"", **headers):
        """Sends a request to the callback listener, as a hub does through a reverse proxy."""
        status, text = request(listener.group(1), method, path, body, {"Host": "callback.example", **headers})
        lines = [f"{method} {path}", *(f"  {name}: {value}" for name, value in headers.items()), f"= {status} {text}"]
        told.say("\n".join(lines))

    def asked():
        return next((dict(urllib.parse.parse_qsl(body.decode())) for method, url, _, body in it.origin.requests
                     if (method, url) == ("POST", hub)), None)
    subscription = wait_for("the subscription", asked)
    path = subscription["hub.callback"].removeprefix(callback)
    key = subscription["hub.secret"]
    it.masks.secrets[key] = "<secret>"
    it.masks.secrets[path.rsplit("/", 1)[1]] = "<token>"
    verify = {"hub.mode": "subscribe", "hub.topic": feed, "hub.challenge": "challenge",
              "hub.lease_seconds": "864000"}
    ask("GET", path + "?" + urllib.parse.urlencode({**verify, "hub.topic": "http://other.example/"}))
    ask("GET", path + "?" + urllib.parse.urlencode(verify))
    ask("GET", "/w/abcdefghijklmnopqrstuvwxyz?" + urllib.parse.urlencode(verify))
    ask("GET", "/")
    state = "state:feed:" + feed
    token = it.world.redis.call("HGET", state, "push_token").decode()
    it.masks.secrets[token] = "<hash of the token>"
    # An old post might be trimmed at once: only a new one is stored.
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))
    pushed = corpus.pushed([("urn:4", "Pushed", now), ("urn:3", "Too old", "2014-03-01T12:00:00Z"),
                            ("urn:1", "Edited", "2014-03-04T12:00:00Z")], links).encode()
    ask("POST", "/w/abcdefghijklmnopqrstuvwxyz", pushed)
    ask("PUT", path, pushed)
    signature = hmac.new(key.encode(), pushed, "sha256").hexdigest()
    it.masks.secrets[signature] = "<signature>"
    ask("POST", path, pushed, **{"Content-Type": "application/atom+xml", "X-Hub-Signature": "sha256=" + signature})
    wait_for("the pushed post", lambda: it.world.redis.call("HGET", feed + ":guidmap", "urn:4"))
    wait_for("the poll that follows", lambda: it.world.redis.call("HGET", state, "counts").startswith(b"2 "))
    ask("POST", path, pushed, **{"X-Hub-Signature": "sha256=" + 64 * "0"})
    ask("POST", path, pushed)
    wait_for("their counting", lambda: it.world.redis.call("HGET", "websub:callback:" + token, "bad") == b"2")
    digest = it.world.redis.call("HGET", it.world.redis.call("HGET", feed + ":guidmap", "urn:4"), "digest").decode()
    it.masks.secrets[digest] = "<digest of a new post>"
    it.masks.secrets[digest[-10:]] = "<its mark>"
    listen = ["--listen", admin.group(1)]
    it.origin.serve("http://late.example/feed", corpus.rss(corpus.numbered("l", 1, 2)), Content_Type=XML)
    told.run("add", "http://late.example/feed")
    wait_for("the fetch", lambda: it.world.redis.call("EXISTS", "http://late.example/feed:sort"))
    last = it.world.redis.call("HGET", "meta:store", "last_signal")
    for target in ("timelines", "notices"):
        wait_for("deliveries", lambda: it.world.redis.call("GET", f"deliver:{target}:000") == last)
    heartbeat = "state:worker:" + json.loads(worker.err().splitlines()[0])["worker"]
    wait_for("a heartbeat", lambda: it.world.redis.call("HGET", heartbeat, "in_flight") == b"0")
    told.both("show", feed)
    told.both("explain", feed)
    told.both("health", *listen)
    told.both("health", "--ready", *listen)
    told.both("list", "--host", "push.example")
    told.run("add", "http://late.example/feed", "--json")
    told.run("stats")
    told.run("top", "--once", *listen, mask=lambda text: in_any_order(re.sub("  +", "  ", figures(text))))
    for path in ("/livez", "/readyz", "/startupz", "/readyz?verbose", "/", "/nothing", "/ping",
                 "/status/feed?url=http://nothing/"):
        told.say("GET {}\n= {} {}".format(path, *request(admin.group(1), "GET", path)))
    told.say("POST /ping\n= {} {}".format(*request(admin.group(1), "POST", "/ping", b"url=http://nothing.example/")))
    query = "?" + urllib.parse.urlencode({"url": feed})
    pages = {"status.html": "/status", "feeds.html": "/status/feeds", "feed.html": "/status/feed" + query,
             "explain.json": "/explain" + query}
    for name, path in pages.items():
        it.seen["page_" + name] = page(it.masks.text(request(admin.group(1), "GET", path)[1]))
    # The slowest host and the feed due first vary between runs.
    overview = figures(it.seen["page_status.html"])
    it.seen["page_status.html"] = re.sub(r"\b(late|push)\.example", "<feed host>", overview)
    it.seen["page_feeds.html"] = "<tr>".join(sorted(it.seen["page_feeds.html"].split("<tr>")))
    it.seen["metrics.txt"] = series(request(admin.group(1), "GET", "/metrics")[1])
    status = json.loads(request(admin.group(1), "GET", "/status.json")[1], parse_float=str)
    it.seen["status.json.txt"] = tree(status)
    told.say(f"stopped\n= {worker.stop()}")
    told.say("log\n" + log_lines(it.masks.text(worker.err())))


def request(address, method, path, body=b"", headers=None):
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request(method, path, body or None, headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def page(html):
    """Puts each tag on its own line and drops the bars of curves, because their number varies."""
    html = re.sub(r">\d[\d.]* (ms|s|min)<", "><span><", html.replace(">now<", "><span> ago<"))
    lines = spans(html).replace("><", ">\n<").splitlines(True)
    return "".join(line for line in lines if not line.startswith("<rect"))


def series(text):
    """Names, labels and help texts of metrics, without values; sorts the series of each, which the library does not
    order."""
    lines, family = [], []
    for line in text.splitlines():
        if line.startswith("#"):
            lines, family = lines + sorted(family) + [line], []
        else:
            name = re.sub(r" \S+$", "", line)
            family.append(re.sub(r'="[^"]*"', '="<version>"', name) if "build_info" in name else name)
    return "\n".join(lines + sorted(family)) + "\n"


def tree(value, path=""):
    """JSON as lines, in order; for a list the combined lines of its items."""
    if isinstance(value, dict):
        inside = (tree(inner, f"{path}.{name}" if path else name) for name, inner in value.items())
        return "".join(inside) or f"{path} = {{}}\n"
    if isinstance(value, list):
        lines = "".join(tree(inner, path + "[]") for inner in value).splitlines(True)
        return "".join(dict.fromkeys(lines)) or f"{path} = []\n"
    of_the_moment = r"(seconds|_bytes|configuration|host|pid|\.id|^at|version)$|lateness|stretches|slowest_hosts|posts\[\]\.(at|feed_url)$"
    varies = re.search(of_the_moment, path)
    return f"{path} = {'<varies>' if varies else json.dumps(value, ensure_ascii=False)}\n"
