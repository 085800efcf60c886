"""Reads belay.h: its enums with their values, the setters of options, and their comments; the calls that submit."""
import pathlib
import re
from typing import NamedTuple

HEADER = pathlib.Path(__file__).resolve().parent.parent.parent / "include/belay/belay.h"


class Value(NamedTuple):
    name: str  # BELAY_TIMEOUT
    number: int
    doc: str  # its comment, one line, "" if it has none


class Enum(NamedTuple):
    name: str  # belay_status
    doc: str
    values: list


def plain(comment):
    """A comment's text as one line."""
    return " ".join(re.sub(r"^\s*\*", " ", comment, flags=re.MULTILINE).split())


# An enum's body is values, each with a comment before it (of its own, on a line that begins with it), or behind it.
ENUM = re.compile(r"(?:/\*((?:(?!\*/).)*)\*/\n)?enum (belay_\w+) \{(.*?)\};", re.DOTALL)
VALUE = re.compile(r"(BELAY_\w+) = (\d+),?[ \t]*(?:/\*(.*?)\*/)?", re.DOTALL)
BEFORE = re.compile(r"\n *(/\*(?:(?!\*/).)*\*/)\s*$", re.DOTALL)


def enums():
    """All enums of belay.h by name."""
    found = {}
    for doc, name, body in ENUM.findall(HEADER.read_text(encoding="utf-8")):
        values, end = [], 0
        for match in VALUE.finditer(body):
            before = BEFORE.search(body, end, match.start())
            own = match.group(3) or (before.group(1).strip("/* \n") if before and not before.group(1).startswith("/* BELAY_CLASS") else "")
            values.append(Value(match.group(1), int(match.group(2)), plain(own)))
            end = match.end()
        found[name] = Enum(name, plain(doc), values)
    return found


class Setter(NamedTuple):
    option: str  # watchdog_lease_ms
    type: str  # "const char*" or "int64_t"
    parameter: str  # lease_ms
    doc: str  # "Set the lease of holds..."


SETTER = re.compile(r"/\*((?:(?!\*/).)*)\*/\nBELAY_API int32_t belay_options_set_(\w+)\(belay_options\* options,\s+([^)]*?)\s*(\w+)\);", re.DOTALL)


def setters():
    """The setters of options in belay.h, other than of log_level, which a language's own logging is for."""
    text = HEADER.read_text(encoding="utf-8")
    found = [Setter(option, kind, parameter, plain(doc)) for doc, option, kind, parameter in SETTER.findall(text)]
    if len(found) != text.count("BELAY_API int32_t belay_options_set_"):
        raise SystemExit("header.py: a setter of belay.h has no comment, or other parameters than the rest")
    return [setter for setter in found if setter.option != "log_level"]


class Submission(NamedTuple):
    call: str  # latch_set
    parameters: list  # after client and tag, pairs: ("bytes", "name"), ("int64_t", "ttl_ms"), ("const belay_words*", "words")


SUBMISSION = re.compile(r"int32_t belay_submit_(\w+)\(belay_client\* client, int64_t tag,?([^)]*)\);")
TAKEN = re.compile(r"const char\* (\w+),\s+int64_t \w+_size|(int64_t|const belay_words\*) (\w+)")


def submissions():
    """The calls belay_submit_ of belay.h as SWIG sees them, but for those that have a form of their own in each language."""
    text = re.sub(r"#ifndef SWIG\n.*?#endif\n", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = []
    for call, parameters in SUBMISSION.findall(text):
        if call not in ("acquire", "release"):
            if TAKEN.sub("", parameters).strip(", \n"):
                raise SystemExit(f"header.py: belay_submit_{call} has a parameter of another type than the rest")
            found.append(Submission(call, [("bytes", name) if name else (kind, other) for name, kind, other in TAKEN.findall(parameters)]))
    return found


UNITS = [(3600000, "h"), (1000, "s"), (1, "ms")]


def in_units(doc):
    """The numbers of a text about milliseconds with their units: 30000 is 30 s."""
    def spoken(match):
        number = int(match.group(1))
        return match.group(2) or next(f"{number // size} {unit}" for size, unit in UNITS if number % size == 0)
    return re.sub(r"\b(\d{2,})(?: \((.*?)\))?", spoken, doc)


def abi():
    return int(re.search(r"^#define BELAY_ABI (\d+)$", HEADER.read_text(encoding="utf-8"), flags=re.MULTILINE).group(1))
