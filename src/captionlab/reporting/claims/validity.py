"""Conditions that a run must meet for its experiments to mean something, with the values measured for them."""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.render import Block, Cell, Column, Table, interval_cell
from captionlab.reporting.tables.rewards import Change
from captionlab.reporting.tables.sheets import PROVENANCE, table_of
from captionlab.statistics.intervals import Ends

RELATIONS = {"≥": operator.ge, ">": operator.gt, "<": operator.lt, "≤": operator.le}
RECORD_COLUMNS = (
    "condition", "of", "corpus", "evaluation", "value", "ci_low", "ci_high", "unit", "relation", "wanted", "n", "met",
    "detail", *PROVENANCE,
)  # fmt: skip
AMONG = "100 "  # prefix of the summary's candidates if there are 100


@dataclass(frozen=True)
class Condition:
    """A condition: the measured quantity, the required relation to a bound, the reason, and what a run needs for it."""

    text: str
    relation: str
    bound: float
    unit: str
    reason: str
    needs: str
    whole: bool = False  # whether the lower end of the interval must meet the bound, too
    decimals: int = 2  # decimals of a value without a unit


_RETRIEVER = "a retriever, human captions and 100 candidates on the corpus that the config names"
_HUMAN = "Dessì et al. 2023, Table 1, find 76 to 89 of 100 images by human captions"
_LEARNED = (
    "a captioner that learned a corpus's references, here or in another run, and is evaluated on others of that corpus"
)
_TRAINED = "a scorer that is trained here, or in another run with its matching.parquet"
_GENERATED = "captions by captioners that are trained here or in another run"
_REWARDED = "a captioner that is trained here by a reward and evaluated"
CONDITIONS: Mapping[str, Condition] = {
    "retrieval": Condition(
        "image found by a human caption among 100, by a retriever that rewards", "≥", 70, "%",
        f"{_HUMAN}; a retriever that finds few rewards what it does not see.", f"{_RETRIEVER}, named by a reward",
    ),
    "independent retrieval": Condition(
        "image found by a human caption among 100, by a retriever that no reward names", "≥", 60, "%",
        f"{_HUMAN}; who only judges may be worse than who rewards, but must see.", f"{_RETRIEVER}, named by no reward",
    ),
    "naming": Condition(
        "captions that name an object of the image, relative to references that do", "≥", 0.8, "",
        "A captioner that does not see has little to lose, and anything that it is finetuned on may then help.",
        f"{_LEARNED}, whose objects are known and named by references",
    ),
    "variety": Condition(
        "different captions, relative to different first references", "≥", 0.5, "",
        "The same caption for many images finds none of them.", _LEARNED,
    ),
    "reward": Condition(
        "reward of greedy captions of training images, after less before", ">", 0, "",
        "A training that does not learn its reward says nothing about the reward; the whole interval counts.",
        _REWARDED, whole=True, decimals=3,
    ),
    "variety after reward": Condition(
        "different captions after a training by a reward, relative to before", "≥", 1 / 3, "",
        "A captioner that says the same of all images found a way around the reward; fewer are met, and said to be, "
        "where the reward itself prefers them: one caption for all images earns no less than those before.", _REWARDED,
    ),
    "participants": Condition(
        "right answers of participants with human captions", "≥", 25, "%",
        "Chance is 10 %; the people of Dessì et al. 2023, Table 6, were right in 43 %.",
        "answers to a study, by people or simulated",
    ),
    "strangers": Condition(
        "pairs told from captions of any other image", "≥", 90, "%",
        "A scorer that does not tell pairs from strangers rewards what is not in the image.", _TRAINED,
    ),
    "look-alikes": Condition(
        "pairs told from captions of an image that is alike", "≥", 75, "%",
        "What sets an image apart from those that are alike is what a scorer should reward.", _TRAINED,
    ),
    "unknown": Condition(
        "captions with UNK, of the captioner with most", "<", 2, "%",
        "UNK stands for words that a vocabulary lacks.", _GENERATED,
    ),
    "non-words": Condition(
        "captions with a word that no caption of any corpus has, of the captioner with most", "≤", 0, "%",
        "Who learned from captions has no other words.", _GENERATED,
    ),
    "power": Condition(
        "the paper's mean difference, relative to the smallest that could be shown", "≥", 2, "",
        "A claim that an abstract names is tested by comparisons that can tell half of the paper's own difference.",
        "claims that abstracts name, with comparisons of which the papers print both sides",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A value measured for a condition: its subject, its optional interval, and how many items it was counted over."""

    condition: str
    of: str
    value: float
    ends: Ends | None
    n: int
    counted: str
    corpus: str | None = None
    evaluation: str | None = None
    detail: str = ""
    exempt: bool = False  # whether it counts as met whatever its value; the detail says why


def retrieval_findings(
    summary: Iterable[Row], corpus: str, humans: Sequence[str], rewarding: Sequence[str]
) -> Iterator[Finding]:
    """Yield P@1 of human captions among 100 images of a corpus, by retriever, from rows of SUMMARY."""
    for row in summary:
        human = row["captioner"] in humans and row["corpus"] == corpus and row["metric"] == "P@1"
        if human and row["candidates"].startswith(AMONG):
            condition = "retrieval" if row["retriever"] in rewarding else "independent retrieval"
            ends, place = (row["ci_low"], row["ci_high"]), (corpus, row["evaluation"])
            yield Finding(condition, row["retriever"], row["value"], ends, row["n"], "images", *place)


def participants_findings(accuracy: Mapping[str, Iterable[Row]], human: str | None) -> Iterator[Finding]:
    """Yield how often participants are right with human captions.

    `accuracy` has the rows of ACCURACY of people and of simulated participants.
    """
    for who, rows in accuracy.items():
        for row in rows:
            if row["caption_type"] == human:
                ends = (row["ci_low"], row["ci_high"])
                yield Finding("participants", who, row["value"], ends, row["answers"], "answers")


def matching_findings(matching: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """Yield how often scorers are right on pairs, from rows of MATCHING by scorer."""
    for negatives, condition in (("random", "strangers"), ("hard", "look-alikes")):
        for scorer, rows in matching.items():
            for row in rows:
                if (row["negatives"], row["measure"]) == (negatives, "accuracy"):
                    ends = (100 * row["ci_low"], 100 * row["ci_high"])
                    yield Finding(condition, scorer, 100 * row["value"], ends, row["n"], "images")


def reward_findings(changes: Mapping[str, Change], corpora: Mapping[str, str]) -> Iterator[Finding]:
    """Yield how trainings by a reward changed the reward and the variety of captions.

    `corpora` maps a captioner to the corpus of its training.
    """
    for captioner, change in sorted(changes.items()):
        detail = f"{change.before:.3g} to {change.after:.3g}"
        yield Finding(
            "reward", captioner, change.value, change.ends, change.n, "images", corpora[captioner], detail=detail
        )
        ours, theirs = change.different_after, change.different_before
        detail = f"{ours} : {theirs}"
        if change.prefers_fewer:
            detail += ", the reward prefers fewer"
        condition, exempt = "variety after reward", change.prefers_fewer
        place = (captioner, ours / theirs, None, change.n, "images", corpora[captioner])
        yield Finding(condition, *place, detail=detail, exempt=exempt)


def power_findings(claims: Iterable[Mapping[str, str]]) -> Iterator[Finding]:
    """Yield the power of the comparisons of central claims, from rows of the CSV of claims."""
    central = {(row["paper"], row["claim"]): row for row in claims if row["power"]}
    for (paper, claim), row in central.items():
        yield Finding("power", f"{paper}: {claim}", float(row["power"]), None, int(row["printed"]), "comparisons")


def power_notes(claims: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """Yield a note on central claims without a difference that the paper prints, from rows of the CSV of claims."""
    without = dict.fromkeys(f"{row['paper']}: {row['claim']}" for row in claims if row["central"] and not row["power"])
    if without:
        yield f"Of these claims this run has no difference that the paper prints too: {', '.join(without)}."


def validity_table(findings: Sequence[Finding], notes: Sequence[str], provenance: Mapping[str, Any]) -> Table:
    """Return the table, with a row for each finding in the order of CONDITIONS. `notes` are further notes below it."""
    records: list[dict[str, Any]] = []
    rows: list[list[Cell]] = []
    reasons: list[str] = []
    absent: list[str] = []
    for name, condition in CONDITIONS.items():
        measured = [found for found in findings if found.condition == name]
        if measured:
            reasons.append(f"{condition.text}: {condition.reason}")
        else:
            absent.append(f"Not in this run: {condition.text}. It needs {condition.needs}.")
        for found in measured:
            met = found.exempt or is_met(found, condition)
            rows.append(_row(found, condition, met))
            low, high = found.ends or (None, None)
            wanted = {"unit": condition.unit, "relation": condition.relation, "wanted": condition.bound, "met": met}
            records.append({**asdict(found), "ci_low": low, "ci_high": high, **wanted})
    headings = ("condition", "of", "measured", "wanted", "n", "met")
    columns = [Column(heading, numeric=heading in ("measured", "wanted", "n")) for heading in headings]
    description = (
        f"{sum(record['met'] for record in records)} of {len(records)} conditions of validity are met. They must "
        "hold for experiments to mean something. Values with 95 % intervals; it is the value that counts, and of "
        "rewards the whole interval."
    )
    texts, below = ("validity", "Validity of this run", description), [*reasons, *absent, *notes]
    return table_of(*texts, columns, [Block(rows)], records, RECORD_COLUMNS, below, provenance)


def is_met(found: Finding, condition: Condition) -> bool:
    """Return whether a finding meets its condition. If the whole interval must meet it, the lower end decides."""
    relation = RELATIONS[condition.relation]
    decisive = found.ends[0] if condition.whole and found.ends else found.value
    return bool(relation(decisive, condition.bound))


def _row(found: Finding, condition: Condition, met: bool) -> list[Cell]:
    form = ".1f" if condition.unit else f".{condition.decimals}f"
    ends = interval_cell((found.value, *found.ends), form).detail if found.ends else ""
    return [
        Cell(condition.text),
        Cell(found.of, ", ".join(filter(None, (found.corpus, found.evaluation)))),
        Cell(f"{found.value:{form}}", " ".join(filter(None, (ends, found.detail)))),
        Cell(f"{condition.relation} {condition.bound:.3g} {condition.unit}".rstrip()),
        Cell(str(found.n), found.counted),
        Cell("yes" if met else "no"),
    ]
