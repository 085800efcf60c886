"""belay top for real: as lines, as JSON, and on a terminal.

Names that nobody has to hold are copies of the record of one that is held.
"""
import json
import os
import re
import signal
import subprocess
import unittest

from support import BELAY, LIMIT, CliTest, Server, eventually, parse_lines

ENTERED = r"\x1b\[\?1049h"
LEFT = r"\x1b\[\?1049l"
FRAME = r"(?s)\x1b\[H.*?\x1b\[J"
SEQUENCE = re.compile(r"\x1b\[[0-9?]*[A-Za-z]")
HEADING = "NAME +HOLDER +HELD +LEASE +WAITERS +LONGEST +CHANGES/S"


def lines_of(frame):
    return [line.rstrip() for line in SEQUENCE.sub("", frame[frame.index("\x1b[H"):]).split("\r\n")]


class TopTest(CliTest):
    def setUp(self):
        super().setUp()
        self.server.ask("FLUSHALL")

    def run_top(self, *options):
        code, out, err = self.belay("top", *options)
        self.assertEqual((code, err), (0, ""))
        return out

    def look(self, *options):
        return parse_lines(self.run_top("--count", "1", "--json", *options))[0]

    def hold_name(self, name, *options):
        holder = self.start("run", *options, name, "--", "cat", stdin=subprocess.PIPE)
        self.await_held(name)
        return holder

    def await_held_for(self, seconds, name):
        eventually(lambda: self.inspect(name)["holder"]["since_ms"] >= seconds * 1000,
                   f"{name} is held for {seconds} s")

    def add_waiter(self, name, count=1):
        waiter = self.start("run", name, "--", "cat", stdin=subprocess.PIPE)
        eventually(lambda: self.inspect(name)["waiters_total"] == count, f"{count} wait")
        return waiter

    def copy_of(self, source, name):
        keys = (f"belay:r:{{{source}}}", f"belay:r:{{{name}}}")
        self.assertEqual(self.server.ask("COPY", *keys), 1)

    def next_look(self, process, wanted, what):
        """The looks that are printed from now on, up to the first that is wanted."""
        looks = []
        def found():
            looks.append(json.loads(process.process.stdout.readline()))
            return wanted(looks[-1])
        eventually(found, what)
        return looks

    def screen(self, *options):
        return self.terminal(BELAY, "top", "--interval", "0.1", *options, env={"TERM": "xterm"})

    def await_frame(self, terminal, wanted, what):
        """The lines of the first frame that is wanted."""
        frames = []
        def found():
            frames.append(lines_of(terminal.expect(FRAME)))
            return wanted(frames[-1])
        eventually(found, what)
        return frames[-1]


