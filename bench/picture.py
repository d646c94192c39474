#!/usr/bin/env python3
"""Makes one page of pictures from what benchmarks have written: bench/results/*.json to
bench/results/report.html. Needs nothing but Python, and the page nothing but itself.

usage: picture.py [DIRECTORY_OF_RESULTS]
"""

import datetime
import html
import json
import math
import pathlib
import sys

COLOURS = ["#3266ad", "#c2571a", "#3a8f5c", "#8a4fad", "#a23b4e", "#5f6b7a"]
STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --dim: #667; --line: #ccd; --page: #fff; --good: #2f7d4f; --bad: #b3402e; }
@media (prefers-color-scheme: dark) { :root { --ink: #dde3ea; --dim: #99a; --line: #3a4250; --page: #12161c; --good: #5fc08a; --bad: #e98873; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 2rem auto; max-width: 66rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .8rem 0 1.6rem; } th, td { padding: .15rem .8rem; border-bottom: 1px solid var(--line); text-align: right; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; } .dim { color: var(--dim); } .met { color: var(--good); } .missed { color: var(--bad); font-weight: 600; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; } svg .grid { stroke: var(--line); } figure { margin: 1rem 0; overflow-x: auto; } figcaption { font-weight: 600; } figcaption.dim { font-weight: 400; }
"""


def number(value):
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def bars(entries):
    """Each figure as a part of its bar: the line at 1 is the bar itself, on a logarithmic axis."""
    drawn = [e for e in entries if e["bar"] > 0 and e["value"] > 0]
    if not drawn:
        return ""
    row, left, width = 22, 460, 360
    low, high = -1.5, 1.0

    def place(ratio):
        return left + (min(max(math.log10(ratio), low), high) - low) / (high - low) * width

    parts = []
    for i, entry in enumerate(drawn):
        y = i * row + 6
        ratio = entry["value"] / entry["bar"]
        colour = "var(--good)" if entry["met"] else "var(--bad)"
        begin, end = sorted((place(1), place(ratio)))
        sign = "≤" if entry["relation"] == "at most" else "≥"
        parts.append(
            f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{html.escape(entry["what"][:72])}</text>'
            f'<rect x="{begin:.1f}" y="{y + 2}" width="{max(end - begin, 1):.1f}" height="12" fill="{colour}"/>'
            f'<text x="{left + width + 8}" y="{y + 12}">{number(entry["value"])} {html.escape(entry["unit"])}'
            f' ({sign} {number(entry["bar"])})</text>')
    height = len(drawn) * row + 10
    axis = f'<line class="grid" x1="{place(1):.1f}" x2="{place(1):.1f}" y1="0" y2="{height}"/>'
    return (f'<figure><svg role="img" width="1000" height="{height}" viewBox="0 0 1000 {height}">'
            f'{axis}{"".join(parts)}</svg><figcaption class="dim">The line is the bar; left of it is '
            'less, right of it is more, up to a tenth and ten times. Green is met.</figcaption></figure>')


def ticks(low, high):
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0 ** e for e in range(first, max(last, first + 1) + 1)]


def curve(data):
    points = [p for line in data["lines"].values() for p in line if p[0] > 0 and p[1] > 0]
    if not points:
        return ""
    width, height, left, bottom = 620, 300, 70, 40
    xs, ys = ticks(min(p[0] for p in points), max(p[0] for p in points)), ticks(
        min(p[1] for p in points), max(p[1] for p in points))

    def at(value, scale, begin, length):
        low, high = math.log10(scale[0]), math.log10(scale[-1])
        return begin + (math.log10(value) - low) / (high - low) * length

    def x(value):
        return at(value, xs, left, width - left - 150)

    def y(value):
        return at(value, ys, height - bottom, -(height - bottom - 15))

    parts = []
    for tick in xs:
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="15" y2="{height - bottom}"/>'
                     f'<text x="{x(tick):.1f}" y="{height - bottom + 16}" text-anchor="middle">{number(tick)}</text>')
    for tick in ys:
        parts.append(f'<line class="grid" x1="{left}" x2="{width - 150}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
                     f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for i, (name, line) in enumerate(data["lines"].items()):
        drawn = [(x(px), y(py)) for px, py in line if px > 0 and py > 0]
        if not drawn:
            continue
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in drawn)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in drawn]
        parts.append(f'<text x="{drawn[-1][0] + 8:.1f}" y="{drawn[-1][1] + 4:.1f}">{html.escape(name)}</text>')
    middle = (left + width - 150) / 2
    parts.append(f'<text x="{middle}" y="{height - 6}" text-anchor="middle">{html.escape(data["x"])}</text>')
    return (f'<figure><figcaption>{html.escape(data["title"])}</figcaption><svg role="img" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
            f'<figcaption class="dim">{html.escape(data["y"])}; both axes are logarithmic.</figcaption></figure>')


def table(data):
    head = "".join(f"<th>{html.escape(c)}</th>" for c in data["columns"])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in data["rows"])
    return f'<h3>{html.escape(data["title"])}</h3><table><tr>{head}</tr>{body}</table>'


def section(result):
    machine = result["machine"]
    when = datetime.datetime.fromtimestamp(result["began_ms"] / 1000, datetime.timezone.utc)
    missed = [b for b in result["bars"] if not b["met"]]
    verdict = (f'<span class="met">all {len(result["bars"])} bars met</span>' if not missed else
               f'<span class="missed">{len(missed)} of {len(result["bars"])} bars not met</span>')
    drawn = {c["title"] for c in result.get("curves", [])}
    return (f'<h2 id="{result["benchmark"]}">{result["benchmark"]}</h2>'
            f'<p>{verdict}. <span class="dim"><code>./dev bench {result["benchmark"]}</code>, '
            f'{when:%Y-%m-%d %H:%M} UTC, load average {machine["load_average_before"]:.2f} before and '
            f'{machine.get("load_average_after", 0):.2f} after.</span></p>'
            + bars(result["bars"]) + "".join(curve(c) for c in result.get("curves", []))
            + "".join(table(t) for t in result.get("tables", []) if t["title"] not in drawn))


def main():
    default = pathlib.Path(__file__).resolve().parent / "results"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    if not results:
        sys.exit(f"picture: no results in {folder}; ./dev bench NAME makes some")
    machine = results[0]["machine"]
    index = " · ".join(f'<a href="#{r["benchmark"]}">{r["benchmark"]}</a>' for r in results)
    page = (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f'<title>Muster: what was measured</title><style>{STYLE}</style><h1>Muster: what was measured</h1>'
            f'<p>{machine["cores"]} cores of {html.escape(machine["processor"])}, {machine["memory_gib"]} GiB, '
            f'{html.escape(machine["kernel"])}. Peers were measured in the same runs, on the same cores.</p>'
            f'<p>{index}</p>' + "".join(section(r) for r in results) + "</html>\n")
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    print(path)


main()
