"""The belay command for real: BELAY_BIN against a server that is started here (BELAY_TEST_SERVER).

Each name is a sentence about what a user sees: exit codes, what the command finds, who gets
the lock, what is left behind.
"""
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from support import (BELAY, LIMIT, CliTest, Server, eventually, has_pending_signals, is_running,
                     parse_lines, state_of)
from cluster import MASTERS, Cluster, name_at, slot_of  # after support, which says where it is

FORWARDED = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1,
             signal.SIGUSR2]
TRUE = ["--", "true"]
SHORT_LEASE_MS = 1900
COUNT_INTERRUPTS = """
import os, signal, time
count = 0
def on_interrupt(*_):
    global count
    count += 1
    os.write(1, b"c%d\\n" % count)
def on_quit(*_):
    os.write(1, b"total %d\\n" % count)
    os._exit(5)
signal.signal(signal.SIGINT, on_interrupt)
signal.signal(signal.SIGQUIT, on_quit)
os.write(1, b"up\\n")
while True:
    time.sleep(1000)
"""


class RunPassesOn(CliTest):
    def test_the_exit_code_of_the_command(self):
        for code in (0, 1, 7, 75, 255):
            self.assertEqual(self.run_code(self.name, "--", "sh", "-c", f"exit {code}"), code)

    def test_the_signal_that_ended_the_command_as_128_plus_its_number(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
            text = f"ulimit -c 0; kill -{int(number)} $$"
            self.assertEqual(self.run_code(self.name, "--", "sh", "-c", text), 128 + number)

    def test_stdin_and_stdout(self):
        process = self.start("run", self.name, "--", "cat", stdin=subprocess.PIPE)
        out, err = process.process.communicate(b"text\n", timeout=LIMIT)
        self.assertEqual((process.process.returncode, out, err), (0, b"text\n", b""))

    def test_the_arguments_of_the_command_untouched(self):
        show = ["printf", "<%s>"]
        for separator in ([], ["--"]):
            for arguments in (["-n", "--wait", "3"], ["--", "-c", ""], ["--help", "inspect", "++"]):
                if "--" in arguments and not separator:
                    continue  # that would be several names
                code, out, err = self.belay("run", self.name, *separator, *show, *arguments)
                self.assertEqual((code, err), (0, ""))
                self.assertEqual(out, "".join(f"<{argument}>" for argument in arguments))

    def test_a_name_and_a_command_called_like_subcommands(self):
        self.assertEqual(self.run_code("ls", "--", "ls", self.directory), 0)
        self.assertEqual(self.run_code("run", "ls", self.directory), 0)

    def test_a_name_that_looks_like_an_option(self):
        code, out, _ = self.belay("run", "--", "-n", "--", "printenv", "BELAY_NAME")
        self.assertEqual((code, out), (0, "-n\n"))

    def test_a_name_that_looks_like_a_list(self):
        for name in ("[a,b]", "{}", "-", "a,b"):
            for separator in ([], ["--"]):
                code, out, _ = self.belay("run", name, *separator, "printenv", "BELAY_NAME")
                self.assertEqual((code, out), (0, name + "\n"))

    def test_name_and_fence_in_the_environment(self):
        code, out, _ = self.belay("run", self.name, "--", "sh", "-c",
                                  "echo $BELAY_NAME $BELAY_FENCE $BELAY_FENCES $OTHER",
                                  env={"BELAY_FENCE": "5", "BELAY_NAME": "outer", "OTHER": "kept"})
        name, fence, fences, other = out.split()
        self.assertEqual((code, name, other), (0, self.name, "kept"))
        self.assertEqual(fence, fences)
        self.assertGreater(int(fence), 5)

    def test_growing_fences(self):
        fences = [int(self.belay("run", self.name, "--", "printenv", "BELAY_FENCE")[1])
                  for _ in range(5)]
        self.assertEqual(fences, sorted(set(fences)))

    def test_the_inner_lock_to_a_nested_command(self):
        code, out, _ = self.belay("run", "outer", "--", BELAY, "run", "inner", "--", "env")
        self.assertEqual(code, 0)
        self.assertEqual([line for line in out.splitlines() if line.startswith("BELAY_NAME")],
                         ["BELAY_NAME=inner"])

    def test_no_descriptor_of_its_own(self):
        show = [sys.executable, "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))"]
        expected = subprocess.run(show, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                  check=True).stdout.decode()
        self.assertEqual(self.belay("run", self.name, "--", *show), (0, expected, ""))

    def test_signal_mask_and_dispositions_as_inherited(self):
        show = ["sed", "-n", "s/^Sig\\(Blk\\|Ign\\)//p", "/proc/self/status"]

        def unusual():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])

        for prepare in (None, unusual):
            expected = subprocess.run(show, stdout=subprocess.PIPE, preexec_fn=prepare,
                                      check=True).stdout.decode()
            found = self.belay("run", self.name, "--", *show, preexec_fn=prepare)
            self.assertEqual(found, (0, expected, ""))

    def test_text_to_the_shell(self):
        text = "echo $0 $BELAY_NAME; exit 4"
        code, out, _ = self.belay("run", self.name, "-c", text, env={"SHELL": "/bin/bash"})
        self.assertEqual((code, out), (4, f"/bin/bash {self.name}\n"))
        code, out, _ = self.belay("run", "-c", text, self.name)
        self.assertEqual((code, out), (4, f"/bin/sh {self.name}\n"))

    def test_nothing_to_a_missing_stdin_stdout_or_stderr(self):
        close = f"exec {BELAY} run {self.name} -- sh -c 'echo x >{self.path('ran')}' <&- >&- 2>&-"
        environment = {"PATH": os.environ["PATH"], "BELAY_URL": self.server.url()}
        self.assertEqual(subprocess.run(["sh", "-c", close], env=environment, check=False,
                                        timeout=LIMIT).returncode, 0)
        self.assertEqual(self.await_file("ran"), "x\n")

    def test_all_it_needs_with_an_empty_environment(self):
        code, out, err = self.belay("run", "--url", self.server.url(), self.name, "--",
                                    "/bin/sh", "-c", "echo ran", url="")
        self.assertEqual((code, out, err), (0, "ran\n", ""))


