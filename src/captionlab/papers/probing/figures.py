"""Figures 1 to 4: sentence patterns, replaced words, more visual words, and the most frequent words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle

from captionlab.language.mining import chunks_of
from captionlab.language.patterns import Tagged, compiled, tagged
from captionlab.language.schemas import NGRAMS, PATTERNS
from captionlab.language.statistics import mostly_tagged
from captionlab.papers.probing.roles import REFERENCE
from captionlab.papers.probing.values import ProbingRun, read_run
from captionlab.reporting.claims.reading import Rows, read_by
from captionlab.reporting.runs.values import Coordinates, Measured, Row
from captionlab.reporting.tables.boards import GREY, Board, words
from captionlab.reporting.tables.figures import (
    FAINT,
    Draw,
    Look,
    Style,
    bars,
    legend,
    line,
    looks,
    panels,
    side_by_side,
    text_width,
)
from captionlab.storage.schemas import TAGGED
from captionlab.texts.tagging import NOUNS

Captions = Mapping[str, Sequence[Tagged]]
# The measures of Figure 1.
MEASURES = {
    "first pattern": "most frequent pattern found in the captions",
    "published pattern": "paper's pattern of that scorer",
}
TOP = 10
# Maximum and minimum number of words of the caption in Figure 1: enough for a repetition, and few enough for a page.
LONGEST = 14
SHORTEST = 5
# Distances in Figure 1, in inches: between the rows of the analysed caption, and between words.
ROW, BETWEEN = 0.2, 0.08
# Hatches of the bars of Figure 1, and styles of words in Figure 4.
PATTERNED: Sequence[dict[str, Any]] = ({"hatch": ""}, {"hatch": "/////"})
_NOUN, _OTHER = {"alpha": 1.0}, {"alpha": 0.5, "hatch": "/////"}
# The role whose caption is analysed in Figure 1 of the paper.
TAKEN_APART = "ROSITA"
# Factor of CLIP's scores in Figure 3, as in CLIPScore (Hessel et al. 2021).
CLIPSCORE = 2.5
# The words that are replaced in the captions of Figure 2.
REPLACED = {"others": "other words replaced", "nouns": "nouns replaced"}


def drawings(inputs: Row, params: Row, style: Style) -> dict[str, Draw]:
    """Return every figure of the paper on the first corpus, as functions of the width in inches."""
    run, roles, cosines = read_run(inputs, params), params["roles"], params["cosines"]
    corpus = next(iter(run.corpora.values()))
    patterns, unigrams = read_by(roles, inputs["patterns"], PATTERNS), read_by(roles, inputs["unigrams"], NGRAMS)
    captions = {
        role: [tagged(row["words"], row["tags"]) for row in rows if row["corpus"] == corpus]
        for role, rows in read_by(roles, inputs["tags"], TAGGED).items()
    }
    # A scorer has the look of the captioner that it rewarded.
    of = looks(style, [REFERENCE, *run.roles, *run.scorers])
    return {
        "probing_figure1_patterns": partial(draw_patterns, run, patterns, captions, corpus, of, style),
        "probing_figure2_replacements": partial(draw_replacements, run, corpus, cosines, of, style),
        "probing_figure3_visual_words": partial(draw_visual_words, run, corpus, cosines, of, style),
        "probing_figure4_unigrams": partial(draw_unigrams, run, unigrams, captions, corpus, of, style),
    }


def draw_patterns(
    run: ProbingRun,
    patterns: Mapping[str, Rows],
    captions: Captions,
    corpus: str,
    of: Mapping[str, Look],
    style: Style,
    width: float,
) -> Figure:
    """Draw Figure 1: a caption with its tags, phrases and pattern; below, the share of captions that follow a pattern.

    `patterns` are rows of PATTERNS, `captions` the tagged captions on the corpus, of the first training of each role.
    The caption is the first one of readable length that follows the most frequent pattern of ROSITA's role, as in the
    paper. If there is no such role, the role other than CE with the largest share of its most frequent pattern is used.
    """
    mined = {
        role: row
        for role, rows in patterns.items()
        for row in rows
        if (row["corpus"], row["source"], row["role"], row["rank"]) == (corpus, "mined", "sentence", 1)
    }
    board, y = Board(width), 0.05
    candidates = [role for role in mined if role != REFERENCE] or list(mined)
    if candidates:
        role = max(candidates, key=lambda name: (name == TAKEN_APART, mined[name]["whole"]))
        pattern = mined[role]["pattern"]
        following = [caption for caption in captions[role] if compiled(pattern).follows(caption).whole]
        readable = (caption for caption in following if SHORTEST <= len(caption) <= LONGEST)
        y = _take_apart(board, next(readable, following[0][:LONGEST]), role, pattern, style)
    left, above, high, below = 0.5, 0.4, 1.3, 0.4  # margins and height of the panel, in inches
    height = y + above + high + below
    figure = board.finish(height)
    axis = figure.add_axes((left / width, below / height, 1 - (left + 0.05) / width, high / height))
    for shift, kind, measure in zip(side_by_side(2), PATTERNED, MEASURES, strict=True):
        for x, role in enumerate(run.roles):
            found = run.value(Coordinates(role, corpus, measure))
            drawn = bars(axis, {x + shift: found}, 0.38, MEASURES[measure], replace(of[role], **kind))
            # If no caption follows the pattern, the label 0 shows that the value is not missing.
            axis.bar_label(drawn, fmt=_share, fontsize=style.small_size, padding=1)
    axis.set_xticks(range(len(run.roles)), run.roles, rotation=30 if len(run.roles) * 0.5 > width else 0)
    axis.set(ylabel="captions (%)", ylim=(0, 112), yticks=range(0, 101, 25), xlim=(-0.5, len(run.roles) - 0.5))
    axis.legend(_keys(PATTERNED), MEASURES.values(), loc="lower left", bbox_to_anchor=(0, 1.02), borderpad=0)
    return figure


def draw_replacements(
    run: ProbingRun, corpus: str, cosines: Mapping[str, float], of: Mapping[str, Look], style: Style, width: float
) -> Figure:
    """Draw Figure 2: scores of captions, with other words replaced, and with nouns replaced; below, at every share.

    Scorers with another unit have a panel and a scale of their own. `cosines` maps the label of a scorer whose scores
    are cosines to the factor between its scores and the cosine.
    """
    shares, units = run.levels("replacement"), {scorer: _unit(scorer, cosines, 1.0) for scorer in run.scorers}
    several, of_kinds = len(shares) > 1, looks(style, [REFERENCE, *REPLACED], "kinds")
    columns = len(run.scorers) if width > 5 else 3
    rows = -(-len(run.scorers) // columns) if several else 0
    figure = plt.figure(figsize=(width, 2.3 + 1.6 * rows))
    grid = figure.add_gridspec(1 + rows, 1, height_ratios=[2.0, *[1.5] * rows])
    drawn = {REFERENCE: (f"{REFERENCE} captions", of[REFERENCE])}
    drawn |= {kind: (label, of_kinds[kind]) for kind, label in REPLACED.items()}
    for scores, unit, scorers in _unit_panels(figure, grid[0], units):
        for shift, (subject, (label, look)) in zip(side_by_side(len(drawn)), drawn.items(), strict=True):
            places = [_replaced(subject, corpus, scorer, max(shares, default=1.0)) for scorer in scorers]
            bars(scores, {x + shift: run.value(place) for x, place in enumerate(places)}, 0.25, label, look)
        if all(bar.get_bbox().ymin >= 0 for bar in scores.patches if isinstance(bar, Rectangle)):
            scores.set_ylim(bottom=0)  # even if the interval over two trainings is as wide as the figure
        scores.set_xticks(range(len(scorers)), scorers)
        scores.set(ylabel=f"matching score ({unit})", xlim=(-0.6, len(scorers) - 0.4))
    legend(figure, style, *figure.axes[0].get_legend_handles_labels())
    panels_below = [grid[1 + row].subgridspec(1, columns) for row in range(rows)]
    first: dict[str, Axes] = {}
    for index, scorer in enumerate(run.scorers if several else ()):
        unit = units[scorer]
        axis = figure.add_subplot(panels_below[index // columns][index % columns], sharey=first.get(unit))
        first.setdefault(unit, axis)
        for subject, label in REPLACED.items():
            of_shares = [(share, _replaced(subject, corpus, scorer, share)) for share in shares]
            points = {100 * share: run.difference(place, REFERENCE) for share, place in of_shares}
            line(axis, points, label, of_kinds[subject])
        axis.axhline(0.0, **FAINT)
        axis.set(title=scorer, xlim=(0, 108), xticks=(0, 50, 100))
        if index % columns == 0 or unit != units[run.scorers[index - 1]]:
            axis.set_ylabel(f"minus {REFERENCE}'s ({unit})")
    if several:
        figure.supxlabel(f"words replaced (%); above: {100 * max(shares):g} %")
    return figure


def draw_visual_words(
    run: ProbingRun, corpus: str, cosines: Mapping[str, float], of: Mapping[str, Look], style: Style, width: float
) -> Figure:
    """Draw Figure 3: scores of captions with more and more nouns, each in its scorer's own template.

    Scorers with another unit have a panel and a scale of their own. `cosines` maps the label of a scorer whose scores
    are cosines to the factor between its scores and the cosine. These scores become the paper's, CLIPSCORE times 100
    times the cosine, whatever the factor is.
    """
    source, counts = next(iter(run.sources()), None), run.levels("count")
    factors = {name: 100 * CLIPSCORE / cosines[name] if name in cosines else 1.0 for name in run.scorers}
    units = {scorer: _unit(scorer, cosines, factor) for scorer, factor in factors.items()}
    figure = plt.figure(figsize=(width, 2.6))
    for axis, unit, scorers in _unit_panels(figure, figure.add_gridspec(1, 1)[0], units, least=2):
        for shift, scorer in zip(side_by_side(len(scorers), 0.2), scorers, strict=True):
            place = Coordinates(scorer, corpus, "score", scorer, "count", source)
            numbers = {count + shift: run.value(replace(place, level=count)) for count in counts}
            points = {x: _times(factors[scorer], number) for x, number in numbers.items()}
            line(axis, points, scorer, of[scorer])
        axis.set_xticks(counts, [f"{count:g}" for count in counts])
        axis.set_ylabel(f"matching score ({unit})")
    figure.supxlabel("nouns in the caption", fontsize="medium")
    drawn = [axis.get_legend_handles_labels() for axis in figure.axes]
    handles, labels = chain(*(pair[0] for pair in drawn)), chain(*(pair[1] for pair in drawn))
    legend(figure, style, [*handles], [*labels])
    return figure


def _unit_panels(
    figure: Figure, cell: SubplotSpec, units: Mapping[str, str], least: int = 1
) -> Iterator[tuple[Axes, str, list[str]]]:
    """Yield a panel for each unit in a cell of a figure, with the unit and its scorers; `units` maps scorers to units.

    A panel is as wide as its scorers need, but not narrower than `least` scorers do.
    """
    groups: dict[str, list[str]] = {}
    for scorer, unit in units.items():
        groups.setdefault(unit, []).append(scorer)
    if groups:
        ratios = [max(least, len(scorers)) + 0.2 for scorers in groups.values()]
        row = cell.subgridspec(1, len(groups), width_ratios=ratios)
        for index, (unit, scorers) in enumerate(groups.items()):
            yield figure.add_subplot(row[index]), unit, scorers


def draw_unigrams(
    run: ProbingRun,
    unigrams: Mapping[str, Rows],
    captions: Captions,
    corpus: str,
    of: Mapping[str, Look],
    style: Style,
    width: float,
) -> Figure:
    """Draw Figure 4: the most frequent words of each role, with nouns filled and other words hatched."""
    roles = sorted((role for role in run.roles if role in unigrams), key=lambda role: role != REFERENCE)
    figure, axes = panels(len(roles), width, 1.75, 1.6, sharex=True)
    for axis, role in zip(axes, roles, strict=True):
        found = [row for row in unigrams[role] if (row["corpus"], row["unit"], row["n"]) == (corpus, "word", 1)]
        top = sorted((row for row in found if row["rank"] <= TOP), key=lambda row: -row["rank"])
        nouns = mostly_tagged(captions[role], NOUNS)
        for label, kind, are_nouns in (("nouns", _NOUN, True), ("other words", _OTHER, False)):
            places = [place for place, row in enumerate(top) if (row["ngram"] in nouns) == are_nouns]
            drawn = {"color": of[role].colour, "linewidth": 0, "edgecolor": "white", **kind}
            axis.barh(places, [100 * top[place]["share"] for place in places], 0.75, label=label, **drawn)
        axis.set_yticks(range(len(top)), [row["ngram"] for row in top])
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(len(top) - TOP - 0.5, len(top) - 0.5)  # the same thickness of bars if there are fewer words
        axis.set_title(role)
    legend(figure, style, _keys((_NOUN, _OTHER)), ["nouns", "other words"])
    figure.supxlabel("share of all words (%)")
    return figure


def _keys(kinds: Iterable[Mapping[str, Any]]) -> list[Patch]:
    """Return legend keys for kinds that do not differ in colour."""
    return [Patch(facecolor="#666666", edgecolor="white", linewidth=0, **kind) for kind in kinds]


def _replaced(subject: str, corpus: str, scorer: str, share: float) -> Coordinates:
    if subject == REFERENCE:
        return Coordinates(REFERENCE, corpus, "score", scorer)
    return Coordinates(subject, corpus, "score", scorer, "replacement", level=share)


def _unit(scorer: str, cosines: Mapping[str, float], factor: float) -> str:
    """Return the unit of a scorer's scores times a factor: per cent of a probability, or multiples of a cosine."""
    return f"{factor * cosines[scorer]:g} cos" if scorer in cosines else "%"


