#!/usr/bin/env python3
"""Tests compose.yaml without containers: its contents, and its commands as processes of this machine, with the same
environment, addresses, ports, order and health checks, until posts arrive. They run in a separate network namespace, so
that names and ports are those of the file; images, mounts and users of containers are not tested here.

    compose_test.py COMPOSE_FILE DOCKERFILE BINARY SAMPLE_PUBLISHER
"""
import ipaddress
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import yaml

FILE, DOCKERFILE, BINARY, PUBLISHER = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
COMPOSE = yaml.safe_load(FILE.read_text())
SERVICES = COMPOSE["services"]
IMAGE = DOCKERFILE.read_text()
PATIENCE = 240  # seconds; generous for slow machines, because the time taken is printed
# The network of every service that names none.
DEFAULT_NETWORK = ipaddress.ip_network("172.31.212.0/28")


def subnet(name):
    return DEFAULT_NETWORK if name == "default" else \
        ipaddress.ip_network(COMPOSE["networks"][name]["ipam"]["config"][0]["subnet"])


def networks_of(service):
    return service.get("networks", ["default"])


def addresses():
    """For each service an address in each of its networks, assigned as an engine does: the first is the gateway's."""
    given, hosts = {}, {}
    for name, service in SERVICES.items():
        for network in networks_of(service):
            hosts.setdefault(network, list(subnet(network).hosts())[1:])
            given.setdefault(name, []).append(str(hosts[network].pop(0)))
    return given


def image_environment():
    line = re.search(r"(?m)^ENV (.*)$", IMAGE).group(1)
    return dict(word.split("=", 1) for word in shlex.split(line))


class Contents(unittest.TestCase):
    def test_ports_are_open_on_this_machine_alone(self):
        for name, service in SERVICES.items():
            for port in service.get("ports", []):
                self.assertRegex(port, r"^127\.0\.0\.1:\d+:\d+$", name)

    def test_holds_no_secrets(self):
        for service in SERVICES.values():
            for name in service.get("environment", {}):
                self.assertNotRegex(name, r"(?i)password|secret|token|_file$")
            self.assertNotIn("env_file", service)
        self.assertFalse({"secrets", "configs"} & set(COMPOSE))
        self.assertNotRegex(FILE.read_text(), r"rediss?://[^/\s]*@|requirepass")

    def test_only_the_publishers_network_is_opened(self):
        opened, _, port = SERVICES["worker"]["environment"]["FEEDMILL_EGRESS_ALLOW"].partition(":")
        self.assertEqual(ipaddress.ip_network(opened), subnet("samples"))
        command = SERVICES["publisher"]["command"]
        self.assertEqual(port, command[command.index("--port") + 1])
        self.assertEqual(networks_of(SERVICES["publisher"]), ["samples"])
        self.assertIs(COMPOSE["networks"]["samples"]["internal"], True)
        self.assertNotIn("samples", networks_of(SERVICES["redis"]))
        self.assertFalse(subnet("samples").overlaps(DEFAULT_NETWORK))

    def test_health_is_asked_for(self):
        for name, service in SERVICES.items():
            check = service["healthcheck"]
            self.assertTrue("test" in check or check["disable"], name)
            for other, wait in service.get("depends_on", {}).items():
                if wait["condition"] == "service_healthy":
                    self.assertEqual(SERVICES[other]["healthcheck"]["test"][0], "CMD", other)

    def test_images(self):
        for name, service in SERVICES.items():
            if name == "redis":
                self.assertRegex(service["image"], r"^redis:[78]\.\d[^@]*@sha256:[0-9a-f]{64}$")
                continue
            self.assertRegex(IMAGE, rf"(?m)^FROM \S+ AS {service['build']['target']}$")
            self.assertIs(service["read_only"], True)
            self.assertEqual(service["cap_drop"], ["ALL"])
            for place in image_environment().values():
                self.assertTrue(any(mount.startswith(place + ":uid=65532,") for mount in service["tmpfs"]), place)

    def test_data_is_on_a_volume(self):
        volume, _, place = SERVICES["redis"]["volumes"][0].partition(":")
        self.assertEqual(place, "/data")
        self.assertIn(volume, COMPOSE["volumes"])

    def test_says_what_the_publisher_has(self):
        source = (DOCKERFILE.parent / "tests/support/sample_publisher.cpp").read_text()
        blogs = re.findall(r'(?m)^    \{"([a-z0-9]+\.[a-z]+)", "', source)
        self.assertEqual(SERVICES["feeds"]["command"][1:], ["http://publisher:8799/" + blog for blog in blogs])


