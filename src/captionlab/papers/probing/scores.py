"""Tables 2, 4 and 7 and the numbers of Figures 1 to 4: scores, metrics and statistics beside published numbers.

Further tables go beyond the paper: rewards that keep captions readable, transfer of scores between scorers, and the
quality of scorers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from captionlab.evaluation.summary import LOWER
from captionlab.papers.probing.constructed import FEWEST
from captionlab.papers.probing.roles import REFERENCE
from captionlab.papers.probing.summary import CONNECTED, CONNECTED_BY, EFFECTS, TOP_WORDS
from captionlab.papers.probing.values import ProbingRun
from captionlab.reporting.claims.reading import Provenance
from captionlab.reporting.runs.values import Coordinates, Measured, Row
from captionlab.reporting.tables.best import BETTER
from captionlab.reporting.tables.builder import Line, Number, blocks_of, columns_of, rows_of
from captionlab.reporting.tables.footnotes import OVER_IMAGES
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, interval_cell
from captionlab.reporting.tables.sheets import PROVENANCE, Sheet, table_of
from captionlab.reporting.tables.verdicts import CLOSE

# Measures of words in section 4.3 and appendix A -> headings of their columns.
WORDS = {
    "nouns of the top words": "nouns among the ten most frequent words",
    "verbs of the top words": "verbs among them",
    CONNECTED: "noun phrases that a preposition or verb connects, %",
    **{measure: f'noun phrases that "{word}" connects, %' for word, measure in CONNECTED_BY.items()},
}
# The headings of the paper's Table 2 -> our metrics.
METRICS = {
    "Bleu1": "BLEU@1", "Bleu4": "BLEU@4", "METEOR": "METEOR", "ROUGE": "ROUGE-L", "CIDEr": "CIDEr", "SPICE": "SPICE",
}  # fmt: skip
# The headings of the paper's Table 4 -> our statistics, with their group in that table.
STATISTICS = {
    "PPL": ("perplexity", "sentence level"),
    "Avg. Leng.": ("length", "sentence level"),
    "Noun": ("nouns", "token level"),
    "Uni. Noun": ("distinct nouns", "token level"),
}
# Our shares of captions that follow the paper's patterns -> the headings of the paper's Table 5.
PATTERN_RATIOS = {
    "published prefix": "prefix 1 ratio",
    "published second prefix": "prefix 2 ratio",
    "published pattern": "sentence 1 ratio",
}
ARROWS = {1: " ↑", -1: " ↓", 0: ""}
# Sources of templates, as headings.
SOURCES = {"published": "the paper's templates", "mined": "templates found in the captions of each captioner"}


@dataclass(frozen=True)
class Declared:
    """A table of numbers of each role, or of other lines, on each corpus; `printed` is the paper's table."""

    name: str
    title: str
    description: str
    numbers: Sequence[Number]
    printed: str | None = None
    lines: Sequence[Line] | None = None
    notes: Sequence[str] = ()

    def table(self, run: ProbingRun, provenance: Provenance) -> Table:
        """Return the table, filled with the numbers of the run."""
        sheet = Sheet(run, provenance, notes=[*self.notes])
        lines = [Line([role], {"subject": role}, role) for role in run.roles] if self.lines is None else self.lines
        columns = columns_of(["captioner" if self.lines is None else "scorer"], self.numbers)
        blocks = blocks_of(sheet, self.printed, lines, self.numbers)
        return sheet.table(self.name, self.title, self.description, columns, blocks)


