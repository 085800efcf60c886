"""redis-py's Lock as a side of the benchmark, as tests/bench/peer.h asks for one: peer.py URL WORKLOAD NAME. What waits in a crowd
waits in asyncio, as ten thousand threads would measure Python's."""
import asyncio
import os
import sys
import threading
import time

import redis
import redis.asyncio
import redis.cluster
import redis.sentinel

LEASE_S = 8
THREADS, WAITERS = 16, 10_000
WARM_UP_S = 1
HELD_S = 0.001  # how long a process that takes turns holds the lock
HELD_LONG_S, RETRY_S = 0.02, 0.01  # while a master is replaced
GATHER_S = 0.5  # until then all waiters stand in line
CONNECTIONS = 50
FROM_OTHER, TO_OTHER = 3, 4

now_ns = time.monotonic_ns  # CLOCK_MONOTONIC


def release(lock):
    """Says if the hold was lost, and goes on."""
    try:
        lock.release()
    except redis.exceptions.LockError as lost:
        print(lost, file=sys.stderr)


def pair(client, name):
    """Acquires and releases names that nobody has used before."""
    count = 0

    def work(seconds):
        nonlocal count
        steps = []
        before = began = now_ns()
        while before - began < seconds * 1e9:
            count += 1
            lock = client.lock(f"{name}:{count}", timeout=LEASE_S)
            lock.acquire()
            release(lock)
            after = now_ns()
            steps.append(after - before)
            before = after
        return before - began, steps

    return work


def shared16(client, name):
    """Threads of one client take turns on one name."""

    def work(seconds):
        steps = []
        began = now_ns()
        end = began + seconds * 1e9

        def take_turns():
            lock = client.lock(name, timeout=LEASE_S)
            before = now_ns()
            while before < end and lock.acquire(blocking_timeout=(end - before) / 1e9):
                release(lock)
                after = now_ns()
                steps.append(after - before)
                before = after

        threads = [threading.Thread(target=take_turns) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return now_ns() - began, steps

    return work


def handoff(first):
    """Two processes hand the name to each other: a process asks again when the other has the lock. The steps are three times: when the
    process asked, had the lock, and began to release it."""

    def workload(client, name):
        lock = client.lock(name, timeout=LEASE_S)

        def turn(times):
            times.append(now_ns())
            lock.acquire()
            times.append(now_ns())
            os.write(TO_OTHER, b"h")
            time.sleep(HELD_S)
            times.append(now_ns())
            release(lock)

        def work(seconds):
            times = []
            began = now_ns()
            if first:
                while not times or now_ns() - began < seconds * 1e9:
                    turn(times)
                    os.read(FROM_OTHER, 1)
                os.write(TO_OTHER, b"e")
            else:
                while os.read(FROM_OTHER, 1) == b"h":
                    turn(times)
            return now_ns() - began, times

        return work

    return workload


def failover(client, name):
    """Competes for the name, whatever happens to the server. The steps are three times of each hold: when the process asked, had the
    lock, and began to release it."""
    lock = client.lock(name, timeout=LEASE_S)

    def work(seconds):
        times = []
        began = now_ns()
        end = began + seconds * 1e9
        asked = began
        while asked < end:
            try:
                if lock.acquire(blocking_timeout=(end - asked) / 1e9):
                    times.append(asked)
                    times.append(now_ns())
                    time.sleep(HELD_LONG_S)
                    times.append(now_ns())
                    lock.release()
            except redis.exceptions.RedisError:
                time.sleep(RETRY_S)
            asked = now_ns()
        return now_ns() - began, times

    return work


def waiters10000(client, name):
    """Very many wait on one name that is held. A step is how long after its release one of them has it."""

    def work(seconds):
        return asyncio.run(crowd(client.get_connection_kwargs()["port"], name, seconds))

    return work


async def crowd(port, name, seconds):
    pool = redis.asyncio.BlockingConnectionPool(max_connections=CONNECTIONS, timeout=None, port=port)
    client = redis.asyncio.Redis(connection_pool=pool)
    steps = []
    first = client.lock(name, timeout=GATHER_S + seconds + LEASE_S)
    await first.acquire()
    began = None

    async def wait():
        lock = client.lock(name, timeout=LEASE_S)
        if await lock.acquire(blocking_timeout=GATHER_S + seconds):
            steps.append(now_ns() - began)
            await lock.release()

    waiters = [asyncio.ensure_future(wait()) for _ in range(WAITERS)]
    await asyncio.sleep(GATHER_S)
    began = now_ns()
    await first.release()
    await asyncio.wait(waiters, timeout=seconds)
    worked = now_ns() - began
    for waiter in waiters:
        waiter.cancel()
    await asyncio.gather(*waiters, return_exceptions=True)
    await client.delete(name)  # of one that was cancelled while it held
    await pool.disconnect()
    return worked, steps


WORKLOADS = {"pair": pair, "shared16": shared16, "handoff_first": handoff(True), "handoff_second": handoff(False),
             "failover": failover, "waiters10000": waiters10000}


def connect(url):
    """One server, the master that sentinels name, or a cluster."""
    scheme, _, hosts, *master = url.split("/")
    if scheme == "redis:":
        return redis.Redis.from_url(url)
    if scheme == "redis-cluster:":
        return redis.cluster.RedisCluster.from_url("redis://" + hosts)
    pairs = [(host, int(port)) for host, port in (each.split(":") for each in hosts.split(","))]
    return redis.sentinel.Sentinel(pairs).master_for(master[0])


def main():
    url, workload, name = sys.argv[1:]
    if workload not in WORKLOADS:
        print("none it locks one name at a time")
        return
    work = WORKLOADS[workload](connect(url), name)
    if workload != "waiters10000":  # which runs once before it counts
        work(WARM_UP_S)
    print("ready", flush=True)
    for line in sys.stdin:
        worked, steps = work(int(line) / 1000)
        print(f"{worked / 1e3:.1f}", *(f"{step / 1e3:.1f}" for step in steps), flush=True)


main()
