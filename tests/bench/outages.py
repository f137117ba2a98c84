#!/usr/bin/env python3
"""How long feeds of unavailable partitions wait, beyond the outage of their servers (RELIABILITY L26, L27).

tests/bench/outages.py failover    a primary of three is killed; its replica takes over
tests/bench/outages.py slot        a slot is moved to another node, 100 keys at a time
tests/bench/outages.py all

    --keys N      keys of the slot (215,000)
    --rounds N    rounds of each measure; each is printed (3)
    --check       exit 1 if polls take more than 5 s to resume after the partition's new server first answers
    --tiny        as in the tests: sizes that take seconds, and no time limits

400 feeds on 40 hosts have a new post each second and are polled every 6 s, by two workers of 16 partitions in a cluster
of three primaries with a replica each. Has the requirements of scale.py.
"""
import argparse
import contextlib
import sys
import time

import scale

partitions, primaries, limit = 16, 3, 5.0


class Origin(scale.Site):
    """Records when each feed is polled; each has a new post every second."""

    polls = []

    def do_GET(self):
        url = f"http://{self.headers['Host']}{self.path}"
        Origin.polls.append((time.monotonic(), url))
        newest = int(time.time())
        self.answer("".join(f"<item><guid>{url}/{i}</guid><title>t</title></item>" for i in range(newest, newest - 5, -1)))


class Fleet(scale.Deployment):
    """Primaries with a replica each, and two running workers."""

    def __init__(self):
        super().__init__(primaries, partitions)
        server = scale.Server()
        server.RequestHandlerClass = Origin
        self.callback(server.shutdown)
        self.replicas = [self.enter_context(scale.Store("--cluster-enabled", "yes", "--cluster-port",
                                                        str(scale.free_port()))) for _ in self.nodes]
        bus = self.first.client.config_get("cluster-port")["cluster-port"]
        for replica, primary in zip(self.replicas, self.nodes):
            replica.client.execute_command("CLUSTER MEET", "127.0.0.1", self.first.port, bus)
            name = primary.client.execute_command("CLUSTER", "MYID").decode()
            scale.until(lambda: self.has_joined(replica, name), 30, "a replica")
            scale.until(lambda: replica.client.info("replication").get("master_link_status") == "up", 30, "its copy")
        for node in self.nodes + self.replicas:
            node.client.config_set("cluster-node-timeout", 2000)
            node.client.config_set("cluster-require-full-coverage", "no")
        self.urls = [f"http://127.3.0.{i % 40 + 1}:{server.port}/other/{i}" for i in range(80 if scale.tiny else 400)]
        self.first.environment.update(dict.fromkeys(("FEEDMILL_SCHEDULE_MIN_FLOOR", "FEEDMILL_SCHEDULE_FLOOR", "FEEDMILL_SCHEDULE_CEILING"), "1s"))
        self.first.environment["FEEDMILL_SCHEDULE_CATCH_UP_RATE"] = "1000"
        self.first.verb("import", self.first.write_list(self.urls))
        Origin.polls.clear()
        self.begun = time.monotonic()
        for _ in range(2):
            self.start()
        self.await_each(self.begun)
        if not scale.tiny:  # until each partition has its primary worker
            scale.until(lambda: time.monotonic() - self.begun > 20 and self.longest_wait(
                range(partitions), time.monotonic() - 13) < 6.5, 120, "a steady pace")

    @staticmethod
    def has_joined(replica, name):
        try:
            replica.client.execute_command("CLUSTER", "REPLICATE", name)
            return True
        except scale.redis.ResponseError:  # the replica does not know that node yet
            return False

    def feeds_of(self, some):
        return [url for url in self.urls if scale.partition_of(url, partitions) in some]

    def await_each(self, since):
        """Waits until every feed was polled after `since`."""
        scale.until(lambda: {url for moment, url in list(Origin.polls) if moment > since} == set(self.urls), 120,
                    "a poll of all")

    def await_polls_of(self, some, since):
        """Waits until each of these partitions that has feeds was polled again; returns the time of the last first
        poll."""
        wanted = {scale.partition_of(url, partitions) for url in self.feeds_of(some)}

        def first_polls():
            first = {}
            for moment, url in list(Origin.polls):
                if moment > since:
                    first.setdefault(scale.partition_of(url, partitions), moment)
            return {partition: moment for partition, moment in first.items() if partition in wanted}

        scale.until(lambda: len(first_polls()) == len(wanted), 120, "polls of all partitions")
        return max(first_polls().values())

    def longest_wait(self, some, since):
        """The longest time without a poll of a feed of these partitions."""
        last, longest = dict.fromkeys(self.urls, self.begun), 0.0
        for moment, url in sorted(Origin.polls) + [(time.monotonic(), url) for url in self.urls]:
            if moment > since and scale.partition_of(url, partitions) in some:
                longest = max(longest, moment - last[url])
            last[url] = moment
        return longest

    def partitions_of(self, node):
        return [i for i, tag in enumerate(self.tags) if scale.node_of(scale.slot_of(tag), primaries) == node]


