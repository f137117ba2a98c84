#!/usr/bin/python3
"""Runs the receivers of deploy/examples against `feedmill webhook`: signed events are handled once, others
rejected.

    receivers.py PROGRAM DIRECTORY_OF_EXAMPLES     skips, with a message, languages that are not installed
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "characterisation"))
from world import Redis, end_with_us  # noqa: E402

PATIENCE = 90  # seconds; other tests run at the same time


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_port(port, process):
    until = time.monotonic() + PATIENCE
    while True:
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > until:
            sys.exit("a receiver does not listen")
        time.sleep(0.02)  # poll interval


class Feedmill:
    def __init__(self, program, redis):
        self.program = program
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": "/", "FEEDMILL_REDIS_URL": redis.url,
                            "FEEDMILL_EGRESS_ALLOW": "127.0.0.0/8:1024-65535"}

    def __call__(self, *words, code=0):
        done = subprocess.run([self.program, *words, "--json"], env=self.environment, capture_output=True, text=True,
                              timeout=PATIENCE)
        if done.returncode != code:
            sys.exit(f"{words} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)


def status_of(port, headers, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", body, headers)
    try:
        return urllib.request.urlopen(request, timeout=PATIENCE).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:  # it closes the connection without reading all of a large body
        return None


def try_receiver(feedmill, command, directory):
    port = free_port()
    added = feedmill("webhook", "add", f"http://127.0.0.1:{port}/")
    hook, secret = added["id"], added["secret"]
    out = open(os.path.join(directory, "out"), "w+")
    process = subprocess.Popen([*command, str(port)], stdin=subprocess.DEVNULL, stdout=out, preexec_fn=end_with_us,
                               env={"PATH": "/usr/bin:/bin", "HOME": directory, "WEBHOOK_SECRET": secret})
    wait_for_port(port, process)
    assert feedmill("webhook", "test", hook)["status"] == 204
    feedmill("webhook", "rotate", hook, "--old-for", "1h")  # the receiver still has the old secret
    assert feedmill("webhook", "test", hook)["status"] == 204
    feedmill("webhook", "rotate", hook, "--old-for", "0")
    assert feedmill("webhook", "test", hook, code=1)["status"] == 401
    now = str(int(time.time()))
    assert status_of(port, {}, b"{}") == 401
    for bad in ("", "x", "-1", "\xb2", "1e9", "9" * 5000, now):
        unsigned = {"webhook-id": "1", "webhook-timestamp": bad, "webhook-signature": "v1,AAAA"}
        assert status_of(port, unsigned, b"{}") == 401
    assert status_of(port, {}, b" " * (8 << 20)) in (413, None)
    assert status_of(port, {}, b"{}") == 401, "it still answers"
    process.send_signal(signal.SIGKILL)
    process.wait()
    out.seek(0)
    said = out.read()
    assert said == "post_created Entry:1\n" * 2, said
    feedmill("webhook", "remove", hook, "--yes")


def main():
    program, examples = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    directory = tempfile.mkdtemp(prefix="feedmill-receivers-")
    redis = Redis(directory, "redis")
    try:
        feedmill = Feedmill(program, redis)
        for name, tool in {"py": "python3", "js": "node", "go": "go"}.items():
            if shutil.which(tool, path="/usr/bin:/bin") is None:
                print(f"webhook.{name} skipped: {tool} is not installed (scripts/install-packages --operations)")
                continue
            command = [tool, str(examples / f"webhook.{name}")]
            if name == "go":
                built = os.path.join(directory, "webhook")
                subprocess.run(["go", "build", "-o", built, str(examples / "webhook.go")], check=True,
                               env={"PATH": "/usr/bin:/bin", "HOME": directory, "GOFLAGS": "-mod=mod", "GO111MODULE": "off"})
                command = [built]
            try_receiver(feedmill, command, directory)
            print(f"webhook.{name}: what is signed is taken, what is not is not")
    finally:
        redis.kill()
        subprocess.run(["chmod", "-R", "u+w", directory], check=False)
        shutil.rmtree(directory, ignore_errors=True)


main()
