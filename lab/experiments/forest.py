"""A forest plot as SVG: a ratio with its interval in each row, on a logarithmic axis, and what chance alone gives behind it."""

import math
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, ROW, TOP, BOTTOM = 760, 270, 110, 26, 40, 34
BETTER, WORSE, NEITHER = "#1b7837", "#b2182b", "#555"


def ticks(low, high):
    """Round numbers between LOW and HIGH, at most about eight."""
    for steps in ((1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,)):
        found = [step * 10.0**power for power in range(-4, 5) for step in steps if low <= step * 10.0**power <= high]
        if len(found) <= 8:
            return found
    return found


def forest_plot(rows, title):
    """Returns the picture. ROWS are (label, "lower" or "higher" is better, {value, low, high}, the same of the baseline against itself or None)."""
    ends = [1.0]
    for _, _, ratio, itself in rows:
        ends += [ratio["low"], ratio["high"]] + ([itself["low"], itself["high"]] if itself and itself["low"] > 0 else [])
    low, high = min(end for end in ends if end > 0) / 1.05, max(ends) * 1.05
    height = TOP + ROW * len(rows) + BOTTOM

    def x(ratio):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(ratio / low) / math.log(high / low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13" role="img">',
           f"<title>{escape(title)}</title>", f'<rect width="{WIDTH}" height="{height}" fill="white"/>', f'<text x="10" y="22" font-weight="bold">{escape(title)}</text>']
    bottom = TOP + ROW * len(rows)
    for tick in ticks(low, high):
        out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{bottom}" stroke="{"#333" if tick == 1 else "#ddd"}"/>')
        out.append(f'<text x="{x(tick):.1f}" y="{bottom + 18}" text-anchor="middle" fill="#333">{tick:g}</text>')
    for i, (label, better, ratio, itself) in enumerate(rows):
        y = TOP + ROW * i + ROW / 2
        if itself and itself["low"] > 0:
            out.append(f'<rect x="{x(itself["low"]):.1f}" y="{y - 8}" width="{max(1.0, x(itself["high"]) - x(itself["low"])):.1f}" height="16" fill="#bbb" opacity="0.6"/>')
        good, bad = ratio["high"] < 1, ratio["low"] > 1
        if better == "higher":
            good, bad = bad, good
        colour = BETTER if good else WORSE if bad else NEITHER
        out.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{escape(label)}</text>')
        out.append(f'<line x1="{x(ratio["low"]):.1f}" x2="{x(ratio["high"]):.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<circle cx="{x(ratio["value"]):.1f}" cy="{y}" r="4.5" fill="{colour}"/>')
        out.append(f'<text x="{WIDTH - RIGHT + 10}" y="{y + 4}" fill="{colour}">{ratio["value"]:.2f} {"better" if good else "worse" if bad else ""}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
