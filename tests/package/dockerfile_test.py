#!/usr/bin/env python3
"""Checks the Dockerfile's required instructions (OPERATIONS C1).

    dockerfile_test.py DOCKERFILE
"""
import pathlib
import re
import sys
import unittest

TEXT = pathlib.Path(sys.argv[1]).read_text()
LINES = re.sub(r"\\\n\s*", " ", re.sub(r"(?m)^\s*#.*\n", "", TEXT)).splitlines()


def stages():
    """The lines of each stage by its name; the last, unnamed one is ""."""
    found, name = {}, None
    for line in LINES:
        if line.startswith("FROM "):
            name = line.partition(" AS ")[2]
            assert name not in found, name
            found[name] = []
        if name is not None and line.strip():
            found[name].append(line)
    return found


STAGES = stages()
FINAL = STAGES["image"]


class Dockerfile(unittest.TestCase):
    def one(self, beginning):
        found = [line for line in FINAL if line.startswith(beginning)]
        self.assertEqual(len(found), 1, beginning)
        return found[0]

    def test_stages(self):
        # One pinned base for both stages.
        bases = [line for line in LINES if line.startswith("ARG ")]
        self.assertEqual(len(bases), 1)
        self.assertRegex(bases[0], "^ARG BASE=debian:13-slim@sha256:[0-9a-f]{64}$")
        self.assertEqual([line for line in LINES if line.startswith("FROM ")],
                         ["FROM ${BASE} AS build", "FROM build AS test", "FROM build AS publisher",
                          "FROM ${BASE} AS image", "FROM image AS sample", "FROM image"])
        # The default target is the image, with nothing added.
        self.assertEqual(list(STAGES)[-1], "")
        self.assertEqual(STAGES[""], ["FROM image"])

    def needed_by(self, name):
        """The stages that must be built for a stage."""
        needed = {name}
        for line in STAGES[name]:
            for other in re.findall(r"^FROM (\S+)|--from=(\S+)", line):
                if (other := "".join(other)) in STAGES:
                    needed |= self.needed_by(other)
        return needed

    def test_the_image_waits_for_no_tests(self):
        self.assertEqual(self.needed_by(""), {"", "image", "build"})
        self.assertEqual(self.needed_by("sample"), {"sample", "image", "build", "publisher"})
        commands = [line for name in self.needed_by("") | self.needed_by("sample") for line in STAGES[name]
                    if line.startswith("RUN ")]
        self.assertFalse([line for line in commands if re.search(r"scripts/test|ctest|\bdev\b", line)])
        self.assertEqual(STAGES["test"], ["FROM build AS test", "RUN scripts/test"])

    def test_the_sample_is_the_image_and_a_publisher(self):
        first, *rest = STAGES["sample"]
        self.assertFalse([line for line in rest if not line.startswith(("COPY --from=publisher ", "RUN "))])
        self.assertTrue(any(line.startswith("COPY ") and "feedmill_sample_publisher /usr/bin/" in line for line in rest))

    def test_runs_as_nobody_in_particular(self):
        self.assertEqual(self.one("USER "), "USER 65532")
        self.assertLess(FINAL.index("USER 65532"), len(FINAL) - 1)
        self.assertFalse([line for line in FINAL[FINAL.index("USER 65532"):] if line.startswith("RUN ")])
        for name in ("sample", ""):
            self.assertFalse([line for line in STAGES[name] if line.startswith(("USER ", "ENTRYPOINT ", "CMD "))], name)

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
