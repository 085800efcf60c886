#!/usr/bin/env python3
"""The agent of the `belay` command: it does what lines on stdin say, as ../../README.md has it. A hold is a `belay run` whose
command prints the fences and then waits for the end of its stdin; a task is a process whose end nobody has waited for yet."""
import json
import os
import select
import subprocess
import sys
import time

BELAY = os.environ.get("BELAY_BIN", "belay")
# What no option or output of the command says. The command ends with one code, 69, for all that a server refuses.
CANNOT = ("nul,owner,lease,nowait,abandon,hold,extend,verify,downgrade,cancel,fork,ping,id,metrics,log,change,fenced_write,"
          "generation,in_doubt,reason,AT_RISK,RECOVERED,UNKNOWN_HOLD,CLOSED,UNSUPPORTED_URL,WOULD_DEADLOCK,TOO_MANY_PENDING,"
          "password,max_hold,max_pending,log_events,list.total,set_limit.limit,set_limit.available,IN_USE.count,"
          "acquire.permits,TIMEOUT.remaining,permits=0,shared")
HOLDER = ["sh", "-c", 'echo "$BELAY_FENCES"; exec cat > /dev/null']
LOST = 75
SECONDS = 1000


def seconds(milliseconds):
    return f"{int(milliseconds) / SECONDS:.3f}"


def name_of(item):
    return item["name_hex"] if "name_hex" in item else item["name"].encode().hex()


