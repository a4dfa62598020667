"""The figures of one size as an SVG of two charts: latency by share visible, and by number of terms."""

from __future__ import annotations

import math
from typing import Any
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 430, 300, 56
COLOURS = {"pgsift": "#1f5fa8", "pg_textsearch": "#c4622d"}


def _chart(left: int, title: str, rows: dict[str, dict[str, dict[str, float]]], label: str) -> list[str]:
    values = [figures[key] for row in rows.values() for figures in row.values() for key in ("p50", "p95")]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def x(index: int) -> float:
        return left + MARGIN + index * (WIDTH - 2 * MARGIN) / max(1, len(rows) - 1)

    def y(value: float) -> float:
        return 40 + (HEIGHT - 90) * (high - math.log10(value)) / (high - low)

    def text(at: float, level: float, words: str, extra: str = 'text-anchor="middle"') -> str:
        return f'<text x="{at:.1f}" y="{level:.1f}" {extra}>{escape(words)}</text>'

    middle = left + WIDTH / 2
    parts = [text(middle, 22, title, 'text-anchor="middle" font-weight="bold"')]
    for power in range(low, high + 1):
        level = y(10.0**power)
        ends = f'x1="{left + MARGIN}" x2="{left + WIDTH - MARGIN}" y1="{level:.1f}" y2="{level:.1f}"'
        parts.append(f'<line {ends} stroke="#ddd"/>')
        parts.append(text(left + MARGIN - 6, level + 4, f"{10.0**power:g}", 'text-anchor="end"'))
    parts += [text(x(index), HEIGHT - 32, name) for index, name in enumerate(rows)]
    parts.append(text(middle, HEIGHT - 12, f"{label}; ms, logarithmic"))
    for engine, colour in COLOURS.items():
        for key, dash in (("p50", ""), ("p95", ' stroke-dasharray="5 4"')):
            lines = [(index, row[engine][key]) for index, row in enumerate(rows.values()) if engine in row]
            points = [(x(index), y(value)) for index, value in lines]
            path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
            parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points]
    return parts


def draw(result: dict[str, Any]) -> str:
    """The SVG; p50 are solid lines, p95 dashed ones."""
    legend = [
        f'<text x="{120 + 240 * index}" y="{HEIGHT + 18}" fill="{colour}">{name}: p50 —, p95 - -</text>'
        for index, (name, colour) in enumerate(COLOURS.items())
        if name in result["shares"]["100 %"]
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}" height="{HEIGHT + 30}"'
            ' font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>',
            *_chart(0, f"Top 10 of {result['size']:,} passages", result["shares"], "share visible"),
            *_chart(WIDTH, "Everything visible", result["terms"], "query terms"),
            *legend,
            "</svg>\n",
        ]
    )