STATISTICS_TABLE = Declared(
    "probing_table4_statistics",
    "Probing, table 4: statistics of the captions",
    "Perplexity (PPL) of a trigram model over all words, mean number of words (Avg. Leng.), of nouns (Noun) and of "
    "different nouns (Uni. Noun) of a caption.",
    [
        *(
            Number({"measure": measure}, group, printed, "this run", printed)
            for printed, (measure, group) in STATISTICS.items()
        ),
        Number({"measure": "repeated nouns"}, "token level", "repeated nouns", "this run"),
    ],
    "4",
)
# Numbers of section 4.3 on Figure 4: nouns and verbs among the most frequent words, and connections of nouns.
WORDS_TABLE = Declared(
    "probing_figure4_words",
    "Probing, figure 4: nouns, verbs and what connects them",
    "How many of the ten most frequent words of each captioner are nouns and verbs, and how often a noun and the "
    "next one of its caption are connected.",
    [
        *(Number({"measure": measure}, WORDS[measure], printed=measure, decimals=2) for measure in TOP_WORDS),
        *(Number({"measure": measure}, WORDS[measure], decimals=1) for measure in (CONNECTED, *CONNECTED_BY.values())),
    ],
    "text",
    notes=[
        "A word is a noun or a verb that is tagged as one at least half of the time. A noun and the next noun of its "
        "caption are connected by what stands between them."
    ],
)


def _following(measure: str, group: str) -> list[Number]:
    """Return the columns of the share of captions that follow a pattern and of its difference from REFERENCE."""
    share = Number({"measure": measure}, group, printed=PATTERN_RATIOS.get(measure))
    return [share, Number({"measure": measure}, group, f"against {REFERENCE}", against=REFERENCE)]


PATTERN_SHARES_TABLE = Declared(
    "probing_figure1_patterns",
    "Probing, figure 1: captions that follow one pattern",
    "Share of captions, in per cent, that follow the most frequent pattern of their captioner to the last word, "
    "that start with the first prefix that the paper prints for the scorer, or else with the second (of ROSITA "
    "alone it prints two), and that follow its sentence pattern.",
    [
        *_following("first pattern", "most frequent pattern"),
        *_following("published prefix", "the paper's prefix"),
        *_following("published second prefix", "the paper's second prefix"),
        *_following("published pattern", "the paper's pattern"),
    ],
    "5",
    notes=[
        f"Against {REFERENCE}: less the share of the captions of {REFERENCE} that follow the paper's pattern for the "
        f"same scorer, or the most frequent pattern of {REFERENCE}."
    ],
)


def score_tables(run: ProbingRun, cosines: Mapping[str, float]) -> list[Declared]:
    """Return Tables 2 and 4, and the numbers of Figures 1 to 4.

    `cosines` maps the label of a scorer whose scores are cosines to the factor between its scores and the cosine.
    """
    of_run = [_scores(run, cosines), _replacements(run), _visual_words(run)]
    return [*of_run, STATISTICS_TABLE, WORDS_TABLE, PATTERN_SHARES_TABLE]


def _scores(run: ProbingRun, cosines: Mapping[str, float]) -> Declared:
    """Return Table 2: every role's captions by every scorer, and their metrics."""

    def arrow(place: Coordinates) -> str:
        apart = run.difference(place, REFERENCE)
        return ARROWS[apart.sign if apart else 0]

    measured = run.found("measure")
    scores = [f"{one}'s scores are {cosines[one]:g} times the cosine" for one in run.scorers if one in cosines]
    return Declared(
        "probing_table2_scores",
        "Probing, table 2: scores and metrics of captioners trained on scorers",
        f"Captions of each captioner by every scorer, and their similarity to references. {REFERENCE} was trained by "
        "cross-entropy, the others by self-critical training on the scorer of their name, or as their name says.",
        [
            *(
                Number({"measure": "score", "scorer": one}, one, "this run", "score", f"score by {one}", mark=arrow)
                for one in run.scorers
            ),
            *(Number({"measure": METRICS[p]}, p, printed=p) for p in METRICS if METRICS[p] in measured),
        ],
        "2",
        notes=[
            *(f"{printed} is not in this run." for printed, metric in METRICS.items() if metric not in measured),
            f"Arrows: the score differs from that of {REFERENCE} and the 95 % interval of the difference leaves out 0. "
            f"{'; '.join(['Scores are probabilities in per cent', *scores])}. Metrics are times 100.",
        ],
    )


