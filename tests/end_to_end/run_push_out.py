#!/usr/bin/python3
"""Runs the real `scripts/run --push-out` until a post has reached every receiver, then presses Ctrl-C, which must
leave no process.

    run_push_out.py PROGRAM SAMPLE_PUBLISHER     without Node, skips the webhook with a message
"""
import http.client
import os
import pathlib
import re
import shutil
import signal
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docs"))
from worlds import PATIENCE, Sample, wait_for  # noqa: E402


def hear(address):
    """Waits for the first post of the live stream, up to PATIENCE seconds without any data."""
    url = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(url.netloc, timeout=PATIENCE)
    connection.request("GET", f"{url.path}?{url.query}")
    answer = connection.getresponse()
    assert answer.status == 200, (answer.status, answer.read(1000))
    wanted = re.compile(rb"event: post_(created|modified)")
    while line := answer.readline():
        if wanted.match(line):
            connection.close()
            return
    sys.exit("the live stream has ended by itself")


def left_of(world):
    """Processes that belong to the world: its directory is in their working directory, arguments or environment."""
    directory, left = str(world.directory).encode(), []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            known = os.readlink(process / "cwd").encode() + words + (process / "environ").read_bytes()
        except OSError:
            continue  # it has ended, or belongs to another user
        if directory in known and int(process.name) != os.getpid():
            left.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return left


def main():
    world = Sample(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
    run = world.start("exec ./scripts/run --push-out")

    def wait_for_line(pattern, stream="out"):
        def is_there():
            if run.poll() is not None:
                sys.exit(f"it ended with {run.returncode}")
            return re.search(pattern, world.said(run, stream), re.MULTILINE)
        wait_for(pattern, is_there)
        return is_there()

    try:
        wait_for_line(r"^A  .* post_created ")
        wait_for_line(r"^B  .* post_created ")
        if shutil.which("node", path=world.environment["PATH"]):
            wait_for_line(r"^webhook  post_created Entry:\d+$")
        else:
            wait_for_line("^webhook  SKIPPED: Node is not installed", "err")
            print("run_push_out: the webhook SKIPPED: Node is not installed (scripts/install-packages --operations)")
        hear(world.here(wait_for_line("curl -N '([^']+)'", "err")[1]))
        page = wait_for_line(r"file://(\S+)/live.html\?events=(\S+)$", "err")
        assert pathlib.Path(page[1], "live.html").is_file(), page[0]
        assert urllib.parse.unquote(page[2]).startswith("http://127.0.0.1:9812/events?topic="), page[0]
        os.killpg(run.pid, signal.SIGINT)
        code = run.wait(timeout=PATIENCE)
        assert code == 0, f"it ended with {code}"
        said = world.said(run, "err")
        assert "waiting 0s for callbacks of hubs" in said and '{"ts"' not in said, "Ctrl-C waits, or logs are JSON"
        wait_for("the end of all that it started", lambda: not left_of(world))
    except BaseException:
        sys.stdout.write(world.said(run) + world.said(run, "err"))
        for line in left_of(world):
            print("still there:", line)
        raise
    finally:
        world.close()


if __name__ == "__main__":
    main()
