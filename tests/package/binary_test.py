#!/usr/bin/env python3
"""Checks the built binary: hardening, and its SBOM against ldd (SECURITY B2).

    binary_test.py BINARY BUILD_TYPE SBOM_SCRIPT
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

BINARY, BUILD_TYPE, SBOM = sys.argv[1:4]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


class Hardening(unittest.TestCase):
    headers = output("readelf", "--wide", "--file-header", "--program-headers", "--dynamic", BINARY)
    symbols = output("readelf", "--wide", "--dyn-syms", BINARY)

    def test_position_independent(self):
        self.assertRegex(self.headers, r"Type:\s+DYN")
        self.assertRegex(self.headers, r"FLAGS_1\).*\bPIE\b")

    def test_full_relro(self):
        self.assertIn("GNU_RELRO", self.headers)
        self.assertRegex(self.headers, r"\(FLAGS\).*BIND_NOW|FLAGS_1\).*\bNOW\b")

    def test_no_executable_stack(self):
        stack = re.search(r"GNU_STACK\s.*", self.headers).group()
        self.assertRegex(stack, r"\sRW\s")

    def test_no_search_path(self):
        self.assertNotRegex(self.headers, r"\((RPATH|RUNPATH|TEXTREL)\)")

    def test_stack_protector(self):
        self.assertIn("__stack_chk_fail", self.symbols)

    def test_fortify(self):
        if BUILD_TYPE != "Release":
            self.skipTest("only the release build optimises")
        self.assertRegex(self.symbols, r"__(memcpy|read|snprintf|memset|fread|recv)_chk")

    def test_assertions_of_the_library(self):
        if BUILD_TYPE != "Release":
            self.skipTest("only the release build has them")
        self.assertRegex(self.symbols, r"\bUND _ZSt21__glibcxx_assert_fail")

    def instructions(self, code):
        if os.uname().machine != "x86_64":
            self.skipTest("looks for instructions of x86-64")
        return pathlib.Path(BINARY).read_bytes().count(code)

    def test_stack_clash_protection(self):
        if BUILD_TYPE != "Release":
            self.skipTest("only the release build has it")
        # orq $0, (%rsp): touches each page of a large frame before the next is allocated.
        self.assertGreater(self.instructions(b"\x48\x83\x0c\x24\x00"), 0)

    def test_branch_targets(self):
        # Every function that may be called through a pointer begins with endbr64: thousands of them. The CPU does not
        # enforce it: that needs the IBT property, which the linker sets only if Debian's crt1.o has it, too.
        self.assertGreater(self.instructions(b"\xf3\x0f\x1e\xfa"), 1000)


class BillOfMaterials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.document = json.loads(output(SBOM, BINARY))

    def test_is_spdx(self):
        self.assertEqual(self.document["spdxVersion"], "SPDX-2.3")
        self.assertEqual(self.document["dataLicense"], "CC0-1.0")
        identifiers = [package["SPDXID"] for package in self.document["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        for package in self.document["packages"]:
            for field in ("name", "versionInfo", "downloadLocation", "licenseConcluded"):
                self.assertTrue(package[field], package["SPDXID"])
        related = {relation["relatedSpdxElement"] for relation in self.document["relationships"]}
        self.assertEqual(related, set(identifiers))

    def test_names_every_library_that_the_loader_takes(self):
        named = {package["name"] for package in self.document["packages"]}
        # Lines without a path are what the kernel provides.
        paths = [word for line in output("ldd", BINARY).splitlines() for word in line.split() if word.startswith("/")]
        spellings = {path: {os.path.realpath(path), path, os.path.realpath(path).removeprefix("/usr")} for path in paths}
        answers = subprocess.run(["dpkg-query", "-S", *set.union(*spellings.values())], capture_output=True, text=True)
        owners = {path: owner.split(":")[0] for owner, path in
                  (line.split(": ", 1) for line in answers.stdout.splitlines() if "diversion " not in line)}
        for path, names in spellings.items():
            self.assertIn(next(owners[name] for name in names if name in owners), named, path)

    def test_names_what_is_compiled_in(self):
        named = {package["name"] for package in self.document["packages"]}
        self.assertIn("libcli11-dev", named)
        self.assertTrue(any(re.fullmatch(r"libboost[0-9.]*-dev", name) for name in named), named)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
