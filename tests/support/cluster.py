#!/usr/bin/env python3
"""Starts a cluster: three masters with a replica each. Prints the URL of the first one, and three names, of which each master has one.

Commands are lines on stdin. Each is answered by a line:

    move NAME      moves the slot of a name key by key to the next master; answers that one's address
    kill NAME      ends the master of a name as a crash would; answers its address
    replace NAME   waits until another master has the slot of a name; answers its address

When stdin ends, all are removed.
"""
import binascii
import itertools
import os
import sys

from launch import Launched, eventually

MASTERS = 3
SLOTS = 16384
EACH = SLOTS // MASTERS + 1
ADD_SLOTS = "for slot = ARGV[1], ARGV[2] do redis.call('CLUSTER', 'ADDSLOTS', slot) end"


def slot_of(name):
    return binascii.crc_hqx(name.encode(), 0) % SLOTS


def name_at(master):
    return next(name for name in map("demo-{}".format, itertools.count(1)) if slot_of(name) // EACH == master)


class Cluster:
    def __init__(self, program, nodes=2 * MASTERS):
        self.nodes = [Launched(program, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0",
                               "--cluster-require-full-coverage", "no") for _ in range(nodes)]
        self.masters, replicas = self.nodes[:MASTERS], self.nodes[MASTERS:]
        for at, master in enumerate(self.masters):
            master.ask("CLUSTER", "SET-CONFIG-EPOCH", at + 1)
            master.ask("EVAL", ADD_SLOTS, 0, at * EACH, min(SLOTS, (at + 1) * EACH) - 1)
        for node in self.nodes[1:]:
            self.nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port)
        eventually(lambda: all(self.knows_all(node) for node in self.nodes))
        for master, replica in zip(self.masters, replicas):
            eventually(lambda m=self.id_of(master), r=replica: r.ask("CLUSTER", "REPLICATE", m) == "OK")
        eventually(lambda: all("master_link_status:up" in replica.ask("INFO", "replication") for replica in replicas))
        # A master that does not know a replica has no vote for it.
        eventually(lambda: all(node.ask("CLUSTER", "NODES").count("slave ") == len(replicas) for node in self.nodes))

    def knows_all(self, node):
        return "cluster_state:ok" in node.ask("CLUSTER", "INFO") and node.ask("CLUSTER", "NODES").count("connected") == len(self.nodes)

    def url(self):
        return f"redis-cluster://{self.address(self.nodes[0])}"

    def id_of(self, node):
        return node.ask("CLUSTER", "MYID")

    def address(self, node):
        return f"127.0.0.1:{node.port}"

    def master_of(self, name):
        """As a node says that runs."""
        asked = next(node for node in self.nodes if node.pid != 0)
        for first, last, (_, port, *_), *_ in asked.ask("CLUSTER", "SLOTS"):
            if first <= slot_of(name) <= last:
                return next(node for node in self.nodes if node.port == port)
        return None

    def begin_move(self, name):
        """The slot of a name to the next master; answers where it is from and where it goes."""
        slot, source = slot_of(name), self.master_of(name)
        running = [node for node in self.masters if node.pid != 0]
        target = running[(running.index(source) + 1) % len(running)]
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", self.id_of(source))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", self.id_of(target))
        return source, target

    def move(self, name):
        slot, (source, target) = slot_of(name), self.begin_move(name)
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 100):
            for key in keys:
                source.ask("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
        for node in (target, source):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", self.id_of(target))
        return self.address(target)

    def kill(self, name):
        master = self.master_of(name)
        master.kill()
        self.masters.remove(master)
        return self.address(master)

    def replace(self, name):
        master = eventually(lambda: (found := self.master_of(name)) is not None and found.pid != 0 and found)
        return self.address(master)


def main():
    cluster = Cluster(os.environ.get("BELAY_TEST_SERVER", "redis-server"))
    commands = {"move": cluster.move, "kill": cluster.kill, "replace": cluster.replace}
    print(cluster.url(), *map(name_at, range(MASTERS)), flush=True)
    for line in sys.stdin:
        command, name = line.split()
        print(commands[command](name), flush=True)


if __name__ == "__main__":
    main()
