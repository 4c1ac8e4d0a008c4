"""Beyond the paper: rewards that keep captions readable, what passes from scorer to scorer, how good scorers are."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.papers.probing.paper import REFERENCE
from captionlab.papers.probing.run import ProbingRun
from captionlab.reporting.footnotes import OVER_IMAGES, run_notes
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.runs import Measured, Place
from captionlab.reporting.sheets import PROVENANCE, Sheet
from captionlab.reporting.verdicts import CLOSE


def rewards_table(run: ProbingRun, provenance: Mapping[str, Any]) -> Table:
    """Which rewards raise the score and keep CIDEr and perplexity: a row for each role and scorer that rewarded it."""
    sheet = Sheet(run, provenance)
    columns = [
        Column("captioner", numeric=False),
        Column("reward", numeric=False),
        Column("scorer", numeric=False),
        Column("difference", group="its score"),
        Column("raised", group="its score", numeric=False),
        Column("difference", group="CIDEr"),
        Column("kept", group="CIDEr", numeric=False),
        Column("difference", group="perplexity"),
        Column("kept", group="perplexity", numeric=False),
        Column("all three", numeric=False),
    ]
    blocks = []
    for label, corpus in run.corpora.items():
        rows = []
        for role in run.roles:
            for scorer in run.rewards.get(role, ()):
                places = [
                    Place(role, corpus, "score", scorer),
                    Place(role, corpus, "CIDEr"),
                    Place(role, corpus, "perplexity"),
                ]
                score, cider, perplexity = (run.difference(place, REFERENCE) for place in places)
                found = [
                    None if score is None else {1: "yes", 0: "cannot tell", -1: "no"}[score.sign],
                    kept(cider, run.value(Place(REFERENCE, corpus, "CIDEr")), higher_is_better=True),
                    kept(perplexity, run.value(Place(REFERENCE, corpus, "perplexity")), higher_is_better=False),
                ]
                answers = [answer or MISSING for answer in found]
                together = "no" if "no" in answers else "yes" if set(answers) == {"yes"} else "cannot tell"
                cells = [
                    cell
                    for place, answer in zip(places, answers, strict=True)
                    for cell in (sheet.difference(place, REFERENCE), Cell(answer))
                ]
                rows.append(
                    [Cell(role), Cell(reward_text(run.objectives.get(role, {}))), Cell(scorer), *cells, Cell(together)]
                )
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
        columns,
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


def reward_text(objective: Mapping[str, Any]) -> str:
    """What a captioner was rewarded by, in short; a dash for one that was not."""
    if "reward" not in objective:
        return MISSING
    text = _reward(objective["reward"])
    return f"{text}, KL {objective['kl']:g}" if objective.get("kl") else text


def _reward(reward: Mapping[str, Any]) -> str:
    parts = reward.get("of", [])
    if reward["kind"] == "sum":
        return " + ".join(f"{part['weight']:g} x {_reward(part['reward'])}" for part in parts)
    if reward["kind"] == "alternate":
        return " in turn with ".join(_reward(part) for part in parts)
    return str(reward.get("scorer", reward.get("retriever", reward["kind"])))


def generalisation_table(run: ProbingRun, provenance: Mapping[str, Any]) -> Table:
    """What a scorer's reward does to the scores by others: the differences, and how many of them rise."""
    sheet = Sheet(run, provenance)
    columns = [Column("captioner", numeric=False), Column("trained on", numeric=False)]
    columns += [Column(scorer, group=f"score, against {REFERENCE}, by") for scorer in run.scorers]
    columns.append(Column("raised", group="scorers that it was not trained on"))
    blocks = []
    for label, corpus in run.corpora.items():
        rows = []
        for role in run.roles:
            own = run.rewards.get(role, ())
            if role == REFERENCE or not own:
                continue
            found = {scorer: run.difference(Place(role, corpus, "score", scorer), REFERENCE) for scorer in run.scorers}
            others = [apart for scorer, apart in found.items() if scorer not in own and apart is not None]
            cells = [
                sheet.difference(
                    Place(role, corpus, "score", scorer), REFERENCE, mark=" (own)" if scorer in own else ""
                )
                for scorer in run.scorers
            ]
            raised = f"{sum(apart.sign > 0 for apart in others)} of {len(others)}" if others else MISSING
            rows.append([Cell(role), Cell(", ".join(own)), *cells, Cell(raised)])
        if rows:
            blocks.append(Block(rows, sheet.heading(label)))
    sheet.notes.append("Raised: the 95 % interval of the difference lies above 0.")
    return sheet.table(
        "probing_generalisation",
        "Beyond probing: what passes from scorer to scorer",
        "How captions that were trained on one scorer, or several, do by the other scorers.",
        columns,
        blocks,
    )


def matching_table(matching: Mapping[str, Sequence[Mapping[str, Any]]], provenance: Mapping[str, Any]) -> Table:
    """How well each scorer that was trained here tells pairs from strangers: rows of MATCHING by the scorer's label."""
    shown = [(negatives, measure) for negatives in ("random", "hard") for measure in ("accuracy", "ranking")]
    columns = [Column("scorer", numeric=False)]
    columns += [Column(measure, "%", f"{negatives} negatives") for negatives, measure in shown]
    columns.append(Column("images"))
    lines, records = [], []
    for scorer, rows in matching.items():
        found = {(row["negatives"], row["measure"]): row for row in rows}
        lines.append(
            [
                Cell(scorer),
                *(_share(found.get(place)) for place in shown),
                Cell(", ".join(sorted({f"{row['n']}, {row['split']}" for row in rows}))),
            ]
        )
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
        columns,
        [Block(lines)] if lines else [],
        records,
        ("scorer", "split", "negatives", "measure", "value", "ci_low", "ci_high", "n", *PROVENANCE),
        [*notes, *run_notes(provenance)],
    )


def _share(row: Mapping[str, Any] | None) -> Cell:
    if row is None:
        return Cell(MISSING)
    return Cell(f"{100 * row['value']:.1f}", f"[{100 * row['ci_low']:.1f}, {100 * row['ci_high']:.1f}]")
