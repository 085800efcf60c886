"""The patterns of examples/sql: what they take and refuse, in turn and in races of two holders.

In a race the order of statements is fixed: a holder waits for another exactly where the test says
so, and the test goes on when the database shows that it does.
"""
import concurrent.futures
import functools
import random
import threading
import unittest

from databases import READ_COMMITTED, STRICT_LEVELS, Again, Sqlite, connect, postgres
from patterns import (ALL, FENCED, ORDER, REFUSED, RESOURCE, WRITTEN, FenceColumn,
                      GuardInOneStatement, GuardRow, Unguarded, Upsert, VersionColumn)
from support import LIMIT, eventually

AGAIN = "again"
LEVELS = [READ_COMMITTED, *STRICT_LEVELS]
CREATING = [pattern for pattern in FENCED if pattern.holder_creates_the_row]


class Holder:
    """A holder of the lock, at work in the database through a connection of its own."""

    def __init__(self, pattern, connection, fence, level):
        self.pattern = pattern
        self.connection = connection
        self.fence = fence
        self.level = level
        self.prepare()

    def prepare(self):
        self.prepared = self.pattern.prepare(self.connection, self.fence)

    def begin(self):
        if self.level:
            self.connection.begin(self.level)
        else:
            self.connection.begin()

    def write(self, state):
        """In a transaction that has begun; it stays open where the write is taken."""
        try:
            outcome = self.pattern.write(self.connection, self.fence, state, self.prepared)
        except Again:
            outcome = AGAIN
        if outcome != WRITTEN:
            self.roll_back()
        return outcome

    def write_alone(self, state):
        """A transaction of its own, from what was prepared earlier."""
        try:
            self.begin()
        except Again:
            return AGAIN
        outcome = self.write(state)
        if outcome == WRITTEN:
            self.commit()
        return outcome

    def persist(self, state):
        """As a holder that still has the lock goes on: by beginning anew."""
        self.prepare()
        return self.write_alone(state)

    def commit(self):
        self.connection.run("COMMIT")

    def roll_back(self):
        self.connection.run("ROLLBACK")


class World:
    """A fresh database laid out for one pattern, and its holders."""

    def __init__(self, database, pattern, level):
        self.database = database
        self.pattern = pattern()
        self.level = level
        self.connections = []
        self.thread = concurrent.futures.ThreadPoolExecutor(1)
        database.fresh()
        self.observer = self.connect()
        self.pattern.lay_out(self.observer)

    def connect(self):
        connection = connect(self.database.target)
        self.connections.append(connection)
        return connection

    def holder(self, fence):
        return Holder(self.pattern, self.connect(), fence, self.level)

    def state(self):
        return self.pattern.state(self.observer)

    def start_waiting(self, connection, action, *arguments, **parameters):
        """Does it in the background; returns when the server says that it waits for a lock."""
        outcome = self.thread.submit(action, *arguments, **parameters)
        eventually(lambda: outcome.done() or self.is_waiting(connection), "the statement waits")
        if outcome.done():
            raise AssertionError(f"the statement did not wait, but: {outcome.result()}")
        return outcome

    def is_waiting(self, connection):
        _, rows = self.observer.run("SELECT wait_event_type = 'Lock' FROM pg_stat_activity"
                                    " WHERE pid = :pid", pid=connection.pid())
        return rows[0][0]

    def close(self):
        self.database.interrupt()
        self.thread.shutdown()
        for connection in self.connections:
            connection.close()


