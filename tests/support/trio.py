#!/usr/bin/env python3
"""Starts a master, two replicas, and three sentinels that know it as `mymaster`. Prints their URL and the master's address.

Commands are lines on stdin. Each is answered by a line:

    kill      ends the master as a crash would; answers its address
    ask       asks the sentinels to replace the master; answers its address
    replace   waits until a sentinel names another master; answers its address
    restore   starts the host that was killed, and waits until the master has two replicas; answers the master's address

When stdin ends, all are removed.
"""
import os
import sys

from launch import Launched, eventually

SENTINEL_LINES = ("sentinel monitor mymaster 127.0.0.1 {port} 2", "sentinel down-after-milliseconds mymaster 1000",
                  "sentinel failover-timeout mymaster 6000")


class Trio:
    def __init__(self, program):
        self.hosts = [Launched(program, "--repl-diskless-sync-delay", "0", "--min-replicas-to-write", "1") for _ in range(3)]
        for replica in self.hosts[1:]:
            replica.ask("REPLICAOF", "127.0.0.1", self.hosts[0].port)
        self.sentinels = [self.start_sentinel(program, number) for number in range(3)]
        # 0 usable sentinels, or fewer than a majority: an error
        eventually(lambda: all(each.ask("SENTINEL", "CKQUORUM", "mymaster").startswith("OK 3 ") for each in self.sentinels))
        eventually(lambda: self.replicas() == 2)
        self.before = ""  # the master that is to be replaced

    def start_sentinel(self, program, number):
        path = os.path.join(self.hosts[0].directory, f"sentinel{number}.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line.format(port=self.hosts[0].port) + "\n" for line in SENTINEL_LINES)
        return Launched(program, path, "--sentinel")

    def replicas(self):
        """How many a sentinel knows: the least of all."""
        return min(len(each.ask("SENTINEL", "REPLICAS", "mymaster")) for each in self.sentinels)

    def named(self, sentinel):
        return ":".join(sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"))

    def master(self):
        return self.named(self.sentinels[0])

    def host(self, address):
        return next(host for host in self.hosts if address.endswith(f":{host.port}"))

    def kill(self):
        self.before = self.master()
        self.host(self.before).kill()
        return self.before

    def ask(self):
        self.before = self.master()
        eventually(lambda: self.sentinels[0].ask("SENTINEL", "FAILOVER", "mymaster") == "OK")
        return self.before

    def replace(self):
        others = set()
        eventually(lambda: others.update(set(map(self.named, self.sentinels)) - {self.before}) or others)
        return others.pop()

    def restore(self):
        eventually(lambda: len(set(map(self.named, self.sentinels))) == 1)
        master = self.master()
        for host in self.hosts:
            if host.pid == 0:
                host.start("--replicaof", *master.split(":"))
        eventually(lambda: "connected_slaves:2" in self.host(master).ask("INFO", "replication"))
        return master


def main():
    trio = Trio(os.environ.get("BELAY_TEST_SERVER", "redis-server"))
    commands = {"kill": trio.kill, "ask": trio.ask, "replace": trio.replace, "restore": trio.restore}
    sentinels = ",".join(f"127.0.0.1:{each.port}" for each in trio.sentinels)
    print(f"redis-sentinel://{sentinels}/mymaster", trio.master(), flush=True)
    for line in sys.stdin:
        print(commands[line.strip()](), flush=True)


main()
