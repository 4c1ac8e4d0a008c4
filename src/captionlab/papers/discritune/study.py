"""Table 6 of Dessì et al. 2023 from answers of people, or, under another name, from those of simulated participants."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.reporting.footnotes import run_notes
from captionlab.reporting.measurements import Measurement
from captionlab.reporting.published import PublishedValue
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.reproduction import Reproduction
from captionlab.reporting.verdicts import MARKERS, Verdict, beside, judge, legend, smallest_difference
from captionlab.study.analysis import ALL_TYPES, MEASURES
from captionlab.study.stimuli import IMAGES_OF_SCREEN

Row = Mapping[str, Any]
# The paper asked people about images of Conceptual Captions.
TABLE, CORPUS, METRIC = "6", "ConCap", "accuracy"
# A bootstrap over fewer participants gives intervals that are clearly too narrow.
FEW_PARTICIPANTS = 10
# What a share of right answers is held against, in per cent.
BOUNDS = {"chance": 100 / IMAGES_OF_SCREEN, "half of the answers": 50.0}
SIMULATED_NOTE = (
    "Simulated participants: a retriever drew the images. No person took part; the numbers say nothing about people."
)
NAMES = {"people": "discritune_table6_people", "simulated": "discritune_table6_simulated"}
RECORD_COLUMNS = (
    "participants", "quantity", "caption_type", "against", "value", "ci_low", "ci_high", "p_value", "p_adjusted", "n",
    "published", "verdict", "smallest_difference", "config", "seed", "commit",
)  # fmt: skip


def study_table(
    participants: str,
    results: Mapping[str, Sequence[Row]],
    types: Sequence[str],
    corpus: str,
    paper: Reproduction,
    provenance: Mapping[str, Any],
) -> Table:
    """The table of a study; `participants` is people or simulated.

    `results` has the rows of ACCURACY, PAIRWISE, AGREEMENT and PARTICIPANTS under accuracy, pairwise, agreement and
    participants; `types` are the caption types in the order of the config, `corpus` is that of the images.
    """
    people = participants == "people"
    comparable = paper.comparable and people and paper.corpora.get(CORPUS) == corpus
    accuracy = {row["caption_type"]: row for row in results["accuracy"]}
    agreement = {(row["caption_type"], row["measure"]): row for row in results["agreement"]}
    printed = {name: _published(paper, name) for name in types}
    verdicts: dict[str, Verdict] = {
        name: judge(_measurement(row, corpus), printed[name], comparable) for name, row in accuracy.items()
    }
    sets = {name: _sets(row, paper, corpus, comparable) for name, row in accuracy.items()}
    shown = {*verdicts.values(), *(record["verdict"] for record in sets.values())}
    rows = []
    for name in types:
        if name not in accuracy:
            unanswered = Cell(MISSING, note="Nobody who counts was asked about these captions.")
            rows.append([Cell(name), unanswered, *[Cell(MISSING)] * (len(types) + 4)])
            continue
        row, theirs = accuracy[name], printed[name]
        rows.append(
            [
                Cell(name),
                Cell(f"{row['value']:.1f}", f"[{row['ci_low']:.1f}, {row['ci_high']:.1f}]"),
                beside(theirs, verdicts[name], smallest_difference(_measurement(row, corpus))),
                Cell(
                    str(row["answers"]), f"by {row['participants']} on {row['stimuli']} sets{_paper_sets(sets[name])}"
                ),
                *(_against(name, other, results["pairwise"]) for other in types),
                *(_agreement(agreement.get((name, measure))) for measure in MEASURES),
            ]
        )
    records = _records(results, printed, verdicts, sets, corpus)
    made = {"participants": participants, **{key: provenance.get(key) for key in ("config", "seed", "commit")}}
    who = "people" if people else "simulated participants"
    title = "DiscriTune, table 6: accuracy of people who choose an image"
    simulated = "Simulated participants in place of table 6 of DiscriTune: a retriever chooses images"
    return Table(
        NAMES[participants],
        title if people else simulated,
        f"How often {who} find the image that a caption describes among ten that look alike, by type of captions (%), "
        "with 95 % intervals over participants and sets of images; differences in percentage points.",
        _columns(types),
        [Block(rows)],
        [{key: (record | made).get(key) for key in RECORD_COLUMNS} for record in records],
        RECORD_COLUMNS,
        _notes(who, results, shown, comparable, provenance),
    )


def _columns(types: Sequence[str]) -> list[Column]:
    return [
        Column("captions", numeric=False),
        Column("accuracy"),
        Column("paper"),
        Column("answers"),
        *(Column(f"minus {other}", group="difference") for other in types),
        Column("pairs, %", group="agreement"),
        Column("kappa", group="agreement"),
    ]


def _records(
    results: Mapping[str, Sequence[Row]],
    printed: Mapping[str, PublishedValue | None],
    verdicts: Mapping[str, Verdict],
    sets: Mapping[str, dict[str, Any]],
    corpus: str,
) -> list[dict[str, Any]]:
    """What the table shows as records of numbers; `printed`, `verdicts` and `sets` are by caption type."""
    return [
        *(
            {"quantity": "accuracy", **row, "n": row["answers"], "verdict": verdicts[row["caption_type"]],
             "smallest_difference": smallest_difference(_measurement(row, corpus)),
             "published": theirs.text if (theirs := printed.get(row["caption_type"])) else None}
            for row in results["accuracy"]
        ),
        *sets.values(),
        *({"quantity": "difference", **row, "value": row["difference"]} for row in results["pairwise"]),
        *({"quantity": f"agreement, {row['measure']}", **row, "n": row["screens"]} for row in results["agreement"]),
    ]  # fmt: skip


def study_differences(
    accuracy: Sequence[Row], pairwise: Sequence[Row], captioners: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The differences between types of captions as rows of ROLE_DIFFERENCES, every pair both ways round.

    And how far each type is above each of BOUNDS. `accuracy` and `pairwise` are rows of these tables; `captioners` has
    the paper's label -> name in the config.
    """
    labels = {name: label for label, name in sorted(captioners.items(), reverse=True)}
    sets = {row["caption_type"]: row["stimuli"] for row in accuracy}
    found = {pair: ends[:3] for pair, ends in _both_ways(pairwise).items()}
    for row in accuracy:
        for bound, share in BOUNDS.items():
            ends = (row["value"] - share, row["ci_low"] - share, row["ci_high"] - share)
            found[row["caption_type"], bound] = ends
    return [
        {
            "experiment": "study", "subject": labels.get(name, name), "source": None, "level": None, "corpus": CORPUS,
            "measure": METRIC, "scorer": None, "against": labels.get(other, other), "own": None,
            "margin": None, "difference": difference, "ci_low": low, "ci_high": high, "seeds": 1,
            "n": min(sets[name], sets.get(other, sets[name])),
        }
        for (name, other), (difference, low, high) in found.items()
    ]  # fmt: skip