class TopPrints(TopTest):
    def test_a_line_for_each_name(self):
        holder = self.hold_name("b", "--label", "billing")
        self.add_waiter("b", 1)
        self.add_waiter("b", 2)
        other = self.hold_name("a")
        out = self.run_top("--count", "1")
        self.assertRegex(out, (
            r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  2 names in use, 2 waiting\n"
            rf"{HEADING}\n"
            rf"b +billing@\S+:{holder.pid} +\d+\.\ds [23]\d\.\ds +2 +\d+\.\ds +-\n"
            rf"a +cat@\S+:{other.pid} +\d+\.\ds [23]\d\.\ds +0 +- +-\n\n$"))

    def test_a_block_an_interval_until_the_count_is_reached(self):
        self.hold_name("a")
        out = self.run_top("--count", "3", "--interval", "0.1")
        self.assertEqual(len(re.findall(HEADING, out)), 3)
        looks = parse_lines(self.run_top("--count", "3", "--interval", "0.1", "--json"))
        self.assertEqual(len(looks), 3)
        self.assertIsNone(looks[0]["since_last_ms"])
        for before, look in zip(looks, looks[1:]):
            self.assertGreaterEqual(look["since_last_ms"], 100)
            self.assertGreater(look["time_ms"], before["time_ms"])

    def test_json_with_the_fields_of_inspect(self):
        self.hold_name("a")
        self.add_waiter("a")
        look = self.look()
        self.assertEqual(set(look), {"time_ms", "names_total", "names_inspected", "changes",
                                     "since_last_ms", "names"})
        row = look["names"][0]
        self.assertEqual(set(row), {"name", "holder", "holders", "waiters_total", "longest_wait_ms",
                                    "changes_per_s"})
        inspected = self.inspect("a")
        self.assertEqual(set(row["holder"]), set(inspected["holder"]))
        self.assertEqual(row["holder"]["fence"], inspected["holder"]["fence"])
        self.assertEqual(row["holders"], [row["holder"]])
        self.assertLessEqual(row["longest_wait_ms"], inspected["waiters"][0]["since_ms"])
        self.assertEqual((look["names_total"], look["names_inspected"]), (1, 1))

    def test_only_the_names_that_match(self):
        for name in ("x:1", "y:1", "x:2"):
            self.hold_name(name)
        self.assertEqual({row["name"] for row in self.look("x:*")["names"]}, {"x:1", "x:2"})

    def test_nothing_but_a_heading_where_nothing_is_held(self):
        self.assertRegex(self.run_top("--count", "1"),
                         rf"^.*  0 names in use, 0 waiting\n{HEADING}\n\n$")

    def test_the_count_of_its_rows_where_only_a_limit_is_set(self):
        self.belay("semaphore", "set", "g", "3")
        self.hold_name("a")
        self.assertRegex(self.run_top("--count", "1"), rf"^.*  1 name in use, 0 waiting\n{HEADING}\na ")
        look = self.look()
        self.assertEqual((look["names_total"], look["names_inspected"], len(look["names"])), (1, 1, 1))

    def test_the_most_waited_for_or_the_oldest_holder_first(self):
        for name in ("old", "hot", "new"):
            self.hold_name(name)
            self.await_held_for(1, name)
        self.add_waiter("hot")
        for options, names in (([], ["hot", "old", "new"]), (["--sort", "held"],
                                                             ["old", "hot", "new"])):
            self.assertEqual([row["name"] for row in self.look(*options)["names"]], names)

    def test_a_thousand_names(self):
        self.hold_name("n")
        for number in range(999):
            self.copy_of("n", f"n{number}")
        look = self.look("--limit", "1000")
        self.assertEqual({row["name"] for row in look["names"]},
                         {"n"} | {f"n{number}" for number in range(999)})

    def test_some_of_too_many_names_in_turn_and_the_most_waited_for_always(self):
        self.hold_name("m")
        self.add_waiter("m")
        others = {f"a{number}" for number in range(5)} | {f"z{number}" for number in range(5)}
        for name in others:
            self.copy_of("m", name)
        looks = parse_lines(self.run_top("--limit", "4", "--count", "9", "--interval", "0.1",
                                         "--json"))
        seen = [[row["name"] for row in look["names"]] for look in looks]
        for look, names in zip(looks, seen):
            self.assertEqual((look["names_total"], look["names_inspected"], len(names)),
                             (11, 4, 4))
        self.assertEqual({name for names in seen for name in names}, others | {"m"})
        first = next(number for number, names in enumerate(seen) if "m" in names)
        self.assertTrue(all("m" in names for names in seen[first:]), seen)
        self.assertIn("11 names in use (4 looked at)", self.run_top("--limit", "4", "--count", "1"))

    def test_how_many_names_could_not_be_read(self):
        self.server.ask("HSET", "belay:r:{odd}", "a", "b")
        self.hold_name("fine")
        out = self.run_top("--count", "1")
        self.assertRegex(out, r"\n1 name could not be read, such as 'odd': .+\n")
        self.assertRegex(out, r"\nfine +cat@")
        look = self.look()
        self.assertIn("'odd'", look["error"])
        self.assertEqual([row["name"] for row in look["names"]], ["fine"])

    def test_odd_bytes_as_text(self):
        odd = b"odd\x1b[2J\xff\x9b"
        self.hold_name(odd, "--label", "\x1b]0;x\x07")
        out = self.run_top("--count", "1")
        self.assertIn(r"odd\x1b[2J\xff\x9b ", out)
        self.assertIn(r"\x1b]0;x\x07@", out)
        self.assertNotIn("\x1b", out)
        self.assertEqual(bytes.fromhex(self.look()["names"][0]["name_hex"]), odd)

    def test_lines_on_a_terminal_that_cannot_do_more(self):
        self.hold_name("a")
        terminal = self.terminal(BELAY, "top", "--count", "1", env={"TERM": "dumb"})
        self.assertNotIn("\x1b", terminal.expect(r"\r\na +cat@.*\r\n\r\n"))
        self.assertEqual(terminal.exit_code(), 0)

    def test_and_exits_with_74_on_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            environment = {"PATH": os.environ["PATH"], "BELAY_URL": self.server.url()}
            code = subprocess.run([BELAY, "top"], stdout=full, env=environment, timeout=LIMIT,
                                  stderr=subprocess.DEVNULL, check=False).returncode
        self.assertEqual(code, 74)


