"""A server that launch_server.py starts, for tests in Python: it ends with this process, however that ends."""
import os
import subprocess

LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch_server.py")
LIMIT_S = 60  # beyond it something hangs


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
