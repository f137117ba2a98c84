#!/usr/bin/python3
"""Checks the partition functions of deploy/examples against `feedmill where` (RELIABILITY L27).

    partition_functions.py PROGRAM DIRECTORY_OF_EXAMPLES     skips, with a message, languages that are not installed;
                                                             exit 77: at least one was skipped
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "characterisation"))
from world import Redis  # noqa: E402

PATIENCE = 90  # seconds; other tests run at the same time
PATH = "/usr/bin:/bin"

# Canonical URLs, as the program stores them.
URLS = [
    # What may follow a host, or seem to.
    "https://example.org/",
    "https://example.org/feed.xml",
    "http://example.org/feed.xml",
    "https://example.org:8443/feed.xml",
    "https://example.org/?feed=rss2",
    "https://example.org/?to=https://example.net:81/[::1]",
    "https://example.org/user@example.net:81/",
    "https://example.org/a://example.net/",
    "https://example.org/%7Bp003.a%7D:Entry:5",
    "https://example.org/{p003.a}:Entry:5",
    "https://example.org/{}{{}}[]",
    "https://example.org/" + "a" * 2020,
    "https://example.org:65535/" + "%C3%A9" * 300,
    # Host names.
    "http://localhost/",
    "http://localhost:1/",
    "http://a/",
    "http://p003.a/",
    "https://www.example.org/feed.xml",
    "https://under_score.example.org/feed.xml",
    "https://-dash-.example.org/feed.xml",
    "https://a--b.example.org/feed.xml",
    "https://xn--mnchen-3ya.example/feed.xml",
    "https://xn--e1afmkfd.xn--p1ai:8080/feed.xml",
    "https://xn--fsqu00a.xn--0zwm56d/feed.xml",
    "https://" + ".".join(["a" * 63] * 3) + "/feed.xml",
    "https://" + "a." * 120 + "example/feed.xml",
    # IP addresses.
    "http://127.0.0.1/",
    "http://192.0.2.1:8080/feed.xml",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[::1]:8080/feed.xml",
    "http://[::]:81/?q",
    "http://[2001:db8::1]/feed.xml",
    "http://[2001:db8:1:2:3:4:5:6]:8443/]:80/",
    "http://[fe80::1]/",
    "http://[::ffff:192.0.2.1]/",
] + [f"https://host-{number}.example/{number}" for number in range(6)]
# Enough hosts for every partition to have some. There is no expected value: the functions must agree.
MORE = [f"https://{number}.example.org:{number + 1}/feed" for number in range(5000)]


def where(program, redis, partitions):
    """The program's answers for URLS, in the format that the examples print."""
    prefix = f"of{partitions}:"  # a store cannot change its number of partitions
    environment = {"PATH": PATH, "HOME": "/", "FEEDMILL_REDIS_URL": redis.url, "FEEDMILL_REDIS_KEY_PREFIX": prefix,
                   "FEEDMILL_REDIS_PARTITIONS": str(partitions)}
    told = []
    for url in URLS:
        done = subprocess.run([program, "where", url, "--json"], env=environment, capture_output=True, text=True,
                              timeout=PATIENCE)
        assert done.returncode == 0, f"where {url} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        row = json.loads(done.stdout)
        assert row["partitions"] == partitions and row["prefix"].startswith(prefix), row
        told.append(f"{row['partition']} {row['prefix'].removeprefix(prefix)}")
    return told


def ask(command, partitions, urls):
    done = subprocess.run([*command, str(partitions)], input="".join(url + "\n" for url in urls), capture_output=True,
                          env={"PATH": PATH, "HOME": "/"}, text=True, timeout=PATIENCE, check=True)
    return done.stdout.splitlines()


def same(name, partitions, urls, found, expected):
    assert len(found) == len(urls), f"{name}: {len(found)} lines for {len(urls)} feeds"
    for url, its, right in zip(urls, found, expected):
        assert its == right, f"{name} {partitions}: {url[:100]} is in {its!r}, not in {right!r}"


def commands(examples, directory):
    """Yields the name and command of each example; prints why one is skipped."""
    for name, tool in {"py": "python3", "js": "node", "go": "go"}.items():
        source = str(examples / f"partition.{name}")
        if shutil.which(tool, path=PATH) is None:
            print(f"partition.{name} skipped: {tool} is not installed (scripts/install-packages --operations)")
        elif name == "go":
            built = os.path.join(directory, "partition")
            subprocess.run(["go", "build", "-o", built, source], check=True,
                           env={"PATH": PATH, "HOME": directory, "GO111MODULE": "off"})
            yield "partition.go", [built]
        else:
            yield f"partition.{name}", [tool, source]


def main():
    program, examples = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    directory = tempfile.mkdtemp(prefix="feedmill-partitions-")
    redis = Redis(directory, "redis")
    try:
        expected = {partitions: where(program, redis, partitions) for partitions in (2, 16, 256)}
        ran, of_more = 0, {}
        for name, command in commands(examples, directory):
            same(name, 1, URLS, ask(command, 1, URLS), ["0 {p000}:"] * len(URLS))
            for partitions, right in expected.items():
                found = ask(command, partitions, URLS + MORE)
                same(name, partitions, URLS + MORE, found, right + of_more.setdefault(partitions, found[len(URLS):]))
                assert len(set(found)) == partitions, f"{name} {partitions}: {len(set(found))} partitions have feeds"
            print(f"{name}: says what the program says of {len(URLS)} feeds in 2, 16 and 256 partitions")
            ran += 1
    finally:
        redis.kill()
        subprocess.run(["chmod", "-R", "u+w", directory], check=False)
        shutil.rmtree(directory, ignore_errors=True)
    sys.exit(0 if ran == 3 else 77)


main()