def _both_ways(pairwise: Sequence[Row]) -> dict[tuple[str, str], tuple[float, float, float, float]]:
    """Difference, ends of its interval and adjusted p-value of two types, whichever way round it was computed."""
    found = {}
    for row in pairwise:
        for sign, pair in ((1, (row["caption_type"], row["against"])), (-1, (row["against"], row["caption_type"]))):
            low, high = sorted((sign * row["ci_low"], sign * row["ci_high"]))
            found[pair] = sign * row["difference"], low, high, row["p_adjusted"]
    return found


def _published(paper: Reproduction, captioner: str) -> PublishedValue | None:
    """What the paper prints for a type of captions, whatever the images of this study are."""
    if paper.published is None:
        return None
    found = (paper.published.find(TABLE, label, CORPUS, METRIC) for label in paper.labels(captioner))
    return next((value for value in found if value is not None), None)


def _measurement(row: Row, corpus: str) -> Measurement:
    """A row of ACCURACY as the summary has its values."""
    value, low, high = row["value"], row["ci_low"], row["ci_high"]
    return Measurement(row["caption_type"], corpus, "", "", "", None, None, METRIC, value, low, high, row["answers"])


def _sets(row: Row, paper: Reproduction, corpus: str, comparable: bool) -> dict[str, Any]:
    """The record of how many sets of images were shown with a type of captions; the paper has as many of each."""
    number = row["stimuli"]
    theirs = paper.published.find("text", "sets", CORPUS, "number") if paper.published else None
    ours = _measurement({**row, "value": number, "ci_low": number, "ci_high": number}, corpus)
    place = {"quantity": "sets", "caption_type": row["caption_type"], "value": number, "n": number}
    return {**place, "published": theirs.text if theirs else None, "verdict": judge(ours, theirs, comparable)}


def _paper_sets(record: Mapping[str, Any]) -> str:
    if record["published"] is None:
        return ""
    return f" (paper {' '.join(filter(None, (record['published'], MARKERS.get(record['verdict']))))})"


def _against(name: str, other: str, pairwise: Sequence[Row]) -> Cell:
    """The difference of two types; nothing where there is none."""
    found = _both_ways(pairwise).get((name, other))
    if found is None:
        return Cell("")
    difference, low, high, p_adjusted = found
    p_value = "p < 0.001" if p_adjusted < 0.001 else f"p = {p_adjusted:.3f}"
    return Cell(f"{difference:+.1f}", f"[{low:+.1f}, {high:+.1f}], {p_value}")


def _agreement(row: Row | None) -> Cell:
    if row is None or row["value"] is None:
        return Cell(MISSING, note="No screen of this type was answered twice.")
    factor, places = (100, 1) if row["measure"] == "pairs" else (1, 2)
    low, high = factor * row["ci_low"], factor * row["ci_high"]
    return Cell(f"{factor * row['value']:.{places}f}", f"[{low:.{places}f}, {high:.{places}f}]")


def _notes(
    who: str,
    results: Mapping[str, Sequence[Row]],
    verdicts: set[Verdict],
    comparable: bool,
    provenance: Mapping[str, Any],
) -> list[str]:
    everybody = {row["participant"]: row["excluded"] for row in results["participants"]}
    excluded = sum(everybody.values())
    notes = [] if who == "people" else [SIMULATED_NOTE]
    if markers := legend(verdicts):
        notes.append(markers)
    notes.append(
        f"{len(everybody)} {who} took part; {excluded} missed more than one control and do not count. Controls do not "
        "count either. Chance is 10 %."
    )
    notes.append("Differences: two-sided bootstrap over participants and sets, p after Holm's correction.")
    for row in results["agreement"]:
        if (row["caption_type"], row["measure"]) == (ALL_TYPES, "kappa") and row["value"] is not None:
            notes.append(f"Agreement over all types: kappa {row['value']:.2f} on {row['screens']} screens.")
    if len(everybody) - excluded < FEW_PARTICIPANTS:
        notes.append(f"Only {len(everybody) - excluded} {who} count: the intervals are too narrow.")
    if not comparable:
        notes.append("The published column is context: participants, images or captions are not the paper's.")
    return [*notes, *run_notes(provenance)]
