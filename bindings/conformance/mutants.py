#!/usr/bin/env python3
"""Proves that the scenarios can fail: breaks one line of a binding or of the command at a time, and plays a scenario that must notice.

mutants.py PREFIX BUILD [NAME...]: copies the tree to BUILD, builds the agents there with the libbelay that is installed under PREFIX,
and then, for each mutation (or for those named), the agent of its language alone. A mutation is the text that it replaces: where that
is not found exactly once, the code has moved on and this file has to follow. Prints `N passed, N failed`: caught and missed."""

import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import typing

SOURCE = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = "c"  # plays the other role: the agent of belay.h itself
PATIENCE = "0.3"  # a scenario that fails need not wait long


class Failure(Exception):
    """Nothing can be said of the mutations."""


class Mutation(typing.NamedTuple):
    name: str  # begins with the agent's name
    file: str
    old: str
    new: str
    scenario: str  # the beginning of its title is enough

    def agent(self):
        return self.name.split("-")[0]


# What must be noticed, in every language.
NOT_FOUND = "A latch that is not set is not found"
FENCE = "Several names: all or none, a fence for each"
NUL = "A name with NUL is one name"
LOST = "Who breaks a lock learns whose it was"
IN_DOUBT = "A lost reply leaves the acquire in doubt"

GO, JAVA, LUA, COMMAND = "bindings/go", "bindings/java/src", "bindings/lua", "tools/belay"
JAVA_MAIN, JAVA_MADE = f"{JAVA}/main/java/invalid/belay", f"{JAVA}/generated/java/invalid/belay"

MUTATIONS = [
    Mutation("go-a-status-is-unknown", f"{GO}/names.go",
             "ErrNotFound Status = 25\n",
             "ErrNotFound Status = 125\n", NOT_FOUND),
    Mutation("go-a-fence-is-a-floating-point-number", f"{GO}/lock.go",
             "fence:   e[native.FieldFence],",
             "fence:   int64(float32(e[native.FieldFence])),", FENCE),
    Mutation("go-a-name-ends-at-nul", f"{GO}/options.go",
             "				add(request, name)\n",
             '				name, _, _ = strings.Cut(name, "\\x00")\n				add(request, name)\n', NUL),
    Mutation("go-a-loss-is-not-told", f"{GO}/pump.go",
             "case native.KindLost, native.KindAtRisk, native.KindRecovered:",
             "case native.KindAtRisk, native.KindRecovered:", LOST),
    Mutation("go-nothing-is-in-doubt", f"{GO}/errors.go",
             "		InDoubt: inDoubt,\n		Reason:",
             "		Reason:", IN_DOUBT),
    Mutation("java-a-status-has-no-exception", f"{JAVA_MADE}/Errors.java",
             "      case 25 -> new NotFoundException(event); // NOT_FOUND\n",
             "", NOT_FOUND),
    Mutation("java-a-fence-is-a-floating-point-number", f"{JAVA_MAIN}/Event.java",
             "    return numbers[FIELD_FENCE];\n",
             "    return (long) (float) numbers[FIELD_FENCE];\n", FENCE),
    Mutation("java-a-name-ends-at-nul", f"{JAVA_MAIN}/Request.java",
             "Native.belayRequestAddName(handle, name)",
             'Native.belayRequestAddName(handle, Event.utf8(Event.utf8(name).split("\\0")[0], "name"))', NUL),
    Mutation("java-a-loss-is-not-told", f"{JAVA_MAIN}/Pump.java",
             "case Numbers.LOST, Numbers.AT_RISK, Numbers.RECOVERED ->",
             "case Numbers.AT_RISK, Numbers.RECOVERED ->", LOST),
    Mutation("java-nothing-is-in-doubt", f"{JAVA_MAIN}/Event.java",
             "    return Duration.ofMillis(numbers[FIELD_IN_DOUBT_MS]);\n",
             "    return Duration.ZERO;\n", IN_DOUBT),
    Mutation("lua-a-status-is-a-success", f"{LUA}/native/values.h",
             "  if (status != BELAY_OK) {\n",
             "  if (status != BELAY_OK && status != BELAY_NOT_FOUND) {\n", NOT_FOUND),
    Mutation("lua-a-reason-has-no-word", f"{LUA}/native/words.h",
             '    [4] = "BROKEN",\n',
             "", LOST),
    Mutation("lua-a-fence-is-a-floating-point-number", f"{LUA}/native/values.h",
             "    push_fence(L, fence);\n    lua_rawseti",
             "    lua_pushnumber(L, (lua_Number)fence);\n    lua_rawseti", FENCE),
    Mutation("lua-a-name-in-a-list-ends-at-nul", f"{LUA}/belay/lock.lua",
             "    add_name(self.request, name)\n",
             '    add_name(self.request, name:match "^[^\\0]*")\n', NUL),
    Mutation("lua-a-name-ends-at-nul", f"{LUA}/native/belay_wrap.c",
             "belay_request_add_name(made, name, (int64_t)size);",
             "belay_request_add_name(made, name, -1);", NUL),
    Mutation("lua-a-loss-is-not-told", f"{LUA}/belay/pump.lua",
             "  local hold = self.holds[id]\n  if hold then\n",
             '  local hold = self.holds[id]\n  if hold and kind ~= "lost" then\n', LOST),
    Mutation("lua-nothing-is-in-doubt", f"{LUA}/native/values.h",
             '    [BELAY_FIELD_IN_DOUBT_MS] = {"in_doubt", SECONDS},\n',
             "", IN_DOUBT),
    Mutation("command-a-status-has-no-exit-code", f"{COMMAND}/server.cpp",
             "    case BELAY_NOT_FOUND:\n      return kExitMissing;\n",
             "", NOT_FOUND),
    Mutation("command-a-wait-in-vain-is-a-failure", f"{COMMAND}/server.cpp",
             "    case BELAY_TIMEOUT:\n",
             "", "An exclusive lock excludes, and its release frees it"),
    Mutation("command-a-fence-is-a-floating-point-number", f"{COMMAND}/run.cpp",
             "std::to_string(fence);",
             "std::to_string(static_cast<std::int64_t>(static_cast<float>(fence)));", FENCE),
    Mutation("command-a-name-is-shown-as-text-alone", f"{COMMAND}/report.cpp",
             "  if (!is_utf8(name)) {\n",
             "  if (name.empty()) {\n", "Names are bytes"),
    Mutation("command-a-loss-ends-no-command", f"{COMMAND}/supervisor.cpp",
             "  if (lost_ || remaining_ms <= 0) {\n",
             "  if (lost_ && remaining_ms > 0) {\n", LOST),
]


