#!/usr/bin/env python3
"""Plays `scenarios` with agents on real servers. Usage: run.py [--all] [--server PROGRAM]... [--only TEXT]... BUILD AGENT...

An agent is an executable BUILD/AGENT (README.md). Each scenario runs with every agent as `a`; `b` is another one in turn. If the
scenario is marked [pairs], a third of all pairs play it on each server, or with --all every pair. Prints failures, then
`N passed, N failed`."""
import argparse
import asyncio
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "support"))
from launch import Launched

CERTIFICATES = os.path.join(HERE, "..", "..", "tests", "support", "certificates.sh")
PATIENCE = float(os.environ.get("BELAY_TEST_PATIENCE", "1"))
LIMIT = 20 * PATIENCE  # for whatever should happen soon
STANDSTILL = 0.1  # a failure is played again if the machine stood still for longer
MOST_AGAIN = int(os.environ.get("BELAY_TEST_TRIES", 3)) - 1
CLIENT_OPTIONS = "watchdog_lease_ms=4000 label=conformance"
BYTES_KEYS = {"message", "label", "host", "text"}  # shown and compared decoded
NUMBERS = {"fence", "in_doubt", "remaining", "count", "generation", "permits", "limit", "available", "total", "pid", "lease", "holds"}

# What an agent may say that it cannot do. The command has one exit code for all that a server refuses, and one for wrong usage.
LACKS = {"c": set(), "command": set((
    "nul owner lease nowait abandon hold extend verify downgrade cancel fork ping id metrics log fenced_write generation "
    "in_doubt reason AT_RISK RECOVERED UNKNOWN_HOLD CLOSED UNSUPPORTED_URL WOULD_DEADLOCK TOO_MANY_PENDING password max_hold "
    "max_pending log_events change list.total set_limit.limit set_limit.available IN_USE.count acquire.permits TIMEOUT.remaining permits=0 shared").split())}
LANGUAGE_LACKS = {"fork", "nowait"}
COMMAND_STATUSES = {"UNAVAILABLE": "AUTH_FAILED NOT_PERMITTED WRONG_TYPE UNSUPPORTED_SERVER SERVER_ERROR LIMIT_DIFFERS".split()}


class Failure(Exception):
    pass


class TwoHold(Failure):
    """What excludes each other was held by two at once: whatever the machine did, this must not be."""


class LostBefore(Failure):
    """A name was granted that its holder had lost: right, but the scenario cannot go on."""


# ---- Scenarios

class Step:
    """`ACTOR WORD... -> REPLY`: once; `~>`: again and again until the reply fits."""

    def __init__(self, number, text):
        self.number, self.text = number, text
        request, self.arrow, reply = re.match(r"(.*?)(?:\s+(->|~>)\s+(.*))?$", text).groups()
        self.actor, *self.words = request.split()
        self.expected = reply.split() if reply else None

    def request(self):
        """The words of the request proper, also of one that is started."""
        inner = {"start": 2, "fork": 1}.get(self.words[0], 0)
        return self.words[inner:]

    def needs(self):
        """What an agent must be able to do for this step."""
        needs = {self.words[0], self.request()[0]}
        for word in self.request()[1:]:
            if "=" in word:
                needs |= {word, word.split("=")[0]}
            elif any(re.fullmatch(r"([0-9a-f]{2})*?00([0-9a-f]{2})*", name) for name in word.split(",")):
                needs.add("nul")
        if self.expected:
            needs |= {self.expected[0]} | {word.split("=")[1] for word in self.expected if word.startswith("news=")}
            needs |= {word.split(":")[0] for word in self.expected if ":" in word}
        return needs


