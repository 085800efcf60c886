#!/usr/bin/env python3
"""Makes the generated part of the bindings from belay.h, with the SWIG that is pinned here: generate.py LANGUAGE... [--check]

Languages: go, java, lua; none named: all. With --check it writes nothing, says what differs from the tree, and fails if anything does.
Each language has a module of its name beside this file: FILES(enums) gives {path: text} of constants, errors and their documentation;
WRAPPER the flags of SWIG, and OUTPUT where each of its files goes; what SWIG writes beside them is dropped.
"""
import importlib
import pathlib
import re
import subprocess
import sys
import tempfile

import header

SWIG = "4.1.0"
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LANGUAGES = ["go", "java", "lua"]


def require_swig():
    said = subprocess.run(["swig", "-version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"SWIG Version (\S+)", said).group(1)
    if version != SWIG:
        sys.exit(f"SWIG is {version}; the committed wrappers are made by exactly {SWIG}: install that, or change SWIG in generate.py and make all anew")


def wrapper(language, module):
    """What SWIG writes for a language: {path: text}."""
    with tempfile.TemporaryDirectory() as out:
        command = ["swig", *module.WRAPPER, "-Wall", "-Werror", f"-I{ROOT / 'include'}", f"-I{HERE}", "-outdir", out,
                   "-o", f"{out}/belay_wrap.c", f"{language}.i"]
        subprocess.run(command, check=True, cwd=HERE)  # what it writes names the file as it was named here
        return {f"{folder}/{name}": pathlib.Path(out, name).read_text(encoding="utf-8") for name, folder in module.OUTPUT.items()}


def generated(language):
    module = importlib.import_module(f"{language}_names")
    return {**module.FILES(header.enums()), **wrapper(language, module)}


def main(arguments):
    check = "--check" in arguments
    languages = [a for a in arguments if a != "--check"] or LANGUAGES
    if unknown := set(languages) - set(LANGUAGES):
        sys.exit(f"unknown language '{unknown.pop()}'; there are: {' '.join(LANGUAGES)}")
    require_swig()
    differing = []
    for language in languages:
        for path, text in generated(language).items():
            target = ROOT / path
            if check:
                if not target.exists() or target.read_text(encoding="utf-8") != text:
                    differing.append(str(path))
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
    for path in differing:
        print(f"{path} is not what generate.py makes")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