def each(patterns, levels=(None,)):
    """Runs a test with a fresh database for every pattern and level."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            for pattern in patterns:
                for level in levels:
                    with self.subTest(pattern=pattern.__name__, level=level):
                        world = World(self.database, pattern, level)
                        try:
                            test(self, world)
                        finally:
                            world.close()
        return run
    return decorate


class InTurn:
    """What holds on both databases when holders come one after the other."""

    @each(FENCED)
    def test_the_first_write_is_taken(self, world):
        self.assertEqual(world.holder(1).write_alone("paid"), WRITTEN)
        self.assertEqual(world.state(), "paid")

    @each(FENCED)
    def test_a_greater_fence_is_taken(self, world):
        self.assertEqual(world.holder(1).write_alone("paid"), WRITTEN)
        self.assertEqual(world.holder(2).write_alone("sent"), WRITTEN)
        self.assertEqual(world.state(), "sent")

    @each(FENCED)
    def test_an_equal_fence_is_taken(self, world):
        self.assertEqual(world.holder(1).write_alone("paid"), WRITTEN)
        self.assertEqual(world.holder(1).write_alone("sent"), WRITTEN)
        self.assertEqual(world.state(), "sent")

    @each(FENCED)
    def test_an_older_fence_is_refused(self, world):
        self.assertEqual(world.holder(2).write_alone("sent"), WRITTEN)
        self.assertEqual(world.holder(1).write_alone("paid"), REFUSED)
        self.assertEqual(world.state(), "sent")

    @each(FENCED)
    def test_the_greatest_fences_are_told_apart(self, world):
        greatest = 2**53 - 1
        self.assertEqual(world.holder(greatest).write_alone("sent"), WRITTEN)
        self.assertEqual(world.holder(greatest - 1).write_alone("paid"), REFUSED)
        self.assertEqual(world.holder(greatest).write_alone("received"), WRITTEN)

    @each([FenceColumn])
    def test_a_row_that_is_not_there_is_not_created_by_an_update(self, world):
        world.observer.run("DELETE FROM orders")
        self.assertEqual(world.holder(1).write_alone("paid"), REFUSED)
        self.assertIsNone(world.state())

    @each([FenceColumn])
    def test_a_read_raises_the_fence(self, world):
        late, newer = world.holder(1), world.holder(2)
        self.assertEqual(world.pattern.read(newer.connection, newer.fence), "new")
        self.assertEqual(late.write_alone("paid"), REFUSED)
        self.assertIsNone(world.pattern.read(late.connection, late.fence))

    @each([FenceColumn, Upsert])
    def test_a_fence_that_was_not_seen_yet_refuses_nobody(self, world):
        newer, late = world.holder(2), world.holder(1)
        world.pattern.state(newer.connection)
        self.assertEqual(late.write_alone("paid"), WRITTEN)
        self.assertEqual(newer.write_alone("sent"), WRITTEN)  # over what it has not read

    @each([VersionColumn])
    def test_a_version_refuses_who_has_not_read_the_late_write(self, world):
        newer, late = world.holder(2), world.holder(1)
        self.assertEqual(late.write_alone("paid"), WRITTEN)
        self.assertEqual(newer.write_alone("sent"), REFUSED)
        self.assertEqual(world.state(), "paid")
        self.assertEqual(newer.persist("sent"), WRITTEN)
        self.assertEqual(world.state(), "sent")

    @each([VersionColumn])
    def test_a_version_is_written_once(self, world):
        holders = [world.holder(1) for _ in range(3)]
        outcomes = [holder.write_alone("paid") for holder in holders]
        self.assertEqual(outcomes, [WRITTEN, REFUSED, REFUSED])

    @each([VersionColumn])
    def test_a_versioned_row_is_created_once(self, world):
        world.observer.run("DELETE FROM orders")
        create = world.pattern.sql["create"]
        self.assertEqual(world.observer.run(create, id=ORDER, state="mine")[0], 1)
        self.assertEqual(world.observer.run(create, id=ORDER, state="yours")[0], 0)
        self.assertEqual(world.state(), "mine")

    @each([Upsert])
    def test_a_deleted_row_forgets_its_fence(self, world):
        self.assertEqual(world.holder(2).write_alone("sent"), WRITTEN)
        world.observer.run("DELETE FROM orders")
        self.assertEqual(world.holder(1).write_alone("paid"), WRITTEN)

    @each([GuardRow, GuardInOneStatement])
    def test_a_guard_outlives_the_row(self, world):
        self.assertEqual(world.holder(2).write_alone("sent"), WRITTEN)
        world.observer.run("DELETE FROM orders")
        self.assertEqual(world.holder(1).write_alone("paid"), REFUSED)
        self.assertIsNone(world.state())

    @each([GuardRow, GuardInOneStatement])
    def test_a_guard_covers_every_write_of_its_transaction(self, world):
        self.assertEqual(world.holder(2).write_alone("sent"), WRITTEN)
        self.assertEqual(world.holder(1).write_alone("paid"), REFUSED)
        self.assertEqual(world.pattern.history(world.observer), ["sent"])

    @each([Unguarded])
    def test_without_the_condition_the_older_write_is_taken(self, world):
        self.assertEqual(world.holder(2).write_alone("sent"), WRITTEN)
        self.assertEqual(world.holder(1).write_alone("paid"), WRITTEN)
        self.assertEqual(world.state(), "paid")

    @each(FENCED)
    def test_of_a_crowd_the_greatest_fence_is_left(self, world):
        fences = list(range(1, 101))
        random.shuffle(fences)
        written, lock = [], threading.Lock()

        def write_some(connection, some):
            for fence in some:
                holder = Holder(world.pattern, connection, fence, world.level)
                eventually(lambda: write_one(holder) != AGAIN, "a write ends")

        def write_one(holder):
            outcome = holder.write_alone(str(holder.fence))
            if outcome == WRITTEN:
                with lock:
                    written.append(str(holder.fence))
            return outcome

        connections = [world.connect() for _ in range(4)]
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            ends = [threads.submit(write_some, connection, fences[number::4])
                    for number, connection in enumerate(connections)]
        for end in ends:
            end.result()
        self.assertEqual(world.state(), "100")
        if isinstance(world.pattern, GuardRow):
            self.assertEqual(world.pattern.history(world.observer), sorted(written))


class OnSqlite(InTurn, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.database = Sqlite()

    @classmethod
    def tearDownClass(cls):
        cls.database.stop()

    @each(ALL)
    def test_a_view_from_before_the_newer_write_is_no_base_for_a_write(self, world):
        self.assertEqual(world.holder(1).write_alone("seen"), WRITTEN)
        late, newer = world.holder(2), world.holder(3)
        late.connection.run("BEGIN")
        self.assertEqual(world.pattern.state(late.connection), "seen")
        self.assertEqual(newer.write_alone("sent"), WRITTEN)
        self.assertEqual(late.write("paid"), AGAIN)
        self.assertEqual(late.write_alone("paid"), REFUSED)
        self.assertEqual(world.state(), "sent")

    def refuses_the_late_behind_the_newer(self, world):
        late, newer = world.holder(2), world.holder(3)
        newer.begin()
        self.assertEqual(newer.write("sent"), WRITTEN)
        self.assertEqual(late.write_alone("paid"), AGAIN)
        newer.commit()
        self.assertEqual(late.write_alone("paid"), REFUSED)
        self.assertEqual(world.state(), "sent")

    @each(ALL)
    def test_a_late_holder_that_comes_during_the_newer_write_is_refused_after_it(self, world):
        world.holder(1).write_alone("seen")
        self.refuses_the_late_behind_the_newer(world)

    @each(CREATING)
    def test_also_when_there_was_no_row(self, world):
        self.refuses_the_late_behind_the_newer(world)

    @each(ALL)
    def test_a_write_that_was_rolled_back_refuses_nobody(self, world):
        late, newer = world.holder(2), world.holder(3)
        newer.begin()
        self.assertEqual(newer.write("sent"), WRITTEN)
        newer.roll_back()
        self.assertEqual(late.write_alone("paid"), WRITTEN)

    @each(ALL)
    def test_the_newer_holder_writes_over_a_late_one_that_was_first(self, world):
        late, newer = world.holder(2), world.holder(3)
        late.begin()
        self.assertEqual(late.write("paid"), WRITTEN)
        self.assertEqual(newer.write_alone("sent"), AGAIN)
        late.commit()
        self.assertEqual(newer.persist("sent"), WRITTEN)
        self.assertEqual(world.state(), "sent")


    @each([GuardRow])
    def test_the_guards_transaction_keeps_others_out_from_its_beginning(self, world):
        first, second = world.connect(), world.connect()
        begin = world.pattern.sql["begin in SQLite"]
        first.run(begin)
        with self.assertRaises(Again):
            second.run(begin)
        first.run(world.pattern.sql["commit"])
        second.run(begin)


class OnPostgres(InTurn, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.database = postgres()

    def assert_outcome(self, world, outcome, expected):
        """Where READ COMMITTED looks again, the stricter levels give up, and nothing is written."""
        self.assertEqual(outcome, expected if world.level == READ_COMMITTED else AGAIN)

    @each(ALL, LEVELS)
    def test_a_late_transaction_that_began_before_the_newer_write_is_refused(self, world):
        self.assertEqual(world.holder(1).write_alone("seen"), WRITTEN)
        late, newer = world.holder(2), world.holder(3)
        late.begin()
        self.assertEqual(world.pattern.state(late.connection), "seen")
        self.assertEqual(newer.write_alone("sent"), WRITTEN)
        self.assert_outcome(world, late.write("paid"), REFUSED)
        self.assertEqual(late.write_alone("paid"), REFUSED)
        self.assertEqual(world.state(), "sent")

    def refuses_the_late_behind_the_newer(self, world):
        late, newer = world.holder(2), world.holder(3)
        late.begin()
        newer.begin()
        self.assertEqual(newer.write("sent"), WRITTEN)
        outcome = world.start_waiting(late.connection, late.write, "paid")
        newer.commit()
        self.assert_outcome(world, outcome.result(LIMIT), REFUSED)
        self.assertEqual(late.write_alone("paid"), REFUSED)
        self.assertEqual(world.state(), "sent")

    @each(ALL, LEVELS)
    def test_a_late_write_that_waits_for_the_newer_is_refused(self, world):
        world.holder(1).write_alone("seen")
        self.refuses_the_late_behind_the_newer(world)

    @each(CREATING, LEVELS)
    def test_also_when_there_was_no_row(self, world):
        self.refuses_the_late_behind_the_newer(world)

    def takes_the_late_after_a_rollback(self, world):
        late, newer = world.holder(2), world.holder(3)
        late.begin()
        newer.begin()
        self.assertEqual(newer.write("sent"), WRITTEN)
        outcome = world.start_waiting(late.connection, late.write, "paid")
        newer.roll_back()
        self.assertEqual(outcome.result(LIMIT), WRITTEN)
        late.commit()
        self.assertEqual(world.state(), "paid")

    @each(ALL, LEVELS)
    def test_a_write_that_was_rolled_back_refuses_nobody(self, world):
        world.holder(1).write_alone("seen")
        self.takes_the_late_after_a_rollback(world)

    @each(CREATING, LEVELS)
    def test_nor_does_a_row_that_was_rolled_back(self, world):
        self.takes_the_late_after_a_rollback(world)

    def newer_writes_over_the_late(self, world, expected):
        late, newer = world.holder(2), world.holder(3)
        newer.begin()
        late.begin()
        self.assertEqual(late.write("paid"), WRITTEN)
        outcome = world.start_waiting(newer.connection, newer.write, "sent")
        late.commit()
        self.assert_outcome(world, outcome.result(LIMIT), expected)
        if outcome.result() == WRITTEN:
            newer.commit()
        else:
            self.assertEqual(newer.persist("sent"), WRITTEN)
        self.assertEqual(world.state(), "sent")

    @each(FENCED, LEVELS)
    def test_the_newer_write_goes_over_a_late_one_that_it_waited_for(self, world):
        world.holder(1).write_alone("seen")
        self.newer_writes_over_the_late(world, WRITTEN)

    @each(CREATING, LEVELS)
    def test_also_over_a_first_row(self, world):
        self.newer_writes_over_the_late(world, WRITTEN)

    @each([VersionColumn], LEVELS)
    def test_but_not_unread_where_there_is_a_version(self, world):
        self.newer_writes_over_the_late(world, REFUSED)

    def passes_after(self, world, first, second, expected):
        """Both have found the guard row; then the first passes it, and the second has to wait."""
        second.begin()
        second.connection.run(world.pattern.sql["create"], name=RESOURCE)
        first.begin()
        self.assertEqual(first.write("sent"), WRITTEN)
        passed = world.start_waiting(second.connection, world.pattern.pass_row,
                                     second.connection, second.fence)
        first.commit()
        if world.level == READ_COMMITTED:
            self.assertEqual(passed.result(LIMIT), expected)
        else:
            with self.assertRaises(Again):
                passed.result(LIMIT)

    @each([GuardRow], LEVELS)
    def test_a_guard_is_compared_when_the_newer_holder_has_left_it(self, world):
        world.holder(1).write_alone("seen")
        self.passes_after(world, world.holder(3), world.holder(2), False)

    @each([GuardRow], LEVELS)
    def test_nobody_passes_a_guard_with_a_view_from_before_an_equal_fence(self, world):
        world.holder(2).write_alone("seen")
        self.passes_after(world, world.holder(2), world.holder(2), True)

    @each([GuardRow, GuardInOneStatement], LEVELS)
    def test_of_equal_fences_the_second_sees_what_the_first_has_written(self, world):
        world.holder(2).write_alone("seen")
        first, second = world.holder(2), world.holder(2)
        second.begin()
        first.begin()
        self.assertEqual(first.write("paid"), WRITTEN)
        outcome = world.start_waiting(second.connection, second.write, "sent")
        first.commit()
        self.assert_outcome(world, outcome.result(LIMIT), WRITTEN)
        if outcome.result() == AGAIN:
            second.begin()
            self.assertEqual(second.write("sent"), WRITTEN)
        self.assertEqual(world.pattern.history(second.connection), ["paid", "seen", "sent"])

    @each([VersionColumn], LEVELS)
    def test_of_two_who_create_a_versioned_row_one_does(self, world):
        world.observer.run("DELETE FROM orders")
        first, second = world.connect(), world.connect()
        first.begin(world.level)
        second.begin(world.level)
        create = world.pattern.sql["create"]
        self.assertEqual(first.run(create, id=ORDER, state="mine")[0], 1)
        outcome = world.start_waiting(second, second.run, create, id=ORDER, state="yours")
        first.run("COMMIT")
        if world.level == READ_COMMITTED:
            self.assertEqual(outcome.result(LIMIT)[0], 0)
        else:
            with self.assertRaises(Again):
                outcome.result(LIMIT)
        self.assertEqual(world.state(), "mine")

    @each([Unguarded], [READ_COMMITTED])
    def test_without_the_condition_the_write_that_waited_is_taken(self, world):
        late, newer = world.holder(2), world.holder(3)
        newer.begin()
        self.assertEqual(newer.write("sent"), WRITTEN)
        outcome = world.start_waiting(late.connection, late.write_alone, "paid")
        newer.commit()
        self.assertEqual(outcome.result(LIMIT), WRITTEN)
        self.assertEqual(world.state(), "paid")


if __name__ == "__main__":
    unittest.main()
