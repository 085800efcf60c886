"""What holds of every server that a test starts: it answers, it obeys, and nothing of it outlives its test."""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from launch import LAUNCHER, LIMIT_S, Launched

# A test that starts a server, says what it was told of it, and goes on for ever.
ENDLESS = f"""
import subprocess, time
launched = subprocess.Popen([{LAUNCHER!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(launched.pid, launched.stdout.readline().decode(), flush=True)
time.sleep(1000)
"""


def eventually(predicate, what):
    deadline = time.monotonic() + LIMIT_S
    while not predicate():
        assert time.monotonic() < deadline, f"did not happen: {what}"
        time.sleep(0.005)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rsplit(b")", 1)[1].split()[0] != b"Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def tree(pid):
    """All processes below one, and itself."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [pid, *(below for child in file.read().split() for below in tree(int(child)))]


class Asked(Launched):
    def ask(self, line, family=socket.AF_UNIX):
        """The first line of the reply."""
        with socket.socket(family) as connection:
            connection.settimeout(LIMIT_S)
            connection.connect(self.socket if family == socket.AF_UNIX else ("127.0.0.1", self.port))
            connection.sendall(line.encode() + b"\r\n")
            return connection.makefile().readline().strip()


class Launcher(unittest.TestCase):
    def launch(self, *words, **how):
        launched = Asked(*words, **how)
        self.addCleanup(launched.stop)
        return launched

    def assert_gone(self, pid, directory):
        eventually(lambda: not is_running(pid), "the server has ended")
        eventually(lambda: not os.path.exists(directory), "its directory is removed")

    def test_a_server_answers_on_its_port_and_its_socket(self):
        for program in "redis-server", "valkey-server":
            launched = self.launch(program)
            self.assertEqual(launched.ask("PING"), "+PONG")
            self.assertEqual(launched.ask("PING", socket.AF_INET), "+PONG")
            with open(f"/proc/{launched.pid}/comm", encoding="ascii") as comm:
                self.assertEqual(comm.read().strip(), program)

    def test_the_program_is_that_of_the_environment_if_none_is_named(self):
        launched = self.launch(env={**os.environ, "BELAY_TEST_SERVER": "valkey-server"})
        with open(f"/proc/{launched.pid}/comm", encoding="ascii") as comm:
            self.assertEqual(comm.read().strip(), "valkey-server")

    def test_a_program_may_be_a_command_and_options_prevail(self):
        launched = self.launch("nice", "-n", "1", "redis-server", "--requirepass", "new one")
        self.assertIn("NOAUTH", launched.ask("PING"))
        self.assertEqual(launched.ask('AUTH "new one"'), "+OK")
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, launched.pid), os.getpriority(os.PRIO_PROCESS, 0) + 1)

    def test_many_at_once_have_ports_of_their_own(self):
        self.assertEqual(len({self.launch().port for _ in range(10)}), 10)

    def test_a_server_that_was_killed_starts_where_it_was(self):
        launched = self.launch()
        before = launched.pid, launched.port, launched.socket
        self.assertEqual(launched.ask("SET key value"), "+OK")
        launched.kill()
        self.assertFalse(is_running(before[0]))
        self.assertEqual(launched.pid, 0)
        self.assertRaises(OSError, launched.ask, "PING")
        launched.start()
        self.assertEqual((launched.port, launched.socket), before[1:])
        self.assertEqual(launched.ask("GET key"), "$-1")
        launched.ask("SET key value")
        launched.ask("SAVE")
        launched.kill()
        launched.start("--requirepass", "new one")
        self.assertIn("NOAUTH", launched.ask("GET key"))
        launched.kill()
        launched.start()
        self.assertEqual(launched.ask("GET key"), "$5")

    def test_a_server_pauses_and_continues(self):
        launched = self.launch()
        for _ in range(2):
            launched.pause()
            with open(f"/proc/{launched.pid}/stat", encoding="ascii") as stat:
                self.assertIn(" T ", stat.read())
        launched.proceed()
        self.assertEqual(launched.ask("PING"), "+PONG")

    def test_nothing_is_left_when_stdin_ends(self):
        for command in "pause", "kill", "continue":
            launched = Asked()
            launched.tell(command)
            with open(f"{launched.directory}/a test's file", "w", encoding="ascii"):
                pass
            pid = launched.pid
            launched.stop()
            self.assertFalse(is_running(pid) if pid else False)
            self.assertFalse(os.path.exists(launched.directory))

    def test_nothing_is_left_of_a_test_that_is_killed(self):
        for whom in "it", "its group", "its tree":
            test = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True, start_new_session=True)
            _, pid, _, path = test.stdout.readline().split()
            self.assertTrue(is_running(int(pid)))
            if whom == "its group":
                os.killpg(test.pid, signal.SIGKILL)
            for process in tree(test.pid) if whom == "its tree" else [test.pid]:
                os.kill(process, signal.SIGKILL)
            test.communicate()
            self.assert_gone(int(pid), os.path.dirname(path))

    def test_one_launcher_keeps_no_other_alive(self):
        first = Asked()
        os.set_inheritable(first.launcher.stdin.fileno(), True)
        second = self.launch(close_fds=False)
        first.stop()
        self.assert_gone(first.pid, first.directory)
        self.assertEqual(second.ask("PING"), "+PONG")

    def test_a_server_does_not_outlive_a_launcher_that_is_killed(self):
        launched = Asked()
        with open(f"/proc/{launched.pid}/stat", encoding="ascii") as stat:
            os.kill(int(stat.read().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
        eventually(lambda: not is_running(launched.pid), "the server has ended")
        launched.stop()
        subprocess.run(["rm", "-r", launched.directory], check=True)

    def test_what_does_not_start_is_told_and_leaves_nothing(self):
        for words in ("no-such-server",), ("redis-server", "--no-such-option", "1"):
            with tempfile.TemporaryDirectory() as folder:
                ended = subprocess.run([LAUNCHER, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
                                       env={**os.environ, "TMPDIR": folder})
                self.assertEqual(ended.stdout, "")
                self.assertIn(f"{words[0]} does not start", ended.stderr)
                self.assertEqual(os.listdir(folder), [])
