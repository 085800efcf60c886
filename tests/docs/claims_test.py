"""What pages say against what is there: each line of SECURITY.md names its tests, every test that it, tests/evidence.md or
lib/scripts/README.md names exists, and the links of all pages lead somewhere. And the list of what Belay is made of can be read.
Usage: claims_test.py SOURCE_DIR BUILD_DIR

A test is named as `Suite.Name` (GoogleTest, or a class and method of tests/cli), as *its sentence* (tests/integration and its like),
or as `fuzz NAME`. The evidence has shorter forms, too: see the head of tests/evidence.md.
"""
import collections
import functools
import json
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE, BUILD = (pathlib.Path(path) for path in sys.argv[1:3])
FEWEST_WORDS = 3  # of a sentence with "..."
# What a line of the evidence says that names no test.
NO_TEST = re.compile(r"\b(sim|chaos)\b|^(does not apply: |later, |\(to come: |not tested\. )")


def texts(pattern):
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((SOURCE / "tests").glob(pattern)))


def rows(text):
    """The cells of each line of the tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    heads = {number - 1 for number, line in enumerate(lines) if re.fullmatch(r"[|\s-]+", line)}
    return [[cell.strip() for cell in line.strip("|").split("|")] for number, line in enumerate(lines)
            if number not in heads and number - 1 not in heads]


def sentences(text):
    """The names in the tables of tests, `{"sentence", function}`, each of which may be several literals."""
    found = set()
    for table in re.findall(r"^(?:static )?const Test \w+\[\] = \{\n(.*?)\};$", text, re.MULTILINE | re.DOTALL):
        lines = re.sub(r"^\s*//.*$", "", table, flags=re.MULTILINE)
        for literals in re.findall(r'\{((?:"[^"]*"\s*)+), *\s*test_\w+\}', lines):
            found.add("".join(re.findall(r'"([^"]*)"', literals)))
    return found


def methods(text):
    """The tests of each class of unittest."""
    found = collections.defaultdict(set)
    for line in text.splitlines():
        if match := re.match(r"class (\w+)", line):
            tests = found[match[1]]
        elif match := re.match(r"    def (test_\w+)\(self", line):
            tests.add(match[1])
    return {name: tests for name, tests in found.items() if tests}


def names(cell):
    """What a cell names: (code, "") or ("", sentence)."""
    return re.findall(r"`([^`]+)`|\*([^*]+)\*", re.sub(r"\*\*[^*]*\*\*", "", cell))


class Tests:
    """All that there are."""

    def __init__(self):
        self.suites = collections.defaultdict(set)
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", texts("**/*.cpp"), re.MULTILINE):
            self.suites[suite].add(name)
        self.classes = methods(texts("cli/*.py"))
        self.sentences = sentences(texts("**/*.c"))
        self.go = set(re.findall(r"^func (Test\w+)\(t \*testing\.T\)", texts("chaos/*_test.go"), re.MULTILINE))
        self.fuzz = set(re.findall(r"^add_fuzz_target\((\w+) ", texts("fuzz/CMakeLists.txt"), re.MULTILINE))

    def has(self, code, sentence):
        """Named in full."""
        if sentence:
            return sentence in self.sentences
        if code.startswith("fuzz "):
            return code.split()[1] in self.fuzz
        suite, _, name = code.partition(".")
        return name in self.suites.get(suite, ()) or name in self.classes.get(suite, ())

    def has_like(self, sentence):
        """With "..." for any words; there a comma is none of the name."""
        words = re.sub(r"[,;:](?= |$)", "", sentence).split()
        pattern = "".join("(?: [^ ]+)*" if word == "..." else " " + re.escape(word) for word in words)
        return "..." in words and len(words) - words.count("...") >= FEWEST_WORDS and any(
            re.fullmatch(pattern, " " + re.sub(r"[,;:](?= |$)", "", name)) for name in self.sentences)

    def has_short(self, code, suite):
        """As the evidence has it, behind a name of that suite (None: of none)."""
        if re.fullmatch(r"[a-z_]+\.\*", code):
            return any((SOURCE / "tests/sim").glob(code))
        whole = code.removesuffix(".*")
        if whole in self.suites or code in self.classes or code in self.go:
            return True
        return code in self.suites.get(suite, ()) or any(code in tests for tests in self.classes.values())

    def missing(self, cell):
        """What a cell of the evidence names that is not there."""
        suite = None
        for code, sentence in names(cell):
            if not (self.has(code, sentence) or (self.has_like(sentence) if sentence else self.has_short(code, suite))):
                yield code or sentence
            if code.partition(".")[0] in self.suites:
                suite = code.partition(".")[0]


class Claims(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tests = Tests()

    def test_every_line_names_tests_that_exist(self):
        lines = rows((SOURCE / "SECURITY.md").read_text(encoding="utf-8"))
        self.assertGreater(len(lines), 10)
        for line in lines:
            with self.subTest(line[0]):
                named = names(line[-1])
                self.assertTrue(named, "the line names no test")
                for code, sentence in named:
                    self.assertTrue(self.tests.has(code, sentence), code or sentence)

    def test_every_line_of_the_evidence_names_tests_that_exist(self):
        _, *sections = (SOURCE / "tests/evidence.md").read_text(encoding="utf-8").split("\n## ")
        self.assertEqual(len(sections), 4)
        for section in sections:
            lines = rows(section)
            self.assertGreater(len(lines), 9)
            for line in lines:
                with self.subTest(line[0] + " | " + line[1]):
                    self.assertTrue(names(line[-1]) or NO_TEST.search(line[-1]), "the line names no test")
                    self.assertEqual(list(self.tests.missing(line[-1])), [])
                    self.assertFalse(names(" ".join(line[:-1])), "only the last cell is checked")

    def test_every_line_of_what_servers_do_names_tests_that_exist(self):
        text = (SOURCE / "lib/scripts/README.md").read_text(encoding="utf-8")
        lines = rows(text[text.index("\n## What no documentation promises"):])
        self.assertGreater(len(lines), 9)
        for line in lines:
            with self.subTest(line[0]):
                self.assertTrue(names(line[-1]), "the line names no test")
                self.assertEqual(list(self.tests.missing(line[-1])), [])

    def test_a_test_that_is_not_there_is_noticed(self):
        for code, sentence in (("Url.NoSuchTest", ""), ("NoSuchSuite.test_x", ""), ("fuzz nothing", ""), ("", "No such sentence")):
            self.assertFalse(self.tests.has(code, sentence))

    def test_a_test_that_is_not_there_is_noticed_in_every_short_form(self):
        for cell in ("`Leave.NoSuchTest`", "`NoSuchSuite`", "`NoSuchSuite.*`", "`nosuchfiles.*`", "`leave_test.*`", "`test_no_such_test`",
                     "`RunSaysNot`", "`TestNoSuchTest`", "`NeverFreesAnothersLock`", "`Renew`, `NeverFreesAnothersLock`",
                     "`Leave.NeverFrees`", "`Leave`, `NeverFrees`", "*No such sentence*", "*A release that is cut off*",
                     "*A release that is cut off ... nothing*", "*... release that is cut off*", "*that is cut off ...*", "*A release ...*",
                     "*... that ...*", "*...*", "*A rel... that is cut off ...*", "*A try / release that is cut off ...*"):
            with self.subTest(cell):
                self.assertEqual(len(list(self.tests.missing(cell))), 1)
        for cell in ("`Leave.NeverFreesAnothersLock`", "`Leave`", "`Leave.*`", "`custody.*`", "`test_one_at_a_time`", "`RunSaysNo`",
                     "`TestAResourceThatDoesNotIsNoticed`", "`Leave`, *Options by name*; `NeverFreesAnothersLock`", "*A release that is cut off ...*",
                     "*... is cut off ... carried out once*"):
            with self.subTest(cell):
                self.assertEqual(list(self.tests.missing(cell)), [])

    def test_what_is_no_table_of_tests_has_no_sentences(self):
        entry = '    {"A name of several "\n     "literals", test_x},\n'
        self.assertEqual(sentences("const Test some_tests[] = {\n" + entry + "    {NULL, NULL}};\n"), {"A name of several literals"})
        self.assertEqual(sentences("const Test some_tests[] = {\n    // {\"A name\", test_x},\n    {NULL, NULL}};\n"), set())
        self.assertEqual(sentences("const Pair some_pairs[] = {\n" + entry + "    {NULL, NULL}};\n"), set())


class Links(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "*.md"], check=True, capture_output=True, text=True)
        cls.pages = [SOURCE / name for name in listed.stdout.split()]

    @staticmethod
    def prose(page):
        """Without what is shown as it is."""
        return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)

    @staticmethod
    @functools.cache
    def anchors(page):
        """Those of its headings, as GitHub makes them."""
        found = collections.Counter()
        for heading in re.findall(r"^#+ +(.*)$", Links.prose(page), re.MULTILINE):
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
            anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            found[anchor] += 1
            if found[anchor] > 1:
                found[f"{anchor}-{found[anchor] - 1}"] += 1
        return set(found)

    @staticmethod
    def broken(page, target):
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page.resolve()
        if not there.exists():
            return True
        return bool(anchor) and (there.suffix != ".md" or anchor not in Links.anchors(there))

    def test_every_link_within_the_tree_leads_somewhere(self):
        self.assertGreater(len(self.pages), 15)
        seen = 0
        for page in self.pages:
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", self.prose(page))):
                if not re.match(r"[a-z]+:", target):
                    seen += 1
                    with self.subTest(page=page.relative_to(SOURCE), target=target):
                        self.assertFalse(self.broken(page, target))
        self.assertGreater(seen, 50)

    def test_a_link_that_leads_nowhere_is_noticed(self):
        page = SOURCE / "tests/README.md"
        for target in ("nosuchpage.md", "#nosuchheading", "evidence.md#nosuchheading", "evidence.md#faults-1", "docs#faults"):
            self.assertTrue(self.broken(page, target), target)
        for target in ("evidence.md", "#suites", "evidence.md#faults", "evidence.md#redissons-scenarios", "docs", "../LICENSE"):
            self.assertFalse(self.broken(page, target), target)


class Parts(unittest.TestCase):
    def test_all_that_is_linked_is_listed_with_its_version_and_licence(self):
        listed = json.loads((BUILD / "tools/belay.spdx.json").read_text(encoding="utf-8"))
        packages = {package["name"]: package for package in listed["packages"]}
        cmake = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
        linked = re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (\w+)", cmake)
        self.assertEqual(set(packages), {"belay", "CLI11", *linked})
        for package in packages.values():
            self.assertRegex(package["versionInfo"], r"^\d+\.\d+")
            self.assertRegex(package["licenseDeclared"], r"^(Apache-2\.0|BSD-3-Clause|MIT)$")
        self.assertEqual({relation["relatedSpdxElement"] for relation in listed["relationships"]},
                         {package["SPDXID"] for package in packages.values()})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
