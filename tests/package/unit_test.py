#!/usr/bin/env python3
"""The systemd unit: exposure, syntax, and its documented directives (OPERATIONS §7).

    unit_test.py UNIT BINARY     exit 77: systemd-analyze is not installed
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

UNIT, BINARY = sys.argv[1:3]
DIRECTIVES = """
Type=notify; NotifyAccess=main; ExecReload=kill -HUP $MAINPID; WatchdogSec=30; TimeoutStartSec=60;
TimeoutStopSec=60; KillMode=mixed; Restart=on-failure; RestartSec=2; RestartPreventExitStatus=64 78;
DynamicUser=yes; StateDirectory=feedmill; RuntimeDirectory=feedmill; ConfigurationDirectory=feedmill;
UMask=0077; LimitNOFILE=65536; LimitCORE=0; MemoryHigh=768M; MemoryMax=1G; TasksMax=256; ProtectSystem=strict;
ProtectHome=yes; PrivateTmp=yes; PrivateDevices=yes; PrivateMounts=yes; PrivateIPC=yes; DevicePolicy=closed;
RemoveIPC=yes; ProtectKernelTunables=yes; ProtectKernelModules=yes; ProtectKernelLogs=yes;
ProtectControlGroups=yes; ProtectClock=yes; ProtectHostname=yes; ProtectProc=invisible; ProcSubset=pid;
PrivateUsers=yes; KeyringMode=private; NoNewPrivileges=yes; CapabilityBoundingSet=; AmbientCapabilities=;
RestrictNamespaces=yes; RestrictRealtime=yes; RestrictSUIDSGID=yes; LockPersonality=yes;
MemoryDenyWriteExecute=yes; SystemCallArchitectures=native; SystemCallFilter=@system-service;
SystemCallFilter=~@privileged @resources; SystemCallErrorNumber=EPERM;
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK; SocketBindDeny=any; SocketBindAllow=tcp:9810;
SocketBindAllow=tcp:9811; SocketBindAllow=tcp:9812; IPAddressDeny=link-local multicast
"""


class Unit(unittest.TestCase):
    def setUp(self):
        self.text = pathlib.Path(UNIT).read_text()

    def built(self, text):
        """Replaces the installed program by the built one."""
        return text.replace("ExecStart=feedmill", "ExecStart=" + BINARY).replace("Documentation=man:feedmill(1)\n", "")

    def verify(self, name):
        told = subprocess.run(["systemd-analyze", "verify", "--man=no", name], capture_output=True, text=True)
        self.assertEqual(told.stderr + told.stdout, "")
        self.assertEqual(told.returncode, 0)

    def test_has_the_directives(self):
        lines = self.text.splitlines()
        for directive in DIRECTIVES.split(";"):
            self.assertIn(directive.strip(), lines)
        self.assertIn("After=network-online.target redis-server.service valkey-server.service", lines)
        self.assertIn("Wants=network-online.target", lines)

    def test_exposure(self):
        told = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", UNIT],
                              capture_output=True, text=True, check=True).stdout
        level = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", told).group(1))
        self.assertLessEqual(level, 1.5, told)

    def test_is_understood(self):
        with tempfile.TemporaryDirectory() as directory:
            name = os.path.join(directory, "feedmill.service")
            with open(name, "w") as unit:
                unit.write(self.built(self.text))
            self.verify(name)

    def test_drop_ins_are_understood(self):
        for drop_in in sorted(pathlib.Path(UNIT).parent.glob("*.conf")):
            with self.subTest(drop_in.name), tempfile.TemporaryDirectory() as directory:
                name = os.path.join(directory, "feedmill.service")
                with open(name, "w") as unit:
                    unit.write(self.built(self.text))
                os.mkdir(name + ".d")
                with open(os.path.join(name + ".d", drop_in.name), "w") as file:
                    file.write(self.built(drop_in.read_text()))
                self.verify(name)

    def test_that_of_a_partition_differs_in_what_each_has_for_itself(self):
        directives = lambda text: [line for line in text.splitlines() if line and line[0] != "#"]
        text = (pathlib.Path(UNIT).parent / "feedmill@.service").read_text()
        its, plain = directives(text), directives(self.text)
        self.assertEqual([line for line in its if line not in plain], [
            "Description=Feed ingestion worker of partition %i", "Environment=FEEDMILL_REDIS_PARTITION=%i",
            "EnvironmentFile=-/etc/feedmill/partition-%i.env", "User=feedmill", "RuntimeDirectory=feedmill-%i"])
        self.assertEqual([line for line in plain if line not in its],
                         ["Description=Feed ingestion worker", "RuntimeDirectory=feedmill"])
        common = [line for line in plain if line in its]
        self.assertEqual([line for line in its if line in plain], common)
        with tempfile.TemporaryDirectory() as directory:
            name = os.path.join(directory, "feedmill@3.service")
            with open(name, "w") as unit:
                unit.write(self.built(text))
            self.verify(name)

    def test_a_machine_that_only_pushes_out_asks_for_flags_that_exist(self):
        drop_in = (pathlib.Path(UNIT).parent / "push-out.conf").read_text().splitlines()
        commands = [line.partition("=")[2] for line in drop_in if line.startswith("ExecStart=")]
        self.assertEqual(commands, ["", "feedmill run --no-ingest --no-deliver --push-out"])
        help_text = subprocess.run([BINARY, "--help"], capture_output=True, text=True, check=True).stdout
        for flag in re.findall(r"--[a-z-]+", commands[1]):
            self.assertIn(flag, help_text)


if __name__ == "__main__":
    if shutil.which("systemd-analyze") is None:
        print("skipped: systemd-analyze is not installed (package systemd)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