def _replacements(run: ProbingRun) -> Declared:
    """Return the numbers of Figure 2: scores with words replaced, at every share, and the drop in scores."""
    numbers = [Number({"subject": REFERENCE}, heading=REFERENCE)]
    for subject, group in (("others", "other words replaced"), ("nouns", "nouns replaced")):
        for share in run.levels("replacement", subject=subject):
            place = {"experiment": "replacement", "subject": subject, "level": share}
            numbers.append(Number(place, group, f"{100 * share:g} %", "score"))
            numbers.append(Number(place, group, "", f"against {REFERENCE}", against=REFERENCE))
    largest = max(run.levels("replacement", subject="nouns"), default=1.0)
    place = {"experiment": "replacement", "subject": "nouns", "level": largest}
    numbers.append(Number(place, "", "nouns against others", "all replaced", against="others"))
    return Declared(
        "probing_figure2_replacements",
        "Probing, figure 2: words replaced",
        f"Scores of {REFERENCE} captions in which a share of the nouns is replaced by wrong ones, or of the other "
        "words by random ones.",
        numbers,
        lines=[Line([scorer], {"measure": "score", "scorer": scorer}) for scorer in run.scorers],
        notes=[
            "Differences are from the very captions whose words are replaced; one without a noun, or without another "
            "word, is left out."
        ],
    )


def _visual_words(run: ProbingRun) -> Declared:
    """Return the numbers of Figure 3: more and more nouns in each scorer's template."""
    counts = run.levels("count")
    made = {"measure": "score", "experiment": "count", "source": next(iter(run.sources()), None)}
    numbers = [Number({"level": count}, f"{count:g} nouns", "score", images=True) for count in counts]
    if len(counts) > 1:
        heading = f"{counts[-1]:g} against {counts[0]:g} nouns"
        numbers.append(Number({"level": counts[-1]}, "", heading, "on the same images", against=FEWEST))
    return Declared(
        "probing_figure3_visual_words",
        "Probing, figure 3: more visual words",
        "What each scorer thinks of its own template with so many nouns.",
        numbers,
        lines=[Line([scorer], {**made, "subject": scorer, "scorer": scorer}) for scorer in run.scorers],
        notes=[
            f"Nouns are those of the {REFERENCE} caption, then those of the references; images that have fewer are "
            "left out, so the counts rest on different images, and the last column on those that have both."
        ],
    )


def templates_table(run: ProbingRun, templates: Mapping[tuple[str, str], str], provenance: Provenance) -> Table:
    """Return Table 7: the nouns of the reference's captions in templates. `templates` are texts by model and source."""
    sheet, blocks = Sheet(run, provenance), []
    for label, corpus in run.corpora.items():
        for source in run.sources():
            lines = [
                Line([scorer, templates.get((scorer, source), MISSING)], {"subject": scorer, "scorer": scorer}, scorer)
                for scorer in run.scorers
            ]
            printed = "7" if source == "published" else None
            rows = rows_of(sheet, printed, label, corpus, lines, _of_templates(source))
            blocks.append(Block(rows, f"{sheet.heading(label)}: {SOURCES[source]}"))
    sheet.notes.append(
        "Difference and preference are from the very captions that the nouns are of, those without a noun left out; "
        "with few nouns a caption ends after the last."
    )
    return sheet.table(
        "probing_table7_templates",
        "Probing, table 7: visual words in templates",
        f"What each scorer thinks of the nouns of {REFERENCE} captions in its own template, against these captions.",
        columns_of(["scorer", "template"], _of_templates("published")),
        blocks,
    )


def _of_templates(source: str) -> list[Number]:
    rebuilt = {"experiment": "template", "source": source}
    score = {**rebuilt, "measure": "score"}
    return [
        Number({"subject": REFERENCE, "measure": "score"}, REFERENCE, printed="CE"),
        Number(score, "reconstructed", printed="Recons."),
        Number(score, heading="difference", against=REFERENCE),
        Number({**rebuilt, "measure": "preferred"}, heading=f"preferred to {REFERENCE}, %"),
    ]


