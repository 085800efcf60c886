"""nginx.py DIR: measures an nginx that DIR/nginx has, and prints a line. nginx.sh sets the environment."""

import os
import pathlib
import pwd
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
from launch import Launched

ROUNDS, REQUESTS, WAITERS = 10, 300, 200
CONFIGURATION = """
load_module ROOT/usr/lib/nginx/modules/ndk_http_module.so;
load_module ROOT/usr/lib/nginx/modules/ngx_http_lua_module.so;
worker_processes 1; error_log stderr crit; pid DIR/nginx.pid; USER
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy;
  fastcgi_temp_path DIR/fastcgi; uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
  lua_package_path "LUA_PATH;ROOT/usr/share/lua/5.1/?.lua;;";
  lua_package_cpath "LUA_CPATH;;";
  init_worker_by_lua_block { client = assert(require("belay").connect "unix://DIR/redis") }
  server {
    listen unix:DIR/http backlog=1024;
    location /fast { content_by_lua_block { ngx.print "x" } }
    location /waiting { content_by_lua_block { ngx.print(client:metrics().pendings) } }
    location /lock { content_by_lua_block {
      assert(assert(client:lock "name":acquire { wait = 60 }):release())
      ngx.print "x"
    } }
  }
}
"""


class Connection:
    def __init__(self, directory):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(directory / "http"))

    def send(self, path):
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: nginx\r\n\r\n".encode())

    def receive(self):
        """The body, which is one chunk of a few bytes."""
        answer = b""
        while not answer.endswith(b"\r\n0\r\n\r\n"):
            more = self.socket.recv(65536)
            assert more, answer
            answer += more
        assert answer.startswith(b"HTTP/1.1 200"), answer
        return answer.split(b"\r\n")[-4]

    def get(self, path):
        self.send(path)
        return self.receive()


def until(predicate):
    end = time.monotonic() + 30
    while not predicate():
        assert time.monotonic() < end, "hung"
        time.sleep(0.01)


def timed(connection):
    took = []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        connection.get("/fast")
        took.append((time.perf_counter() - began) * 1e6)
    return took


def beside_waiters(directory, connection):
    holder = subprocess.Popen(["belay", "run", "name", "--", "cat"], stdin=subprocess.PIPE, env={**os.environ, "BELAY_URL": f"unix://{directory}/redis"})
    until(lambda: subprocess.run(["redis-cli", "-s", directory / "redis", "exists", "belay:r:{name}"], capture_output=True, check=True).stdout == b"1\n")
    waiters = [Connection(directory) for _ in range(WAITERS)]
    for waiter in waiters:
        waiter.send("/lock")
    until(lambda: connection.get("/waiting") == str(WAITERS).encode())
    took = timed(connection)
    assert connection.get("/waiting") == str(WAITERS).encode()
    holder.communicate()
    for waiter in waiters:
        waiter.receive()
        waiter.socket.close()
    return took


def show(took):
    cuts = statistics.quantiles(took, n=100)
    return f"p50 {cuts[49]:.0f} us, p99 {cuts[98]:.0f} us"


def measure(directory):
    connection = Connection(directory)
    timed(connection)
    alone, beside = [], []
    for _ in range(ROUNDS):
        alone += timed(connection)
        beside += beside_waiters(directory, connection)
    print(f"nginx, a request beside {WAITERS} that wait for a lock: {show(beside)}; alone: {show(alone)}; "
          f"p50 {statistics.median(beside) / statistics.median(alone):.2f} times")


def main():
    directory = pathlib.Path(sys.argv[1])
    root = directory / "nginx"
    values = {"ROOT": root, "DIR": directory, "LUA_PATH": os.environ["LUA_PATH"].removesuffix(";;"),
              "LUA_CPATH": os.environ["LUA_CPATH"].removesuffix(";;"), "USER": "user root;" if pwd.getpwuid(os.getuid()).pw_name == "root" else ""}
    text = CONFIGURATION
    for name in ("ROOT", "LUA_PATH", "LUA_CPATH", "USER", "DIR"):
        text = text.replace(name, str(values[name]))
    (directory / "nginx.conf").write_text(text)
    libraries = f"{root}/usr/lib/x86_64-linux-gnu:{root}/lib/x86_64-linux-gnu:" + os.environ["LD_LIBRARY_PATH"]
    (directory / "redis").symlink_to(Launched("redis-server").socket)
    nginx = subprocess.Popen([root / "usr/sbin/nginx", "-p", directory, "-c", directory / "nginx.conf", "-g", "daemon off;"],
                             env={**os.environ, "LD_LIBRARY_PATH": libraries})
    try:
        until((directory / "http").exists)
        measure(directory)
    finally:
        nginx.terminate()
        nginx.wait()


main()