class RunSaysNo(CliTest):
    def assert_usage(self, *arguments):
        code, out, err = self.belay(*arguments)
        self.assertEqual((code, out), (64, ""), arguments)
        self.assertRegex(err, r"^belay: [^\n]+\n$")
        return err

    def test_to_wrong_usage(self):
        self.assertEqual(self.belay()[0], 64)
        for arguments in (["nonsense"], ["run"], ["run", "x"], ["run", "x", "--"],
                          ["run", "--bogus", "x", *TRUE], ["run", "x", "--bogus", *TRUE],
                          ["run", "-w", "soon", "x", *TRUE], ["run", "-w", "-1", "x", *TRUE],
                          ["run", "-w", "nan", "x", *TRUE], ["run", "-n", "-w", "1", "x", *TRUE],
                          ["run", "-E", "256", "x", *TRUE], ["run", "x", "-c", "true", *TRUE],
                          ["run", "-sx", "x", *TRUE],
                          ["run", "-s", "--permits", "1/2", "x", *TRUE],
                          ["run", "-s", "--identity", "a", "x", *TRUE],
                          ["run", "--permits", "1/2", "--identity", "a", "x", *TRUE],
                          ["run", "--permits", "1", "x", *TRUE],
                          ["run", "--permits", "1/", "x", *TRUE],
                          ["run", "--permits", "0/2", "x", *TRUE],
                          ["run", "--permits", "3/2", "x", *TRUE],
                          ["run", "--permits", "1/2x", "x", *TRUE],
                          ["run", "--permits", "-1/2", "x", *TRUE],
                          ["run", "--lock-delay", "-1", "x", *TRUE],
                          ["run", "--lock-delay", "soon", "x", *TRUE],
                          ["latch"], ["latch", "up", "x"], ["latch", "show"],
                          ["latch", "set", "x"], ["latch", "set", "x", "0"],
                          ["latch", "set", "x", "1", "2"], ["latch", "set", "--ttl", "0", "x", "1"],
                          ["latch", "down", "x", "0"], ["latch", "down", "x", "y"],
                          ["latch", "show", "x", "1"], ["latch", "wait", "-w", "soon", "x"],
                          ["latch", "wait", "-n", "-w", "1", "x"],
                          ["latch", "show", "-w", "1", "x"],
                          ["latch", "set", "", "1"], ["latch", "show", ""],
                          ["run", *TRUE], ["run", "--", *TRUE], ["run", "-c", "true"],
                          ["run", "x", "-c", "true", "--bogus", "--"],
                          ["run", "", *TRUE], ["run", "x" * 1025, *TRUE],
                          ["run", "--url", "http://x", "x", *TRUE],
                          ["run", "--prefix", "{", "x", *TRUE],
                          ["run", "--password-file", "/nonexistent", "x", *TRUE],
                          ["inspect"], ["inspect", "a", "b"], ["ls", "--limit", "0", "*"],
                          ["break", "--fence", "0", "x"], ["inspect", ""], ["top", "a", "b"],
                          ["semaphore"], ["semaphore", "up", "x"], ["semaphore", "show"],
                          ["semaphore", "set", "x"], ["semaphore", "set", "x", "0"],
                          ["semaphore", "show", "x", "1"], ["ls", "a", "b"],
                          ["semaphore", "set", "x", "2147483648"],
                          ["top", "--interval", "0.09"], ["top", "--limit", "0"],
                          ["top", "--count", "0"], ["top", "--sort", "name"]):
            self.assert_usage(*arguments)

    def test_to_seconds_out_of_bounds_in_the_words_of_the_command(self):
        for option, bad, bounds in (("--lease", ("0.01", "86401"), "0.1 to 86400"),
                                    ("--max-hold", ("0.05", "2592001"), "0.1 to 2592000"),
                                    ("--request-timeout", ("0", "3601"), "0.01 to 3600"),
                                    ("--lock-delay", ("60.001", "60000"), "0 to 60")):
            for seconds in bad:
                err = self.assert_usage("run", option, seconds, "x", *TRUE)
                self.assertIn(f"{option}: not from {bounds} seconds: '{seconds}'", err)
        self.assertIn("--ttl: not from 0.1 to 2592000 seconds", self.assert_usage("latch", "set", "--ttl", "0", "x", "1"))
        self.assertIn("1 to 1000000000", self.assert_usage("latch", "set", "x", "1000000001").replace("[", "").replace("]", "").replace(" - ", " to "))

    def test_to_a_url_of_another_kind_and_names_the_kind(self):
        self.assertIn("URL http://***, from byte 1: the scheme is not supported", self.assert_usage("ls", "--url", "http://x"))
        self.assertIn("URL valkeys://***, from byte 1: the scheme is not supported", self.assert_usage("ls", "--url", "valkeys://x"))

    def test_to_a_name_given_twice_in_the_words_of_the_library(self):
        for arguments in (["b", "b", *TRUE], ["--", "b", "b", *TRUE], ["b", "b", "-n", *TRUE],
                          ["b", "-n", "b", *TRUE], ["b", "b", "-c", "true", "--"]):
            self.assertIn("'b' was added twice", self.assert_usage("run", *arguments))

    def test_with_127_to_a_command_that_is_not_there_and_holds_nothing(self):
        code, out, err = self.belay("run", self.name, "--", "/nonexistent/command")
        self.assertEqual((code, out), (127, ""))
        self.assertIn("/nonexistent/command", err)
        self.assertFalse(self.inspect()["held"])

    def test_with_126_to_a_command_that_cannot_be_executed(self):
        self.assertEqual(self.run_code(self.name, "--", self.directory), 126)
        self.assertFalse(self.inspect()["held"])


