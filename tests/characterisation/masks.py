"""Replaces everything that differs between runs by placeholders."""
import datetime
import email.utils
import re
import socket

DAY = 86400


class Masks:
    def __init__(self, world, version):
        self.world = world
        self.version = version
        self.since, self.until = world.started - 2 * DAY, world.started + 100 * DAY
        self.records = {}  # id in the stream of signals -> its number
        self.host = socket.gethostname()
        self.secrets = {}  # random value -> its placeholder
        self.ports = {world.origin.port: "<origin>", world.names.port: "<names>"}

    def learn_records(self, ids):
        for record in ids:
            self.records.setdefault(record, len(self.records) + 1)

    def is_now(self, seconds):
        return self.since < seconds < self.until

    def number(self, match):
        digits = match.group()
        seconds = int(digits) / {10: 1, 13: 1e3, 16: 1e6}[len(digits)]
        return "<time>" if self.is_now(seconds) else digits

    def record(self, match):
        name = match.group()
        if name in self.records:
            return f"<record {self.records[name]}>"
        return "<record>" if self.is_now(int(match.group(1)) / 1000) else name

    def iso(self, match):
        moment = datetime.datetime.fromisoformat(match.group(1).replace(" ", "T") + "+00:00")
        return "<time>" if self.is_now(moment.timestamp()) else match.group()

    def http(self, match):
        moment = email.utils.parsedate_to_datetime(match.group())
        return "<time>" if self.is_now(moment.timestamp()) else match.group()

    def text(self, text):
        text = text.replace(self.world.directory, "<dir>").replace(self.world.program, "<feedmill>")
        text = re.sub(r"\b(feedmill[/ ])" + re.escape(self.version), r"\1<version>", text)
        text = text.replace("Couldn't connect to server", "Could not connect to server")  # depends on libcurl's version
        for secret, name in self.secrets.items():
            text = text.replace(secret, name)
        for port, name in self.ports.items():
            text = re.sub(rf"(?:(?<=[:\"\s])|(?<=%3A)){port}\b", name, text)
        text = re.sub(r" Delayed by \d[\d.]* (s|min|h) so that feeds do not all come due together\.", "", text)  # random
        text = re.sub(r"\b(1[6-9]\d{11})-\d+\b", self.record, text)
        text = re.sub(r'(?<!hash":")(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])', "<id>", text)
        text = re.sub(r"v[0-9a-f]{4}(?=[0-9a-f]{27}(?:v|\b))", "v<rules>", text)
        text = re.sub(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])", "<replication id>", text)
        text = re.sub(r"(?<![\d.])(\d{16}|\d{13}|\d{10})(?![\d])", self.number, text)
        text = re.sub(r"\b(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(\.\d+)?Z?", self.iso, text)
        text = re.sub(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT", self.http, text)
        text = re.sub(r"(configuration <code>)[0-9a-f]{16}", r"\1<hash>", text)
        text = re.sub(rf'(\bon |<bdi>|<td>|workers +\d+: |"host":"){re.escape(self.host)}\b', r"\1<host>", text)
        text = re.sub(r"<id>:\d+-\d+", "<claim>", text)
        # How often a feed posts as of today, the resulting interval, and where in it the feed is due.
        text = re.sub(r"(?m)^rate = .*", "rate = <rate>", text)
        text = re.sub(r'("rate",)"[^"]*"', r'\1"<rate>"', text)
        text = re.sub(r'("new_per_week":)[0-9.eE+-]+', r"\1<rate>", text)
        text = re.sub(r"\badaptive \d+ S=\S+?(?=\\n|$)", "adaptive <seconds> S=<share>", text)
        text = re.sub(r"\badaptive [\d ]+ s \(S = [^)]*\)", "adaptive <seconds> (S = <share>)", text)
        text = re.sub(r'("code":"adaptive","s":)\d+(,"from":)"[^"]*"', r'\1<seconds>\2"S=<share>"', text)
        text = re.sub(r"\d+ resumed", "<seconds> resumed", text)
        text = re.sub(r"phase (\+?)\d[\d ]*(?<! )", r"phase \1<seconds>", text)
        text = re.sub(r'("code":"phase","s":)\d+', r"\1<seconds>", text)
        return text


def spans(text):
    """Masks durations and ages."""
    text = re.sub(r"\b(in|for|since|after|up) \d[\d.]*\s?(ms|s|min|h|d)\b", r"\1 <span>", text)
    text = re.sub(r"\b\d[\d.]*\s?(ms|s|min|h|d) (ago|late)\b", r"<span> \2", text)
    text = re.sub(r"\(now\)", "(<span> ago)", text)
    text = re.sub(r"last push now", "last push <span> ago", text)
    text = re.sub(r"\) now, ", r") <span> ago, ", text)
    text = re.sub(r"\b\d\.\d{3} s\b", "<span>", text)
    text = re.sub(r'("seconds":){[^}]*}', r"\1{<spans>}", text)
    text = re.sub(r"(<span>(?: ago| late)?) {2,}", r"\1  ", text)  # padding of the column
    return re.sub(r"(it was due <time>), <span> ago", r"\1", text)


def steps(text):
    """Masks the time and duration of each step of a trace."""
    text = re.sub(r"(?m)^ *\d+ ms  ", "<ms>  ", text)
    return spans(re.sub(r'"ms":\d+', '"ms":<ms>', text))


def machine(text):
    """Masks what doctor reports about its machine."""
    text = re.sub(r"(redis|valkey) \d[\d.]*, ", "redis <version>, ", text)
    text = re.sub(r"[\d.]+ [KMG]iB used", "<size> used", text)
    text = re.sub(r"\d+ files may be open", "<number> files may be open", text)
    text = re.sub(r"differ by [\d.]+ s", "differ by <span>", text)
    return re.sub(r"\d+ authorities in [^\s\"]+", "<number> authorities in <file>", text)


def in_any_order(text):
    return "".join(sorted(text.splitlines(True)))


def figures(text):
    """Masks current numbers with their units."""
    text = re.sub(r"\b\d[\d.]*( (ms|s|min|h|d|B|KiB|MiB|GiB)\b)?|–", "<n>", spans(text))
    text = re.sub(r'(<tr>\n<th scope="row">at most <n></th>\n(?:(?!</tr>).*\n)+</tr>\n)\1+', r"\1", text)  # a busy machine
    return re.sub(r"\[[.#]*\]", "[<bar>]", text)


def log_lines(text):
    """Sorts log lines, because concurrent events come in any order."""
    text = re.sub(r'("(?:ms|[a-z_]+_ms|pid)":)[\d.E+-]+', r"\1<number>", text)
    return in_any_order(spans(text))
