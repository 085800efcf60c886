"""A network between a client and a server that is far away, or gone for a while: without a reset, as a cut cable leaves none."""
import socket
import threading
import time


class Proxy:
    """Each of the two ways has a delay in seconds, and may be stopped; what comes meanwhile is passed on later, in its order."""

    def __init__(self, server_socket, delay=0.0):
        self.server_socket = server_socket
        self.delay = delay
        self.passes = {"up": threading.Event(), "down": threading.Event()}
        self.heard = 0  # bytes that the server's side has sent
        for passes in self.passes.values():
            passes.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.sockets = [self.listener]
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self):
        return f"redis://127.0.0.1:{self.listener.getsockname()[1]}"

    def stop(self, way):
        self.passes[way].clear()

    def proceed(self):
        for passes in self.passes.values():
            passes.set()

    def close(self):
        self.proceed()
        for each in self.sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.socket(socket.AF_UNIX)
                self.sockets += [near, far]
                far.connect(self.server_socket)
            except OSError:
                return
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.join(near, far, "up")
            self.join(far, near, "down")

    def join(self, source, target, way):
        waiting, arrived = [], threading.Condition()
        threading.Thread(target=self.receive, args=(source, way, waiting, arrived), daemon=True).start()
        threading.Thread(target=self.send, args=(target, way, waiting, arrived), daemon=True).start()

    def receive(self, source, way, waiting, arrived):
        data = b"-"
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            self.heard += len(data) if way == "down" else 0
            with arrived:
                waiting.append((time.monotonic() + self.delay, data))
                arrived.notify()

    def send(self, target, way, waiting, arrived):
        while True:
            with arrived:
                arrived.wait_for(lambda: waiting)
                due, data = waiting.pop(0)
            time.sleep(max(0, due - time.monotonic()))
            self.passes[way].wait()
            try:
                target.sendall(data) if data else target.shutdown(socket.SHUT_WR)
            except OSError:
                return
            if not data:
                return
