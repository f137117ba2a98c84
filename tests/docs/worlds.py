"""Environments for the documents' commands: the program with Redis and publishers on loopback."""
import http.server
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/characterisation"))
import events  # noqa: E402
from world import Names, Redis  # noqa: E402

PATIENCE = 90  # seconds for anything that a block waits for; other tests run at the same time


def wait_for(what, done):
    until = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > until:
            raise TimeoutError("waited in vain for " + what)
        time.sleep(0.02)  # poll interval


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Publisher:
    """example.org: documents and scripted responses."""

    def __init__(self):
        self.answers = {}
        publisher = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                status, kind, body = publisher.answers.get(self.path, (404, "text/plain", "not here"))
                body = body.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def serve(self, path, body, kind="application/rss+xml", status=200):
        self.answers[path] = (status, kind, body)


class World:
    """A scratch directory that looks like the source tree, with the program first in PATH."""

    def __init__(self, program):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="feedmill-docs-"))
        self.running = []
        for name in ("deploy", "docs", "scripts", "tests"):
            (self.directory / name).symlink_to(ROOT / name)
        for folder in ("build/release", "bin"):
            (self.directory / folder).mkdir(parents=True)
        (self.directory / "build/release/feedmill").symlink_to(program)
        self.script("bin/feedmill", f'exec "{program}" "$@"')
        self.environment = {
            "PATH": f"{self.directory}/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.directory / "home"), "TMPDIR": str(self.directory), "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "RUNTIME_DIRECTORY": str(self.directory), "PYTHONDONTWRITEBYTECODE": "1",
            "FEEDMILL_EGRESS_ALLOW": "127.0.0.0/8:1024-65535", "FEEDMILL_MEMORY_BUDGET": "512MiB",
        }
        (self.directory / "home").mkdir()
        self.words = []  # (text in the documents, its replacement here)

    def script(self, name, text):
        path = self.directory / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def here(self, text):
        for written, meant in self.words:
            text = text.replace(written, meant)
        return text

    def as_written(self, text):
        for written, meant in reversed(self.words):
            text = text.replace(meant, written)
        return text

    def start(self, script, **more):
        """Runs a bash script in its own session, with its output in a file."""
        out = tempfile.TemporaryFile("w+", dir=self.directory)
        err = tempfile.TemporaryFile("w+", dir=self.directory)
        if script.count("\n") == 1 and not re.search("[|;&>]", script):
            script = "exec " + script  # the program itself gets SIGTERM
        process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", self.here(script)], cwd=self.directory,
                                   env={**self.environment, **more}, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True)
        process.out, process.err = out, err
        self.running.append(process)
        return process

    def said(self, process, stream="out"):
        file = getattr(process, stream)
        file.flush()
        return self.as_written(pathlib.Path(f"/proc/self/fd/{file.fileno()}").read_text(errors="replace"))

    def stop(self, process):
        """Stops what a block started: first the script, which may stop its children in order, then the rest."""
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                pass
        for how in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, how)
                wait_for("the end of what a block started", lambda: process.poll() is not None and self.is_gone(process))
            except (ProcessLookupError, TimeoutError):
                continue
        self.running.remove(process)

    @staticmethod
    def is_gone(process):
        try:
            os.killpg(process.pid, 0)
            return False
        except ProcessLookupError:
            return True

    def run(self, script, expected=0, tries=5, **more):
        process = self.start(script, **more)
        try:
            code = process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            code = "no end"
        out, err = self.said(process), self.said(process, "err")
        self.stop(process)
        if code == 75 != expected and tries > 1:  # a worker had claimed that feed: retry
            wait_for("the end of a fetch", self.nobody_fetches)
            return self.run(script, expected, tries - 1, **more)
        if code != expected:
            raise Failed(f"ended with {code} instead of {expected}\n{out}{err}")
        return out

    def nobody_fetches(self, *states):
        """Whether no feed is claimed or in one of `states`."""
        listed = subprocess.run([f"{self.directory}/bin/feedmill", "list", "--json"], cwd=self.directory,
                                env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        busy = ['"claimed":true', *(f'"state":"{state}"' for state in states)]
        return listed.returncode == 0 and not any(word in listed.stdout for word in busy)

    def close(self):
        for process in list(self.running):
            self.stop(process)
        shutil.rmtree(self.directory, ignore_errors=True)


class Failed(Exception):
    pass


class Example(World):
    """https://example.org with a few feeds, a Redis, and a worker."""

    def __init__(self, program):
        super().__init__(program)
        self.redis = Redis(str(self.directory), "redis")
        self.publisher = Publisher()
        self.names = Names({})
        self.admin = free_port()
        self.script("bin/redis-cli", f'exec /usr/bin/redis-cli -s "{self.redis.socket}" "$@"')
        self.words = [("https://example.org", f"http://127.0.0.1:{self.publisher.port}"),
                      ("redis://localhost:6379/0", f"unix://{self.redis.socket}"),
                      ("127.0.0.1:9810", f"127.0.0.1:{self.admin}")]
        self.environment.update(
            FEEDMILL_REDIS_URL=self.redis.url, FEEDMILL_DNS_SERVERS=f"127.0.0.1:{self.names.port}",
            FEEDMILL_ADMIN_LISTEN=f"127.0.0.1:{self.admin}",
            FEEDMILL_SCHEDULE_MIN_FLOOR="1s", FEEDMILL_SCHEDULE_FLOOR="5min", FEEDMILL_HOST_SPACING="0ms",
            FEEDMILL_SCHEDULE_MANUAL_FLOOR="1s", FEEDMILL_DRAIN_LISTEN="0s", FEEDMILL_SCHEDULE_POLL="50ms")

    def nothing_is_asked(self):
        return self.redis.call("XLEN", "stream:requests") == 0 and self.nobody_fetches("new")

    def begin(self, page):
        """Sets up the state of a reader who has followed the README, where the first feed is added."""
        events.publish(self.publisher)
        for name, content in events.FILES.items():
            (self.directory / name).write_text(self.here(content))
        (self.directory / "token").write_text("a-token-of-the-example\n")
        (self.directory / "token").chmod(0o600)
        (self.directory / "api.toml").write_text(
            f'[api.token."reader"]\nfile = "{self.directory}/token"\nasks = true\n')
        self.worker = self.start("exec feedmill run --config api.toml")
        self.run("until feedmill health --ready >health 2>&1; do sleep 0.05; done")
        if page.name != "README.md":
            self.run("feedmill add https://example.org/feed.xml --now")

    def close(self):
        self.publisher.server.shutdown()
        super().close()
        self.redis.kill()


class Sample(World):
    """scripts/run with prebuilt programs, on free ports instead of its own."""

    def __init__(self, program, publisher):
        super().__init__(program)
        (self.directory / "scripts").unlink()
        (self.directory / "scripts").mkdir()
        (self.directory / "build/release/tests/support").mkdir(parents=True)
        # Publishes faster: an edited post comes within seconds instead of a minute.
        self.script("build/release/tests/support/feedmill_sample_publisher", f'exec "{publisher}" --interval 250ms "$@"')
        here = {port: f"127.0.0.1:{free_port()}" for port in (9810, 9811, 9812, 9820, 9821, 9822)}
        text = (ROOT / "scripts/run").read_text()
        self.words = [(f"127.0.0.1:{port}", address) for port, address in here.items()]
        self.script("scripts/build", ":")
        run = self.directory / "scripts/run"
        run.write_text(self.here(text))
        run.chmod(0o755)
        self.environment["FEEDMILL_ADMIN_LISTEN"] = here[9810]
        self.environment.pop("FEEDMILL_EGRESS_ALLOW")
        # A store and a configuration of the reader's, which scripts/run must not touch.
        self.environment["FEEDMILL_REDIS_URL"] = "redis://127.0.0.1:1/0"
        (self.directory / "home/.config/feedmill").mkdir(parents=True)
        (self.directory / "home/.config/feedmill/feedmill.toml").write_text("[no.such]\noption = 1\n")

    def begin(self, page):
        """Starts scripts/run, except for README.md, which starts it itself."""
        if page.name != "README.md":
            self.start("exec ./scripts/run")
            self.run("until feedmill health --ready --config build/run/sample.toml >health 2>&1; do sleep 0.05; done")
