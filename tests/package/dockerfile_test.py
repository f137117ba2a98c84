#!/usr/bin/env python3
"""What the Dockerfile must say (OPERATIONS C1-C3).

    dockerfile_test.py DOCKERFILE
"""
import pathlib
import re
import sys
import unittest

TEXT = pathlib.Path(sys.argv[1]).read_text()
LINES = re.sub(r"\\\n\s*", " ", re.sub(r"(?m)^\s*#.*\n", "", TEXT)).splitlines()
FINAL = LINES[max(i for i, line in enumerate(LINES) if line.startswith("FROM ")):]


class Dockerfile(unittest.TestCase):
    def one(self, beginning):
        found = [line for line in FINAL if line.startswith(beginning)]
        self.assertEqual(len(found), 1, beginning)
        return found[0]

    def test_stages(self):
        # One base for both, which who builds names by its digest.
        self.assertEqual([line for line in LINES if line.startswith(("ARG ", "FROM "))],
                         ["ARG BASE=debian:13-slim", "FROM ${BASE} AS build", "FROM build AS test", "FROM ${BASE}"])
        # The image holds what was tested: nothing comes straight from the build.
        copied = [line for line in FINAL if line.startswith("COPY ")]
        self.assertTrue(copied)
        for line in copied:
            self.assertTrue(line.startswith("COPY --from=test "), line)

    def test_runs_as_nobody_in_particular(self):
        self.assertEqual(self.one("USER "), "USER 65532")
        self.assertLess(FINAL.index("USER 65532"), len(FINAL) - 1)
        self.assertFalse([line for line in FINAL[FINAL.index("USER 65532"):] if line.startswith("RUN ")])

    def test_needs_no_shell(self):
        self.assertEqual(self.one("ENTRYPOINT "), 'ENTRYPOINT ["feedmill"]')
        self.assertEqual(self.one("CMD "), 'CMD ["run"]')
        self.assertRegex(self.one("HEALTHCHECK "), r'CMD \["feedmill", "health"\]$')
        self.assertEqual(self.one("STOPSIGNAL "), "STOPSIGNAL SIGTERM")

    def test_packages(self):
        install = next(line for line in FINAL if "apt-get install" in line)
        for package in ("valkey-server", "ca-certificates", "'^libc-gconv-modules-extra$'"):
            self.assertIn(f" {package}", install)
        self.assertIn("--no-install-recommends", install)
        self.assertIn("rm -rf /var/lib/apt/lists/*", install)

    def test_labels(self):
        label = self.one("LABEL ")
        for name in ("title", "description", "licenses", "documentation"):
            self.assertIn(f'org.opencontainers.image.{name}="', label)

    def test_holds_a_bill_of_materials_and_no_secrets(self):
        self.assertTrue(any("feedmill.spdx.json" in line for line in FINAL if line.startswith("COPY ")))
        self.assertNotRegex("\n".join(LINES), r"(?i)(ARG|ENV)\s.*(password|secret|token)")
        self.assertFalse([line for line in LINES if line.startswith("ADD ")])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
