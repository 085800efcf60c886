#!/usr/bin/env python3
"""What the metrics cost of an acquire and a release, in instructions: instructions.py BELAY_BENCH FOLDER. Counts with callgrind while the
bench's pair runs, so that the result does not depend on the machine's speed. FOLDER: for callgrind's file."""
import os
import re
import shutil
import subprocess
import sys

AIM = 0.02


def cost_of_lines(path):
    """(file, line) -> instructions there, not in what they call; and how often belay_lock was called."""
    names, costs, pairs = {}, {}, 0
    file, line, skip, callee = "", 0, False, ""
    with open(path, encoding="utf-8") as lines:
        for text in lines:
            if match := re.match(r"(fl|fi|fe|fn|cfn|cfi|cfl|ob|cob)=\((\d+)\)(?: (.*))?", text):
                space, number, name = match.groups()
                kind = space[-2:] if space[-2:] in ("fn", "ob") else "file"
                name = names.setdefault((kind, number), name)
                file = name if space in ("fl", "fi", "fe") else file
                callee = name if space == "cfn" else callee
            elif text.startswith("calls="):
                pairs += int(text[6:].split()[0]) if callee == "belay_lock" else 0
                skip = True
            elif match := re.match(r"([+-]?\d+|\*)(?: (\d+))?$", text.strip()):
                where, cost = match.groups()
                line = line if where == "*" else line + int(where) if where[0] in "+-" else int(where)
                if not skip and cost:
                    costs[file, line] = costs.get((file, line), 0) + int(cost)
                skip = False
    return costs, pairs


def is_metrics(file, line, sources):
    """Whether it counts or adds to a histogram: what does so names the metrics in its line, or stands in their header."""
    if file not in sources:
        ours = "/lib/" in file and os.path.exists(file)
        sources[file] = open(file, encoding="utf-8").read().split("\n") if ours else []
    text = sources[file][line - 1] if 0 < line <= len(sources[file]) else ""
    return file.endswith("/engine/metrics.h") or "metrics." in text


def main():
    bench, folder = sys.argv[1:]
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed: it counts the instructions")
    out = os.path.join(folder, "callgrind.out")
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + out, bench, "--quick", "--rounds", "1",
                    "--slice-ms", "3000", "--side", "belay", "pair"], check=True, stdout=subprocess.DEVNULL)
    costs, pairs = cost_of_lines(out)
    sources = {}
    metrics = {at: cost for at, cost in costs.items() if is_metrics(*at, sources)}
    total, share = sum(costs.values()), sum(metrics.values()) / sum(costs.values())
    if pairs < 100 or not metrics:
        sys.exit(f"callgrind has seen {pairs} pairs, and metrics in {len(metrics)} lines")
    for (file, line), cost in sorted(metrics.items()):
        print(f"  {os.path.basename(file)}:{line}  {cost / pairs:.1f} a pair")
    print(f"{pairs} pairs of {total / pairs:.0f} instructions each, those of the start among them; {sum(metrics.values()) / pairs:.0f} "
          f"a pair by metrics: {share:.2%} (aim: < {AIM:.0%}, {'met' if share < AIM else 'not met'})")


main()
