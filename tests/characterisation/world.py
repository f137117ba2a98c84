"""A private Redis, an origin with scripted responses, and the program run against both."""
import ctypes
import http.server
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time


class Redis:
    """A private server on a Unix socket, and as much of its protocol as it takes to read everything back."""

    def __init__(self, directory, name):
        self.socket = os.path.join(directory, name + ".sock")
        self.url = "unix:" + self.socket
        # Hashes encoded as lists keep their fields in the order of writing.
        lists = ["--hash-max-listpack-entries", "10000", "--hash-max-listpack-value", "1000000"]
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", directory, "--save", "",
             "--logfile", os.path.join(directory, name + ".log"), *lists],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=end_with_us)
        wait_for("redis-server", self.answers)

    def answers(self):
        try:
            self.connection = socket.socket(socket.AF_UNIX)
            self.connection.connect(self.socket)
            self.file = self.connection.makefile("rb")
            return self.call("PING") == b"PONG"
        except (FileNotFoundError, ConnectionRefusedError, ErrorReply):
            return False

    def call(self, *words):
        request = b"*%d\r\n" % len(words)
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            request += b"$%d\r\n%s\r\n" % (len(word), word)
        self.connection.sendall(request)
        return self.reply()

    def reply(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise ErrorReply(rest.decode())
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        return [self.reply() for _ in range(int(rest))]

    def kill(self):
        self.process.kill()
        self.process.wait()


class ErrorReply(Exception):
    pass


class Origin:
    """All hosts of the feeds, as the program's HTTP proxy, so that names and addresses are the same in every run."""

    def __init__(self, directory):
        self.certificate = os.path.join(directory, "certificate")
        key = os.path.join(directory, "key")
        names = "subjectAltName=DNS:hub.example,DNS:push.example"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-days", "2", "-subj", "/CN=test", "-addext", names, "-keyout", key,
                        "-out", self.certificate], check=True, capture_output=True)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(self.certificate, key)
        self.answers = {}
        self.requests = []
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            host = "http://direct.example"  # origin of requests made without a proxy

            def handle_one_request(self):
                try:
                    super().handle_one_request()
                except (ConnectionError, ssl.SSLError):  # the program may close the connection
                    self.close_connection = True

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                url = self.path if "://" in self.path else self.host + self.path
                origin.requests.append((self.command, url, list(self.headers.items()), body))
                status, headers, content = origin.answers.get(url, (404, {}, b""))
                if callable(content):
                    content = content(body)
                etag = headers.get("ETag")
                if status == 200 and etag and self.headers.get("If-None-Match") == etag:
                    status, content = 304, b""
                head = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers.items())]
                if status != 304:
                    head.append(f"Content-Length: {len(content)}")
                self.wfile.write("\r\n".join(head).encode() + b"\r\n\r\n" + content)

            do_GET = do_POST = answer

            def do_CONNECT(self):
                """The rest of the connection goes to that host."""
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                name, port = self.path.split(":")
                self.host = ("https://" if port == "443" else "http://") + name
                if port == "443":
                    self.connection = origin.tls.wrap_socket(self.connection, server_side=True)
                    self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def serve(self, url, body=b"", status=200, **headers):
        if isinstance(body, str):
            body = body.encode()
        self.answers[url] = (status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


class Names:
    """A DNS server that resolves the names in `addresses`; any other name does not exist."""

    def __init__(self, addresses):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.addresses = addresses
        threading.Thread(target=self.answer_all, daemon=True).start()

    def answer_all(self):
        while True:
            question, client = self.socket.recvfrom(4096)
            self.socket.sendto(self.answer(question), client)

    def answer(self, question):
        end = question.index(0, 12) + 1
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += 1 + question[at]
        address = self.addresses.get(".".join(labels).lower())
        wanted = question[end:end + 2] == b"\0\1"  # an A record is requested
        record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(address) if address and wanted else b""
        flags = b"\x81\x80" if address else b"\x81\x83"
        counts = b"\0\1" + (b"\0\1" if record else b"\0\0") + b"\0\0\0\0"
        return question[:2] + flags + counts + question[12:end + 4] + record


class World:
    def __init__(self, program):
        self.directory = tempfile.mkdtemp(prefix="feedmill-characterisation-")
        self.program = program
        self.started = time.time()
        self.redis = Redis(self.directory, "redis")
        self.origin = Origin(self.directory)
        self.names = Names({"direct.example": "127.0.0.1", "inside.example": "10.0.0.1"})
        self.workers = []
        self.environment = {
            "FEEDMILL_REDIS_URL": self.redis.url,
            "FEEDMILL_FETCH_PROXY": f"http://127.0.0.1:{self.origin.port}",
            "FEEDMILL_FETCH_PROXY_ENFORCES_EGRESS": "true",
            "FEEDMILL_EGRESS_ALLOW": "127.0.0.0/8:1024-65535",
            "FEEDMILL_DNS_SERVERS": f"127.0.0.1:{self.names.port}",
            "FEEDMILL_ADMIN_LISTEN": "off",
            "FEEDMILL_HOST_SPACING": "0ms",
            "FEEDMILL_WORKER_CPU_THREADS": "2",
            "FEEDMILL_MEMORY_BUDGET": "512MiB",
            "FEEDMILL_LOG_FORMAT": "json",
            "HOME": self.directory,
            "XDG_CONFIG_HOME": self.directory,
            "XDG_DATA_HOME": self.directory,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "PATH": os.environ["PATH"],
        }

    def close(self):
        for worker in self.workers:
            worker.kill()
        self.redis.kill()
        self.origin.server.shutdown()
        shutil.rmtree(self.directory, ignore_errors=True)

    def file(self, name, content):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        os.chmod(path, 0o644)
        return path

    def run(self, *arguments, stdin="", **more):
        return subprocess.run([self.program, *arguments], input=stdin.encode(), capture_output=True, timeout=60,
                              cwd=self.directory, env={**self.environment, **more})

    def start(self, *arguments, **more):
        worker = Worker(self, arguments, {**self.environment, **more})
        self.workers.append(worker)
        return worker


class Worker:
    """A process that runs until it is stopped; its output goes to files."""

    def __init__(self, world, arguments, environment):
        self.paths = [os.path.join(world.directory, f"worker-{len(world.workers)}.{name}") for name in ("out", "err")]
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            self.process = subprocess.Popen([world.program, *arguments], stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=err, cwd=world.directory, env=environment,
                                            preexec_fn=end_with_us)

    def out(self):
        with open(self.paths[0], encoding="utf-8") as out:
            return out.read()

    def err(self):
        with open(self.paths[1], encoding="utf-8") as err:
            return err.read()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(timeout=60)

    def kill(self):
        self.process.kill()
        self.process.wait()


def end_with_us():
    """Makes the child process die with its parent, so that a killed test leaves nothing running."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def wait_for(what, done):
    """Polls `done` for up to half a minute; returns its first true result, else raises TimeoutError."""
    until = time.monotonic() + 30
    while True:
        answer = done()
        if answer:
            return answer
        if time.monotonic() > until:
            raise TimeoutError("waited in vain for " + what)
        time.sleep(0.02)  # poll interval