class Call:
    """A process of the command, and how its end reads as a reply."""

    def __init__(self, client, arguments, read=lambda output: "", busy="TIMEOUT", missed="NOT_FOUND"):
        self.read, self.statuses = read, {1: busy, 64: "INVALID_ARGUMENT", 66: missed, 69: "UNAVAILABLE", LOST: "LOST"}
        self.process = subprocess.Popen([BELAY, *arguments], env=client, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.output = b""

    def reply(self, limit=None):
        """None: it has not ended within `limit` seconds."""
        try:
            output, complaint = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return None
        code = self.process.returncode
        if code == 0:
            return "OK" + self.read(self.output + output)
        status = self.statuses.get(code, "SERVER_ERROR")
        return "OK" if status == "OK" else f"{status} message={(complaint.strip() or b'?').hex()}"


class Hold(Call):
    """`belay run`: granted when its command has printed the fences."""

    def reply(self, limit=None):
        end = None if limit is None else time.monotonic() + limit
        while b"\n" not in self.output:
            left = None if end is None else max(0, end - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                return None
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                return super().reply()
            self.output += piece
        return "OK fence=" + self.output.decode().split("\n")[0].replace(" ", ",")

    def release(self):
        return super().reply()

    def news(self, limit):
        """LOST, once."""
        try:
            told = self.process.returncode is not None
            return " news=LOST" if self.process.wait(limit) == LOST and not told else ""
        except subprocess.TimeoutExpired:
            return ""


def member(index, role, item, primitive=None):
    keys = {"role": role, "client": item["client"], "label": item["label"].encode().hex(), "host": item["host"].encode().hex(),
            "pid": item["pid"], "since": item["since_ms"]}
    if role == "holder":
        keys.update(lease=item["lease_ms"], fence=item["fence"], holds=item["holds"], waiters=item["local_waiters"])
        if primitive == "semaphore":
            keys["permits"] = item["permits"]
        if item["shared"]:
            keys["shared"] = 1
    return "".join(f" m{index}.{key}={value}" for key, value in keys.items() if value != "")


def inspected(output):
    item = json.loads(output)
    holders = item["holders"]
    members = [("holder", holder) for holder in holders] + [("waiter", waiter) for waiter in item.get("waiters", [])]
    reply = f" primitive={item['primitive']}" if item["primitive"] else ""
    for key, shown in (("limit", "limit"), ("available", "available"), ("count", "to_go"), ("slot", "slot")):
        if item.get(shown) is not None:
            reply += f" {key}={item[shown]}"
    reply += f" total={len(holders) + item.get('waiters_total', 0)}"
    return reply + "".join(member(i, *each, item["primitive"]) for i, each in enumerate(members))


def broken(output):
    item = json.loads(output)
    return "".join(member(i, "holder", holder) for i, holder in enumerate(item["holders"]))


def listed(output):
    names = [name_of(json.loads(line)) for line in output.splitlines()]
    return "".join(f" m{i}.name={name}" for i, name in enumerate(names))


def counted(output):
    return f" count={json.loads(output)['count']}"


def permits_left(output):
    item = json.loads(output)
    return f" limit={item['limit']} available={item['available']}"


def wait_of(options):
    wait = int(options["wait"])
    return {0: ["-n"], -1: []}.get(wait, ["-w", seconds(wait)])


def conflict(options):
    return "BUSY" if options["wait"] == "0" else "TIMEOUT"


class Agent:
    def __init__(self):
        self.client, self.run_options, self.holds, self.tasks = None, [], {}, {}

    def open(self, _, options):
        url = options.pop("url")
        self.run_options = ["--lease", seconds(options.pop("watchdog_lease_ms"))] if "watchdog_lease_ms" in options else []
        self.run_options += ["--label", options.pop("label")] if "label" in options else []
        secret = {"BELAY_SENTINEL_PASSWORD": options.pop("sentinel_password")} if "sentinel_password" in options else {}
        parameters = "&".join(f"{key}={value}" for key, value in options.items())
        separator = "&" if "?" in url else "?"
        self.client = {**os.environ, **secret, "BELAY_URL": url + (separator + parameters if parameters else "")}
        return "OK"

    def begin_acquire(self, words, options):
        label, kind, names = words
        how = {"read": ["-s"], "semaphore": ["--permits", f"{options.get('permits', 1)}/{options.get('limit', '')}"]}.get(kind, [])
        if "identity" in options:
            how += ["--identity", bytes.fromhex(options["identity"])]
        if "lock_delay" in options:
            how += ["--lock-delay", seconds(options["lock_delay"])]
        names = [bytes.fromhex(name) for name in names.split(",")]
        hold = Hold(self.client, ["run", *self.run_options, *how, *wait_of(options), *names, "--", *HOLDER], busy=conflict(options))
        self.holds[label] = hold
        return hold

    def begin_latch_await(self, words, options):
        return self.call("latch", "wait", words[0], *wait_of(options), busy=conflict(options))

    def begin_latch_set(self, words, options):
        ttl = ["--ttl", seconds(options["ttl"])] if "ttl" in options else []
        return self.call("latch", "set", words[0], *ttl, more=[options["count"]], busy="IN_USE")

    def begin_latch_count_down(self, words, options):
        return self.call("latch", "down", words[0], "--json", more=[options["n"]], read=counted)

    def begin_latch_count(self, words, _):
        return self.call("latch", "show", words[0], "--json", read=counted)

    def begin_set_limit(self, words, options):
        return self.call("semaphore", "set", words[0], more=[options["limit"]])

    def begin_available(self, words, _):
        return self.call("semaphore", "show", words[0], "--json", read=permits_left)

    def begin_inspect(self, words, _):
        return self.call("inspect", None, words[0], "--json", read=inspected)

    def begin_break(self, words, options):
        fence = ["--fence", options["fence"]] if "fence" in options else []
        return self.call("break", None, words[0], "--json", *fence, read=broken, busy="OK")

    def begin_list(self, words, options):
        return self.call("ls", None, words[0], "--json", "--limit", options["limit"], read=listed)

    def call(self, command, verb, name, *options, more=(), **how):
        arguments = [command, *([verb] if verb else []), *options, bytes.fromhex(name), *more]
        return Call(self.client, arguments, **how)

    def begin(self, request):
        verb, *rest = request
        words = [word for word in rest if "=" not in word]
        options = dict(word.split("=", 1) for word in rest if "=" in word)
        return getattr(self, "begin_" + verb)(words, options)

    def start(self, words, _):
        self.tasks[words[0]] = self.begin(words[1:])
        return "OK"

    def answer(self, line):
        verb, *rest = line.split()
        words = [word for word in rest if "=" not in word]
        options = dict(word.split("=", 1) for word in rest if "=" in word)
        if verb == "supports":
            return "OK cannot=" + CANNOT
        if verb == "open":
            return self.open(words, options)
        if verb == "start":
            return self.start(rest, options)
        if verb == "await":
            return self.tasks[words[0]].reply(int(options["limit"]) / SECONDS) or "PENDING"
        if verb == "release":
            return self.holds[words[0]].release()
        if verb == "news":
            return "OK" + self.holds[words[0]].news(int(options["limit"]) / SECONDS)
        if verb == "close":
            return self.close()
        return self.begin([verb, *rest]).reply()

    def close(self):
        """Ends every hold and every wait."""
        calls = [call for call in [*self.holds.values(), *self.tasks.values()] if call.process.poll() is None]
        for call in calls:
            call.process.terminate()
        for call in calls:
            call.process.communicate()
        self.holds, self.tasks = {}, {}
        return "OK"


def main():
    agent = Agent()
    for line in sys.stdin:
        try:
            reply = agent.answer(line)
        except Exception as error:  # the runner shows it
            reply = f"BAD message={repr(error).encode().hex()}"
        print(reply, flush=True)
    agent.close()


main()