class TopCounts(TopTest):
    def start_top(self):
        return self.start("top", "--json", "--interval", "0.1")

    def test_a_change_of_holder_once(self):
        holder = self.hold_name("a")
        waiter = self.add_waiter("a")
        process = self.start_top()
        self.next_look(process, lambda look: look["since_last_ms"], "a second look")
        self.let_go(holder)
        looks = self.next_look(process, lambda look: look["names"] and
                               look["names"][0]["holder"]["pid"] == waiter.pid, "it changed hands")
        self.assertEqual([look["changes"] for look in looks], [0] * (len(looks) - 1) + [1])
        self.assertGreater(looks[-1]["names"][0]["changes_per_s"], 0)
        self.assertLessEqual(looks[-1]["names"][0]["changes_per_s"], 5)  # 1 in 2 looks at least
        later = [self.next_look(process, lambda look: True, "a look")[0] for _ in range(12)]
        self.assertEqual({look["changes"] for look in later}, {0})
        self.assertEqual(later[-1]["names"][0]["changes_per_s"], 0)  # it was ten looks ago

    def test_no_change_before_the_second_look(self):
        self.hold_name("a")
        look = self.look()
        self.assertEqual((look["changes"], look["names"][0]["changes_per_s"]), (0, None))

    def test_a_name_that_was_free_and_is_held(self):
        process = self.start_top()
        self.next_look(process, lambda look: True, "a look")
        changes = []
        for _ in range(2):  # at first it was never seen before
            holder = self.start("run", "a", "--", "cat", stdin=subprocess.PIPE)
            looks = self.next_look(process, lambda look: look["names"], "it is held")
            self.assertEqual(looks[-1]["changes"], 1)
            changes += looks
            self.assert_rate(changes)
            self.let_go(holder)
            looks = self.next_look(process, lambda look: not look["names"], "it is free")
            self.assertEqual({look["changes"] for look in looks}, {0})
            changes += looks

    def assert_rate(self, looks):
        """That of the only name, which is held at the last of these looks. It is forgotten when it
        was free at as many as are remembered; then it counts from the look before."""
        held = [number for number, look in enumerate(looks) if look["names"]]
        forgotten = len(held) == 1 or held[-1] - held[-2] > 11
        recent = looks[-1:] if forgotten else looks[held[0]:][-10:]
        expected = 1000 * sum(look["changes"] for look in recent) / sum(look["since_last_ms"]
                                                                       for look in recent)
        self.assertAlmostEqual(looks[-1]["names"][0]["changes_per_s"], expected, places=2)

    def test_nothing_for_a_name_that_comes_into_sight_by_turn(self):
        self.hold_name("m")
        for number in range(5):
            self.copy_of("m", f"a{number}")
        looks = parse_lines(self.run_top("--limit", "2", "--count", "9", "--interval", "0.1",
                                         "--json"))
        self.assertEqual({look["changes"] for look in looks}, {0})


