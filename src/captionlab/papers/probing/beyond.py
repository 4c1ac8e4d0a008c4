"""Beyond the paper: rewards that keep captions readable, what passes from scorer to scorer, how good scorers are."""

from collections.abc import Mapping, Sequence

from captionlab.papers.probing.paper import REFERENCE
from captionlab.papers.probing.run import ProbingRun, Provenance
from captionlab.reporting.builder import Line, Number, columns_of, rows_of
from captionlab.reporting.footnotes import OVER_IMAGES, run_notes
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.runs import Measured, Place, Row
from captionlab.reporting.sheets import PROVENANCE, Sheet
from captionlab.reporting.verdicts import CLOSE


def rewards_table(run: ProbingRun, provenance: Provenance) -> Table:
    """Which rewards raise the score and keep CIDEr and perplexity: a row for each role and scorer that rewarded it."""
    sheet, blocks = Sheet(run, provenance), []
    columns = [Column(head, numeric=False) for head in ("captioner", "reward", "scorer")]
    for group, answered in (("its score", "raised"), ("CIDEr", "kept"), ("perplexity", "kept")):
        columns += [Column("difference", group=group), Column(answered, group=group, numeric=False)]
    rewarded = [(role, scorer) for role in run.roles for scorer in run.rewards.get(role, ())]
    for label, corpus in run.corpora.items():
        rows = []
        for role, scorer in rewarded:
            places = [Place(role, corpus, *what) for what in (("score", scorer), ("CIDEr",), ("perplexity",))]
            score, cider, perplexity = (run.difference(place, REFERENCE) for place in places)
            found = [
                None if score is None else {1: "yes", 0: "cannot tell", -1: "no"}[score.sign],
                kept(cider, run.value(Place(REFERENCE, corpus, "CIDEr")), higher_is_better=True),
                kept(perplexity, run.value(Place(REFERENCE, corpus, "perplexity")), higher_is_better=False),
            ]
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


def kept(difference: Measured | None, reference: Measured | None, higher_is_better: bool) -> str | None:
    """Whether a measure is no worse than the reference by CLOSE: yes, no or cannot tell; None without a measurement."""
    if difference is None or reference is None:
        return None
    margin = CLOSE * abs(reference.value)
    worst, best = difference.ci_low, difference.ci_high
    if not higher_is_better:
        worst, best = -difference.ci_high, -difference.ci_low
    return "yes" if worst >= -margin else "no" if best < -margin else "cannot tell"


def reward_text(objective: Row) -> str:
    """What a captioner was rewarded by, in short; a dash for one that was not."""
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
    """What a scorer's reward does to the scores by others: the differences, and how many of them rise."""

    def mark(place: Place) -> str:
        return " (own)" if place.scorer in run.rewards[place.subject] else ""

    sheet, blocks = Sheet(run, provenance), []
    group = f"score, against {REFERENCE}, by"
    numbers = [Number({"scorer": one}, group, one, against=REFERENCE, mark=mark) for one in run.scorers]
    roles = [role for role in run.roles if role != REFERENCE and run.rewards.get(role)]
    lines = [Line([role, ", ".join(run.rewards[role])], {"subject": role, "measure": "score"}) for role in roles]
    for label, corpus in run.corpora.items():
        rows = rows_of(sheet, None, label, corpus, lines, numbers)
        for role, cells in zip(roles, rows, strict=True):
            others = [Place(role, corpus, "score", one) for one in run.scorers if one not in run.rewards[role]]
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
    """How well each scorer that was trained here tells pairs from strangers: rows of MATCHING by the scorer's label."""
    shown = [(negatives, measure) for negatives in ("random", "hard") for measure in ("accuracy", "ranking")]
    columns = [Column("scorer", numeric=False)]
    columns += [Column(measure, "%", f"{negatives} negatives") for negatives, measure in shown]
    lines, records = [], []
    for scorer, rows in matching.items():
        found = {(row["negatives"], row["measure"]): row for row in rows}
        images = ", ".join(sorted({f"{row['n']}, {row['split']}" for row in rows}))
        lines.append([Cell(scorer), *(_share(found.get(place)) for place in shown), Cell(images)])
        records += [{"scorer": scorer, **row, **{key: provenance.get(key) for key in PROVENANCE}} for row in rows]
    notes = [
        "Accuracy: pairs, half of them matching, on the right side of one half. Ranking: matching captions with a "
        "larger score than a negative of the same image. Hard negatives are captions of an image that is alike.",
        OVER_IMAGES,
        *([] if matching else ["No scorer was trained in this run."]),
    ]
    return Table(
        "probing_matching",
        "Beyond probing: how well the scorers tell pairs from strangers",
        "Each scorer that was trained here, before anything was rewarded by it, on images that it was not trained on.",
        [*columns, Column("images")],
        [Block(lines)] if lines else [],
        records,
        ("scorer", "split", "negatives", "measure", "value", "ci_low", "ci_high", "n", *PROVENANCE),
        [*notes, *run_notes(provenance)],
    )


def _share(row: Row | None) -> Cell:
    if row is None:
        return Cell(MISSING)
    value, *ends = (f"{100 * row[name]:.1f}" for name in ("value", "ci_low", "ci_high"))
    return Cell(value, f"[{', '.join(ends)}]")
