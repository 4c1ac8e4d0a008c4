"""Figures 1 to 4: how a pattern is summed up, replaced words, more visual words, and the most frequent words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from captionlab.language.mining import chunks_of
from captionlab.language.patterns import Tagged, compiled, tagged
from captionlab.language.schemas import NGRAMS, PATTERNS
from captionlab.language.statistics import mostly_tagged
from captionlab.papers.probing.paper import REFERENCE
from captionlab.papers.probing.run import ProbingRun, read_run
from captionlab.reporting.figures import ABOVE, Style, bars, colour_of, line, look, panels, save
from captionlab.reporting.reading import Rows, read_by
from captionlab.reporting.runs import Place, Row
from captionlab.schemas import TAGGED
from captionlab.texts.tagging import NOUNS

Captions = Mapping[str, Sequence[Tagged]]
# The measures of Figure 1.
MEASURES = {
    "first pattern": "most frequent pattern found in the captions",
    "published pattern": "paper's pattern of that scorer",
}
TOP = 10
# Words of the caption that Figure 1 takes apart: enough for a repetition, and few enough for a page.
LONGEST = 14
SHORTEST = 5


def plot(inputs: Row, params: Row, style: Style, paths: Mapping[str, str]) -> None:
    """Every figure of the paper, on the first corpus."""
    run, roles = read_run(inputs, params), params["roles"]
    corpus = next(iter(run.corpora.values()))
    patterns, unigrams = read_by(roles, inputs["patterns"], PATTERNS), read_by(roles, inputs["unigrams"], NGRAMS)
    captions = {
        role: [tagged(row["words"], row["tags"]) for row in rows if row["corpus"] == corpus]
        for role, rows in read_by(roles, inputs["tags"], TAGGED).items()
    }
    of = {name.removeprefix("probing_"): path for name, path in paths.items()}
    with plt.rc_context(look(style)):
        plot_patterns(run, patterns, captions, corpus, style, of["figure1_patterns"])
        plot_replacements(run, corpus, style, of["figure2_replacements"])
        plot_visual_words(run, corpus, style, of["figure3_visual_words"])
        plot_unigrams(run, unigrams, captions, corpus, style, of["figure4_unigrams"])


def plot_patterns(
    run: ProbingRun, patterns: Mapping[str, Rows], captions: Captions, corpus: str, style: Style, path: str
) -> None:
    """Figure 1: a caption, its tags, its phrases and its pattern; below, how many captions follow one pattern.

    patterns: rows of PATTERNS, and captions: tagged captions on the corpus, of the first training of each role. The
    caption is the first, of readable length, that follows the pattern with the largest share of all roles but CE.
    """
    mined = {
        role: row
        for role, rows in patterns.items()
        for row in rows
        if (row["corpus"], row["source"], row["role"], row["rank"]) == (corpus, "mined", "sentence", 1)
    }
    figure, (above, below) = plt.subplots(2, 1, figsize=(7.5, 4.6))
    above.set_axis_off()
    candidates = [role for role in mined if role != REFERENCE] or list(mined)
    if candidates:
        role = max(candidates, key=lambda name: mined[name]["whole"])
        pattern = mined[role]["pattern"]
        following = [caption for caption in captions[role] if compiled(pattern).follows(caption).whole]
        readable = (caption for caption in following if SHORTEST <= len(caption) <= LONGEST)
        _take_apart(above, next(readable, following[0][:LONGEST]), pattern, style)
        above.set_title(f"a caption by the captioner {role}, and its pattern", loc="left")
    for index, (measure, label) in enumerate(MEASURES.items()):
        points = {x + (index - 0.5) * 0.4: run.value(Place(role, corpus, measure)) for x, role in enumerate(run.roles)}
        bars(below, points, 0.38, label, colour_of(style, index))
    below.set_xticks(range(len(run.roles)), run.roles, rotation=15 if len(run.roles) > 6 else 0)
    below.set(ylabel="captions that follow it (%)", ylim=(0, 100))
    below.legend(ncols=2, **ABOVE)
    save(figure, path, style)


def plot_replacements(run: ProbingRun, corpus: str, style: Style, path: str) -> None:
    """Figure 2: scores of the captions, with other words replaced, with nouns replaced; below, at every share."""
    shares = run.levels("replacement")
    several = len(shares) > 1
    figure = plt.figure(figsize=(7.5, 5.0 if several else 2.8))
    grid = figure.add_gridspec(2 if several else 1, len(run.scorers))
    scores = figure.add_subplot(grid[0, :])
    kinds = {REFERENCE: f"{REFERENCE} captions", "others": "other words replaced", "nouns": "nouns replaced"}
    for index, (subject, label) in enumerate(kinds.items()):
        places = [_replaced(subject, corpus, scorer, max(shares, default=1.0)) for scorer in run.scorers]
        points = {x + (index - 1) * 0.27: run.value(place) for x, place in enumerate(places)}
        bars(scores, points, 0.25, label, colour_of(style, index))
    if all(bar.get_bbox().ymin >= 0 for bar in scores.patches if isinstance(bar, Rectangle)):
        scores.set_ylim(bottom=0)  # also where two trainings make an interval as wide as the figure
    scores.set_xticks(range(len(run.scorers)), run.scorers)
    scores.set_ylabel("score (%)")
    scores.legend(ncols=3, **ABOVE)
    for column, scorer in enumerate(run.scorers if several else ()):
        axis = figure.add_subplot(grid[1, column])
        for index, subject in enumerate(("others", "nouns"), 1):
            of_shares = [(share, _replaced(subject, corpus, scorer, share)) for share in shares]
            points = {100 * share: run.difference(place, REFERENCE) for share, place in of_shares}
            line(axis, points, kinds[subject], colour_of(style, index))
        axis.axhline(0.0, color="#888888", linewidth=0.6)
        axis.set(title=scorer, xlabel="replaced (%)", xlim=(0, 108))
        if column == 0:
            axis.set_ylabel(f"score against {REFERENCE}")
    save(figure, path, style)


def plot_visual_words(run: ProbingRun, corpus: str, style: Style, path: str) -> None:
    """Figure 3: scores of captions with more and more nouns, each scorer's in its own template."""
    source = next(iter(run.sources()), None)
    counts = run.levels("count")
    figure, axis = plt.subplots(figsize=(5.0, 3.2))
    for index, scorer in enumerate(run.scorers):
        place = Place(scorer, corpus, "score", scorer, "count", source)
        points = {count + (index - 2) * 0.04: run.value(replace(place, level=count)) for count in counts}
        line(axis, points, scorer, colour_of(style, index))
    axis.set_xticks(counts, [f"{count:g}" for count in counts])
    axis.set(xlabel="nouns in the caption", ylabel="score (%)")
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(figure, path, style)