class TopOnATerminal(TopTest):
    def test_shows_the_oldest_holder_and_a_line_for_each_name(self):
        holder = self.hold_name("b", "--label", "billing")
        other = self.hold_name("a")
        self.add_waiter("a")
        terminal = self.screen()
        lines = self.await_frame(terminal, lambda lines: len(lines) == 6, "both are shown")
        self.assertRegex(lines[0], r"^belay top  [\d-]+ [\d:]+  2 names in use, 1 waiting")
        self.assertRegex(lines[1], rf"^oldest holder: billing@\S+:{holder.pid} for \d+ s, of 'b'$")
        self.assertRegex(lines[3], rf"^{HEADING}$")
        self.assertRegex(lines[4], rf"^a +cat@\S+:{other.pid} +\d+\.\ds \d+\.\ds +1 +\d+\.\ds ")
        self.assertRegex(lines[5], rf"^b +billing@\S+:{holder.pid} +\d+\.\ds \d+\.\ds +0 +- ")

    def test_shows_what_changes(self):
        terminal = self.screen()
        self.await_frame(terminal, lambda lines: "nothing is held" in lines, "all is free")
        holder = self.hold_name("a")
        self.await_frame(terminal, lambda lines: lines[-1].startswith("a "), "it is held")
        self.let_go(holder)
        self.await_frame(terminal, lambda lines: "nothing is held" in lines, "all is free")

    def assert_restored(self, terminal, code):
        self.assertEqual(terminal.exit_code(), code)
        self.assertTrue(terminal.takes_lines())
        self.assertRegex(terminal.shown, rf"\x1b\[\?25h\x1b\[\?7h{LEFT}$")

    def test_gives_the_terminal_back_when_it_is_left(self):
        for leave, code in ((lambda terminal: terminal.type("q"), 0),
                            (lambda terminal: terminal.type("\x03"), 0),
                            (lambda terminal: os.kill(terminal.pid, signal.SIGTERM), 143),
                            (lambda terminal: os.kill(terminal.pid, signal.SIGHUP), 129)):
            terminal = self.screen()
            terminal.expect(rf"{ENTERED}\x1b\[\?7l\x1b\[\?25l")
            terminal.expect(FRAME)
            self.assertFalse(terminal.takes_lines())
            leave(terminal)
            self.assert_restored(terminal, code)

    def test_gives_the_terminal_back_after_the_last_look(self):
        self.assert_restored(self.screen("--count", "2"), 0)

    def test_fits_the_window_whatever_its_size(self):
        self.hold_name("a" * 60, "--label", "b" * 60)
        for number in range(30):
            self.copy_of("a" * 60, f"n{number}")
        terminal = self.screen()
        self.await_frame(terminal, lambda lines: len(lines) == 24, "the window is full")
        for rows, columns in ((10, 60), (6, 30), (3, 20), (1, 2), (50, 120)):
            terminal.resize(rows, columns)
            lines = self.await_frame(terminal, lambda lines, rows=rows: len(lines) == min(rows, 35),
                                     "the window is full again")
            self.assertLess(max(map(len, lines)), columns)
        longest = next(line for line in lines if line.startswith("aaa"))
        self.assertRegex(longest, r"^a+\+ +b+\+ +\d+\.\ds \d+\.\ds +0 +- +[\d.-]+$")

    def test_cuts_what_is_too_long_with_a_mark(self):
        self.hold_name("a" * 60, "--label", "b" * 60)
        terminal = self.screen()
        terminal.resize(24, 80)
        lines = self.await_frame(terminal, lambda lines: len(lines) == 5 and len(lines[3]) < 80,
                                 "the window is narrow")
        self.assertRegex(lines[4], r"^a+\+ +b+\+ +\d+\.\ds \d+\.\ds +0 +- +[\d.-]+$")

    def test_sorts_as_the_keys_say(self):
        for name in ("old", "hot"):
            self.hold_name(name)
            self.await_held_for(1, name)
        self.add_waiter("hot")
        terminal = self.screen()
        self.await_frame(terminal, lambda lines: lines[4:] and lines[4].startswith("hot "),
                         "sorted by waiters at first")
        terminal.type("h")
        self.await_frame(terminal, lambda lines: lines[4].startswith("old "), "sorted by held")
        terminal.type("w")
        self.await_frame(terminal, lambda lines: lines[4].startswith("hot "), "sorted by waiters")

    def test_shows_odd_bytes_as_text(self):
        self.hold_name(b"odd\x1b[2J\xff\r\n\x9b31m", "--label", "\x1b]0;x\x07")
        terminal = self.screen()
        shown = terminal.expect(FRAME)
        while "odd" not in shown:
            shown = terminal.expect(FRAME)
        self.assertIn(r"odd\x1b[2J\xff\x0d\x0a\x9b31m", shown)
        self.assertIn(r"\x1b]0;x\x07@", shown)
        self.assertEqual(len(lines_of(shown)), 5)
        self.assertNotRegex("".join(lines_of(shown)), r"[\x00-\x1f\x7f-\x9f]")

    def test_stops_and_continues(self):
        shell = self.shell()
        shell.type(f"TERM=xterm {BELAY} top --interval 0.1\n")
        shell.expect(FRAME)
        shell.type("\x1a")
        shell.expect(LEFT)
        shell.expect("Stopped")
        shell.expect("ready> ")
        self.assertTrue(shell.takes_lines())
        shell.type("fg\n")
        shell.expect(ENTERED)
        shell.expect(FRAME)
        self.assertFalse(shell.takes_lines())
        shell.type("q")
        shell.expect(LEFT)
        shell.expect("ready> ")
        shell.type("echo code $?\n")
        shell.expect("code 0\r\n")

    def test_stops_again_when_it_is_continued_in_the_background(self):
        shell = self.shell()
        shell.type(f"TERM=xterm {BELAY} top --interval 0.1\n")
        shell.expect(FRAME)
        shell.type("\x1a")
        shell.expect("Stopped")
        shell.type("bg\n")
        shell.expect(r"top --interval 0.1 &\r\n")
        eventually(lambda: (shell.type("\n"), "Stopped" in shell.expect("ready> "))[1], "it stops")
        self.assertTrue(shell.takes_lines())
        shell.type("fg\n")
        shell.expect(ENTERED)
        shell.expect(FRAME)
        shell.type("q")
        shell.expect(LEFT)

    def test_stops_in_the_background(self):
        shell = self.shell()
        shell.type(f"TERM=xterm {BELAY} top --interval 0.1 &\n")
        shell.expect("ready> ")
        shell.type("\n")
        eventually(lambda: (shell.type("\n"), "Stopped" in shell.expect("ready> "))[1], "it stops")
        self.assertTrue(shell.takes_lines())
        shell.type("fg\n")
        shell.expect(ENTERED)
        shell.expect(FRAME)
        shell.type("q")
        shell.expect(LEFT)