def outage(fleet, some, work):
    """`work` returns when those partitions are served again; returns a row of figures."""
    others, begun = [i for i in range(partitions) if i not in some], time.monotonic()
    usual = fleet.longest_wait(range(partitions), begun - 7)
    served = work()
    polled = fleet.await_polls_of(some, served)
    fleet.await_each(polled)
    fleet.first.environment["FEEDMILL_REDIS_URL"] = "redis+cluster://" + ",".join(
        f"127.0.0.1:{node.port}" for node in fleet.nodes + fleet.replicas)  # the original node may be gone
    fleet.first.verb("verify")  # ends the program if it finds a fault
    return {"until the server serves": served - begun, "behind that until all are polled": polled - served,
            "a feed waited before": usual, "there": fleet.longest_wait(some, begun),
            "elsewhere": fleet.longest_wait(others, begun)}


def measure_failover():
    with Fleet() as fleet:
        some, replica = fleet.partitions_of(0), fleet.replicas[0]

        def fail():
            fleet.nodes[0].server.kill()
            while True:
                with contextlib.suppress(scale.redis.RedisError):
                    replica.client.set(fleet.key(some[0], "probe"), 1)
                    return time.monotonic()
                time.sleep(0.005)
        return outage(fleet, some, fail)


def measure_slot(keys):
    with Fleet() as fleet:
        source, target = fleet.nodes[0], fleet.nodes[1]
        mine = next(i for i in fleet.partitions_of(0) if fleet.feeds_of([i]))
        slot, old, new = (scale.slot_of(fleet.tags[mine]), *(node.client.execute_command("CLUSTER", "MYID").decode()
                                                            for node in (source, target)))
        source.in_batches(range(keys), lambda pipe, i: pipe.hset(fleet.key(mine, f"filler:{i}"), mapping={
            "title": f"a title of some words {i}", "link": f"https://example.org/{i}", "content": "x" * 600}))

        def move():
            target.client.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", old)
            source.client.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", new)
            while names := source.client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 100):
                source.client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 60_000, "KEYS", *names)
            for node in [target, source, *fleet.nodes[2:], *fleet.replicas]:
                with contextlib.suppress(scale.redis.ResponseError):  # replicas learn of it by themselves
                    node.client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", new)
            return time.monotonic()
        return outage(fleet, [mine], move)


def main():
    measures = {"failover": measure_failover, "slot": lambda: measure_slot(500 if wanted.tiny else wanted.keys)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=[*measures, "all"])
    parser.add_argument("--keys", type=int, default=215_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    wanted = parser.parse_args()
    scale.tiny, over = wanted.tiny, False
    for name, measure in measures.items():
        if wanted.measure not in (name, "all"):
            continue
        rows = [measure() for _ in range(1 if wanted.tiny else wanted.rounds)]
        print(f"\n| {name}, seconds | " + " | ".join(rows[0]) + " |")
        print("|---" * (len(rows[0]) + 1) + "|")
        for i, row in enumerate(rows):
            print(f"| {i + 1} | " + " | ".join(f"{value:.1f}" for value in row.values()) + " |", flush=True)
            over = over or row["behind that until all are polled"] > limit
    sys.exit(1 if wanted.check and over and not wanted.tiny else 0)


if __name__ == "__main__":
    main()
