#!/usr/bin/python3 -ISB
"""Starts a server of a test's own: launch_server.py [PROGRAM] [OPTION...]

PROGRAM: redis-server, valkey-server or a path; default $BELAY_TEST_SERVER, or redis-server. All words before the first that begins
with `--` belong to it, such as `env NAME=VALUE redis-server`. The server has a port of 127.0.0.1, a unix socket and a temporary
directory of its own, and saves nothing. OPTIONs prevail over these.

As soon as the server answers, one line comes on stdout: its process id, its port, its socket. The socket's directory may also hold
files of the test. Commands are lines on stdin. Each is answered by the same line when it is done:

    kill                 ends the server as a crash would
    start [OPTION...]    starts it where it was, with these further options, a tab before each
    pause, continue      stops it as a whole, and continues it

When stdin ends, server and directory are removed, and then this program ends. A test that is killed therefore leaves nothing behind.
A server that cannot be started is told on stderr, and stdout ends.
"""
# The system's Python, and only what it has built in: a suite starts hundreds of servers, and `socket` and `signal` would triple the
# time that this takes.
import os
import sys
import time
from _signal import SIGCONT, SIGINT, SIGKILL, SIGSTOP, SIG_DFL, signal
from _socket import AF_UNIX, socket

ATTEMPTS = 5  # another process may have the port
LIMIT_S = 60  # beyond it something hangs


def detach():
    """Goes on where no kill of a process group or process tree reaches. The caller's child waits for the end."""
    signal(SIGINT, SIG_DFL)
    os.closerange(3, 1024)  # perhaps the stdin of another launcher, which would not end
    end, ours = os.pipe()
    if os.fork() > 0:
        os.close(ours)
        os.wait()
        os.read(end, 1)
        os._exit(0)
    os.setpgid(0, 0)  # no session: where they share processors by session (autogroup), one server that mostly sleeps may wait for seconds
    if os.fork() > 0:
        os._exit(0)


class Server:
    def __init__(self, words):
        count = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
        self.program = words[:count] or [os.environ.get("BELAY_TEST_SERVER", "redis-server")]
        self.options = words[count:]
        self.directory = f"{os.environ.get('TMPDIR', '/tmp')}/belay-server-{os.urandom(6).hex()}"
        os.mkdir(self.directory, 0o700)
        self.socket, self.log = f"{self.directory}/socket", f"{self.directory}/log"
        self.pid = self.port = 0  # not running; none yet

    def start(self, *options):
        # A node of a cluster also has the port that is 10 000 higher.
        ports = 10000 if "--cluster-enabled" in self.options else 20000
        for _ in range(ATTEMPTS):
            # Below the range from which the system takes its own: a client that tries to reach one of those may connect to itself.
            port = self.port or 12000 + int.from_bytes(os.urandom(2), "big") % ports
            self.spawn(port, options)
            if self.is_ready():
                self.port = port
                return
        with open(self.log, encoding="utf-8", errors="replace") as log:
            sys.exit(f"{' '.join(self.program)} does not start:\n{log.read()}")

    def spawn(self, port, options):
        words = ["setpriv", "--pdeathsig", "KILL", *self.program, "--port", str(port), "--bind", "127.0.0.1", "--unixsocket", self.socket,
                 "--dir", self.directory, "--save", "", "--appendonly", "no", *self.options, *options]
        self.pid = os.posix_spawnp(words[0], words, os.environ, setsigmask=[], file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2)])

    def is_ready(self):
        """Waits until it answers; False if it has ended."""
        limit = time.monotonic() + LIMIT_S
        while not self.answers():
            if os.waitpid(self.pid, os.WNOHANG)[0] == self.pid:
                self.pid = 0
                return False
            if time.monotonic() > limit:
                self.kill()
                return False
            time.sleep(0.001)
        return True

    def answers(self):
        client = socket(AF_UNIX)
        client.settimeout(LIMIT_S)
        try:
            client.connect(self.socket)
            client.sendall(b"PING\r\n")
            return client.recv(1) != b""  # also that it loads its data, or wants a password
        except OSError:
            return False
        finally:
            client.close()

    def kill(self):
        if self.pid > 0:
            os.kill(self.pid, SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def pause(self):
        if self.pid > 0:
            os.kill(self.pid, SIGSTOP)
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)  # at once if it stands already

    def proceed(self):
        if self.pid > 0:
            os.kill(self.pid, SIGCONT)

    def remove(self):
        self.kill()
        # Processes of the test that are being killed may still write there.
        while os.spawnlp(os.P_WAIT, "rm", "rm", "-rf", self.directory) != 0:
            time.sleep(0.01)

    def tell(self):
        os.write(1, f"{self.pid} {self.port} {self.socket}\n".encode())


def main():
    detach()
    server = Server(sys.argv[1:])
    commands = {"kill": server.kill, "start": server.start, "pause": server.pause, "continue": server.proceed}
    try:
        server.start()
        server.tell()
        for line in sys.stdin:
            verb, *options = line.rstrip("\n").split("\t")
            commands[verb](*options)
            server.tell()
    except BrokenPipeError:
        pass  # nobody is there any more
    finally:
        server.remove()


main()
