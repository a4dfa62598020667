"""Topics to look at: a picture as PNG, and a page of HTML that is one file, loads nothing and runs nothing but the
script it came with.

Titles, keys and terms are text of documents and may be hostile. In the page they stand escaped, in elements or in
a block of JSON in which no ``<`` occurs, and the script writes them as text alone; a content security policy
allows this style, this script, and nothing from elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import warnings
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from pgsift.errors import MissingExtra
from pgsift.models import Topic, TopicsReport

# The first can be told apart by people who see no red or green (after M. Okabe, K. Ito: Color Universal Design,
# 2008, the light ones darkened for a white ground). After the last they come again: every topic is marked with
# its number as well.
_COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#b0459a", "#b58900", "#2a9fd6", "#8a5a00", "#7a6fc4",
    "#00695c", "#a23b3b", "#4c7a1f", "#5b6b7b",
)  # fmt: skip
_OUTLIER = "#9a9a9a"
#: Terms that name a topic in the picture.
_NAMING = 3


def colour(topic: int) -> str:
    """The colour of a topic; the outliers are grey."""
    return _OUTLIER if topic < 0 else _COLOURS[topic % len(_COLOURS)]


def label(topic: Topic, terms: int = _NAMING) -> str:
    """Number and first terms of a topic."""
    if topic.topic < 0:
        return "outliers"
    return " ".join([f"{topic.topic}:", *topic.terms[:terms]])


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def write_png(report: TopicsReport, path: Path) -> None:
    """Draw the documents of a report, coloured by topic, each topic named by its first terms.

    :class:`~pgsift.errors.MissingExtra` without matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import PathCollection
        from matplotlib.figure import Figure
        from matplotlib.patheffects import withStroke
    except ImportError as error:
        raise MissingExtra(
            "the picture is drawn by matplotlib, which is not installed",
            hint="Run: pip install 'pgsift[topics]', or write a page with --html.",
        ) from error

    figure = Figure(figsize=(11, 7.5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    size = _point_size(len(report.documents)) ** 2 * 4
    for topic in sorted(report.topics, key=lambda found: found.topic):
        members = [document for document in report.documents if document.topic == topic.topic]
        axes.scatter(
            [document.x or 0.0 for document in members], [document.y or 0.0 for document in members],
            s=size * (0.6 if topic.topic < 0 else 1.0), c=colour(topic.topic),
            alpha=0.5 if topic.topic < 0 else 0.85, linewidths=0.4, edgecolors="white",
            zorder=1 if topic.topic < 0 else 2,
            label=_cut(label(topic, 5), 60) + f"  ({topic.documents:,})",
        )  # fmt: skip
        if topic.topic >= 0 and members:
            x, y = _middle([(float(d.x or 0.0), float(d.y or 0.0)) for d in members])
            axes.annotate(
                str(topic.topic), (x, y), xytext=(0, 10), textcoords="offset points",
                fontsize=11, fontweight="bold", ha="center", va="center", zorder=3,
                color="black", path_effects=[withStroke(linewidth=3, foreground="white")],
            )  # fmt: skip
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.06)
    for side in axes.spines.values():
        side.set_color("#cccccc")
    axes.set_title(_headline(report), loc="left", fontsize=11, color="#333333", parse_math=False)
    shown = 24
    handles, names = axes.get_legend_handles_labels()
    of_topics = [i for i, name in enumerate(names) if not name.startswith("outliers")]
    order = of_topics[:shown]
    if len(of_topics) > shown:
        names.append(f"and {len(of_topics) - shown:,} more")
        handles.append(axes.scatter([], [], c="none"))
        order.append(len(names) - 1)
    order += [i for i, name in enumerate(names) if name.startswith("outliers")]
    legend = figure.legend(
        [handles[i] for i in order], [names[i] for i in order],
        loc="outside right upper", fontsize=8, frameon=False, labelspacing=0.7, handletextpad=0.4,
    )  # fmt: skip
    for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
        text.set_parse_math(False)
        if isinstance(handle, PathCollection):
            handle.set_sizes([40])
    with warnings.catch_warnings():
        # A character that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(path, format="png", facecolor="white")


def _headline(report: TopicsReport) -> str:
    number = report.run.topics
    return (
        f"{report.run.documents:,} documents, {number:,} topic{'' if number == 1 else 's'}, "
        f"{report.run.outliers:,} outlier{'' if report.run.outliers == 1 else 's'}"
    )


def _point_size(documents: int) -> float:
    """The radius of a point: smaller where there are many."""
    return max(1.6, min(6.0, 60.0 / math.sqrt(documents + 1)))


def _middle(points: list[tuple[float, float]]) -> tuple[float, float]:
    """The point of the set that is nearest to its medians: a place where there is one."""
    xs, ys = sorted(x for x, _ in points), sorted(y for _, y in points)
    x, y = xs[len(xs) // 2], ys[len(ys) // 2]
    return min(points, key=lambda p: ((p[0] - x) ** 2 + (p[1] - y) ** 2, p))


_WIDTH, _HEIGHT, _MARGIN = 1000.0, 700.0, 30.0


def _scaled(report: TopicsReport) -> list[tuple[float, float]]:
    """Places of the documents in the drawing, both directions to the same scale."""
    points = [(float(d.x or 0.0), float(d.y or 0.0)) for d in report.documents]
    if not points:
        return []
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    room_x, room_y = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
    scale = min(room_x / (right - left or 1e-9), room_y / (high - low or 1e-9))
    if right == left and high == low:
        scale = 0.0
    return [
        (
            round(_WIDTH / 2 + (x - (left + right) / 2) * scale, 1),
            round(_HEIGHT / 2 - (y - (low + high) / 2) * scale, 1),
        )
        for x, y in points
    ]


def write_html(report: TopicsReport, path: Path, *, title: str = "Topics") -> None:
    """Write the page: the drawing, the topics with their terms, and the documents of each."""
    path.write_text(page(report, title=title), encoding="utf-8")


def page(report: TopicsReport, *, title: str = "Topics") -> str:
    """The page as text."""
    places = _scaled(report)
    by_topic: dict[int, list[int]] = {}
    for number, document in enumerate(report.documents):
        by_topic.setdefault(document.topic, []).append(number)
    radius = 1.5 * _point_size(len(report.documents))
    # Outliers below, large topics before small ones.
    order = sorted(
        range(len(places)), key=lambda i: (report.documents[i].topic >= 0, report.documents[i].topic)
    )
    points = "".join(
        f'<circle data-n="{i}" cx="{places[i][0]}" cy="{places[i][1]}" r="{radius:.1f}" '
        f'class="t{_class(report.documents[i].topic)}"/>'
        for i in order
    )
    numbers = "".join(
        '<text x="{:.1f}" y="{:.1f}" dy="-{:.1f}">{}</text>'.format(
            *_middle([places[i] for i in by_topic[topic.topic]]), radius + 9, topic.topic
        )
        for topic in report.topics
        if topic.topic >= 0 and by_topic.get(topic.topic)
    )
    data = {
        "documents": [
            {"k": d.key, "t": d.title, "c": d.topic, "d": f"{d.observed_at:%Y-%m-%d}"}
            for d in report.documents
        ],
        "topics": {str(topic.topic): label(topic, 6) for topic in report.topics},
    }
    sections = "".join(_section(report, topic, by_topic.get(topic.topic, [])) for topic in report.topics)
    style, script = _asset("page.css"), _asset("page.js")
    style += "".join(
        f".t{_class(number)} {{ --c: {colour(number)}; }}\n" for number in range(-1, len(_COLOURS))
    )
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    run = report.run
    about = f"{_headline(report)}. Run {run.run} of {run.made_at:%Y-%m-%d %H:%M}, model {run.model}."
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p>{escape(about)}</p>
</header>
<main>
<figure>
<svg id="map" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="application" tabindex="0" aria-describedby="help"
 aria-label="Documents by likeness">
<g id="points">{points}</g><g id="numbers" aria-hidden="true">{numbers}</g>
</svg>
<div id="tip" role="status" aria-live="polite" hidden></div>
<figcaption id="help">Near points are alike; the axes mean nothing. Point at one, or put the focus here and use
the arrow keys to go from document to document, Page Up and Page Down from topic to topic, Enter to show one topic
alone, Escape to leave.</figcaption>
</figure>
<section id="topics" aria-label="Topics">
<p class="tools">
<label>Find <input id="find" type="search" autocomplete="off" placeholder="a title, key or term"></label>
<button id="all" type="button">Show all topics</button></p>
{sections or "<p>There is no topic.</p>"}
</section>
</main>
<script type="application/json" id="data">{_json(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def _section(report: TopicsReport, topic: Topic, members: list[int]) -> str:
    name = "Outliers" if topic.topic < 0 else f"Topic {topic.topic}"
    share = f"{topic.documents:,} document{'' if topic.documents == 1 else 's'}, {topic.share:.0%}"
    nearest = list(zip(topic.keys, topic.titles, strict=True)) if topic.topic >= 0 else []
    representatives = "".join(f"<li>{escape(title or key)}</li>" for key, title in nearest)
    entries = "".join(
        f'<li><a href="#map" data-n="{i}">{escape(report.documents[i].title or report.documents[i].key)}</a> '
        f"<small>{escape(report.documents[i].key)}</small></li>"
        for i in members
    )
    near = (
        f'<p class="near">Nearest to the centre:</p><ul class="near">{representatives}</ul>'
        if representatives
        else ""
    )
    return (
        f'<article class="t{_class(topic.topic)}" data-topic="{topic.topic}">'
        f'<h2><button type="button" aria-pressed="false" data-topic="{topic.topic}"><i></i>{name}</button> '
        f"<small>{share}</small></h2>"
        f'<p class="terms">{escape(", ".join(topic.terms)) or "no terms"}</p>{near}'
        f"<details><summary>All documents</summary><ul>{entries}</ul></details></article>"
    )


def _class(topic: int) -> str:
    return "x" if topic < 0 else str(topic % len(_COLOURS))


def _json(value: Any) -> str:
    """JSON that ends no element and begins none, whatever stands in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return files("pgsift").joinpath("topic_page", name).read_text("utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
