"""SECURITY.md's lines against what is there: each names its tests, and every test that is named exists. And the list of what
Belay is made of can be read. Usage: claims_test.py SOURCE_DIR BUILD_DIR

A test is named as `Suite.Name` (GoogleTest, or a class and method of tests/cli), as *its sentence* (tests/integration and its like),
or as `fuzz NAME`.
"""
import json
import pathlib
import re
import sys
import unittest

SOURCE, BUILD = (pathlib.Path(path) for path in sys.argv[1:3])


def texts(pattern):
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((SOURCE / "tests").glob(pattern)))


def rows(text):
    """The cells of each line of the tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    heads = {number - 1 for number, line in enumerate(lines) if re.fullmatch(r"[|\s-]+", line)}
    return [[cell.strip() for cell in line.strip("|").split("|")] for number, line in enumerate(lines)
            if number not in heads and number - 1 not in heads]


class Claims(unittest.TestCase):
    def setUp(self):
        self.cpp = texts("**/*.cpp")
        self.python = texts("cli/*.py")
        self.sentences = re.sub(r'"\s*"', "", texts("**/*.c"))
        self.fuzz = (SOURCE / "tests/fuzz/CMakeLists.txt").read_text(encoding="utf-8")

    def exists(self, code, sentence):
        if sentence:
            return f'{{"{sentence}"' in self.sentences
        if code.startswith("fuzz "):
            return f"add_fuzz_target({code.split()[1]} " in self.fuzz
        suite, _, name = code.partition(".")
        in_python = re.search(rf"^class {suite}\(.*?^    def {name}\(", self.python, re.MULTILINE | re.DOTALL)
        return re.search(rf"TEST(_F|_P)?\({suite}, {name}\)", self.cpp) or in_python

    def test_every_line_names_tests_that_exist(self):
        lines = rows((SOURCE / "SECURITY.md").read_text(encoding="utf-8"))
        self.assertGreater(len(lines), 10)
        for line in lines:
            with self.subTest(line[0]):
                named = re.findall(r"`([^`]+)`|\*([^*]+)\*", line[-1])
                self.assertTrue(named, "the line names no test")
                for code, sentence in named:
                    self.assertTrue(self.exists(code, sentence), code or sentence)

    def test_a_test_that_is_not_there_is_noticed(self):
        for code, sentence in (("Url.NoSuchTest", ""), ("NoSuchSuite.test_x", ""), ("fuzz nothing", ""), ("", "No such sentence")):
            self.assertFalse(self.exists(code, sentence))


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