class Scenario:
    def __init__(self, title):
        self.name, marks = re.fullmatch(r"(.*?)((?: \[[^]]*\])*)", title).groups()
        marks = re.findall(r"\[([^]]*)\]", marks)
        self.pairs, self.slow = "pairs" in marks, "slow" in marks
        self.only, self.excluded = (next((mark.split()[1:] for mark in marks if mark.startswith(word)), []) for word in ("only ", "not "))
        self.steps = []

    def needs(self, role):
        return set().union(*(step.needs() for step in self.steps if step.actor == role))

    def changes_server(self):
        return any(step.actor == "server" and step.words != ["FLUSHALL"] for step in self.steps)

    def runs(self, cannot):
        """The pairs of agents that play it, as a and b."""
        names = [name for name in cannot if name not in self.excluded]
        able = {role: [name for name in names if not self.needs(role) & cannot[name]] for role in "ab"}
        for a in able["a"]:
            if self.only and a not in self.only:
                continue
            others = able["b"] if self.pairs else self.others(names, able["b"], a)
            yield from ((a, b) for b in others)

    def others(self, names, able, a):
        """The next one after a: another one for each scenario, so that all meet."""
        start = names.index(a) + 1 + sum(self.name.encode()) % len(names)
        turn = [names[(start + i) % len(names)] for i in range(len(names))]
        return [name for name in turn if name in able][:1]


def read_scenarios(path):
    scenarios = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            text = line.split("#")[0].rstrip()
            if text.startswith(" "):
                scenarios[-1].steps.append(Step(number, text.strip()))
            elif text:
                scenarios.append(Scenario(text))
    return scenarios


# ---- Replies

class Reply:
    def __init__(self, line):
        self.status, *pairs = line.split()
        self.values = {}
        for pair in pairs:
            key, _, value = pair.partition("=")
            plain = key.split(".")[-1]
            if not value or key in self.values:
                raise Failure(f"'{pair}' is empty or there twice")
            if plain in NUMBERS and not re.fullmatch(r"[0-9]+(,[0-9]+)*", value):
                raise Failure(f"'{pair}' is no number")
            if plain in ("fence", "in_doubt") and "0" in value.split(","):
                raise Failure(f"'{pair}': a value that there is not must be left out")
            self.values[key] = bytes.fromhex(value).decode(errors="replace") if plain in BYTES_KEYS else value

    def __str__(self):
        return " ".join([self.status, *(f"{key}={value!r}" for key, value in self.values.items())])


def number(text):
    return int(text.split(",")[0])


def check(expected, reply, variables, lacks):
    """Why the reply is not as expected; None if it is. Sets the variables of `key:variable`."""
    statuses = expected[0].split("|")
    if reply.status not in statuses:
        return f"status {reply.status}"
    for word in expected[1:]:
        if word.startswith("!"):
            if word[1:] in reply.values:
                return f"{word[1:]} is there"
            continue
        key, operator, right = re.fullmatch(r"([\w.]+)(?:(>=|<=|>|<|=|~|:|#)(.*))?", word).groups()
        if {key, key.split(".")[-1], f"{lacks.verb}.{key}", f"{reply.status}.{key}"} & lacks.cannot:
            continue
        value = reply.values.get(key)
        if value is None:
            return f"no {key}"
        if not compare(value, operator, right, variables):
            return f"{key} is {value!r}"
    return None


def compare(value, operator, right, variables):
    if operator == ":":
        variables.update(zip(right.split(","), value.split(",")))
        return len(right.split(",")) == len(value.split(","))
    if operator in ("=", "~"):
        return value == right if operator == "=" else right.lower() in value.lower()
    if operator == "#":
        return len(value.split(",")) == int(right)
    if operator is None:
        return True
    bound = number(variables.get(right, right))
    return {">": all(int(each) > bound for each in value.split(",")), ">=": number(value) >= bound,
            "<": number(value) < bound, "<=": number(value) <= bound}[operator]


class Lacks:
    """What one agent cannot do, and the verb that is being answered."""

    def __init__(self, cannot, verb):
        self.cannot, self.verb = cannot, verb


# ---- What plays

