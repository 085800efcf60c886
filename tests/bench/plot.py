#!/usr/bin/env python3
"""plot.py TABLE SVG: draws the table that belay_bench --table has written, one panel per column. The picture has a background of its own,
light or dark as the reader prefers, and no date. Needs nothing but Python."""
import math
import sys
from html import escape

OURS = ("c", "go", "java", "lua", "luajit")
NAMES = {"c": "Belay: C", "go": "Belay: Go", "java": "Belay: Java", "lua": "Belay: Lua", "luajit": "Belay: LuaJIT", "redisson": "Redisson"}


def time_us(us):
    if us < 1000:
        return f"{us:.0f} µs"
    return f"{us / 1e3:.1f} ms" if us < 1e4 else f"{us / 1e3:.0f} ms"


def rate(per_second):
    return f"{per_second:,.0f}/s".replace(",", " ")


# A panel: the column, what it shows, its note, whether its scale is logarithmic, and how a number reads.
PANELS = (
    ("pair us", "Acquire and release, uncontended", "shorter is better", False, time_us),
    ("handoff us", "Handoff from process to process", "shorter is better; logarithmic", True, time_us),
    ("16 on one name/s", "16 threads on one name: holds", "longer is better; logarithmic", True, rate),
    ("commands/handoff", "Commands per hold of two processes", "shorter is better", False, lambda count: f"{count:.1f}"),
    ("16 names us", "16 names in one hold", "shorter is better; logarithmic", True, time_us),
    ("killed s", "A master is killed: nobody has the lock", "three sentinels replace it; shorter is better", False, lambda s: f"{s:.1f} s"),
    ("asked for s", "A master is replaced on request", "nobody has the lock; shorter is better", False, lambda s: f"{s:.1f} s"),
    ("10 000 wait s", "10 000 waiters until the last has the lock", "shorter is better; logarithmic", True, lambda s: f"{s:.2g} s"),
)
COLUMNS = 2
WIDTH, MARGIN = 880, 16
PANEL_WIDTH = (WIDTH - MARGIN) // COLUMNS
NAME_WIDTH, VALUE_WIDTH = 92, 148
ROW, TITLE, GAP, HEAD = 17, 40, 18, 34

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .note { fill: #656d76; font-size: 11px }
  .page { fill: #ffffff; stroke: #d0d7de }
  .ours { fill: #1a6fd4 }
  .theirs { fill: #8c959f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .note { fill: #9198a1 }
    .page { fill: #0d1117; stroke: #30363d }
    .ours { fill: #539bf5 }
    .theirs { fill: #6e7681 }
  }
"""


def read(path):
    """The heading, the sides in order, and per column each side's number (None: not known) and text."""
    with open(path, encoding="utf-8") as file:
        heading, *lines = file.read().splitlines()
    sides, cells = [], {}
    for line in lines:
        side, column, value, text = line.split("\t")
        if side not in sides:
            sides.append(side)
        cells.setdefault(column, {})[side] = (None if value == "-" else float(value), text)
    return heading, sides, cells


def text_at(x, y, what, kind="", anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{escape(what)}</text>'


def label(column, cell, show, threads):
    number, text = cell
    if number is None:
        return "–"
    if column != "10 000 wait s":
        return show(number)
    said = f"{text} s" if " in " in text else show(number)  # only some of them had it
    return said if threads is None else f"{said}, {threads} thread{'' if threads == '1' else 's'}"


def scale(numbers, logarithmic):
    """What maps a number to its part of the room."""
    high = max(numbers)
    if not logarithmic:
        return lambda number: number / high
    low = min(numbers) / 2
    return lambda number: math.log(number / low) / math.log(high / low)


def panel(x, y, spec, sides, cells):
    column, title, note, logarithmic, show = spec
    shapes = [text_at(x, y + 12, title, "title"), text_at(x, y + 27, note, "note")]
    part = scale([number for number, _ in cells[column].values() if number], logarithmic)
    room = PANEL_WIDTH - NAME_WIDTH - VALUE_WIDTH - MARGIN
    for row, side in enumerate(sides):
        base = y + TITLE + row * ROW + 10
        cell = cells[column].get(side, (None, ""))
        threads = cells.get("OS threads", {}).get(side, (None, None))[1]
        length = room * part(cell[0]) if cell[0] else 0
        kind = "ours" if side in OURS else "theirs"
        shapes.append(text_at(x + NAME_WIDTH - 6, base, NAMES.get(side, side), anchor="end"))
        if length:
            shapes.append(f'<rect x="{x + NAME_WIDTH}" y="{base - 10}" width="{length:.1f}" height="12" rx="2" class="{kind}"/>')
        shapes.append(text_at(x + NAME_WIDTH + length + 5, base, label(column, cell, show, threads), "note"))
    return shapes


def draw(heading, sides, cells):
    specs = [spec for spec in PANELS if any(number for number, _ in cells.get(spec[0], {}).values())]
    panel_height = TITLE + len(sides) * ROW + GAP
    height = HEAD + panel_height * math.ceil(len(specs) / COLUMNS) + MARGIN // 2
    shapes = [text_at(MARGIN, 22, heading, "note")]
    for i, spec in enumerate(specs):
        shapes += panel(MARGIN + i % COLUMNS * PANEL_WIDTH, HEAD + i // COLUMNS * panel_height, spec, sides, cells)
    page = f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6" class="page"/>'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
                      "<title>Belay and other lock libraries</title>", f"<style>{STYLE}</style>", page, *shapes, "</svg>", ""])


def main():
    table, svg = sys.argv[1:]
    with open(svg, "w", encoding="utf-8") as file:
        file.write(draw(*read(table)))


main()
