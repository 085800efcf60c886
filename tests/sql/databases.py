"""SQLite and PostgreSQL behind one connection, for the patterns of examples/sql.

A PostgreSQL server is started on a unix socket in a directory of its own. Transactions begin and
end by the statements that a user would write, and not by a driver's own ideas of them.
"""
import atexit
import functools
import glob
import os
import pwd
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile

import psycopg2

from support import LIMIT, eventually

READ_COMMITTED = "READ COMMITTED"
STRICT_LEVELS = ["REPEATABLE READ", "SERIALIZABLE"]


class Again(Exception):
    """Nothing was written and nobody refused: the whole transaction is to be repeated."""


class PostgresConnection:
    database = "PostgreSQL"

    def __init__(self, directory):
        limit_ms = int(2 * LIMIT * 1000)  # so that a test that has gone wrong does not hang
        self.connection = psycopg2.connect(host=directory, user="postgres", dbname="postgres",
                                           options=f"-c statement_timeout={limit_ms}")
        self.connection.autocommit = True

    def run(self, statement, **parameters):
        """(rows changed or returned, the rows returned)"""
        cursor = self.connection.cursor()
        try:
            cursor.execute(re.sub(r":([a-z]+)", r"%(\1)s", statement), parameters)
        except psycopg2.errors.SerializationFailure as error:
            raise Again from error
        return cursor.rowcount, cursor.fetchall() if cursor.description else []

    def begin(self, level=READ_COMMITTED):
        self.run(f"BEGIN ISOLATION LEVEL {level}")

    def pid(self):
        return self.connection.info.backend_pid

    def close(self):
        self.connection.close()


class SqliteConnection:
    database = "SQLite"

    def __init__(self, path):
        # Used by one thread at a time, if not by the one that made it. Nobody is waited for.
        self.connection = sqlite3.connect(path, timeout=0, isolation_level=None,
                                          check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=OFF")  # no test outlives a failing host

    def run(self, statement, **parameters):
        """(rows changed or returned, the rows returned)"""
        try:
            cursor = self.connection.execute(statement, parameters)
            rows = cursor.fetchall()
        except sqlite3.OperationalError as error:
            if "database is locked" not in str(error):
                raise
            raise Again from error
        return len(rows) or cursor.rowcount, rows

    def begin(self):
        self.run("BEGIN IMMEDIATE")

    def close(self):
        self.connection.close()


def connect(target):
    """From the path of a database file, or of the directory of a PostgreSQL server's socket."""
    return PostgresConnection(target) if os.path.isdir(target) else SqliteConnection(target)


class Sqlite:
    """Databases in files, a fresh one each time."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="belay-sql-")
        self.count = 0
        self.target = None

    def fresh(self):
        self.count += 1
        self.target = os.path.join(self.directory, f"{self.count}.db")

    def interrupt(self):
        """Nobody waits in SQLite: connections have no timeout."""

    def stop(self):
        shutil.rmtree(self.directory, ignore_errors=True)


def postgres_program(name):
    """Debian keeps the server's programs out of PATH, a folder for each version."""
    def version(path):
        return [int(part) for part in re.findall(r"\d+", path)]
    there = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=version)
    return there[-1] if there else shutil.which(name) or name


class Postgres:
    """A server of our own. It refuses to run as root: then it runs as the user postgres."""

    def __init__(self):
        self.directory = self.target = tempfile.mkdtemp(prefix="belay-sql-")
        self.log = os.path.join(self.directory, "log")
        self.process = None
        # The server ends when this process does, however that may be.
        self.prefix = ["setpriv", "--pdeathsig", "QUIT"]
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.directory, user.pw_uid, user.pw_gid)
            self.prefix += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]

    def launch(self, *command):
        with open(self.log, "ab") as log:
            return subprocess.Popen([*self.prefix, "--", *command], cwd=self.directory,
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def read_log(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"PostgreSQL ended: {self.read_log()}")
        try:
            connect(self.target).close()
        except psycopg2.OperationalError:
            return False
        return True

    def start(self):
        data = os.path.join(self.directory, "data")
        try:
            made = self.launch(postgres_program("initdb"), "--auth=trust", "--username=postgres",
                               "--encoding=UTF8", "--locale=C", "--no-sync", f"--pgdata={data}")
            if made.wait(4 * LIMIT) != 0:
                raise AssertionError(f"initdb failed: {self.read_log()}")
            self.process = self.launch(postgres_program("postgres"), "-D", data, "-F",
                                       "-k", self.directory, "-c", "listen_addresses=")
            eventually(self.answers, "PostgreSQL answers")
        except BaseException:
            self.stop()
            raise
        return self

    def fresh(self):
        connection = connect(self.target)
        connection.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        connection.close()

    def interrupt(self):
        """Ends all connections from the server's side, also those that wait for each other."""
        connection = connect(self.target)
        connection.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                       " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
        connection.close()

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGQUIT)  # its processes end with it
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


@functools.cache
def postgres():
    """One server for all tests, started when the first of them needs it."""
    server = Postgres().start()
    atexit.register(server.stop)
    return server
