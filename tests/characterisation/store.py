"""All of Redis as text, and the changes since the last look."""

def text_of(value):
    return value.decode("utf-8", "backslashreplace").replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def pairs(values):
    return list(zip(values[::2], values[1::2]))


def whole(fields):
    """Joins values stored in pieces of 64 bytes, NAME NAME.1 NAME.2 …; pieces after a shorter one are leftovers."""
    values = dict(fields)
    for name, value in fields:
        number = 1
        goes_on = len(value) == 64
        while (piece := b"%s.%d" % (name, number)) in values:
            value = values.pop(piece)
            if goes_on and value != b"\0":
                values[name] += value
            goes_on = goes_on and len(value) == 64
            number += 1
    return values


def packed_items(value):
    """The rows of digests, which are in any order, then the hashes of items."""
    end = 4 + 16 * int.from_bytes(value[:4], "little")
    rows = [value[at:at + 16] for at in range(4, end, 16)]
    lines = [f"{int.from_bytes(row[:6], 'little')} = {text_of(row[6:])}" for row in rows]
    return sorted(lines) + ["items " + value[at:at + 16].hex() for at in range(end, len(value), 16)]


class Store:
    def __init__(self, redis, masks):
        self.redis, self.masks = redis, masks
        self.before = {}

    def lines_of(self, key, kind):
        call = self.redis.call
        if kind == "string" and key.startswith(b"state:items:"):
            return packed_items(call("GET", key))
        if kind == "string":
            return [text_of(call("GET", key))]
        if kind == "list":
            return [text_of(value) for value in call("LRANGE", key, 0, -1)]
        if kind == "set":
            return sorted(text_of(value) for value in call("SMEMBERS", key))
        if kind == "zset":
            # Redis sorts members of equal score by name; do the same for members with the same masked time.
            scores = pairs(call("ZRANGE", key, 0, -1, "WITHSCORES"))
            rows = [(self.masks.text(text_of(score)), text_of(name)) for name, score in scores]
            if any(score == "<time>" for score, _ in rows):
                rows.sort(key=lambda row: row[1])
            return [f"{score}  {name}" for score, name in rows]
        if kind == "hash":
            fields = whole(pairs(call("HGETALL", key)))
            if key == b"meta:store":  # figures that the leader may not have stored yet
                for name in (b"claimed", b"differing", b"oldest_success"):
                    fields.pop(name, None)
            return sorted(f"{text_of(field)} = {text_of(value)}" for field, value in fields.items())
        records = call("XRANGE", key, "-", "+")
        lines = []
        for number, fields in records:
            lines.append(number.decode())
            lines += [f"  {text_of(field)} = {text_of(value)}" for field, value in pairs(fields)]
        return lines

    def groups_of(self, key):
        return [" ".join(text_of(part) if isinstance(part, bytes) else str(part) for part in group)
                for group in self.redis.call("XINFO", "GROUPS", key)]

    def learn(self):
        """Numbers the records of the stream, so that references to them are stable."""
        if self.redis.call("TYPE", "stream:signals") == b"stream":
            records = self.redis.call("XRANGE", "stream:signals", "-", "+")
            self.masks.learn_records(number.decode() for number, _ in records)

    def read(self):
        self.learn()
        seen = {}
        for key in sorted(self.redis.call("KEYS", "*")):
            kind = self.redis.call("TYPE", key).decode()
            if kind == "none" or key in (b"state:wake", b"lock:fleet"):  # may have expired, or soon will
                continue
            lines = [self.masks.text(line) for line in self.lines_of(key, kind)]
            name = self.masks.text(text_of(key))
            ends = ", expires" if self.redis.call("PTTL", key) >= 0 else ""
            number = 2
            while name in seen:
                name, number = f"{self.masks.text(text_of(key))} ({number})", number + 1
            seen[name] = [f"{kind}{ends}"] + lines
            if kind == "stream":
                seen[name + " (its groups)"] = ["groups"] + [self.masks.text(group) for group in self.groups_of(key)]
        return seen

    def everything(self, but):
        return "".join(render(key, lines) for key, lines in self.read().items() if key != but)

    def changes(self):
        """Keys that were added, removed or changed; for a stream only the added records."""
        now, before = self.read(), self.before
        text = ""
        for key in sorted(now.keys() | before.keys()):
            if key not in now:
                text += f"- {key}\n\n"
            elif key not in before:
                text += "+ " + render(key, now[key])
            elif now[key] != before[key]:
                lines = now[key]
                if lines[0].startswith("stream") and lines[:len(before[key])] == before[key]:
                    lines = [lines[0], "…"] + lines[len(before[key]):]
                text += "~ " + render(key, lines)
        self.before = now
        return text


def render(key, lines):
    return f"{key}  {lines[0]}\n" + "".join(f"  {line}\n" for line in lines[1:]) + "\n"
