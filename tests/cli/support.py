"""What the tests of the belay command share: a server of their own, processes, a terminal.

Nothing here sleeps to wait for something to happen: eventually() looks until it has, and its
limits are stretched by BELAY_TEST_PATIENCE on slow machines.
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from launch import Launched

BELAY = os.environ.get("BELAY_BIN", "belay")
PATIENCE = float(os.environ.get("BELAY_TEST_PATIENCE", "1"))
LIMIT = 15 * PATIENCE


def eventually(predicate, what, limit=LIMIT):
    """The first true answer of the predicate."""
    deadline = time.monotonic() + limit
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"did not happen within {limit} s: {what}")
        time.sleep(0.01)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rsplit(b")", 1)[1].split()[0] != b"Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def state_of(pid):
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return stat.read().rsplit(b")", 1)[1].split()[0].decode()


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
            return comm.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None


def has_pending_signals(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return re.search(r"^(Sig|Shd)Pnd:\s*0*[1-9a-f]", status.read(), re.MULTILINE) is not None


class Server(Launched):
    """A Redis or Valkey, which is asked on its unix socket."""

    def url(self, userinfo=""):
        return f"unix://{userinfo}{self.socket}"


class Belay:
    """A belay process without a terminal, as from cron or a service manager."""

    def __init__(self, *arguments, url, env=None, **how):
        environment = {"PATH": os.environ["PATH"], "BELAY_URL": url, **(env or {})}
        how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("start_new_session", True)
        self.process = subprocess.Popen(
            [BELAY, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
        self.pid = self.process.pid

    def send(self, number):
        self.process.send_signal(number)

    def finish(self, limit=LIMIT):
        """(exit code, stdout, stderr); names may be any bytes, so text is decoded leniently."""
        try:
            out, err = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"belay did not end: {late.stdout!r}, {late.stderr!r}") from None
        return self.process.returncode, out.decode(), err.decode()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()  # unread: what a failed test left behind may hold the other end


class Terminal:
    """A program on a pseudo-terminal, with that as its controlling terminal."""

    def __init__(self, command, env):
        self.shown = ""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, env)
        self.resize(24, 200)
        self.keep_output()

    def keep_output(self):
        """Else the kernel sends the signal of ^C first, and then discards what may be its answer."""
        modes = termios.tcgetattr(self.fd)
        modes[3] |= termios.NOFLSH
        termios.tcsetattr(self.fd, termios.TCSANOW, modes)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def takes_lines(self):
        """Whether the terminal is as a shell leaves it: whole lines, echoed; ^S and ^Q."""
        modes = termios.tcgetattr(self.fd)
        return (modes[3] & termios.ICANON != 0 and modes[3] & termios.ECHO != 0 and
                modes[0] & termios.IXON != 0)

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, timeout):
        """Takes in what is shown; False at its end."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.shown += data.decode(errors="replace")
        return bool(data)

    def expect(self, pattern, limit=LIMIT):
        """Reads until the pattern is shown, and forgets all up to its end."""
        deadline = time.monotonic() + limit
        open_still = True
        while not (found := re.search(pattern, self.shown)):
            if not open_still or time.monotonic() > deadline:
                raise AssertionError(f"{pattern!r} was not shown, but {self.shown!r}")
            open_still = self.read(0.1)
        before, self.shown = self.shown[:found.start()], self.shown[found.end():]
        return before + found.group(0)

    def exit_code(self, limit=LIMIT):
        deadline = time.monotonic() + limit
        while self.read(0.05) and time.monotonic() < deadline:
            pass
        eventually(self.ended, "the program on the terminal ends", limit)
        return os.waitstatus_to_exitcode(self.status)

    def ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status is not None

    def close(self):
        """Hangs up, which a shell passes on to its jobs."""
        os.close(self.fd)
        try:
            eventually(self.ended, "the program ends with its terminal", 2)
        except AssertionError:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


class Standstill:
    """Measures for how long at a time the whole machine stands still: how much too long a thread's short sleeps last."""

    STEP = 0.005

    def __enter__(self):
        self.longest = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while not self.ended.is_set():
            before = time.monotonic()
            time.sleep(self.STEP)
            self.longest = max(self.longest, time.monotonic() - before - self.STEP)

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def waited_for_processors():
    """For how many seconds in all somebody on this machine had work and no processor; 0 where the kernel does not count it."""
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as file:
            return int(file.readline().rsplit("total=", 1)[1]) / 1e6
    except (OSError, IndexError):
        return 0