async def ask(server, *words):
    """The first line of the reply; "" if there is no server."""
    try:
        reader, writer = await asyncio.open_unix_connection(server.socket)
    except OSError:
        return ""
    parts = [word.encode() for word in words]
    writer.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts))
    try:
        line = (await asyncio.wait_for(reader.readline(), LIMIT)).decode().strip()
        return (await reader.readline()).decode().strip() if line.startswith("$") and line != "$-1" else line
    except OSError:
        return ""
    finally:
        writer.close()


class Server(Launched):
    """A Redis or Valkey, which is asked on its unix socket, and speaks TLS on a port of its own."""

    certificates = tempfile.TemporaryDirectory(prefix="belay-certificates-")
    subprocess.run([CERTIFICATES, certificates.name], check=True)

    def __init__(self, program):
        self.program = program
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.tls_port = free.getsockname()[1]
        made = self.certificates.name
        super().__init__(program, "--appendonly", "yes", "--appendfsync", "no", "--tls-port", str(self.tls_port), "--tls-auth-clients", "no",
                         "--tls-cert-file", f"{made}/server.pem", "--tls-key-file", f"{made}/server.key",
                         "--tls-ca-cert-file", f"{made}/ca.pem")

    async def command(self, *words):
        return await ask(self, *words)

    async def act(self, words):
        does = {"stop": self.pause, "cont": self.proceed, "kill": self.kill, "start": self.start}.get(words[0])
        if does is None:
            return await self.command(*words)
        await asyncio.to_thread(does)
        return "+OK"


