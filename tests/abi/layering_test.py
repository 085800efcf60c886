#!/usr/bin/env python3
"""Every include under lib/ goes to its own folder, to one below it, or to base/: a request falls
downhill."""

import pathlib
import re
import sys
import unittest

LIB = pathlib.Path(__file__).resolve().parents[2] / "lib"
# From the top. base is not on the hill: everybody may use it, and it uses nobody.
HILL = ["api", "client", "core", "dialect", "engine", "route", "net"]
# Whom each may use, apart from itself.
ALLOWED = {folder: set(HILL[place + 1:]) | {"scripts", "base"} for place, folder in enumerate(HILL)}
ALLOWED["scripts"] = {"base"}
ALLOWED["base"] = set()
PUBLIC = "belay/belay.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def violation(folder, line):
    """Why `line` of a file in `folder` is not allowed; None where it is."""
    match = INCLUDE.match(line)
    if match is None or match[1] == PUBLIC:
        return None
    target = match[1].partition("/")[0]
    if target == match[1]:
        return f"{match[1]} names no folder"
    if folder not in ALLOWED:
        return f"folder {folder} has no place on the hill"
    if target != folder and target not in ALLOWED[folder]:
        return f"{folder} may not include {match[1]}"
    return None


def violations(lib):
    """Every violation under `lib`, as file:line: why; and how many includes were looked at."""
    found, looked_at = [], 0
    for path in sorted(lib.rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        folder = path.relative_to(lib).parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            looked_at += INCLUDE.match(line) is not None
            why = violation(folder, line)
            if why is not None:
                found.append(f"{path}:{number}: {why}")
    return found, looked_at


class Layering(unittest.TestCase):
    def test_every_include_goes_downhill(self):
        found, looked_at = violations(LIB)
        self.assertEqual(found, [])
        self.assertGreater(looked_at, 100, "too few includes were found to believe it")

    def test_every_folder_has_its_place(self):
        folders = {path.name for path in LIB.iterdir() if path.is_dir()}
        self.assertEqual(folders, set(ALLOWED))

    def test_an_include_uphill_is_found(self):
        for place, folder in enumerate(HILL):
            for above in HILL[:place]:
                line = f'#include "{above}/made_up.h"'
                self.assertIsNotNone(violation(folder, line), f"{folder}: {line}")

    def test_an_include_downhill_is_allowed(self):
        for place, folder in enumerate(HILL):
            for below in HILL[place:] + ["scripts", "base"]:
                line = f'#include "{below}/made_up.h"'
                self.assertIsNone(violation(folder, line), f"{folder}: {line}")

    def test_base_and_scripts_use_nobody_else(self):
        for folder in HILL + ["scripts"]:
            self.assertIsNotNone(violation("base", f'#include "{folder}/made_up.h"'))
        for folder in HILL:
            self.assertIsNotNone(violation("scripts", f'#  include "{folder}/made_up.h"'))

    def test_an_include_without_a_folder_is_found(self):
        self.assertIsNotNone(violation("engine", '#include "claim.h"'))
        self.assertIsNotNone(violation("engine", '#include "../net/loop.h"'))
        self.assertIsNotNone(violation("made_up", '#include "base/clock.h"'))

    def test_the_public_header_is_everybodys(self):
        for folder in ALLOWED:
            self.assertIsNone(violation(folder, '#include "belay/belay.h"'))
            self.assertIsNone(violation(folder, "#include <vector>"))


if __name__ == "__main__":
    unittest.main()