class TopThroughOutages(TopTest):
    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def setUp(self):
        CliTest.setUp(self)
        self.server = Server()
        self.addCleanup(self.server.stop)
        self.server.kill()

    def test_goes_on_trying_once_it_has_reached_the_server(self):
        self.server.start()
        text = self.start("top", "--interval", "0.1")
        process = self.start("top", "--json", "--interval", "0.1")
        for _ in range(3):
            self.assertIn("names", json.loads(process.process.stdout.readline()))
        self.server.kill()
        looks = self.next_look(process, lambda look: "error" in look, "the outage is told")
        self.assertEqual(set(looks[-1]), {"time_ms", "error"})
        self.server.start()
        self.next_look(process, lambda look: "names" in look, "it is reached again")
        text.send(signal.SIGTERM)
        code, out, err = text.finish()
        self.assertEqual((code, err), (-signal.SIGTERM, ""))
        self.assertRegex(out, r"\n\n[\d-]+ [\d:]+  .+; trying on\n\n")

    def test_shows_an_outage_on_the_screen_also_at_the_start(self):
        terminal = self.screen()
        self.await_frame(terminal, lambda lines: lines[0] == "belay top  asking the server",
                         "it asks")
        self.await_frame(terminal, lambda lines: lines[2].endswith("; trying on"), "no answer")
        self.server.start()
        lines = self.await_frame(terminal, lambda lines: "0 names in use" in lines[0], "an answer")
        self.assertTrue(lines[2].startswith("q leaves"))
        self.server.kill()
        lines = self.await_frame(terminal, lambda lines: lines[2].endswith("; trying on"),
                                 "no answer again")
        self.assertIn("0 names in use", lines[0])
        terminal.type("q")
        self.assertEqual(terminal.exit_code(), 0)

    def test_exits_with_69_after_the_last_look_that_reached_nothing(self):
        terminal = self.screen("--count", "1")
        self.assertEqual(terminal.exit_code(), 69)
        self.assertRegex(terminal.shown, rf"{LEFT}belay: [^\n]+\n$")


if __name__ == "__main__":
    unittest.main()