def plot_unigrams(
    run: ProbingRun, unigrams: Mapping[str, Rows], captions: Captions, corpus: str, style: Style, path: str
) -> None:
    """Figure 4: the most frequent words of each role, nouns in another colour."""
    roles = sorted((role for role in run.roles if role in unigrams), key=lambda role: role != REFERENCE)
    figure, axes = panels(len(roles), 3, 7.5, 2.3)
    for axis, role in zip(axes, roles, strict=True):
        words = [row for row in unigrams[role] if (row["corpus"], row["unit"], row["n"]) == (corpus, "word", 1)]
        top = sorted((row for row in words if row["rank"] <= TOP), key=lambda row: -row["rank"])
        nouns = mostly_tagged(captions[role], NOUNS)
        colours = [colour_of(style, 1 if row["ngram"] in nouns else 6) for row in top]
        axis.barh(range(len(top)), [100 * row["share"] for row in top], color=colours, height=0.75)
        axis.set_yticks(range(len(top)), [row["ngram"] for row in top])
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(len(top) - TOP - 0.5, len(top) - 0.5)  # bars as thick where there are fewer words
        axis.set_title(role)
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour_of(style, index)) for index in (1, 6)]
    figure.legend(handles, ["nouns", "other words"], loc="outside upper center", ncols=2)
    figure.supxlabel("share of all words (%)")
    save(figure, path, style)


def _replaced(subject: str, corpus: str, scorer: str, share: float) -> Place:
    if subject == REFERENCE:
        return Place(REFERENCE, corpus, "score", scorer)
    return Place(subject, corpus, "score", scorer, "replacement", level=share)


def _take_apart(axis: Axes, caption: Tagged, pattern: str, style: Style) -> None:
    """Words, tags and phrases of a caption above each other, and its pattern below."""
    widths = [max(len(word), len(tag)) + 2 for word, tag in caption]
    starts = [sum(widths[:place]) for place in range(len(widths))]
    axis.set(xlim=(-12, sum(widths)), ylim=(0, 4))
    for name, height in (("caption", 3.5), ("tags", 2.6), ("phrases", 1.7), ("pattern", 0.6)):
        axis.text(-0.5, height, name, ha="right", va="center", color="#666666")
    for (word, tag), start, width in zip(caption, starts, widths, strict=True):
        axis.text(start + width / 2, 3.5, word, ha="center", va="center")
        axis.text(start + width / 2, 2.6, tag, ha="center", va="center", fontsize="x-small", color="#444444")
    place = 0
    for chunk in chunks_of(caption):
        first, last = place, place + len(chunk.words) - 1
        left, right = starts[first] + 0.3, starts[last] + widths[last] - 0.3
        colour = colour_of(style, 0 if chunk.kind == "NOUN.P" else 6)
        box = FancyBboxPatch((left, 1.35), right - left, 0.7, boxstyle="round,pad=0,rounding_size=0.3", alpha=0.35)
        box.set(facecolor=colour, edgecolor="none")
        axis.add_patch(box)
        axis.text((left + right) / 2, 1.7, chunk.kind, ha="center", va="center", fontsize="small")
        place = last + 1
    axis.text(0.0, 0.6, pattern, ha="left", va="center", family="monospace")
