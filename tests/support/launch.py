"""A server that launch_server.py starts, for tests in Python: it ends with this process, however that ends."""
import os
import socket
import subprocess
import sys
import time

LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch_server.py")
LIMIT_S = 60  # beyond it something hangs


def read_reply(stream):
    """A text, a number, a list, or None; an error is a text with its leading -."""
    line = stream.readline().decode().rstrip("\r\n")
    kind, rest = line[0], line[1:]
    if kind == "*":
        return [read_reply(stream) for _ in range(int(rest))]
    if kind == "$":
        return None if rest == "-1" else stream.read(int(rest) + 2)[:-2].decode()
    return int(rest) if kind == ":" else rest if kind == "+" else line


def eventually(predicate):
    """What it gives once that is true."""
    limit = time.monotonic() + LIMIT_S
    while not (value := predicate()):
        if time.monotonic() > limit:
            sys.exit("the servers do not get there")
        time.sleep(0.02)
    return value


class Launched:
    """Its socket, and its directory, where a test may put files, stay the same; its pid is 0 while it does not run."""

    def __init__(self, *words, **how):
        self.launcher = subprocess.Popen([LAUNCHER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how)
        self.hear()

    def hear(self):
        answer = self.launcher.stdout.readline().split()
        if not answer:
            raise AssertionError("no server was started")
        self.pid, self.port, self.socket = int(answer[0]), int(answer[1]), answer[2]
        self.directory = os.path.dirname(self.socket)

    def tell(self, *words):
        self.launcher.stdin.write("\t".join(words) + "\n")
        self.launcher.stdin.flush()
        self.hear()

    def ask(self, *words):
        """The reply to a command."""
        parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(LIMIT_S)
            connection.connect(self.socket)
            connection.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts))
            with connection.makefile("rb") as replies:
                return read_reply(replies)

    def kill(self):
        self.tell("kill")

    def start(self, *options):
        self.tell("start", *options)

    def pause(self):
        self.tell("pause")

    def proceed(self):
        self.tell("continue")

    def stop(self):
        """Ends it for good and removes its directory."""
        self.launcher.communicate(timeout=LIMIT_S)