def rewards_table(run: ProbingRun, provenance: Provenance) -> Table:
    """Return the table that says whether each reward raises the score and keeps CIDEr and perplexity.

    There is a row for each role and each scorer that rewarded it.
    """
    sheet, blocks = Sheet(run, provenance), []
    columns = [Column(head, numeric=False) for head in ("captioner", "reward", "scorer")]
    for group, answered in (("its score", "raised"), ("CIDEr", "kept"), ("perplexity", "kept")):
        columns += [Column("difference", group=group), Column(answered, group=group, numeric=False)]
    rewarded = [(role, scorer) for role in run.roles for scorer in run.rewards.get(role, ())]
    for label, corpus in run.corpora.items():
        rows = []
        of_reference = [run.value(Coordinates(REFERENCE, corpus, measure)) for measure in ("CIDEr", "perplexity")]
        for role, scorer in rewarded:
            places = [Coordinates(role, corpus, *what) for what in (("score", scorer), ("CIDEr",), ("perplexity",))]
            score, *others = (run.difference(place, REFERENCE) for place in places)
            found = [None if score is None else {1: "yes", 0: "cannot tell", -1: "no"}[score.sign]]
            found += map(kept, others, of_reference, (True, False))
            row = [Cell(role), Cell(reward_text(run.objectives.get(role, {}))), Cell(scorer)]
            for place, answer in zip(places, found, strict=True):
                row += [sheet.difference(place, REFERENCE), Cell(answer or MISSING)]
            together = "no" if "no" in found else "yes" if {*found} == {"yes"} else "cannot tell"
            rows.append([*row, Cell(together)])
        if rows:
            blocks.append(Block(rows, sheet.heading(label)))
    sheet.notes.append(
        f"Differences are from {REFERENCE}. Raised: the interval of the difference lies above 0. Kept: the whole "
        f"interval is no worse than {100 * CLOSE:.0f} % of the value of {REFERENCE}; not kept: the interval is on the "
        "worse side of that; else the run cannot tell."
    )
    return sheet.table(
        "probing_rewards",
        "Beyond probing: which rewards keep captions readable",
        "Whether a reward raises the score that it is made of and keeps CIDEr and perplexity.",
        [*columns, Column("all three", numeric=False)],
        blocks,
    )


def effects_table(run: ProbingRun, encoders: Mapping[str, Sequence[str]], provenance: Provenance) -> Table:
    """Return the table of metrics that the paper does not have, with a row for each role and differences from CE.

    `encoders` maps a role to the encoders that rewarded it.
    """

    def own(place: Coordinates) -> str:
        return " (own)" if place.scorer in encoders[place.subject] else ""

    sheet, measured = Sheet(run, provenance), run.found("measure")
    numbers: list[Number] = []
    for measure, heading in EFFECTS.items():
        for scorer in run.found("scorer", measure=measure) or [None] if measure in measured else []:
            place, group = {"measure": measure, "scorer": scorer}, f"{heading} by {scorer}" if scorer else heading
            numbers += [Number(place, group, mark=own), Number(place, group, f"against {REFERENCE}", against=REFERENCE)]
    lines = [Line([role, reward_text(run.objectives.get(role, {}))], {"subject": role}) for role in run.roles]
    lower = [heading for measure, heading in EFFECTS.items() if measure in measured and BETTER.get(measure) == LOWER]
    if lower:
        sheet.notes.append(f"Better when lower: {', '.join(lower)}.")
    return sheet.table(
        "probing_effects",
        "Beyond probing: what each reward does to what captions are worth",
        "CLIPScore and its kin, objects that are not there, variety and novelty of captions, each with the difference "
        f"from {REFERENCE}.",
        columns_of(["captioner", "reward"], numbers),
        blocks_of(sheet, None, lines, numbers),
    )


def kept(difference: Measured | None, reference: Measured | None, higher_is_better: bool) -> str | None:
    """Return whether a measure is worse than the reference by at most CLOSE: yes, no or cannot tell.

    Returns None if a value is missing.
    """
    if difference is None or reference is None:
        return None
    margin, better = CLOSE * abs(reference.value), difference if higher_is_better else -difference
    return "yes" if better.ci_low >= -margin else "no" if better.ci_high < -margin else "cannot tell"


