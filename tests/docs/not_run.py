"""Reasons why some commands of the documents are not run by the test. They are only checked statically: syntax, files
of the tree, verbs and flags of the program."""

NOT_RUN = {
    "root": "installs packages, or changes this machine's services and settings",
    "docker": "needs a Docker daemon",
    "kubernetes": "needs a cluster",
    "build": "compiles for minutes; CI and scripts/test do the same",
    "tests": "is the test suite, or a part of it that takes minutes",
    "bench": "measures for minutes and wants a machine of its own",
    "network": "asks publishers on the internet",
    "credentials": "needs a server with users, certificates or secrets of its owner",
    "screen": "needs a terminal and a person before it",
}