def replaced(tree, mutation):
    """The text with the mutation in it, and the text as it is."""
    text = (tree / mutation.file).read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        raise Failure(f"{mutation.name}: {mutation.file} has this {text.count(mutation.old)} times, not once:\n{mutation.old}")
    return text.replace(mutation.old, mutation.new), text


def copy(tree):
    for file in filter(None, must("git", "-C", SOURCE, "ls-files").split("\n")):
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / file, tree / file)


def must(*command, **how):
    done = subprocess.run(command, check=False, capture_output=True, text=True, **how)
    if done.returncode != 0:
        raise Failure(f"{shlex.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


class Command:
    """Builds the command for the installed library. Nothing of the library itself is built."""

    def __init__(self, tree, prefix, folder):
        self.sources, self.objects, self.prefix = tree / COMMAND, folder / "objects", folder / "prefix"
        self.objects.mkdir()
        (self.prefix / "bin").mkdir(parents=True)
        (self.prefix / "lib").symlink_to(prefix / "lib")
        pkgconfig = next(prefix.glob("lib/**/belay.pc")).parent
        said = must("pkg-config", "--cflags", "--libs", "belay", env={**os.environ, "PKG_CONFIG_PATH": str(pkgconfig)})
        self.flags = shlex.split(said)

    def compile(self, source):
        made = self.objects / f"{source.stem}.o"
        if not made.exists() or made.stat().st_mtime <= source.stat().st_mtime:
            must("c++", "-std=c++20", "-c", "-o", made, source, *[flag for flag in self.flags if flag.startswith("-I")])
        return made

    def build(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            made = list(pool.map(self.compile, sorted(self.sources.glob("*.cpp"))))
        must("c++", "-o", self.prefix / "bin" / "belay", *made, *self.flags)


class Agents:
    def __init__(self, tree, prefix, folder):
        self.tree, self.folder, self.prefix, self.agents = tree, folder / "agents", prefix, tree / "bindings/conformance/agents"
        self.folder.mkdir()
        self.command = Command(tree, prefix, folder)

    def build(self, name):
        prefix = self.prefix
        if name == "command":
            self.command.build()
            prefix = self.command.prefix
        must(self.agents / name / "build.sh", prefix, self.folder)

    def play(self, names, scenarios, patience, *options):
        """Returns the exit code and the output."""
        only = [word for scenario in scenarios for word in ("--only", scenario)]
        done = subprocess.run([sys.executable, "-B", self.agents.parent / "run.py", *options, "--server", "redis-server", *only, self.folder,
                               *names], check=False, capture_output=True, text=True, env={**os.environ, "BELAY_TEST_PATIENCE": patience})
        return done.returncode, done.stdout + done.stderr

    def what_catches(self, mutation):
        """Returns what failed, or None. Only a run of the scenario counts."""
        code, output = self.play([REFERENCE, mutation.agent()], [mutation.scenario], PATIENCE, "--workers", "2")
        failed = re.search(rf"^FAILED redis-server: {re.escape(mutation.scenario)}.*\n((?:    .*\n)+)", output, re.MULTILINE)
        if code == 0:
            return None
        if not failed:
            raise Failure(f"{mutation.name}: the run failed otherwise:\n{output}")
        return ": ".join(line.strip().split("; was:")[0] for line in failed[1].splitlines()[:2])

    def try_all(self, name, mutations):
        """Tries those of one agent. Returns how many were missed."""
        missed = 0
        for mutation in mutations:
            text, as_it_is = replaced(self.tree, mutation)
            (self.tree / mutation.file).write_text(text, encoding="utf-8")
            self.build(name)
            found = self.what_catches(mutation)
            (self.tree / mutation.file).write_text(as_it_is, encoding="utf-8")
            missed += found is None
            print(f"{mutation.name}: {'caught by ' + found if found else 'NOT caught'}", flush=True)
        return missed


def main():
    prefix, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    chosen = [mutation for mutation in MUTATIONS if len(sys.argv) < 4 or mutation.name in sys.argv[3:]]
    for part in ("source", "objects", "prefix", "agents"):
        shutil.rmtree(folder / part, ignore_errors=True)
    tree = folder / "source"
    copy(tree)
    for mutation in MUTATIONS:
        replaced(tree, mutation)
    agents, names = Agents(tree, prefix, folder), [REFERENCE, *dict.fromkeys(mutation.agent() for mutation in chosen)]
    for name in names:
        agents.build(name)
    code, output = agents.play(names, {mutation.scenario for mutation in chosen}, "1")
    if code != 0:
        raise Failure("scenarios fail without any mutation:\n" + output)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        missed = sum(pool.map(lambda name: agents.try_all(name, [each for each in chosen if each.agent() == name]), names[1:]))
    print(f"{len(chosen) - missed} passed, {missed} failed")
    return missed > 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(str(failure))
