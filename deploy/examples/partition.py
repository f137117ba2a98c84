#!/usr/bin/env python3
"""Which partition of the store holds a feed, and the prefix of its keys. Needs only Python.

    feedmill list --json | jq -r .url | partition.py 16      (redis.partitions; canonical URLs, one a line)
"""
import binascii
import functools
import itertools
import re
import string
import sys


def crc16(text):
    return binascii.crc_hqx(text.encode(), 0)


def partition_of(feed_url, partitions):
    """All feeds of a host are in the same partition."""
    host = re.match(r"https?://(\[[^]]*\]|[^:/?#]*)", feed_url)[1]
    return crc16(host) % partitions


@functools.cache
def key_prefix(partition, partitions):
    """The part after redis.key_prefix. An unpartitioned store has this prefix only in a cluster."""
    if partitions == 1:
        return "{p000}:"
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_lowercase, repeat=length):
            tag = f"p{partition:03}.{''.join(letters)}"
            if crc16(tag) % 16384 * partitions // 16384 == partition:  # 16384 cluster slots
                return f"{{{tag}}}:"


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit("usage: partition.py PARTITIONS <URLS")
    count = int(sys.argv[1])
    for url in sys.stdin:
        mine = partition_of(url.strip(), count)
        print(mine, key_prefix(mine, count))
