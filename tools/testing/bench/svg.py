# SPDX-License-Identifier: MIT
"""svg - the bench's two plots, written as they are: no package draws them, and the same figures give the same file"""
import math
from html import escape

COLOURS = ("#000000", "#999999", "#cc79a7", "#e69f00", "#d55e00", "#bbbb00", "#56b4e9", "#0072b2", "#009e73", "#6a3d9a")
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: MIT -->
<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" font-family="sans-serif" font-size="12">
<rect width="{w}" height="{h}" fill="#ffffff"/>
"""


def text(x, y, what, anchor="start", size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(what)}</text>\n'


def line(x1, y1, x2, y2, colour="#dddddd"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>\n'


def cdf(title, curves):
    """CURVES: [(name, latencies in ns)]; logarithmic from the first to the last."""
    width, height, left, top, right, bottom = 900, 420, 60, 40, 300, 50
    everything = [v for _, values in curves for v in values]
    low, high = math.log10(min(everything)) - 0.05, math.log10(max(everything)) + 0.05

    def x(ns):
        return left + (math.log10(ns) - low) / (high - low) * (width - left - right)

    def y(share):
        return height - bottom - share * (height - top - bottom)

    out = HEAD.format(w=width, h=height) + text(left, 24, title, size=14)
    for share in (0, 0.25, 0.5, 0.75, 1):
        out += line(left, y(share), width - right, y(share)) + text(left - 8, y(share) + 4, f"{share * 100:.0f} %", "end")
    for exponent in range(math.floor(low), math.ceil(high) + 1):
        for digit in (1, 2, 5):
            ns = digit * 10 ** exponent
            if low <= math.log10(ns) <= high:
                out += line(x(ns), top, x(ns), height - bottom) + text(x(ns), height - bottom + 18, f"{ns / 1e6:g}", "middle")
    out += text((left + width - right) / 2, height - 10, "latency of a request, ms of virtual time", "middle")
    for i, (name, values) in enumerate(curves):
        colour, points = COLOURS[i % len(COLOURS)], [(x(min(values)), y(0))]
        for n, value in enumerate(sorted(values), 1):
            points += [(x(value), points[-1][1]), (x(value), y(n / len(values)))]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        out += f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>\n'
        out += line(width - right + 15, top + 20 * i + 6, width - right + 40, top + 20 * i + 6, colour)
        out += text(width - right + 46, top + 20 * i + 10, name, size=11)
    return out + "</svg>\n"


def timeline(title, rows):
    """ROWS: [(name, seconds in ns, slots, [(tenant's name, [(ns, waves)])], [requests: (arrival, done)])]"""
    width, left, top, lane, gap = 900, 150, 50, 70, 34
    height = top + len(rows) * (lane + gap) + 30
    fills = ("#0072b2", "#e69f00", "#999999")
    out = HEAD.format(w=width, h=height) + text(20, 24, title, size=14)
    for row, (name, length, slots, tenants, requests) in enumerate(rows):
        base = top + row * (lane + gap) + lane

        def x(ns, length=length):
            return left + max(0, min(ns, length)) / length * (width - left - 20)

        out += text(20, base - lane / 2, name)
        below = {}
        for i, (_, samples) in enumerate(tenants):
            path = ""
            for (ns, waves), (after, _) in zip(samples, samples[1:] + [(length, 0)]):
                start, high = below.get(ns, 0), waves / slots * lane
                below[ns] = start + high
                if waves:
                    path += f"M{x(ns):.1f} {base - start:.1f}H{x(after):.1f}v{-high:.1f}H{x(ns):.1f}z"
            out += f'<path d="{path}" fill="{fills[i % len(fills)]}"/>\n'
        for arrival, done in requests:
            out += line(x(arrival), base + 4, x(done), base + 4, "#000000") + line(x(arrival), base, x(arrival), base + 8, "#000000")
        out += line(left, base, width - 20, base, "#000000")
        for ms in range(0, int(length / 1e6) + 1, 20):
            out += text(x(ms * 1e6), base + 22, f"{ms} ms", "middle", 10)
    for i, (name, _) in enumerate(rows[0][3] if rows else []):
        out += f'<rect x="{left + 120 * i}" y="{height - 22}" width="12" height="12" fill="{fills[i % len(fills)]}"/>\n'
        out += text(left + 120 * i + 18, height - 12, name)
    return out + text(left + 260, height - 12, "lines below: requests, from arrival until done") + "</svg>\n"
