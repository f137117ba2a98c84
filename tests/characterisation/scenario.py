"""Sample feeds are added, change and are removed, by chapters; each records output, stored data and requests."""
import re

import changes
import operations
import questions
import running
from masks import spans
from store import Store
from transcript import Transcript

# Chapters of the second list do several things at once: the order of requests to the origin is undefined.
IN_ORDER = [changes.ingest, changes.edit, changes.trim, changes.move, changes.rekey, changes.fail, questions.ask,
            questions.look, questions.go_directly, operations.operate, operations.deliver, operations.mend,
            operations.archive]
AT_ONCE = [operations.work, running.push]


class Scenario:
    def __init__(self, world, masks):
        self.world, self.masks, self.origin = world, masks, world.origin
        self.store = Store(world.redis, masks)
        self.seen = {}

    def tell(self, chapter, in_order):
        """Records the output of a chapter's verbs, the changes in Redis, and the requests to the origin."""
        told = Transcript(self.world, self.masks, spans, self.store.learn)
        since = len(self.origin.requests)
        chapter(self, told)
        requests = [request_text(*request) for request in self.origin.requests[since:]]
        asked = self.masks.text("".join(requests if in_order else sorted(requests)))
        asked = re.sub(r"(direct\.example/.*\n.*feed-id=)\w+", r"\1<of a port>", asked)
        self.seen[f"{chapter.__name__}.verbs.txt"] = str(told)
        self.seen[f"{chapter.__name__}.redis.txt"] = self.store.changes()
        self.seen[f"{chapter.__name__}.requests.txt"] = asked

    def refresh(self, told, url, **more):
        told.run("refresh", url, "--ignore-floor", **more)

    def age(self, url, field, hours=25):
        """Moves a time in a feed's state `hours` back."""
        def earlier(match):
            return str(int(match.group()) - hours * 3600 * 1000)
        key = "state:feed:" + url
        value = self.world.redis.call("HGET", key, field).decode()
        self.world.redis.call("HSET", key, field, re.sub(r"\b1[6-9]\d{11}\b", earlier, value))


COMMON = ("accept", "accept-encoding")
CURLS_OWN = ("host", "proxy-connection", "connection")


def request_text(method, url, headers, body):
    """A request without the headers that most requests share; common_headers() lists these."""
    text = f"{method} {url}\n"
    for name, value in headers:
        if name.lower() not in CURLS_OWN + COMMON:
            text += f"  {name}: {value}\n"
    return text + (f"  {body.decode()}\n" if body else "")


def common_headers(requests):
    lines = {f"{method} {name}: {value}\n" for method, _, headers, _ in requests for name, value in headers
             if name.lower() in COMMON}
    return "".join(sorted(lines))


def observe(world, masks):
    it = Scenario(world, masks)
    world.redis.call("FLUSHALL")
    for chapter in IN_ORDER + AT_ONCE:
        it.tell(chapter, chapter in IN_ORDER)
    it.seen["common.requests.txt"] = common_headers(it.origin.requests)
    return it.seen