class Running:
    """The services as processes. They differ from containers only in their data and runtime directories below
    `home`."""

    def __init__(self, home):
        self.home, self.processes = home, {}
        (home / "bin").mkdir()
        for program in (BINARY, PUBLISHER):
            (home / "bin" / program.name).symlink_to(program)

    def environment(self, service):
        environment = {"PATH": f"{self.home}/bin:{os.environ['PATH']}", "HOME": str(self.home), "LANG": "C.UTF-8"}
        if "build" in service:
            environment.update({key: str(self.home) + place for key, place in image_environment().items()})
            for place in image_environment().values():
                (self.home / place.lstrip("/")).mkdir(parents=True, exist_ok=True, mode=0o700)
        return {**environment, **service.get("environment", {})}

    def wait_for(self, said, holds):
        end = time.monotonic() + PATIENCE
        while not holds():
            for name, process in self.processes.items():
                if process.poll() not in (None, 0):
                    raise AssertionError(f"{name} ended with {process.returncode}: {self.output(name)[-2000:]}")
            if time.monotonic() > end:
                raise AssertionError(f"{said}: not within {PATIENCE} s\n" +
                                     "\n".join(f"{name}: {self.output(name)[-1000:]}" for name in self.processes))
            time.sleep(0.2)  # poll interval

    def output(self, name):
        return (self.home / f"{name}.out").read_text(errors="replace")

    def healthy(self, name):
        service = SERVICES[name]
        return subprocess.run(service["healthcheck"]["test"][1:], env=self.environment(service), cwd=self.home,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def fulfilled(self, name, condition):
        if condition == "service_completed_successfully":
            return self.processes[name].poll() == 0
        return condition == "service_started" or self.healthy(name)

    def start(self, name):
        if name in self.processes:
            return
        service = SERVICES[name]
        for other, wait in service.get("depends_on", {}).items():
            self.start(other)
            self.wait_for(f"{other}: {wait['condition']}", lambda: self.fulfilled(other, wait["condition"]))
        # The image's entry point if the service has none; redis' entry point passes program names on.
        entry = service.get("entrypoint", ["feedmill"] if "build" in service else [])
        place = self.home / "data" / name
        place.mkdir(parents=True)
        with open(self.home / f"{name}.out", "w") as output:
            self.processes[name] = subprocess.Popen(entry + service["command"], env=self.environment(service), cwd=place,
                                                    stdout=output, stderr=subprocess.STDOUT)

    def stop(self):
        """Stops the services as an engine does, dependents first; returns the exit codes."""
        for process in reversed(self.processes.values()):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
        return {name: process.returncode for name, process in self.processes.items()}


class Up(unittest.TestCase):
    def test_posts_arrive(self):
        if "IN_NAMESPACE" not in os.environ:
            self.skipTest("no right to make a network namespace")
        if not os.path.exists("/etc/hosts"):
            self.skipTest("no /etc/hosts to be replaced")
        with tempfile.TemporaryDirectory() as directory:
            home = pathlib.Path(directory)
            given = addresses()
            hosts = home / "hosts"
            hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{mine[-1]} {name}\n" for name, mine in given.items()))
            commands = [["ip", "link", "set", "lo", "up"], ["mount", "--bind", str(hosts), "/etc/hosts"]]
            commands += [["ip", "address", "add", address + "/32", "dev", "lo"] for mine in given.values() for address in mine]
            for command in commands:
                subprocess.run(command, check=True)
            running, began = Running(home), time.monotonic()
            try:
                for name in SERVICES:
                    running.start(name)
                running.wait_for("feeds are added", lambda: running.fulfilled("feeds", "service_completed_successfully"))
                feeds = SERVICES["feeds"]["command"][1:]
                # A post's page is below its feed's name.
                sites = [feed.rpartition(".")[0] + "/posts/" for feed in feeds]
                running.wait_for("posts of every feed", lambda: all(site in running.output("posts") for site in sites))
                took = time.monotonic() - began
                # Posts of the first fetch arrive at once, others when they are published.
                before = running.output("posts").count("\n")
                running.wait_for("posts that are new", lambda: running.output("posts").count("\n") >= before + 3)
                print(f"compose: posts of all {len(feeds)} feeds after {took:.0f} s, new ones after "
                      f"{time.monotonic() - began:.0f} s", flush=True)
                self.check_ports(given)
                self.check_redis(feeds)
            finally:
                codes = running.stop()
            # Redis, publisher and worker end cleanly on request; tail does not handle the signal.
            for name in ("redis", "publisher", "worker", "feeds"):
                self.assertEqual(codes[name], 0, name + ": " + running.output(name)[-2000:])

    def check_ports(self, given):
        """Every published port has a listener beyond loopback."""
        for name, service in SERVICES.items():
            for port in service.get("ports", []):
                inside = port.split(":")[2]
                if name == "redis":
                    told = subprocess.run(["redis-cli", "-h", given[name][0], "-p", inside, "ping"], capture_output=True)
                    self.assertEqual(told.stdout, b"PONG\n")
                    continue
                # As from a browser: under this machine's address.
                page = urllib.request.Request(f"http://{given[name][0]}:{inside}/status",
                                              headers={"Host": port.rsplit(":", 1)[0]})
                with urllib.request.urlopen(page) as answer:
                    self.assertEqual(answer.status, 200)

    def check_redis(self, feeds):
        told = subprocess.run(["redis-cli", "-h", "redis", "smembers", "feeds"], capture_output=True, text=True, check=True)
        self.assertEqual(sorted(told.stdout.split()), sorted(feeds))


def enter_namespace():
    """Restarts this script in a namespace with its own ports and names, where allowed."""
    if "IN_NAMESPACE" in os.environ or shutil.which("unshare") is None or shutil.which("ip") is None:
        return
    kind = ["unshare", "--net", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    if subprocess.run([*kind, "true"], capture_output=True).returncode == 0:
        os.execvpe("unshare", [*kind, sys.executable, *sys.argv], {**os.environ, "IN_NAMESPACE": "1"})


if __name__ == "__main__":
    enter_namespace()
    print("compose: no container is run: the commands of compose.yaml are, as processes of this machine", flush=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)