def reward_text(objective: Row) -> str:
    """Return the reward of a captioner in short form, a dash if it has none."""
    if "reward" not in objective:
        return MISSING
    text = _reward(objective["reward"])
    return f"{text}, KL {objective['kl']:g}" if objective.get("kl") else text


def _reward(reward: Row) -> str:
    parts = reward.get("of", [])
    if reward["kind"] == "sum":
        return " + ".join(f"{part['weight']:g} x {_reward(part['reward'])}" for part in parts)
    if reward["kind"] == "alternate":
        return " in turn with ".join(_reward(part) for part in parts)
    return str(reward.get("scorer", reward.get("retriever", reward["kind"])))


def generalisation_table(run: ProbingRun, provenance: Provenance) -> Table:
    """Return the table of how a scorer's reward changes scores by other scorers, with the number that rise."""

    def mark(place: Coordinates) -> str:
        return " (own)" if place.scorer in run.rewards[place.subject] else ""

    sheet, blocks = Sheet(run, provenance), []
    group = f"score, against {REFERENCE}, by"
    numbers = [Number({"scorer": one}, group, one, against=REFERENCE, mark=mark) for one in run.scorers]
    roles = [role for role in run.roles if role != REFERENCE and run.rewards.get(role)]
    lines = [Line([role, ", ".join(run.rewards[role])], {"subject": role, "measure": "score"}) for role in roles]
    for label, corpus in run.corpora.items():
        rows = rows_of(sheet, None, label, corpus, lines, numbers)
        for role, cells in zip(roles, rows, strict=True):
            others = [Coordinates(role, corpus, "score", one) for one in run.scorers if one not in run.rewards[role]]
            signs = [apart.sign for place in others if (apart := run.difference(place, REFERENCE))]
            cells.append(Cell(f"{sum(sign > 0 for sign in signs)} of {len(signs)}" if signs else MISSING))
        if rows:
            blocks.append(Block(rows, sheet.heading(label)))
    sheet.notes.append("Raised: the 95 % interval of the difference lies above 0.")
    raised = Column("raised", group="scorers that it was not trained on")
    return sheet.table(
        "probing_generalisation",
        "Beyond probing: what passes from scorer to scorer",
        "How captions that were trained on one scorer, or several, do by the other scorers.",
        [*columns_of(["captioner", "trained on"], numbers), raised],
        blocks,
    )


def matching_table(matching: Mapping[str, Sequence[Row]], provenance: Provenance) -> Table:
    """Return the table of how well each scorer tells matching pairs from others.

    `matching` maps the scorer's label to its rows of MATCHING.
    """
    shown = [(negatives, measure) for negatives in ("random", "hard") for measure in ("accuracy", "ranking")]
    columns = [Column("scorer", numeric=False)]
    columns += [Column(measure, "%", f"{negatives} negatives") for negatives, measure in shown]
    lines, records = [], []
    for scorer, rows in matching.items():
        ends = ([100 * row[name] for name in ("value", "ci_low", "ci_high")] for row in rows)
        places = ((row["negatives"], row["measure"]) for row in rows)
        found = {place: interval_cell(of, ".1f") for place, of in zip(places, ends, strict=True)}
        images = ", ".join(sorted({f"{row['n']}, {row['split']}" for row in rows}))
        lines.append([Cell(scorer), *(found.get(place, Cell(MISSING)) for place in shown), Cell(images)])
        records += [{"scorer": scorer, **row} for row in rows]
    notes = [
        "Accuracy: pairs, half of them matching, on the right side of one half. Ranking: matching captions with a "
        "larger score than a negative of the same image. Hard negatives are captions of an image that is alike.",
        OVER_IMAGES,
        *([] if matching else ["No scorer was trained in this run."]),
    ]
    return table_of(
        "probing_matching",
        "Beyond probing: how well the scorers tell pairs from strangers",
        "Each scorer that was trained here or in another run, on images that it was not trained on.",
        [*columns, Column("images")],
        [Block(lines)] if lines else [],
        records,
        ("scorer", "split", "negatives", "measure", "value", "ci_low", "ci_high", "n", *PROVENANCE),
        notes,
        provenance,
    )
