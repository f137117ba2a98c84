#!/usr/bin/env python3
"""Checks what makes a release: workflows against the scripts that they call, one version in all files, and that
scripts/release refuses a tree that is not the commit. The release itself is made in scripts/test --full.

    release_test.py SOURCE
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

SOURCE = pathlib.Path(sys.argv[1]).resolve()
VERSION = re.search(r"project\(feedmill VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
WORKFLOWS = {path.name: yaml.safe_load(path.read_text()) for path in (SOURCE / ".github/workflows").glob("*.yml")}


def commands(workflow):
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


class Workflows(unittest.TestCase):
    def test_call_scripts_that_exist(self):
        self.assertEqual(set(WORKFLOWS), {"tests.yml", "release.yml"})
        called = [word for workflow in WORKFLOWS.values() for command in commands(workflow)
                  for word in re.findall(r"(?:^|\s)(\.ci/\S+|scripts/\S+)", command)]
        self.assertEqual(set(called), {".ci/run", "scripts/release"})
        for script in called:
            self.assertTrue(os.access(SOURCE / script, os.X_OK), script)

    def test_have_no_more_rights_than_they_use(self):
        self.assertEqual(WORKFLOWS["tests.yml"]["permissions"], {"contents": "read"})
        self.assertEqual(WORKFLOWS["release.yml"]["permissions"], {"contents": "write"})

    def test_run_on_every_debian_that_is_supported(self):
        matrix = WORKFLOWS["tests.yml"]["jobs"]["test"]["strategy"]["matrix"]
        self.assertEqual(matrix["debian"], ["12", "13"])

    def test_release_the_version_of_the_tag(self):
        # YAML reads the key `on` as true.
        self.assertEqual(WORKFLOWS["release.yml"][True], {"push": {"tags": ["v*"]}})
        check = next(command for command in commands(WORKFLOWS["release.yml"]) if command.startswith("grep"))
        for tag, code in (("v" + VERSION, 0), ("v9.9.9", 1)):
            done = subprocess.run(["sh", "-c", check], cwd=SOURCE, env={**os.environ, "TAG": tag}, shell=False)
            self.assertEqual(done.returncode == 0, code == 0, tag)


class Version(unittest.TestCase):
    def test_of_images_in_manifests(self):
        tags = {line.split()[1] for path in (SOURCE / "deploy/kubernetes").rglob("kustomization.yaml")
                for line in path.read_text().splitlines() if "newTag:" in line}
        self.assertEqual(tags, {VERSION})


class Script(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.out = pathlib.Path(directory.name) / "out"
        self.tree = pathlib.Path(directory.name) / "tree"
        (self.tree / "scripts").mkdir(parents=True)
        (self.tree / "scripts/release").write_text((SOURCE / "scripts/release").read_text())
        os.chmod(self.tree / "scripts/release", 0o755)
        (self.tree / "CMakeLists.txt").write_text("project(feedmill VERSION 3.2.1 LANGUAGES CXX)\n")
        (self.tree / "CHANGELOG.md").write_text("# Changelog\n\n## 3.2.10\n\nAnother\n")
        (self.tree / "scripts/in-chroot").write_text("#!/bin/sh\necho in-chroot \"$@\" >&2\nmkdir -p \"$5/$1\"\n")
        os.chmod(self.tree / "scripts/in-chroot", 0o755)
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=self.tree, check=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "t")

    def release(self, *words):
        return subprocess.run([self.tree / "scripts/release", self.out, *words], capture_output=True, text=True)

    def test_refuses_what_is_not_committed(self):
        (self.tree / "new").write_text("")
        self.assertEqual(self.release().returncode, 65)
        self.assertFalse(self.out.exists())

    def test_refuses_a_version_without_notes(self):
        done = self.release()
        self.assertEqual(done.returncode, 65)
        self.assertIn('"## 3.2.1"', done.stderr)

    def test_writes_notes_and_checksums(self):
        (self.tree / "CHANGELOG.md").write_text("# Changelog\n\n## 3.2.1\n\nFirst\n\n## 3.2.0\n\nOlder\n")
        self.commit()
        done = self.release("trixie")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("in-chroot trixie ", done.stderr)
        self.assertNotIn("bookworm", done.stderr)
        self.assertEqual((self.out / "NOTES.md").read_text().strip(), "First")
        self.assertRegex((self.out / "SHA256SUMS").read_text(), r"^[0-9a-f]{64}  NOTES.md\n$")
        self.assertNotEqual(self.release().returncode, 0, "the directory exists")


unittest.main(argv=sys.argv[:1])