class RunTakesTurns(CliTest):
    def test_and_exits_with_1_at_once_when_not_to_wait(self):
        self.hold()
        for options in (["-n"], ["--nonblock"], ["-w", "0"], ["-nx"]):
            self.assertEqual(self.belay("run", *options, self.name, *TRUE), (1, "", ""))

    def test_and_exits_with_1_when_it_waited_long_enough(self):
        self.hold()
        started = time.monotonic()
        self.assertEqual(self.belay("run", "-w", "0.3", self.name, *TRUE), (1, "", ""))
        self.assertGreaterEqual(time.monotonic() - started, 0.3)

    def test_and_exits_with_the_code_asked_for(self):
        self.hold()
        self.assertEqual(self.run_code("-n", "-E", "9", self.name, *TRUE), 9)
        self.assertEqual(self.run_code("-w.1", "--conflict-exit-code=0", self.name, *TRUE), 0)

    def test_and_says_how_it_went_when_asked_to(self):
        code, _, err = self.belay("run", "-v", self.name, *TRUE)
        self.assertEqual(code, 0)
        self.assertRegex(err, r"^belay: got '\w+', fence \d+, after [\d.]+ s\n$")
        self.hold()
        self.assertRegex(self.belay("run", "-nv", self.name, *TRUE)[2], "is in use")

    def test_one_at_a_time(self):
        turn = self.script("""
            mkdir inside || { echo overlap >>turns; exit 1; }
            echo $BELAY_FENCE >>turns
            rmdir inside""")
        processes = [self.start("run", self.name, "--", *turn) for _ in range(12)]
        self.assertEqual([process.finish()[0] for process in processes], [0] * 12)
        fences = [int(fence) for fence in self.await_file("turns").split()]
        self.assertEqual(len(fences), 12)
        self.assertEqual(fences, sorted(set(fences)))

    def test_in_the_order_of_asking(self):
        holder = self.hold()
        waiters = []
        for number in range(4):
            waiters.append(self.start("run", self.name, "--", "sh", "-c",
                                      f"echo {number} >>{self.path('order')}"))
            self.await_waiters(number + 1)
        self.let_go(holder)
        for waiter in waiters:
            self.assertEqual(waiter.finish(), (0, "", ""))
        self.assertEqual(self.await_file("order").split(), ["0", "1", "2", "3"])

    def test_also_after_a_command_that_failed(self):
        self.assertEqual(self.run_code(self.name, "--", "false"), 1)
        self.assertFalse(self.inspect()["held"])
        self.assertEqual(self.run_code("-n", self.name, *TRUE), 0)

    def test_also_after_a_holder_that_was_killed(self):
        holder = self.hold("--lease", "1")
        holder.send(signal.SIGKILL)
        self.assertEqual(self.run_code(self.name, *TRUE), 0)

    def test_also_with_a_short_lease_of_the_url(self):
        url = self.server.url() + "?watchdog_lease_ms=900"
        self.assertEqual(self.belay("run", self.name, *TRUE, url=url), (0, "", ""))

    def start_showing_itself(self, *options):
        """A belay run with a short lease of the URL whose command shows the lock that it has."""
        url = self.server.url() + f"?watchdog_lease_ms={SHORT_LEASE_MS}"
        return self.start("run", *options, self.name, "--", BELAY, "inspect", "--json", self.name, url=url)

    def assert_held_for_a_moment(self, shower):
        """It has not waited for the first renewal, which comes after a third of the lease."""
        code, out, err = shower.finish()
        self.assertEqual((code, err), (0, ""))
        self.assertLess(parse_lines(out)[0]["holder"]["since_ms"], SHORT_LEASE_MS // 3)

    def test_and_starts_at_once_also_with_a_short_lease(self):
        self.assert_held_for_a_moment(self.start_showing_itself())
        self.assert_held_for_a_moment(self.start_showing_itself("--permits", "1/2"))

    def test_and_starts_at_once_what_was_handed_over_also_with_a_short_lease(self):
        holder = self.hold()
        shower = self.start_showing_itself()
        self.await_waiters(1)
        self.let_go(holder)
        self.assert_held_for_a_moment(shower)

    def test_apart_under_different_prefixes(self):
        self.hold()
        self.assertEqual(self.run_code("-n", "--prefix", "apart:", self.name, *TRUE), 0)


class RunShares(CliTest):
    def test_a_name_among_those_who_share_it(self):
        self.hold("-s")
        self.assertEqual(self.run_code("-n", "--shared", self.name, *TRUE), 0)
        self.assertEqual(self.run_code("-n", self.name, *TRUE), 1)

    def test_a_name_among_those_of_one_identity(self):
        self.hold("--identity", "job 7")
        self.assertEqual(self.run_code("-n", "--identity", "job 7", self.name, *TRUE), 0)
        self.assertEqual(self.run_code("-n", "--identity", "job 8", self.name, *TRUE), 1)

    def test_as_many_permits_as_there_are(self):
        self.hold("--permits", "2/3")
        self.assertEqual(self.run_code("-n", "--permits", "2/3", self.name, *TRUE), 1)
        self.assertEqual(self.run_code("-n", "--permits", "1/3", self.name, *TRUE), 0)

    def test_no_permits_of_another_limit_or_kind(self):
        self.hold("--permits", "1/2")
        for options in (["--permits", "1/3"], []):
            code, out, err = self.belay("run", "-n", *options, self.name, *TRUE)
            self.assertEqual((code, out), (69, ""))
            self.assertRegex(err, r"^belay: [^\n]+\n$")

    def test_a_lost_name_with_nobody_until_the_delay_is_over(self):
        holder = self.hold("--lease", "0.5", "--lock-delay", "60")
        holder.send(signal.SIGKILL)
        eventually(lambda: not self.inspect()["held"], "the lease ends")
        self.assertEqual(self.run_code("-n", self.name, *TRUE), 1)


class RunTakesSeveralNames(CliTest):
    def setUp(self):
        super().setUp()
        self.names = [f"{self.name}.{letter}" for letter in "abc"]

    def held(self):
        return [self.inspect(name)["held"] for name in self.names]

    def test_all_or_none(self):
        holder = self.hold(name=self.names[1])
        self.assertEqual(self.belay("run", "-n", *self.names, *TRUE), (1, "", ""))
        self.assertEqual(self.run_code("-w", "0.2", "-E", "9", *self.names, *TRUE), 9)
        self.assertRegex(self.belay("run", "-nv", *self.names, *TRUE)[2],
                         rf"^belay: '{self.names[0]}' and 2 more is in use, waited [\d.]+ s\n$")
        eventually(lambda: self.held() == [False, True, False], "the others are free")
        self.let_go(holder)
        inside = f"for name; do {BELAY} inspect $name | grep -c ^holder; done"
        self.assertEqual(self.belay("run", *self.names, "--", "sh", "-c", inside, "-", *self.names),
                         (0, "1\n1\n1\n", ""))
        self.assertEqual(self.held(), [False] * 3)

    def test_each_under_a_fence_of_its_own_in_the_order_given(self):
        order = [self.names[2], self.names[0], self.names[1]]
        show = ["sh", "-c", f"echo $BELAY_NAME $BELAY_FENCE $BELAY_FENCES; "
                f"for name; do {BELAY} inspect --json $name; done", "-", *order]
        code, out, err = self.belay("run", *order, "--", *show)
        self.assertEqual((code, err), (0, ""))
        first, *inspected = out.splitlines()
        name, fence, *fences = first.split()
        self.assertEqual(name, order[0])
        self.assertEqual([int(text) for text in fences],
                         [parse_lines(line)[0]["holder"]["fence"] for line in inspected])
        self.assertEqual(fence, fences[0])

    def test_shared_and_by_one_identity(self):
        for options in (["-s"], ["--identity", "deploy"]):
            inner = [BELAY, "run", "-n", *options, *self.names, *TRUE]
            self.assertEqual(self.run_code(*options, *self.names, "--", *inner), 0)
            self.assertEqual(self.run_code(*options, *self.names, "--", BELAY, "run", "-n",
                                           *reversed(self.names), *TRUE), 1)

    def test_no_permits_of_several(self):
        code, out, err = self.belay("run", "--permits", "1/2", *self.names, *TRUE)
        self.assertEqual((code, out), (64, ""))
        self.assertIn("a second name is not for this kind of request", err)

    def test_in_any_order_and_nobody_deadlocks(self):
        turn = self.script("""
            mkdir inside || { echo overlap >>turns; exit 1; }
            echo turn >>turns
            rmdir inside""")
        a, b, c = self.names
        orders = [[a, b, c], [c, b, a], [b, c, a], [c, a, b], [b, a], [c, b]]
        processes = [self.start("run", *names, "--", *turn) for names in orders * 2]
        self.assertEqual([process.finish()[0] for process in processes], [0] * len(processes))
        self.assertEqual(self.await_file("turns").split(), ["turn"] * len(processes))

    def test_and_loses_all_with_one(self):
        script = self.script("echo $$ >started\nwhile :; do sleep 0.02; done")
        process = self.start("run", *self.names, "--", *script)
        child = int(self.await_file("started"))
        self.assertEqual(self.belay("break", self.names[1])[0], 0)
        code, _, err = process.finish()
        self.assertEqual(code, 75)
        self.assertIn(f"'{self.names[1]}' was lost: it was broken by ", err)
        self.assertFalse(is_running(child))
        self.assertEqual(self.held(), [False] * 3)

    def test_and_leaves_nothing_when_killed_while_it_waits(self):
        self.hold(name=self.names[1])
        waiter = self.start("run", "--lease", "1", *self.names, *TRUE)
        eventually(lambda: self.held() == [True, True, False], "it has the first one")
        waiter.send(signal.SIGKILL)
        eventually(lambda: self.held() == [False, True, False], "its lease has ended")

    def test_and_shows_whom_it_waits_for(self):
        holder = self.hold("--label", "billing", name=self.names[1])
        terminal = self.terminal(BELAY, "run", *self.names, "--", "echo", "granted")
        terminal.expect(rf"waiting for '{self.names[1]}': held by \S+ pid {holder.pid} \(billing\)")
        self.let_go(holder)
        terminal.expect("granted\r\n")
        self.assertEqual(terminal.exit_code(), 0)


class RunHandlesSignals(CliTest):
    def test_by_leaving_the_queue_while_it_waits(self):
        self.hold()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            waiter = self.start("run", self.name, *TRUE)
            self.await_waiters(1)
            waiter.send(number)
            self.assertEqual(waiter.finish(), (128 + number, "", ""))
            self.assertEqual(self.inspect()["waiters"], [])

    def test_by_passing_them_on(self):
        for number in FORWARDED:
            trap = self.script(f"trap 'echo got >>got{int(number)}; exit 33' {int(number)}\n"
                               f"echo $$ >started{int(number)}\n"
                               "while :; do sleep 0.05; done")
            process = self.start("run", self.name, "--", *trap)
            self.await_file(f"started{int(number)}")
            process.send(number)
            self.assertEqual(process.finish()[0], 33)
            self.assertEqual(self.await_file(f"got{int(number)}"), "got\n")

    def test_by_passing_them_to_the_whole_group_without_a_terminal(self):
        started = self.script("sleep 1000 & echo $! $$ $(ps -o pgid= $$) >started\nwait")
        process = self.start("run", self.name, "--", *started)
        grandchild, child, group = map(int, self.await_file("started").split())
        self.assertEqual(child, group)
        process.send(signal.SIGTERM)
        self.assertEqual(process.finish()[0], 143)
        eventually(lambda: not is_running(grandchild), "the grandchild ends")

    def test_by_not_waking_up_to_those_that_were_ignored(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        holder = self.hold()
        waiter = self.start("run", self.name, *TRUE, preexec_fn=ignore)
        self.await_waiters(1)
        waiter.send(signal.SIGHUP)
        self.let_go(holder)
        self.assertEqual(waiter.finish(), (0, "", ""))

    def test_by_taking_the_command_along_when_it_is_killed(self):
        process = self.start("run", self.name, "--", "sleep", "1000")
        child = self.await_command(process.pid, "sleep")
        process.send(signal.SIGKILL)
        eventually(lambda: not is_running(child), "the command is killed")


class RunLosesTheLock(CliTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.server.proceed)

    def run_until_lost(self, trap, *options):
        script = self.script(f"trap '{trap}' TERM\necho $$ >started\nwhile :; do sleep 0.02; done")
        process = self.start("run", *options, self.name, "--", *script)
        child = int(self.await_file("started"))
        return process, child

    def test_and_terminates_then_kills_a_command_that_will_not_stop(self):
        process, child = self.run_until_lost("echo term >>log", "--lease", "1.5",
                                             "--kill-after", "0.3")
        self.server.pause()
        code, _, err = process.finish()
        self.assertEqual(code, 75)
        self.assertFalse(is_running(child))
        self.assertEqual(self.await_file("log"), "term\n")
        self.assertRegex(err, r"belay: '\w+' is at risk.*told to stop within 0\.[0-3] s\n")
        self.assertRegex(err, r"belay: (hold \d+ of )?'\w+' was lost.*killed\n$")

    def test_and_gives_the_command_time_to_stop(self):
        process, _ = self.run_until_lost("echo term >>log; exit 0", "--lease", "3")
        self.server.pause()
        code, _, err = process.finish()
        self.assertEqual(code, 75)
        self.assertEqual(self.await_file("log"), "term\n")
        self.assertNotIn("was lost", err)

    def test_and_kills_what_the_command_started_without_a_terminal(self):
        process = self.start("run", "--lease", "1.5", "--kill-after", "0.3", self.name, "--",
                             *self.script("trap '' TERM\nsleep 1000 & echo $! >started\nwait"))
        grandchild = int(self.await_file("started"))
        self.server.pause()
        self.assertEqual(process.finish()[0], 75)
        eventually(lambda: not is_running(grandchild), "the grandchild is killed")

    def test_and_kills_what_a_command_that_stopped_left_behind(self):
        process = self.start("run", "--lease", "1.5", self.name, "--", *self.script(
            "(trap '' TERM; exec sleep 1000) & trap 'exit 0' TERM; echo $! >started\nwait"))
        grandchild = int(self.await_file("started"))
        self.server.pause()
        self.assertEqual(process.finish()[0], 75)
        eventually(lambda: not is_running(grandchild), "the grandchild is killed")

    def test_and_kills_the_command_at_once_when_it_was_broken(self):
        process, child = self.run_until_lost("", "--lease", "1.5")
        self.assertEqual(self.belay("break", self.name)[0], 0)
        code, _, err = process.finish()
        self.assertEqual(code, 75)
        self.assertIn("was lost", err)
        self.assertFalse(is_running(child))

    def test_and_stops_the_command_after_the_longest_hold(self):
        process, _ = self.run_until_lost("echo term >>log; exit 0", "--lease", "1",
                                         "--max-hold", "1")
        self.assertEqual(process.finish()[0], 75)
        self.assertEqual(self.await_file("log"), "term\n")

    def test_and_notices_it_first_when_it_was_stopped(self):
        process, child = self.run_until_lost("", "--lease", "1")
        process.send(signal.SIGSTOP)
        self.assertEqual(self.run_code(self.name, *TRUE), 0)  # the next one has had it
        process.send(signal.SIGCONT)
        code, _, err = process.finish()
        self.assertEqual(code, 75)
        self.assertIn("was lost", err)
        self.assertFalse(is_running(child))

    def test_and_tells_of_no_kill_where_the_command_had_ended(self):
        process = self.start("run", "--lease", "1", self.name, "--", *self.script("echo $$ >started\nsleep 0.2"))
        self.await_file("started")
        process.send(signal.SIGSTOP)
        self.assertEqual(self.run_code(self.name, *TRUE), 0)  # the next one has had it
        process.send(signal.SIGCONT)
        code, _, err = process.finish()
        self.assertEqual(code, 75)
        self.assertRegex(err, r"^belay: '\w+' was lost: [^\n]+\n$")
        self.assertNotIn("killed", err)

    def test_but_not_to_a_short_pause(self):
        process = self.hold()
        self.server.pause()
        self.server.proceed()
        self.let_go(process)


@unittest.skipUnless(os.geteuid() == 0, "only root makes programs that change their user")
class RunCannotKill(CliTest):
    """A command that has become another user's."""
    BELAY_USER, OTHER_USER = 65534, 65533

    def setUp(self):
        super().setUp()
        self.addCleanup(self.server.proceed)
        for directory in (self.directory, self.server.directory):
            os.chmod(directory, 0o711)
        os.chmod(self.server.socket, 0o777)
        self.helper = self.path("setpriv")
        shutil.copy(shutil.which("setpriv"), self.helper)
        os.chmod(self.helper, 0o4755)

    def assert_told(self, when, kill_after, *command):
        process = self.start("run", "--lease", "1.5", "--kill-after", kill_after, self.name, "--", *command,
                             user=self.BELAY_USER, group=self.BELAY_USER, extra_groups=[])
        self.await_held()
        eventually(lambda: self.others(process.pid), "the command is another user's")
        self.server.pause()
        eventually(lambda: select.select([process.process.stderr], [], [], 0)[0], "belay says something")
        line = process.process.stderr.readline().decode()
        self.assertRegex(line, f"{when}: .* another user")
        self.assertNotIn("was killed", line)
        others = [int(pid) for pid in re.search(r"process ([\d, ]+) of", line).group(1).split(",")]
        self.assertEqual(others, self.others(process.pid))
        for pid in others:
            self.assertTrue(is_running(pid))
            os.kill(pid, signal.SIGKILL)
        code, _, err = process.finish()
        self.assertEqual((code, err), (75, ""))

    def others(self, session):
        """The processes of the other user in this session."""
        return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and os.path.exists(f"/proc/{pid}/comm") and
                os.stat(f"/proc/{pid}").st_uid == self.OTHER_USER and os.getsid(int(pid)) == session]

    def test_and_says_which_process_goes_on(self):
        for when, kill_after in (("at risk", "0.3"), ("was lost", "0")):
            self.assert_told(when, kill_after, self.helper, "--reuid", str(self.OTHER_USER), "--clear-groups", "sleep", "1000")
            self.server.proceed()

    def test_and_says_which_process_of_its_command_goes_on(self):
        self.assert_told("was lost", "0", "sh", "-c", f"{self.helper} --reuid {self.OTHER_USER} --clear-groups sleep 1000; true")


class RunOnATerminal(CliTest):
    def test_reports_what_became_of_the_command_after_control_c(self):
        terminal = self.terminal(BELAY, "run", self.name, "--", "sleep", "1000")
        self.await_command(terminal.pid, "sleep")
        terminal.type("\x03")
        self.assertEqual(terminal.exit_code(), 130)
        self.assertFalse(self.inspect()["held"])

    def test_lets_the_command_handle_control_c_and_only_once(self):
        # Not sh, which drops signals that come while it forks. Belay is stopped meanwhile, so that
        # a second signal would not melt into the first.
        terminal = self.terminal(BELAY, "run", self.name, "--", sys.executable, "-c",
                                 COUNT_INTERRUPTS)
        terminal.expect("up\r\n")
        os.kill(terminal.pid, signal.SIGSTOP)
        terminal.type("\x03")
        terminal.expect("c1\r\n")
        os.kill(terminal.pid, signal.SIGCONT)
        eventually(lambda: not has_pending_signals(terminal.pid), "belay has seen it too")
        terminal.type("\x1c")
        terminal.expect("total 1\r\n")
        self.assertEqual(terminal.exit_code(), 5)

    def test_keeps_the_command_in_the_foreground(self):
        terminal = self.terminal(BELAY, "run", self.name, "--", "sh", "-c",
                                 "echo $(ps -o pgid=,tpgid= $$); read line; echo got $line")
        before = terminal.expect(r"\d+ \d+\r\n").split()
        self.assertEqual(before[0], before[1])
        terminal.type("text\n")
        terminal.expect("got text\r\n")
        self.assertEqual(terminal.exit_code(), 0)

    def test_gives_up_waiting_at_control_c(self):
        self.hold()
        terminal = self.terminal(BELAY, "run", self.name, *TRUE)
        self.await_waiters(1)
        terminal.type("\x03")
        self.assertEqual(terminal.exit_code(), 130)
        self.assertEqual(self.inspect()["waiters"], [])

    def test_shows_whom_it_waits_for(self):
        holder = self.hold("--label", "billing")
        terminal = self.terminal(BELAY, "run", self.name, "--", "echo", "granted")
        shown = terminal.expect("next in line")
        self.assertRegex(shown, rf"waiting for '{self.name}': held by \S+ pid {holder.pid} "
                                r"\(billing\) for \d+ s, ")
        self.let_go(holder)
        before = terminal.expect("granted\r\n")
        self.assertRegex(before, r"\r +\rgranted\r\n$")
        self.assertEqual(terminal.exit_code(), 0)

    def test_shows_how_many_wait_before_it(self):
        self.hold()
        self.start("run", self.name, *TRUE)
        self.await_waiters(1)
        terminal = self.terminal(BELAY, "run", self.name, *TRUE)
        terminal.expect("1 waiting before us")

    def test_stops_and_continues_with_the_command(self):
        shell = self.shell()
        shell.type(f"{BELAY} run {self.name} -- cat\n")
        self.await_command(self.await_held()["pid"], "cat")
        shell.type("one\n")
        shell.expect("one\r\none\r\n")
        shell.type("\x1a")
        shell.expect(r"Stopped")
        shell.expect("ready> ")
        self.assertTrue(self.inspect()["held"])
        shell.type("fg\n")
        shell.expect("cat\r\n")
        shell.type("two\n")
        shell.expect("two\r\ntwo\r\n")
        shell.type("\x04")
        shell.expect("ready> ")
        shell.type("echo code $?\n")
        shell.expect("code 0\r\n")

    def test_kills_the_command_when_continued_too_late(self):
        shell = self.shell()
        shell.type(f"{BELAY} run --lease 1 {self.name} -- cat\n")
        self.await_command(self.await_held()["pid"], "cat")
        shell.type("\x1a")
        shell.expect("Stopped")
        shell.expect("ready> ")
        eventually(lambda: not self.inspect()["held"], "the lease ends")
        shell.type("fg\n")
        shell.expect("was lost")
        shell.expect("ready> ")
        shell.type("echo code $?\n")
        shell.expect("code 75\r\n")

    def test_stops_at_any_time(self):
        shell = self.shell()
        for number in range(30):
            # Until the shell has read its line, ^Z would take that back.
            shell.type(f"echo g''o; {BELAY} run {self.name} -- sleep 0.1; echo code $?\n")
            shell.expect("\r\ngo\r\n")
            time.sleep(number / 1000)  # no wait: ^Z is to come at different moments
            shell.type("\x1a")
            if "Stopped" in shell.expect("Stopped|code 0\r\n"):
                shell.expect("ready> ")
                shell.type("fg; echo code $?\n")
                shell.expect("code 0\r\n")
            shell.expect("ready> ")

    def test_does_not_stop_without_the_command(self):
        shell = self.shell()
        script = self.script("trap '' TSTP\necho up; while [ ! -e done ]; do sleep 0.05; done")
        shell.type(f"{BELAY} run --lease 1 {self.name} -- {' '.join(script)}\n")
        shell.expect("\r\nup\r\n")
        shell.type("\x1a")
        fence = self.await_held()["fence"]
        self.assertEqual(self.run_code("-w", "1.5", self.name, *TRUE), 1)
        self.assertEqual(self.await_held()["fence"], fence)
        with open(self.path("done"), "w", encoding="ascii"):
            pass
        shell.expect("ready> ")
        shell.type("echo code $?\n")
        shell.expect("code 0\r\n")

    def test_stops_and_continues_a_command_in_a_group_of_its_own(self):
        shell = self.shell()
        shell.type(f"{BELAY} run {self.name} -- sleep 1000 </dev/null\n")
        child = self.await_command(self.await_held()["pid"], "sleep")
        shell.type("\x1a")
        shell.expect("Stopped")
        self.assertEqual(state_of(child), "T")
        shell.type("fg\n")
        eventually(lambda: state_of(child) != "T", "the command is continued")
        shell.type("\x03")
        shell.expect("ready> ")
        shell.type("echo code $?\n")
        shell.expect("code 130\r\n")

    def test_shows_nothing_in_the_background(self):
        self.hold()
        shell = self.shell()
        shell.type(f"{BELAY} run {self.name} -- echo ran &\n")
        self.await_waiters(1)
        shell.type(f"{BELAY} run -w 3 {self.name} -- true; echo code $?\n")
        before = shell.expect("code 1\r\n")
        self.assertNotIn("next in line", before)
        self.assertIn("1 waiting before us", before)


class WithoutAServer(CliTest):
    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def setUp(self):
        super().setUp()
        self.server = Server()
        self.addCleanup(self.server.stop)
        self.server.kill()

    def test_everything_with_a_limit_exits_with_69_after_the_request_timeout(self):
        processes = [self.start(*arguments) for arguments in (
            ["run", "-n", "x", *TRUE], ["run", "-w", "60", "x", *TRUE], ["inspect", "x"],
            ["ls", "*"], ["break", "x"], ["top"], ["top", "--json"], ["latch", "show", "x"],
            ["latch", "down", "x"], ["latch", "set", "x", "1"], ["latch", "wait", "-w", "60", "x"])]
        for process in processes:
            code, out, err = process.finish()
            self.assertEqual((code, out), (69, ""))
            self.assertRegex(err, r"^belay: [^\n]+\n$")

    def test_the_request_timeout_can_be_chosen(self):
        for arguments in (["run", "-n"], ["run", "-w", "0.1"], ["inspect"], ["latch", "show"], ["semaphore", "show"], ["break"]):
            command = TRUE if arguments[0] == "run" else []
            code, _, err = self.belay(*arguments, "--request-timeout", "0.2", "x", *command)
            self.assertEqual(code, 69)
            self.assertIn("200 ms", err)

    def test_run_waits_on_after_saying_so_once(self):
        process = self.start("run", "x", "--", "echo", "ran")
        line = process.process.stderr.readline().decode()
        self.assertRegex(line, r"^belay: .+; waiting until it can be reached\n$")
        self.server.start()
        self.assertEqual(process.finish(), (0, "ran\n", ""))

    def test_run_tells_of_each_outage_in_which_it_waits(self):
        self.server.start()
        held = self.start("run", self.name, "--", "cat", stdin=subprocess.PIPE)
        self.await_held()
        waits = self.start("run", "-v", "--request-timeout", "0.5", self.name, "--", "echo", "ran")
        self.await_waiters(1)
        self.server.ask("SAVE")
        for _ in range(2):
            self.server.kill()
            line = waits.process.stderr.readline().decode()
            self.assertRegex(line, r"^belay: .+; waiting until it can be reached\n$")
            self.server.start()
            line = waits.process.stderr.readline().decode()
            self.assertRegex(line, r"^belay: it can be reached again, waited [0-9.]+ s\n$")
        held.process.stdin.close()
        self.assertEqual(waits.finish()[:2], (0, "ran\n"))

    def test_run_says_that_a_server_takes_no_locks_for_now(self):
        self.server.start("--min-replicas-to-write", "1")
        process = self.start("run", "x", "--", "echo", "ran")
        line = process.process.stderr.readline().decode()
        self.assertRegex(line, r"^belay: \S+ takes no locks for now: NOREPLICAS [^\n]+; waiting until it does\n$")
        self.server.ask("CONFIG", "SET", "min-replicas-to-write", "0")
        self.assertEqual(process.finish(), (0, "ran\n", ""))


class WithSeveralHosts(CliTest):
    def hosts(self, *servers):
        return "redis://" + ",".join(f"127.0.0.1:{server.port}" for server in servers)

    def test_the_master_is_found_wherever_it_stands(self):
        replica, gone = Server(), Server()
        for server in (replica, gone):
            self.addCleanup(server.stop)
        replica.ask("REPLICAOF", "127.0.0.1", gone.port)
        gone.kill()
        for hosts in ((gone, replica, self.server), (self.server, replica), (replica, self.server)):
            code, out, _ = self.belay("run", "--url", self.hosts(*hosts), "x", "--", "echo", "ran")
            self.assertEqual((code, out), (0, "ran\n"))
        code, _, err = self.belay("inspect", "--url", self.hosts(gone, replica), "--request-timeout", "0.5", "x")
        self.assertEqual(code, 69)
        self.assertIn(f"127.0.0.1:{replica.port} is a replica", err)
        self.assertIn(f"127.0.0.1:{gone.port} failed", err)


    def test_run_warns_of_a_master_that_waits_for_no_replica(self):
        replica = Server()
        self.addCleanup(replica.stop)
        replica.ask("REPLICAOF", "127.0.0.1", self.server.port)
        run = ["run", "--url", self.hosts(self.server, replica), "x", "--", "echo", "ran"]
        warning = (f"127.0.0.1:{self.server.port} may grant locks that a failover loses: "
                   "its min-replicas-to-write is 0")
        self.assertEqual(self.belay(*run), (0, "ran\n", f"belay: warning: {warning}\n"))
        _, _, err = self.belay(*run, env={"BELAY_LOG": "warning"})
        self.assertEqual(err.count(warning), 1)
        self.assertEqual(self.belay(run[0], "--set", "log_events=none", *run[1:]), (0, "ran\n", ""))
        self.addCleanup(self.server.ask, "CONFIG", "SET", "min-replicas-to-write", "0")
        self.server.ask("CONFIG", "SET", "min-replicas-to-write", "1")
        code, out, err = self.belay(*run)  # it may take no locks until the replica has reported
        self.assertEqual((code, out), (0, "ran\n"))
        self.assertNotIn("warning", err)


class InACluster(CliTest):
    """Of three masters, each of which has one of the names."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(os.environ.get("BELAY_TEST_SERVER", "redis-server"), MASTERS)
        cls.names = [name_at(master) for master in range(MASTERS)]

    @classmethod
    def tearDownClass(cls):
        for node in cls.cluster.nodes:
            node.stop()

    def setUp(self):
        super().setUp()
        for name in self.names:  # an earlier try may have left its holder
            self.belay("break", name, url=self.cluster.url())

    def shown(self, *command):
        return parse_lines(self.belay(*command, "--json", url=self.cluster.url())[1])

    def test_inspect_ls_and_top_show_all_names_and_where_they_are(self):
        places = {name: (slot_of(name), self.cluster.address(self.cluster.master_of(name))) for name in self.names}
        name = self.names[0]
        place = "slot {} at {}".format(*places[name])
        self.assertEqual(self.belay("inspect", name, url=self.cluster.url()), (0, f"{name}: free, {place}\n", ""))
        processes = [self.start("run", name, "--", "sleep", "1000", url=self.cluster.url()) for name in self.names]
        eventually(lambda: all(self.shown("inspect", name)[0]["held"] for name in self.names), "all are held")
        self.assertIn(f"name:    {name}\nplace:   {place}\nholder:  ", self.belay("inspect", name, url=self.cluster.url())[1])
        for shown in [self.shown("inspect", name)[0] for name in self.names], self.shown("ls"):
            self.assertEqual({entry["name"]: (entry["slot"], entry["server"]) for entry in shown}, places)
        look = self.shown("top", "--count", "1")[0]
        self.assertEqual({entry["name"] for entry in look["names"] if entry["holder"]}, set(self.names))
        self.cluster.begin_move(name)
        look = self.shown("top", "--count", "1", "--request-timeout", "1")[0]
        self.assertEqual({entry["name"] for entry in look["names"]}, set(self.names) - {name})
        self.assertIn(f"1 name could not be read, such as '{name}': ", look["error"])
        self.cluster.move(name)
        for process in processes:
            process.send(signal.SIGTERM)
            process.finish()

    def test_run_says_that_it_waits_for_a_slot_that_is_moving(self):
        name = self.names[1]
        self.cluster.begin_move(name)
        process = self.start("run", name, "--", "true", url=self.cluster.url())
        said = process.process.stderr.readline().decode()
        self.assertRegex(said, rf"^belay: \S+ does not grant '{name}' for now: [A-Z].* \(its slot is moving to another server\); waiting until it does\n$")
        self.cluster.move(name)
        self.assertEqual(process.finish(), (0, "", ""))


class WithAPassword(CliTest):
    server_arguments = ("--requirepass", "open-sesame")

    def url(self, password):
        return self.server.url(f":{password}@")

    def test_a_wrong_one_exits_with_69_at_once_and_is_not_repeated(self):
        for arguments in (["run", "x", *TRUE], ["run", "-n", "x", *TRUE], ["inspect", "x"],
                          ["ls", "*"], ["break", "x"], ["top"]):
            for url in (self.url("hunter2"), self.server.url()):
                code, out, err = self.belay(*arguments, url=url)
                self.assertEqual((code, out), (69, ""), arguments)
                self.assertRegex(err, r"^belay: [^\n]+\n$")
                self.assertNotIn("hunter2", err)
                self.assertIn("(user 'default')", err)

    def test_a_wrong_one_is_told_with_its_user(self):
        _, _, err = self.belay("inspect", "x", url=self.server.url("somebody:hunter2@"))
        self.assertIn("WRONGPASS", err)
        self.assertIn("(user 'somebody')", err)
        self.assertNotIn("hunter2", err)

    def test_one_from_a_file_is_not_shown_to_the_command(self):
        with open(self.path("password"), "w", encoding="ascii") as file:
            file.write("open-sesame\n")
        os.chmod(self.path("password"), 0o600)
        code, out, err = self.belay("run", "--password-file", self.path("password"), "x", "--",
                                    "env", url=self.server.url())
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn("sesame", out)

    def test_one_from_the_environment_is_not_shown_to_the_command(self):
        for given, left in ((":open-sesame@", ""), ("default:open-sesame@", "default@")):
            code, out, err = self.belay("run", "x", "--", "env", url=self.server.url(given))
            self.assertEqual((code, err), (0, ""))
            self.assertIn(f"BELAY_URL={self.server.url(left)}\n", out)
            self.assertNotIn("sesame", out)

    def test_that_of_sentinels_is_not_shown_to_the_command(self):
        code, out, err = self.belay("run", "x", "--", "env", url=self.server.url(":open-sesame@"),
                                    env={"BELAY_SENTINEL_USER": "me", "BELAY_SENTINEL_PASSWORD": "sesame"})
        self.assertEqual((code, err), (0, ""))
        self.assertIn("BELAY_SENTINEL_USER=me\n", out)
        self.assertNotIn("sesame", out)

    def test_one_from_a_file_that_others_may_open_is_warned_of(self):
        with open(self.path("password"), "w", encoding="ascii") as file:
            file.write("open-sesame\n")
        for mode in (0o640, 0o604, 0o666):
            os.chmod(self.path("password"), mode)
            for log in ("", "warning"):
                code, _, err = self.belay("inspect", "--password-file", self.path("password"), "x", url=self.server.url(),
                                          env={"BELAY_LOG": log})
                self.assertEqual(code, 0)
                self.assertRegex(err, r"^belay:? warning: [^\n]+ others [^\n]+\n$")
                self.assertIn(self.path("password"), err)

    def test_one_from_a_pipe_is_waited_for_but_not_beyond_a_signal(self):
        os.mkfifo(self.path("password"))
        waiting = self.start("run", "--password-file", self.path("password"), "x", *TRUE)
        eventually(lambda: any(os.path.realpath(f"/proc/{waiting.pid}/fd/{fd}") == self.path("password")
                               for fd in os.listdir(f"/proc/{waiting.pid}/fd")), "the pipe is opened")
        waiting.send(signal.SIGTERM)
        self.assertEqual(waiting.finish()[0], -signal.SIGTERM)
        answered = self.start("run", "--password-file", self.path("password"), "x", "--", "echo", "ran", url=self.server.url())
        with open(self.path("password"), "w", encoding="ascii") as file:
            file.write("open-sesame\n")
        self.assertEqual(answered.finish(), (0, "ran\n", ""))

    def test_no_file_is_read_without_end(self):
        for path in ("/dev/zero", self.directory, self.path("nothing")):
            code, _, err = self.belay("run", "--password-file", path, "x", *TRUE)
            self.assertEqual(code, 64)
            self.assertRegex(err, rf"^belay: the password file '{path}' [^\n]+\n$")

    def test_one_that_the_server_echoes_is_masked(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path("echo"))
            listener.listen()
            process = self.start("inspect", "x", url=f"unix://me:open%20sesame@{self.path('echo')}")
            connection = listener.accept()[0]
            with connection:
                words = connection.recv(4096).split(b"\r\n")[2::2][:5]
                connection.sendall(b"-ERR bad arguments, beginning with: '" + b"' '".join(words) + b"'\r\n")
            code, _, err = process.finish()
            self.assertEqual(code, 69)
            self.assertIn("'AUTH' 'me' '***'", err)
            self.assertNotIn("sesame", err)

    def test_one_in_the_wrong_place_is_not_repeated(self):
        for arguments in (["inspect", "--url", "redis://localhost?password=hunter2", "x"],
                          ["inspect", "--url", "redis://app:hunter2", "x"],
                          ["inspect", "--url", "hunter2", "x"], ["inspect", "--password-file", "hunter2", "x"],
                          ["inspect", "--password-file", "/hunter2", "x"],
                          ["inspect", "--password-file", "/hun/ter2", "x", "hunter2"], ["ls", "--password=hunter2", "*"],
                          ["ls", "*", "--password", "hunter2"], ["run", "--password=hunter2", "x", *TRUE],
                          ["--url=redis://:hunter2@h", "ls"], ["redis://:hunter2@h", "ls"]):
            code, out, err = self.belay(*arguments)
            self.assertEqual((code, out), (64, ""))
            self.assertRegex(err, r"^belay: [^\n]+\n$")
            self.assertNotIn("hunter2", err)

    def test_one_from_the_url_option_is_not_shown_to_the_command(self):
        code, out, err = self.belay("run", "--url", self.url("open-sesame"), "x", "--", "env",
                                    url=self.server.url())
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn("sesame", out)


class WithAnAcl(CliTest):
    server_arguments = ("--user", "guest", "on", ">guest", "~other:*", "&*", "+@all",
                        "-@scripting")

    def test_a_user_without_rights_exits_with_69(self):
        for arguments in (["run", "x", *TRUE], ["inspect", "x"]):
            code, _, err = self.belay(*arguments, url=self.server.url("guest:guest@"))
            self.assertEqual(code, 69)
            self.assertRegex(err, "no permissions to run the 'eval' command.*'guest'")
            self.assertRegex(err, r"^belay: [^\n]+\n$")


@unittest.skipUnless(os.geteuid() == 0, "only root makes programs that change their user")
class WithMoreRightsThanItsUser(CliTest):
    def test_takes_no_server_from_the_environment(self):
        program = self.path("belay")
        shutil.copy(BELAY, program)
        os.chmod(program, 0o4755)
        os.chmod(self.directory, 0o711)
        for user, refused in ((0, True), (65534, False)):
            process = subprocess.run([program, "inspect", "x"], user=user, env={"BELAY_URL": "nonsense"}, capture_output=True,
                                     check=False, timeout=LIMIT)
            self.assertEqual(b"BELAY_URL" in process.stderr, refused, process.stderr)


class ShowsLocks(CliTest):
    def test_inspect_says_free(self):
        self.assertEqual(self.belay("inspect", self.name), (0, f"{self.name}: free\n", ""))
        self.assertEqual(self.inspect(), {"name": self.name, "primitive": None, "server": self.server.socket, "slot": None,
                                          "held": False, "holder": None, "holders": [], "waiters": [], "waiters_total": 0})

    def test_inspect_shows_holder_and_queue(self):
        holder = self.hold("--label", "billing")
        waiters = []
        for number in range(2):
            waiters.append(self.start("run", "--label", f"w{number}", self.name, *TRUE))
            self.await_waiters(number + 1)
        code, out, err = self.belay("inspect", self.name)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, (
            rf"(?s)name: +{self.name}\nholder: +\S+ pid {holder.pid} \(billing\)\n"
            r"since: .*fence: +\d+\nlease: +\d+\.\d s left\n"
            r"local: +1 hold, 0 waiters, as of its last renewal\nwaiting: 2\n"
            rf"  1\. +\S+ pid {waiters[0].pid} \(w0\) for \d+ s\n"
            rf"  2\. +\S+ pid {waiters[1].pid} \(w1\) for \d+ s\n$"))
        shown = self.inspect()
        self.assertEqual((shown["primitive"], shown["held"]), ("lock", True))
        self.assertEqual(shown["holder"]["pid"], holder.pid)
        self.assertEqual(shown["holder"]["label"], "billing")
        self.assertEqual([waiter["label"] for waiter in shown["waiters"]], ["w0", "w1"])
        self.assertEqual(set(shown["holder"]), {"client", "label", "host", "pid", "since_ms",
                                                "lease_ms", "fence", "holds", "local_waiters",
                                                "permits", "shared"})
        self.assertEqual(shown["holders"], [shown["holder"]])
        self.assertLessEqual(shown["holder"]["lease_ms"], 30000)

    def test_inspect_and_ls_show_all_who_hold_a_name_together(self):
        for number in range(3):
            self.hold("--permits", "1/3", "--label", f"p{number}")
            self.await_holders(number + 1)
        shown = self.inspect()
        self.assertEqual({(holder["label"], holder["permits"], holder["shared"]) for holder in shown["holders"]},
                         {("p0", 1, False), ("p1", 1, False), ("p2", 1, False)})
        self.assertEqual((shown["holder"], shown["waiters_total"]), (shown["holders"][0], 0))
        self.assertEqual((shown["primitive"], shown["limit"], shown["available"]), ("semaphore", 3, 0))
        _, out, _ = self.belay("inspect", self.name)
        for label in ("permits: 0 of 3 free", "(p0)", "(p1)", "(p2)", "waiting: 0"):
            self.assertEqual(out.count(label), 1)
        self.assertRegex(self.belay("ls", self.name)[1], r" and 2 more +lease .* 0 waiting\n$")

    def test_inspect_and_ls_show_all_who_share_a_name(self):
        readers = []
        for number in range(3):
            readers.append(self.hold("--shared").pid)
            self.await_holders(number + 1)
        for shown in (self.inspect(), *parse_lines(self.belay("ls", "--json", self.name)[1])):
            self.assertEqual([(holder["pid"], holder["shared"]) for holder in shown["holders"]], [(pid, True) for pid in readers])
            self.assertEqual((shown["primitive"], shown["holder"]), ("lock", shown["holders"][0]))
        self.assertIn("was taken from its holders", self.belay("break", self.name)[1])
        self.assertEqual(self.inspect()["holders"], [])

    def test_break_takes_permits_from_all_who_have_some(self):
        holders = []
        for number in range(2):
            holders.append(self.hold("--permits", "1/2"))
            self.await_holders(number + 1)
        code, out, err = self.belay("break", "--json", self.name)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual({holder["pid"] for holder in parse_lines(out)[0]["holders"]}, {holder.pid for holder in holders})
        self.assertFalse(self.inspect()["held"])
        for holder in holders:
            self.assertEqual(holder.process.wait(LIMIT), 75)

    def test_the_commands_name_is_the_label(self):
        self.hold()
        self.assertEqual(self.inspect()["holder"]["label"], "cat")

    def test_the_label_of_the_url_is_used_unless_an_option_sets_one(self):
        url = self.server.url() + "?label=billing"
        for arguments, label in (([], "billing"), (["--label", "web"], "web"), (["--label", ""], "")):
            for where in ({"url": url}, {"arguments": ["--url", url], "url": "redis://nowhere:1?label=unused"}):
                holder = self.start("run", *where.pop("arguments", []), *arguments, self.name, "--", "cat", stdin=subprocess.PIPE, **where)
                self.assertEqual(self.await_held()["label"], label)
                self.let_go(holder)

    def test_ls_shows_the_names_in_use(self):
        holders = {}
        for name in ("ls:b", "ls:a", "lsother"):
            holders[name] = self.start("run", name, "--", "cat", stdin=subprocess.PIPE)
            self.await_held(name)
        code, out, err = self.belay("ls", "ls:*")
        self.assertEqual((code, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["ls:a", "ls:b"])
        self.assertRegex(lines[0], rf"^ls:a  \S+ pid {holders['ls:a'].pid} \(cat\)  "
                                   r"lease \d+\.\d s +0 waiting$")
        code, out, _ = self.belay("ls", "--json", "ls*")
        self.assertEqual([(entry["name"], entry["holder"]["pid"]) for entry in parse_lines(out)],
                         [(name, holders[name].pid) for name in sorted(holders)])
        self.assertEqual(self.belay("ls", "nothing*"), (0, "", ""))
        code, out, err = self.belay("ls", "--limit", "1", "ls*")
        self.assertEqual((code, len(out.splitlines())), (0, 1))
        self.assertIn("--limit", err)

    def test_ls_shows_all_names_by_default(self):
        self.hold()
        self.assertIn(self.name, self.belay("ls")[1])

    def test_ls_shows_many_names(self):
        script = " & ".join(f"{BELAY} run many:{i} -- cat <&3" for i in range(100))
        read_end, write_end = os.pipe()
        environment = {"PATH": os.environ["PATH"], "BELAY_URL": self.server.url()}
        holders = subprocess.Popen(["bash", "-c", f"exec 3<&0; {script} & wait"], stdin=read_end,
                                   env=environment)
        os.close(read_end)
        self.addCleanup(holders.wait)
        self.addCleanup(os.close, write_end)
        eventually(lambda: len(self.belay("ls", "many:*")[1].splitlines()) == 100, "all are held",
                   2 * LIMIT)

    def test_odd_names_are_escaped(self):
        odd = b"odd:\xff\x1b[31m\\\xc3\xa9\"\n"
        process = self.start("run", odd, "--", "cat", stdin=subprocess.PIPE)
        self.await_held(odd)
        shown = r'odd:\xff\x1b[31m\\é"\x0a'
        self.assertEqual(self.belay("ls", "odd:*")[1].split()[0], shown)
        self.assertIn(shown + "\n", self.belay("inspect", odd)[1])
        entry = self.inspect(odd)
        self.assertEqual(entry["name"], 'odd:\u00ff\x1b[31m\\é"\n')
        self.assertEqual(bytes.fromhex(entry["name_hex"]), odd)
        self.let_go(process)

    def test_break_takes_the_lock_from_the_holder_it_names(self):
        holder = self.hold("--lease", "1.5")
        fence = self.inspect()["holder"]["fence"]
        code, out, err = self.belay("break", self.name)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, rf"^{self.name}: held by \S+ pid {holder.pid} \(cat\) for \d+ s, "
                              rf"fence {fence}\n{self.name}: was taken from its holder\n$")
        self.assertFalse(self.inspect()["held"])

    def test_break_gives_the_lock_to_the_first_waiter(self):
        self.hold("--lease", "1.5")
        waiter = self.start("run", self.name, *TRUE)
        self.await_waiters(1)
        self.assertEqual(self.belay("break", self.name)[0], 0)
        self.assertEqual(waiter.finish()[0], 0)

    def test_break_takes_only_the_fence_asked_for(self):
        holder = self.hold()
        fence = self.inspect()["holder"]["fence"]
        code, out, _ = self.belay("break", "--fence", str(fence + 1), self.name)
        self.assertEqual(code, 1)
        self.assertIn("nothing was broken", out)
        self.let_go(holder)

    def test_break_tells_programs_what_it_did(self):
        code, out, _ = self.belay("break", "--json", self.name)
        self.assertEqual(code, 1)
        self.assertEqual(parse_lines(out), [{"name": self.name, "broken": False, "holder": None, "holders": []}])
        holder = self.hold("--lease", "1.5")
        fence = self.inspect()["holder"]["fence"]
        code, out, _ = self.belay("break", "--json", "--fence", str(fence), self.name)
        entry = parse_lines(out)[0]
        self.assertEqual((code, entry["broken"], entry["holder"]["pid"]), (0, True, holder.pid))

    def test_a_full_disk_exits_with_74(self):
        with open("/dev/full", "wb") as full:
            environment = {"PATH": os.environ["PATH"], "BELAY_URL": self.server.url()}
            code = subprocess.run([BELAY, "inspect", "x"], stdout=full, env=environment,
                                  stderr=subprocess.DEVNULL, check=False).returncode
        self.assertEqual(code, 74)


class Latch(CliTest):
    def latch(self, verb, *arguments):
        return self.belay("latch", verb, self.name, *arguments)

    def test_counts_down_and_is_open(self):
        self.assertEqual(self.latch("set", "3"), (0, "", ""))
        self.assertEqual(self.latch("show"), (0, f"{self.name}: 3 to go\n", ""))
        self.assertEqual(self.latch("down"), (0, f"{self.name}: 2 to go\n", ""))
        self.assertEqual(parse_lines(self.latch("show", "--json")[1]),
                         [{"name": self.name, "count": 2}])
        self.assertEqual(self.latch("down", "2"), (0, f"{self.name}: open\n", ""))
        self.assertEqual(self.latch("wait"), (0, "", ""))
        self.assertEqual(self.latch("wait", "-n"), (0, "", ""))

    def test_is_waited_for(self):
        self.latch("set", "2")
        waiters = [self.start("latch", "wait", self.name) for _ in range(3)]
        self.latch("down")
        self.assertEqual(self.latch("wait", "-w", "0.2"), (1, "", ""))
        self.assertEqual(self.latch("wait", "-n"), (1, "", ""))
        self.assertEqual([waiter.process.poll() for waiter in waiters], [None] * 3)
        self.latch("down")
        self.assertEqual([waiter.finish() for waiter in waiters], [(0, "", "")] * 3)

    def test_is_inspected_and_listed(self):
        self.latch("set", "2")
        shown = self.inspect()
        self.assertEqual((shown["held"], shown["to_go"]), (False, 2))
        self.assertIn("latch:   2 to go\nwaiting: 0\n", self.belay("inspect", self.name)[1])
        self.assertRegex(self.belay("ls", self.name)[1], "latch, 2 to go .* 0 waiting\n$")

    def test_is_broken(self):
        self.latch("set", "2")
        waiter = self.start("latch", "wait", self.name)
        self.await_waiters(1)
        self.assertEqual(self.belay("break", self.name),
                         (0, f"{self.name}: latch, 2 to go\n{self.name}: was ended\n", ""))
        self.assertEqual(waiter.finish()[0], 66)
        self.assertEqual(self.belay("break", self.name)[0], 1)

    def test_that_is_missing_exits_with_66(self):
        for arguments in (["show"], ["down"], ["wait"], ["wait", "-n"]):
            code, out, err = self.latch(*arguments)
            self.assertEqual((code, out), (66, ""))
            self.assertRegex(err, r"^belay: [^\n]+\n$")

    def test_is_missing_after_its_time_to_live(self):
        self.latch("set", "1", "--ttl", "0.5")
        eventually(lambda: self.latch("show")[0] == 66, "it is forgotten")

    def test_that_has_a_count_to_go_is_not_set_again(self):
        self.latch("set", "2")
        code, out, err = self.latch("set", "5")
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(err, r"^belay: [^\n]+\n$")
        self.assertIn("2 to go", self.latch("show")[1])

    def test_is_no_lock(self):
        self.latch("set", "1")
        self.assertEqual(self.run_code("-n", self.name, *TRUE), 69)
        self.start("run", "lock", "--", "cat", stdin=subprocess.PIPE)
        self.await_held("lock")
        self.assertEqual(self.belay("latch", "show", "lock")[0], 69)


class Semaphore(CliTest):
    def semaphore(self, verb, *arguments):
        return self.belay("semaphore", verb, self.name, *arguments)

    def test_has_the_limit_that_is_set(self):
        self.assertEqual(self.semaphore("set", "3"), (0, "", ""))
        self.assertEqual(self.semaphore("show"), (0, f"{self.name}: 3 of 3 free\n", ""))
        self.hold("--permits", "2/3")
        self.assertEqual(self.semaphore("show"), (0, f"{self.name}: 1 of 3 free\n", ""))
        self.assertEqual(parse_lines(self.semaphore("show", "--json")[1]),
                         [{"name": self.name, "available": 1, "limit": 3}])

    def test_serves_waiters_when_its_limit_grows(self):
        self.hold("--permits", "2/2")
        waiter = self.start("run", "--permits", "1/2", self.name, *TRUE)
        self.await_waiters(1)
        self.assertEqual(self.semaphore("set", "3"), (0, "", ""))
        self.assertEqual(waiter.finish()[0], 0)
        self.assertEqual(self.run_code("-n", "--permits", "1/2", self.name, *TRUE), 69)

    def test_without_a_limit_exits_with_66(self):
        code, out, err = self.semaphore("show")
        self.assertEqual((code, out), (66, ""))
        self.assertRegex(err, r"^belay: [^\n]+\n$")


class TakesTheLibrarysOptions(CliTest):
    def test_by_set_in_every_subcommand(self):
        holder = self.hold("--set", "label=of set", "--set", "watchdog_lease_ms=7000")
        shown = self.inspect()["holder"]
        self.assertEqual(shown["label"], "of set")
        self.assertLessEqual(shown["lease_ms"], 7000)
        for subcommand in (["ls"], ["inspect", self.name], ["break", self.name], ["top", "--count", "1"],
                           ["latch", "show", "a"], ["semaphore", "show", "a"]):
            code, _, err = self.belay(*subcommand, "--set", "request_timeout_ms=1")
            self.assertEqual((code, err), (64, "belay: request_timeout_ms was 1: 10..3600000 is allowed\n"))
        self.let_go(holder)

    def test_by_the_url_also_the_label(self):
        self.start("run", self.name, "--", "sleep", "1000", url=self.server.url() + "?label=of%20the%20url")
        self.assertEqual(self.await_held()["label"], "of the url")

    def test_and_says_what_is_none(self):
        for setting, why in (("no_such=1", "no option of the library: 'no_such'"),
                             ("label", "not NAME=VALUE: 'label'"),
                             ("password=x", "a password would show in ps: --password-file takes it")):
            code, out, err = self.belay("run", "--set", setting, self.name, *TRUE)
            self.assertEqual((code, out, err), (64, "", f"belay: --set: {why} (see belay run --help)\n"))

    def test_and_shows_them_as_they_are_here(self):
        url = self.server.url(":geheim@") + "?watchdog_lease_ms=9000"
        code, out, err = self.belay("help", "options", url=url, env={"BELAY_TLS_MIN_VERSION": "1.3"})
        self.assertEqual((code, err), (0, ""))
        for line in ("  watchdog_lease_ms=9000", "  request_timeout_ms=5000", "  tls_min_version=1.3", "  log_level=none", "  url"):
            self.assertIn(line, out.splitlines())
        self.assertIn("100..86400000", out)
        self.assertNotIn("geheim", out)

    def test_and_lists_with_a_single_pending_submission(self):
        names = [f"{self.name}.{number}" for number in range(3)]
        for name in names:
            self.hold(name=name)
        one_by_one = ["--set", "max_pending=1", f"{self.name}.*"]
        code, out, err = self.belay("ls", "--json", *one_by_one)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([line["name"] for line in parse_lines(out)], names)
        code, out, err = self.belay("top", "--json", "--count", "1", *one_by_one)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(parse_lines(out)[0]["names_inspected"], 3)
        self.assertEqual(self.run_code("--set", "max_pending=1", self.name, *TRUE), 0)


class Help(CliTest):
    def test_fits_one_screen(self):
        for arguments in (["--help"], ["run", "--help"], ["inspect", "-h"], ["ls", "--help"],
                          ["break", "--help"], ["top", "--help"], ["latch", "--help"],
                          ["latch", "set", "--help"], ["semaphore", "--help"], ["semaphore", "set", "-h"]):
            code, out, err = self.belay(*arguments)
            self.assertEqual((code, err), (0, ""))
            self.assertLessEqual(len(out.splitlines()), 24)
            self.assertLessEqual(max(map(len, out.splitlines())), 80)

    def test_is_the_same_asked_for_by_its_subject(self):
        for subject in ([], ["run"], ["latch"], ["semaphore"], ["inspect"], ["ls"], ["break"], ["top"]):
            verb = subject + ["set"] if subject in (["latch"], ["semaphore"]) else subject
            self.assertEqual(self.belay("help", *subject), self.belay(*verb, "--help"))
        self.assertEqual(self.belay("help", "run", "x"), (64, "", "belay: belay help takes one subject, not also 'x'\n"))
        code, out, err = self.belay("help", "nothing")
        self.assertEqual((code, out, err), (64, "", "belay: no help on 'nothing' (see belay --help)\n"))

    def test_tells_the_version(self):
        code, out, _ = self.belay("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^belay \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