def start_sentinel(program, server):
    """It knows the server as `mymaster`, and wants a password: secret."""
    path = os.path.join(server.directory, "sentinel.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"sentinel monitor mymaster 127.0.0.1 {server.port} 1\nrequirepass secret\n")
    return Launched(program, path, "--sentinel")


async def start_cluster(program):
    """Of one node."""
    node = await asyncio.to_thread(Launched, program, "--cluster-enabled", "yes")
    await ask(node, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
    return node


class Proxy:
    """A TCP door to the server. `cut` breaks the connections, `down` also refuses new ones, `swallow` drops replies, `delay MS`
    holds replies back, `says TEXT` answers itself, `pass` does nothing of this."""

    def __init__(self, server):
        self.server, self.mode, self.delay, self.text = server, "pass", 0, b""
        self.writers, self.listener, self.port = set(), None, 0

    async def start(self):
        self.listener = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.listener.sockets[0].getsockname()[1]
        return self

    def act(self, words):
        self.mode = "pass" if words[0] == "cut" else words[0]
        self.delay = int(words[1]) / 1000 if words[0] == "delay" else 0
        self.text = words[1].encode().decode("unicode_escape").encode() if words[0] == "says" else b""
        if words[0] in ("cut", "down"):
            self.cut()
        return "+OK"

    def cut(self):
        for writer in list(self.writers):
            writer.transport.abort()

    async def serve(self, reader, writer):
        self.writers.add(writer)
        try:
            if self.mode == "down":
                writer.transport.abort()
            elif self.mode == "says":
                await self.answer(reader, writer)
            else:
                await self.forward(reader, writer)
        except OSError:
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def answer(self, reader, writer):
        while await reader.read(65536):
            writer.write(self.text)

    async def forward(self, reader, writer):
        server_reader, server_writer = await asyncio.open_unix_connection(self.server.socket)
        back = asyncio.create_task(self.pump(server_reader, writer, replies=True))
        try:
            await self.pump(reader, server_writer, replies=False)
        finally:
            back.cancel()
            server_writer.close()

    async def pump(self, source, sink, replies):
        try:
            while data := await source.read(65536):
                if replies and self.delay:
                    await asyncio.sleep(self.delay)
                if not (replies and self.mode == "swallow"):
                    sink.write(data)
        except OSError:
            pass
        if replies:
            sink.close()

    def close(self):
        self.cut()
        self.listener.close()


class Agent:
    """An agent's process. It leads a process group, so that a signal also reaches what it has started."""

    def __init__(self, kind, cannot):
        self.kind, self.cannot = kind, cannot
        self.process, self.opened, self.tasks = None, False, {}
        self.silent = False  # it owes a reply
        self.warm = False
        self.errors = tempfile.TemporaryFile()

    async def start(self, build):
        self.process = await asyncio.create_subprocess_exec(
            os.path.join(build, self.kind), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            process_group=0, limit=1 << 20)
        return self

    async def ask(self, line, limit=LIMIT):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            answer = await asyncio.wait_for(self.process.stdout.readline(), limit)
        except asyncio.TimeoutError:
            self.silent = True
            raise Failure(f"no reply within {limit:.0f} s") from None
        except OSError:
            answer = b""
        if not answer.endswith(b"\n"):
            raise Failure(f"the agent ended; stderr: {self.complaints()}")
        return Reply(answer.decode())

    def complaints(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-2000:]

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    async def kill(self):
        self.signal(signal.SIGKILL)
        await self.process.wait()

    async def end(self):
        """Ends its stdin. It must end with 0."""
        self.process.stdin.close()
        try:
            code = await asyncio.wait_for(self.process.wait(), LIMIT)
        except asyncio.TimeoutError:
            await self.kill()
            raise Failure("the agent does not end with its stdin") from None
        if code != 0:
            raise Failure(f"the agent ended with {code}; stderr: {self.complaints()}")


class Pool:
    """Agents that have closed their clients and may serve again."""

    def __init__(self, build):
        self.build, self.free, self.cannot = build, {}, {}

    async def take(self, kind):
        idle = self.free.setdefault(kind, [])
        return idle.pop() if idle else await Agent(kind, self.cannot.get(kind, set())).start(self.build)

    async def give(self, agent):
        try:
            if agent.silent:
                await agent.kill()
            elif agent.opened:
                await agent.ask("close")
            agent.opened = False
            agent.tasks.clear()
        except Failure:
            await agent.kill()
        if agent.process.returncode is None:
            self.free.setdefault(agent.kind, []).append(agent)


# ---- Playing

class Play:
    """One run of a scenario."""

    def __init__(self, scenario, kinds, pool, server):
        self.scenario, self.kinds, self.pool, self.server = scenario, kinds, pool, server
        self.agents, self.proxy, self.others, self.transcript = {}, None, [], []
        self.holds = {}  # (role, label) -> the names: what was granted, and is neither released nor known to be lost
        self.asked = ("", [""])  # who was asked last, and what
        self.variables = {"url": f"unix://{server.socket}", "long": "6c" * 1024, "big": "62" * 20000, "socket": server.socket,
                          "port": str(server.port), "tls": f"rediss://127.0.0.1:{server.tls_port}", "tls_port": str(server.tls_port),
                          "certificates": server.certificates.name,
                          "many": ",".join(f"m{i}".encode().hex() for i in range(256))}

    async def run(self):
        if any("$proxy" in step.text for step in self.scenario.steps):
            self.proxy = await Proxy(self.server).start()
            self.variables["proxy"] = f"redis://127.0.0.1:{self.proxy.port}"
            self.variables["proxy_port"] = str(self.proxy.port)
        if any("$sentinel" in step.text for step in self.scenario.steps):
            self.others.append(await asyncio.to_thread(start_sentinel, self.server.program, self.server))
            self.variables["sentinel"] = f"127.0.0.1:{self.others[-1].port}"
        if any("$cluster" in step.text for step in self.scenario.steps):
            self.others.append(await start_cluster(self.server.program))
            self.variables["cluster"] = f"127.0.0.1:{self.others[-1].port}"
        try:
            await self.prepare()
            for step in self.scenario.steps:
                await self.step(step)
        finally:
            self.wake()
            await asyncio.gather(*(self.pool.give(agent) for agent in self.agents.values()))
            if self.proxy:
                self.proxy.close()
            for other in self.others:
                other.stop()

    async def prepare(self):
        """Starts the agents and opens their clients before the first step: no lease ends meanwhile."""
        first = {}
        for step in self.scenario.steps:
            first.setdefault(step.actor, step.words[0])
        ready = await asyncio.gather(*(self.agent(role, first[role] == "open") for role in ("a", "b") if role in first),
                                     return_exceptions=True)  # an agent that still owes a reply must not go back to the pool
        for failure in (each for each in ready if isinstance(each, BaseException)):
            raise failure

    async def warm_up(self, agent, role):
        """Has a new agent load what it needs for most requests. Its lock is its own: nobody hands it over."""
        for request in (f"open url={self.variables['url']}", f"acquire h1 lock {role.encode().hex()} wait=5000", "release h1", "close"):
            reply = await agent.ask(request, LIMIT)
            if reply.status != "OK":
                raise Failure(f"{request}: {reply}")
        agent.warm = True

    def wake(self):
        """Ends whatever keeps somebody from answering."""
        for agent in list(self.agents.values()):
            agent.signal(signal.SIGCONT)
        self.server.proceed()
        if self.proxy:
            self.proxy.act(["pass"])

    async def step(self, step):
        end = time.monotonic() + LIMIT
        while (fault := await self.try_step(step)) is not None:
            if step.arrow != "~>" or time.monotonic() > end:
                text = f"line {step.number}: {step.text}\n    {fault}; was: {self.transcript[-1]}"
                self.wake()
                views = await self.views()
                raise (await self.judge(step))(text + views)
            await asyncio.sleep(0.02)

    # What the agents say of their holds, when something is wrong.

    def note(self, role, request, reply):
        verb, *words = request
        if verb == "acquire" and reply.status == "OK":
            self.holds[role, words[0]] = words[2].split(",")
        elif verb in ("release", "abandon") or "LOST" in reply.values.values():
            self.holds.pop((role, words[0]), None)
        elif verb == "close":
            self.forget(role)

    def forget(self, role):
        self.holds = {key: names for key, names in self.holds.items() if key[0] != role}

    async def judge(self, step):
        """What kind of failure it is. If a name was granted that others should have, these must have lost it as their lease had ended: a
        grant by handoff ends after 100 ms unless its holder confirms it, for which a loaded machine may be too slow."""
        role, (verb, *words) = self.asked
        refused = set((step.expected or ["OK"])[0].split("|")) <= {"BUSY", "TIMEOUT"}
        if step.actor != role or verb != "acquire" or not refused:
            return Failure
        mine = (role, words[0])
        others = [key for key, names in self.holds.items() if key != mine and set(names) & set(words[2].split(","))]
        if mine not in self.holds or not others:
            return Failure
        releases = [str(await self.view(other, f"release {label}")) for other, label in others]
        ended = [": LOST" in each and ("NOT_RENEWED" in each or "without a renewal" in each) for each in releases]
        return LostBefore if (any if words[1] == "semaphore" else all)(ended) else TwoHold

    async def views(self):
        """What every agent says of its holds, and somebody of their names."""
        lines = []
        for role, label in self.holds:
            lines += [await self.view(role, f"{verb} {label}", more) for verb, more in (("hold", ""), ("news", " limit=0"))]
        for name in sorted(set().union(*self.holds.values()))[:4]:
            lines.append(await self.view(next(iter(self.agents), ""), f"inspect {name}"))
        return "".join(f"\n    {line}" for line in lines if line)

    async def view(self, role, request, more=""):
        agent = self.agents.get(role)
        if agent is None or agent.silent or request.split()[0] in agent.cannot:
            return None
        try:
            return f"{role} {request}: {await agent.ask(request + more)}"
        except Failure as failure:
            return f"{role} {request}: {failure}"

    def fill(self, text):
        try:
            return re.sub(r"\$\{?(\w+)\}?", lambda match: self.variables[match[1]], text)
        except KeyError as missing:
            raise Failure(f"no variable {missing} in '{text}'") from None

    async def try_step(self, step):
        words = [self.fill(word) for word in step.words]
        if step.actor in ("a", "b"):
            return await self.ask(step, words)
        if step.actor in ("kill", "stop", "cont", "end"):
            return await self.signal(step.actor, words[0])
        answer = await self.server.act(words) if step.actor == "server" else self.proxy.act(words)
        self.transcript.append(answer)
        if step.expected and not answer.lstrip("+:$").startswith(step.expected[0]):
            return answer
        return None

    async def signal(self, action, role):
        agent = self.agents[role]
        if action in ("kill", "end"):
            del self.agents[role]
            self.forget(role)
            await (agent.kill() if action == "kill" else agent.end())
        else:
            agent.signal(signal.SIGSTOP if action == "stop" else signal.SIGCONT)
        return None

    async def ask(self, step, words):
        agent = await self.agent(step.actor, words[0] == "open")
        inner = [self.fill(word) for word in step.request()]
        if words[0] == "start":
            agent.tasks[words[1]] = inner
        request = agent.tasks.get(words[1], ["await"]) if words[0] == "await" else inner
        slow = sum(int(word.split("=")[1]) for word in words if re.fullmatch(r"(wait|limit)=\d+", word)) / 1000
        reply = await agent.ask(" ".join(words), LIMIT + slow)
        self.transcript.append(str(reply))
        if words[0] != "start" or inner[0] != "acquire":
            self.asked = (step.actor, request)
            self.note(*self.asked, reply)
        if reply.status == "BAD":
            return "the agent does not understand"
        expected = [self.fill(word) for word in step.expected or ["OK"]]
        if agent.kind == "command" and expected[0] in COMMAND_STATUSES["UNAVAILABLE"]:
            expected[0] = "UNAVAILABLE"
        return check(expected, reply, self.variables, Lacks(agent.cannot, request[0]))

    async def agent(self, role, opens):
        """The agent of this role, with a client if the scenario does not open one of its own now."""
        if role not in self.agents:
            self.agents[role] = await self.pool.take(self.kinds[role])
            self.variables["pid_" + role] = str(self.agents[role].process.pid)
        agent = self.agents[role]
        if not agent.warm:
            await self.warm_up(agent, role)
        if not opens and not agent.opened:
            reply = await agent.ask(f"open url={self.variables['url']} {CLIENT_OPTIONS}")
            if reply.status != "OK":
                raise Failure(f"open: {reply}")
        agent.opened = True
        return agent


class Results:
    def __init__(self):
        self.passed, self.failures, self.times = 0, [], []

    def note(self, title, failure, seconds):
        self.times.append((seconds, title))
        if failure is None:
            self.passed += 1
        else:
            self.failures.append(title)
            print(f"FAILED {title}\n    {failure}", flush=True)


class Standstill:
    """Notes how much too long the runner's short sleeps last: for how long this machine stands still. A lease may end meanwhile."""

    STEP = 0.01

    def __init__(self):
        self.noted = []  # (when it ended, how long it was)
        self.task = asyncio.create_task(self.watch())

    async def watch(self):
        while True:
            before = time.monotonic()
            await asyncio.sleep(self.STEP)
            now = time.monotonic()
            if now - before - self.STEP > STANDSTILL:
                self.noted.append((now, now - before - self.STEP))

    def longest_since(self, began):
        return max((length for ended, length in self.noted if ended > began), default=0)


async def serve(program, runs, pool, results, standstill):
    """A worker: plays runs until there are none, on a server of its own."""
    server = await asyncio.to_thread(Server, program)
    try:
        while runs:
            scenario, a, b, *again = runs.pop()
            began, failure = time.monotonic(), None
            play = Play(scenario, {"a": a, "b": b}, pool, server)
            try:
                await play.run()
            except Failure as fault:
                failure = fault
            stood_still = standstill.longest_since(began)
            stalled = stood_still > STANDSTILL and not isinstance(failure, TwoHold)
            if failure and (stalled or isinstance(failure, LostBefore)) and len(again) < MOST_AGAIN:
                what = "a holder could not confirm a grant in time" if isinstance(failure, LostBefore) else "a step failed"
                print(f"again: {what}, and the machine stood still for {stood_still * 1000:.0f} ms in {scenario.name}\n    {failure}",
                      flush=True)
                runs.append((scenario, a, b, *again, failure))
                server.stop()
                server = await asyncio.to_thread(Server, program)
                continue
            results.note(f"{program}: {scenario.name} (a: {a}, b: {b})", failure, time.monotonic() - began)
            if failure or scenario.changes_server():
                server.stop()
                server = await asyncio.to_thread(Server, program)
            else:
                await server.command("FLUSHALL")
    finally:
        server.stop()


async def learn(pool, names, results):
    """Asks every agent what it cannot do. Returns those that may take part."""
    for name in names:
        began, failure = time.monotonic(), None
        try:
            agent = await pool.take(name)
            reply = await agent.ask("supports")
            cannot = set(reply.values.get("cannot", "").split(",")) - {""}
            agent.cannot = pool.cannot[name] = cannot
            await pool.give(agent)
            more = cannot - LACKS.get(name, LANGUAGE_LACKS)
            failure = f"it must not lack {', '.join(sorted(more))}" if more else None
        except (Failure, OSError) as fault:
            failure = fault
        results.note(f"{name} can do what it must", failure, time.monotonic() - began)
    return {name: pool.cannot[name] for name in names if name in pool.cannot}


async def end_agents(pool, results):
    for name, agents in pool.free.items():
        ends = await asyncio.gather(*(agent.end() for agent in agents), return_exceptions=True)
        for failure in [end for end in ends if end] or [None]:
            results.note(f"{name} ends with its stdin", failure, 0)


def third(runs, agents, turn):
    """The third of the pairs that meet in this turn: i and j meet if i + j + turn is a multiple of 3. So in each turn every agent is `a`
    and is `b`, and in three turns every pair meets once. It takes three agents for that: of fewer all meet."""
    places = {name: place for place, name in enumerate(agents)}
    return [run for run in runs if (places[run[1]] + places[run[2]] + turn) % 3 == 0] if len(places) >= 3 else runs


def choose(cannot, options, turn):
    """The runs on a server. Its first [pairs] scenario has this turn, each further one the next."""
    chosen = []
    for scenario in read_scenarios(os.path.join(HERE, "scenarios")):
        runs = [(scenario, a, b) for a, b in scenario.runs(cannot)]
        if scenario.pairs and not options.all:
            runs = third(runs, list(cannot), turn)
        turn += scenario.pairs
        if not options.only or any(text in scenario.name for text in options.only):
            chosen += runs
    return chosen


def mixed(runs):
    """The runs in an order that is always the same: those that wait beside those that compute, and none that is slow at the end. Workers
    take the last one first."""
    chance = random.Random(0)
    return sorted(runs, key=lambda run: chance.random() * (0.7 if run[0].slow else 1), reverse=True)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="every pair of agents, not a third of them")
    parser.add_argument("--server", action="append")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--workers", type=int, default=8, help="of each server")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("build")
    parser.add_argument("agents", nargs="+")
    options = parser.parse_args()
    results, pool = Results(), Pool(options.build)
    cannot = await learn(pool, options.agents, results)
    chosen, workers, standstill = 0, [], Standstill()
    for number, program in enumerate(options.server or ["redis-server", "valkey-server"]):
        runs = mixed(choose(cannot, options, number))
        chosen += len(runs)
        workers += [serve(program, runs, pool, results, standstill) for _ in range(options.workers)]
    await asyncio.gather(*workers)
    standstill.task.cancel()
    await end_agents(pool, results)
    if options.times:
        for seconds, title in sorted(results.times)[-25:]:
            print(f"{seconds:6.2f} s {title}")
    print(f"{results.passed} passed, {len(results.failures)} failed")
    return 1 if results.failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
