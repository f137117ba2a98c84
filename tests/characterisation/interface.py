"""Output without any feed: versions, configuration, errors of wrong commands. docs/CLI.md has the help."""
import re

from transcript import Transcript, read_text


def verbs_of(text):
    """The verbs listed in a help text, under the headings of their groups."""
    parts = re.findall(r"^(?!Options|Configuration|Arguments|Keys|Fields|Example)[A-Z].*:\n((?:  .*\n)+)", text, re.M)
    return [name for part in parts for name in re.findall(r"^  ([a-z][a-z-]*) ", part, re.M)]


def all_verbs(world, verb=()):
    found = [verb]
    for name in verbs_of(world.run(*verb, "--help").stdout.decode()):
        found += all_verbs(world, (*verb, name))
    return found


def without_last_lines(text):
    """Normalises the blank lines at the end of a help text, which differ between versions of CLI11."""
    return re.sub(r"\n+\Z", "\n", text)


def wrong_lines(world, masks, verbs):
    """For every verb: no argument, an unknown option, an invalid value."""
    told = Transcript(world, masks, without_last_lines)
    told.run()
    told.run("lits")
    told.run("--colour", "never", "list")
    told.run("list", "--color", "perhaps")
    told.run("list", "--config", "/nowhere/feedmill.toml")
    told.run("list", "--redis", "unix:/nowhere/redis.sock")
    told.run("list", "--redis", "unix:/nowhere/redis.sock", "--json")
    told.run("list", "--redis", "nonsense")
    for verb in verbs:
        # `run` and `tail` would not end by themselves; the other excluded verbs succeed without arguments.
        if verb and verb not in [("run",), ("tail",), ("man",), ("doctor",), ("stats",), ("plan",), ("completion",),
                                  ("help",), ("version",)]:
            told.run(*verb)
        if verb:
            told.run(*verb, "--no-such-option")
    for line in WRONG_VALUES.strip().splitlines():
        told.run(*line.split())
    return str(told)


WRONG_VALUES = """
add ftp://x.example/ http://y.example/feed
add http://me:s3cret@x.example/feed
add http://x.example/feed --keep none
add http://x.example/feed --interval-min soon
add http://x.example/feed --policy none
add http://x.example/feed --auth none
remove http://x.example/feed
remove http://x.example/feed --yes
remove http://x.example/feed --yes --json
move http://x.example/feed
move http://x.example/feed http://z.example/feed
move http://x.example/feed ftp://z.example/feed
refresh http://x.example/feed
refresh http://x.example/feed --json
refresh --all http://x.example/feed
show http://x.example/feed
show http://x.example/feed --json
show nonsense
set http://x.example/feed keep=3
set http://x.example/feed nonsense
set http://x.example/feed keep=many
set http://x.example/feed kep=1
set http://x.example/feed proxy=nonsense
set http://x.example/feed header.Host=x
set http://x.example/feed header.Authorization=x
set http://x.example/feed interval_min=2h interval_max=1h
pause http://x.example/feed
resume http://x.example/feed
list --state asleep
import /nowhere/list.opml
entries http://x.example/feed
entries http://x.example/feed --limit 0
entries http://x.example/feed --before yesterday
entry Entry:99
entry Entry:99 --json
entry 99
entry --guid x
entry put --feed http://x.example/feed --guid g title=T
entry put --guid g title=T
entry put --feed http://x.example/feed --guid g titel=T
entry put --feed http://x.example/feed --guid g date_published=soon
entry put --feed http://x.example/feed --guid g authors=[
entry remove Entry:99 --yes
expire http://x.example/feed --yes
expire http://x.example/feed --age soon --yes
expire http://x.example/feed --limit -1 --yes
tail --from nonsense
tail --type post_exploded --from 0
channel add a/b/c
channel add
channel remove nobody/news --yes
channel feeds nobody/news
channel timeline nobody/news
channel timeline nobody/news --before x
channel read nobody/news Entry:1
channel order nobody/news
channel unread-count nobody/news
notify rules nobody --feed nonsense
notify rules nobody --remove 99
notify list nobody
notify read nobody
notify read nobody 99
notify delete nobody 99
verify --feed http://x.example/feed
verify --journal /nowhere/journal.jsonl
store export /nowhere/store.jsonl
store import /nowhere/store.jsonl
parse /nowhere/feed.xml
parse --raw-html --html-policy strict /nowhere/feed.xml
parse --html-policy lenient /nowhere/feed.xml
explain http://x.example/feed
check nonsense
discover nonsense
plan --days 0
plan --feeds none
health
health --ready --json
top --once
top --interval never
trace http://x.example/feed
trace http://x.example/feed --for soon
trace http://x.example/feed --live --ignore-floor
run --once --lanes none
run --redis unix:/nowhere/redis.sock --once
config show nonsense
completion tcsh
"""


