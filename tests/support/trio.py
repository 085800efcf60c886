#!/usr/bin/env python3
"""Starts a master, two replicas, and three sentinels that know it as `mymaster`, and prints their URL.

Commands are lines on stdin. Each is answered by a line:

    kill      ends the master as a crash would; answers its address
    replace   waits until a sentinel names another master; answers its address

When stdin ends, all are removed.
"""
import os
import socket
import sys
import time

from launch import Launched

LIMIT_S = 60  # beyond it something hangs
SENTINEL_LINES = ("sentinel monitor mymaster 127.0.0.1 {port} 2", "sentinel down-after-milliseconds mymaster 1000",
                  "sentinel failover-timeout mymaster 6000")


def ask(server, command, lines=1):
    """So many lines of the reply."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LIMIT_S)
        connection.connect(server.socket)
        connection.sendall(command.encode() + b"\r\n")
        with connection.makefile("r", newline="\r\n") as replies:
            return [replies.readline().strip() for _ in range(lines)]


def eventually(predicate):
    limit = time.monotonic() + LIMIT_S
    while not predicate():
        if time.monotonic() > limit:
            sys.exit("the sentinels do not get there")
        time.sleep(0.02)


class Trio:
    def __init__(self, program):
        self.hosts = [Launched(program, "--repl-diskless-sync-delay", "0", "--min-replicas-to-write", "1") for _ in range(3)]
        for replica in self.hosts[1:]:
            ask(replica, f"REPLICAOF 127.0.0.1 {self.hosts[0].port}")
        self.sentinels = [self.start_sentinel(program, number) for number in range(3)]
        # 0 usable sentinels, or fewer than a majority: an error
        eventually(lambda: all(ask(each, "SENTINEL CKQUORUM mymaster")[0].startswith("+OK 3 ") for each in self.sentinels))
        eventually(lambda: self.replicas() == 2)

    def start_sentinel(self, program, number):
        path = os.path.join(self.hosts[0].directory, f"sentinel{number}.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line.format(port=self.hosts[0].port) + "\n" for line in SENTINEL_LINES)
        return Launched(program, path, "--sentinel")

    def replicas(self):
        """How many a sentinel knows: the least of all."""
        return min(int(ask(each, "SENTINEL REPLICAS mymaster")[0][1:]) for each in self.sentinels)

    def master(self):
        _, _, host, _, port = ask(self.sentinels[0], "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", 5)
        return f"{host}:{port}"

    def kill(self):
        master = self.master()
        next(host for host in self.hosts if master.endswith(f":{host.port}")).kill()
        return master

    def replace(self, before):
        eventually(lambda: self.master() != before)
        return self.master()


def main():
    trio = Trio(os.environ.get("BELAY_TEST_SERVER", "redis-server"))
    print("redis-sentinel://" + ",".join(f"127.0.0.1:{each.port}" for each in trio.sentinels) + "/mymaster", flush=True)
    killed = ""
    for line in sys.stdin:
        if line.strip() == "kill":
            killed = trio.kill()
            print(killed, flush=True)
        else:
            print(trio.replace(killed), flush=True)


main()