class PatientTest(unittest.TestCase):
    """A lease may end while the machine itself stands still or is short of processors: a test that fails then is run again. An error that is no
    failed assertion is never passed over."""

    MOST_TRIES = int(os.environ.get("BELAY_TEST_TRIES", 5))
    STANDSTILL = 0.05
    SHORTAGE = 0.25  # of the time that the test took

    def run(self, result=None):
        for self.tries in range(1, self.MOST_TRIES + 1):
            trial = unittest.TestResult()
            began, waited = time.monotonic(), waited_for_processors()
            with Standstill() as standstill:
                super().run(trial)
            shortage = (waited_for_processors() - waited) / (time.monotonic() - began)
            calm = standstill.longest < self.STANDSTILL and shortage < self.SHORTAGE
            if trial.wasSuccessful() or trial.errors or calm or self.tries == self.MOST_TRIES:
                break
            print(f"again: the machine stood still for {standstill.longest * 1000:.0f} ms, and was short of processors for {shortage:.0%} of the time, in",
                  self.id(), file=sys.stderr)
            print(*(text for _, text in trial.failures), file=sys.stderr)
        result.startTest(self)
        for _, text in trial.failures + trial.errors:
            result.addFailure(self, (AssertionError, AssertionError(text), None))
        if trial.skipped:
            result.addSkip(self, trial.skipped[0][1])
        elif trial.wasSuccessful():
            result.addSuccess(self)
        result.stopTest(self)


class CliTest(PatientTest):
    server_arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.server_arguments)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="belay-cli-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.name = f"{self.id().rsplit('.', 1)[1]}_{self.tries}"

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, *arguments, url=None, **how):
        process = Belay(*arguments, url=url or self.server.url(), **how)
        self.addCleanup(process.close)
        return process

    def belay(self, *arguments, **how):
        return self.start(*arguments, **how).finish()

    def run_code(self, *arguments, **how):
        return self.belay("run", *arguments, **how)[0]

    def inspect(self, name=None):
        code, out, err = self.belay("inspect", "--json", name or self.name)
        self.assertEqual((code, err), (0, ""))
        return parse_lines(out)[0]

    def terminal(self, *command, env=None):
        environment = {"PATH": os.environ["PATH"], "BELAY_URL": self.server.url(), "TERM": "dumb",
                       "PS1": "ready> ", **(env or {})}
        terminal = Terminal(command, environment)
        self.addCleanup(terminal.close)
        return terminal

    def shell(self):
        terminal = self.terminal("bash", "--norc", "--noprofile", "--noediting", "-i")
        terminal.expect("ready> ")
        return terminal

    def await_held(self, name=None):
        return eventually(lambda: self.inspect(name)["holder"], "the lock is held")

    def await_holders(self, count):
        eventually(lambda: len(self.inspect()["holders"]) == count, f"{count} hold it")

    def await_waiters(self, count):
        eventually(lambda: self.inspect()["waiters_total"] == count, f"{count} wait")

    def await_file(self, name):
        """The file's whole text, once it ends with a line end."""
        def content():
            if not os.path.exists(self.path(name)):
                return None
            with open(self.path(name), encoding="utf-8") as file:
                text = file.read()
            return text if text.endswith("\n") else None
        return eventually(content, f"{name} is written")

    def await_command(self, pid, program):
        """The id of the command of belay `pid`, once it has become `program`."""
        def child():
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                children = file.read().split()
            return int(children[0]) if children and name_of(children[0]) == program else None
        return eventually(child, f"{program} runs")

    def hold(self, *options, name=None):
        """A belay that holds the lock until its stdin ends."""
        holder = self.start("run", *options, name or self.name, "--", "cat", stdin=subprocess.PIPE)
        self.await_held(name)
        return holder

    def let_go(self, holder):
        code, _, _ = holder.finish()
        self.assertEqual(code, 0)

    def script(self, text):
        """A script that may write to files beside it. Not for dash: that drops a signal which comes
        while it starts a process (vfork), trapped or not."""
        path = self.path("script")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"cd '{self.directory}'\n{text}\n")
        return ["bash", path]


def parse_lines(text):
    return [json.loads(line) for line in text.splitlines()]
