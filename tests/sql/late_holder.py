"""A holder of a lock: late_holder.py PATTERN TARGET READY STATE, run by `belay run`.

Prepares what to write, puts its process id into the file READY, waits for a line on stdin, writes
with the fence that it was given at its start, and says what came of it. It never asks whether it
still has the lock.
"""
import os
import sys

import patterns
from databases import connect


def write(pattern, connection, *what):
    """As the pattern's file says: in a transaction if that has one."""
    begin = pattern.sql.get(f"begin in {connection.database}")
    if begin:
        connection.run(begin)
    outcome = pattern.write(connection, *what)
    if begin:
        connection.run(pattern.sql["commit"] if outcome == patterns.WRITTEN else "ROLLBACK")
    return outcome


def main():
    name, target, ready, state = sys.argv[1:]
    pattern = getattr(patterns, name)()
    connection = connect(target)
    fence = int(os.environ["BELAY_FENCE"])
    prepared = pattern.prepare(connection, fence)
    with open(ready, "w", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    sys.stdin.readline()
    print(write(pattern, connection, fence, state, prepared), fence)


main()