def _times(factor: float, number: Measured | None) -> Measured | None:
    """Return a number with its interval times a factor."""
    if number is None:
        return None
    return replace(number, value=factor * number.value, ci_low=factor * number.ci_low, ci_high=factor * number.ci_high)


def _share(value: float) -> str:
    """Return a share of captions in per cent; a share above 0 is never shown as 0."""
    return "<1" if 0 < value < 0.5 else f"{value:.0f}"


def _take_apart(board: Board, caption: Tagged, role: str, pattern: str, style: Style) -> float:
    """Draw the words, tags and phrases of a caption above each other, and its pattern below; return the lower edge.

    The caption takes as many lines as needed.
    """
    size, left, y = style.small_size, 0.62, 0.05
    x, colours = left, {"NOUN.P": "#56B4E955", "other": "#99999955"}
    for chunk in chunks_of(caption):
        wide = [max(text_width(part, size) for part in pair) + BETWEEN for pair in chunk.piece]
        long = max(sum(wide), text_width(chunk.kind, size) + BETWEEN)
        if x > left and x + long > board.width - BETWEEN:
            x, y = left, y + 3.6 * ROW
        if x == left:
            for row, name in enumerate(("caption", "tags", "phrases")):
                board.label(name, 0.05, y + (row + 0.5) * ROW, size, ha="left", color="#555555")
        place = x + (long - sum(wide)) / 2
        for (word, tag), of_word in zip(chunk.piece, wide, strict=True):
            board.label(word, place + of_word / 2, y + 0.5 * ROW, size)
            board.label(tag, place + of_word / 2, y + 1.5 * ROW, size, color="#555555")
            place += of_word
        box = FancyBboxPatch(
            (x + 0.02, y + 2.1 * ROW), long - 0.04, 0.8 * ROW, boxstyle="round,pad=0,rounding_size=0.03"
        )
        box.set(facecolor=colours.get(chunk.kind, colours["other"]), edgecolor="none")
        board.axis.add_patch(box)
        board.label(chunk.kind, x + long / 2, y + 2.5 * ROW, size)
        x += long
    y += 3.3 * ROW
    board.write(words("pattern", GREY), 0.05, y, left, size)
    y = board.write(words(pattern.replace("+", " + ")), left, y, board.width - left - BETWEEN, size)
    return board.write(words(f"A caption by the captioner {role}.", GREY), left, y, board.width - left, size)