def configuration(world, masks):
    told = Transcript(world, masks)
    saved, world.environment = world.environment, {name: value for name, value in world.environment.items()
                                                   if not name.startswith("FEEDMILL_")}
    good = world.file("good.toml", GOOD)
    bad = world.file("bad.toml", BAD)
    broken = world.file("broken.toml", "[redis\nurl = 1\n")
    world.file("password", "secret\n")
    example = world.file("example.toml", read_text("deploy/feedmill.toml.example"))
    told.both("config", "show")
    told.both("config", "show", "--origin")
    for file in ([], ["--config", good], ["--config", example]):
        told.both("config", "show", "--changed", "--origin", *file)
        told.both("config", "check", *file)
    for file in (bad, broken, "/nowhere/feedmill.toml"):
        told.run("config", "check", "--config", file)
        told.run("config", "check", "--json", "--config", file)
        told.run("config", "show", "--config", file)
        told.run("list", "--config", file)
        told.run("run", "--once", "--config", file)
    told.run("config", "show", "--changed", "--origin", "--keep", "7", "--listen", "off", FEEDMILL_SCHEDULE_FLOOR="2h",
             FEEDMILL_REDIS_PASSWORD_FILE=world.directory + "/password",
             FEEDMILL_REDIS_URL_FILE=world.file("url", "unix:/x"))
    told.run("config", "check", FEEDMILL_SCHEDULE_FLOOR="2", FEEDMILL_SCHEDULE_FLOR="1h", FEEDMILL_EGRESS_ALLOW="300.0.0.1",
             FEEDMILL_REDIS_URL="http://x/", FEEDMILL_RETENTION_BYTES="-1", FEEDMILL_ADMIN_LISTEN="x")
    world.environment = saved
    # The TOML parser's wording of syntax errors, and the number of CPUs.
    text = re.sub(r"Error while parsing[^\n\"]*(?:\"[^\n\"]*)?(?=\n|\"})", "<syntax error>", str(told))
    return re.sub(r'(worker.cpu_threads(?: = |","value":"))\d+', r"\1<processors>", text)


GOOD = """[redis]
url = "unix:/run/redis.sock"
[schedule]
floor = "2h"
[log]
redact_params = ["token", "k"]
[feed_auth."paper"]
header = "X-Token"
value_file = "password"
origin = "http://paper.example"
[host."slow.example"]
concurrency = 1
spacing = "5s"
min_interval = "3h"
http_version = "1.1"
[host_group."pool"]
hosts = ["a.example", "b.example"]
[egress.policy."inside"]
allow = ["10.0.0.0/8:8080"]
"""

BAD = """[redis]
url = "ftp://x/"
timeout = "soon"
[schedule]
flor = "2h"
min_floor = "1s"
ceiling = "1min"
[retention]
entries = -1
strict = "maybe"
[egress]
allow = ["10.0.0.0/99"]
ports = ["http"]
[feed_auth."paper"]
user = "x"
[host."slow.example"]
speed = 3
[nonsense]
x = 1
"""


def about(world, masks):
    """Masks the versions of libraries, but not their names."""
    told = Transcript(world, masks)
    told.run("--version")
    told.run("--version", "--json")
    text = re.sub(r"(?m)^([a-zA-Z]\S+) [0-9].*$", r"\1 <version>", str(told))
    text = re.sub(r'hiredis_ssl <version>\n|"hiredis_ssl":"[^"]*",', "", text)  # not in Debian 12
    text = re.sub(r'"libcurl_features":\[[^\]]*\]', '"libcurl_features":[…]', text)
    return re.sub(r'":"[0-9][^"]*"', '":"<version>"', text)


def observe(world, masks):
    return {
        "version.txt": about(world, masks),
        "wrong_lines.txt": wrong_lines(world, masks, all_verbs(world)),
        "configuration.txt": configuration(world, masks),
    }
