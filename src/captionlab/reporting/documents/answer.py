"""The first page of a run: what was run, whether it is valid, and what it says on each paper.

It is written for readers who know the abstracts of the papers. Tables and the browser have everything else.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from captionlab.evaluation.metrics.retrieval.metric import is_named
from captionlab.reporting.claims.claim_cards import SIGNS
from captionlab.reporting.claims.claim_verdicts import VERDICTS
from captionlab.reporting.claims.claims import DIRECTIONS
from captionlab.reporting.claims.reproduction_table import Outcome, outcomes
from captionlab.reporting.documents.costs import clock
from captionlab.reporting.runs.values import Row, link_of, means
from captionlab.reporting.tables.footnotes import TOY, titled
from captionlab.reporting.tables.render import interval_cell, p_text
from captionlab.reporting.templates import template
from captionlab.storage import paths

# Comparisons of a claim that the picture shows; the table of claims has all.
SHOWN = 4
# Part of the picture's width that the farthest end of an interval is from the middle, per cent.
REACH = 46.0
# Metrics by which captioners are compared in a run without papers, the first ones that it has.
METRICS, MOST = ("CIDEr", "P@1", "CLIPScore", "METEOR", "length"), 3
NUMBERS = ("agrees", "differs", "cannot tell")


@dataclass(frozen=True)
class Bar:
    """A comparison in the picture, with positions from 0 to 100 across it; values above 50 are as claimed."""

    label: str
    text: str
    published: str
    low: float
    value: float
    high: float
    theirs: float | None
    link: str


@dataclass(frozen=True)
class Effect:
    """A claim of an abstract: its verdicts, the comparisons that are shown, and how many are not."""

    name: str
    statement: str
    verdicts: Sequence[tuple[str, str, int]]  # sign, verdict, number of scopes
    bars: Sequence[Bar]
    more: int


@dataclass(frozen=True)
class OfPaper:
    """What the run says on a paper: three sentences and the picture."""

    name: str
    citation: str
    lines: Sequence[str]
    effects: Sequence[Effect]


def answer_page(
    run: Mapping[str, Any],
    costs: Iterable[Row],
    validity: Sequence[Row],
    claims: Sequence[Row],
    effects: Sequence[Row],
    numbers: Iterable[Row],
    comparisons: Iterable[Row],
    papers: Mapping[str, Row],
    places: Sequence[Mapping[str, str]],
    finished: str,
) -> str:
    """Return the first page of a run in HTML.

    `run` has the facts that are below every table. `costs` are rows of COSTS. `validity`, `claims` and `numbers` are
    rows of the CSV of the tables validity, claims and reproduction. `effects` are rows of EFFECTS and `comparisons`
    rows of COMPARISONS. `papers` maps a paper to its `citation` and whether the run is `comparable` with it. `places`
    are the other pages of the run, each with `link`, `title` and `sentence`. `finished` says when the run ended.
    """
    shown = [_of_paper(name, known, claims, effects, numbers) for name, known in papers.items()]
    return template("answer.html.jinja").render(
        title=titled(f"Run {run['config']}: what it answers", run.get("caveats", [])),
        facts=run_facts(run, costs, finished),
        toy=TOY if run.get("toy") else "",
        validity=validity,
        unmet=[row for row in validity if row["met"] != "True"],
        # Papers of which nothing was tested come last.
        papers=sorted(shown, key=lambda paper: not any(effect.bars for effect in paper.effects)),
        differences=[] if papers else captioner_effects(comparisons),
        places=places,
        tables=paths.TABLES.removeprefix(f"{paths.RESULTS}/"),
    )


def run_facts(run: Mapping[str, Any], costs: Iterable[Row], finished: str) -> list[tuple[str, str]]:
    """Return what was run, on what, how long and when: pairs of a name and a text."""
    rows = list(costs)
    times = {name: sum(row[name] or 0.0 for row in rows) for name in ("cpu_seconds", "gpu_seconds")}
    took = f"{len(rows)} jobs, {clock(times['cpu_seconds'])} on processors"
    if times["gpu_seconds"]:
        took += f", {clock(times['gpu_seconds'])} on GPUs"
    facts = [("config", str(run["config"])), ("seed", str(run["seed"])), ("commit", str(run["commit"]))]
    facts += [("device", str(run.get("device") or "unknown")), ("time (h:min:s)", took)]
    return [*facts, ("finished", finished)]


# ---------------------------------------------------------------------------------------------------- papers
def _of_paper(name: str, known: Row, claims: Iterable[Row], effects: Iterable[Row], numbers: Iterable[Row]) -> OfPaper:
    own = outcomes(row for row in claims if row["paper"] == name)
    of_claims = {claim: list(rows) for claim, rows in groupby(_of(effects, name), key=itemgetter("claim"))}
    central = {row["claim"] for row in claims if row["paper"] == name and row["central"]}
    shown = [_effect(one, of_claims.get(one.claim, []), known["comparable"]) for one in own if one.claim in central]
    lines = [_claims_line(own, central), _effect_line(shown), _numbers_line(_of(numbers, name), known["comparable"])]
    return OfPaper(name, known["citation"].replace("*", ""), [line for line in lines if line], shown)


def _of(rows: Iterable[Row], paper: str) -> list[Row]:
    return [row for row in rows if row["paper"] == paper]


def _claims_line(own: Sequence[Outcome], central: set[str]) -> str:
    """Return how many claims of the abstract and of the whole paper have which verdict."""
    of_abstract = Counter(one.verdict for one in own if one.claim in central)
    of_all = Counter(one.verdict for one in own)
    return f"Claims of the abstract: {_counted(of_abstract)}. Of the whole paper: {_counted(of_all)}."


def _counted(counts: Counter[str]) -> str:
    known = [str(verdict) for verdict in VERDICTS if counts[str(verdict)]]
    words = [f"{verdict}: {counts[verdict]}" for verdict in (*known, *sorted(counts.keys() - {*known}))]
    return f"{counts.total()} ({', '.join(words)})" if words else "none"


def _effect_line(effects: Sequence[Effect]) -> str:
    """Return the first comparison of the abstract's first tested claim in words."""
    for effect in effects:
        for bar in effect.bars[:1]:
            theirs = f"; {bar.published}" if bar.published else ""
            return f"First of all, {bar.label}: {bar.text}{theirs}."
    return "None of the abstract's claims was tested in this run."


def _numbers_line(numbers: Iterable[Row], comparable: bool) -> str:
    """Return how many published numbers agree with the run's, or why none is held against them."""
    if not comparable:
        return "None of its published numbers is held against this run: data and models are others."
    counts = Counter[str]()
    for row in numbers:
        if row["part"] == "published numbers":
            counts[row["verdict"]] += int(row["count"])
    return f"Published numbers: {', '.join(f'{name} {counts[name]}' for name in NUMBERS if counts[name]) or 'none'}."


def _effect(outcome: Outcome, rows: Sequence[Row], comparable: bool) -> Effect:
    """Return a claim with its comparisons; each measure has a scale of its own."""
    verdicts = [(SIGNS[name], name, number) for name, number in outcome.verdicts.items()]
    widest = {
        measure: max(abs(x) for row in rows if row["measure"] == measure for x in _ends(row)) or 1.0
        for measure in {row["measure"] for row in rows}
    }
    bars = [_bar(row, _label(row, rows), widest[row["measure"]], comparable) for row in rows[:SHOWN]]
    return Effect(outcome.claim, outcome.statement, verdicts, bars, max(0, len(rows) - SHOWN))


def _ends(row: Row) -> tuple[float, float, float]:
    return row["difference"], row["ci_low"], row["ci_high"]


def _label(row: Row, rows: Sequence[Row]) -> str:
    """Return what a row compares, and where: the places in which the rows of its claim differ, and its measure."""
    several = {name for name in ("corpus", "scorer", "experiment", "source") if len({one[name] for one in rows}) > 1}
    places = [f"on {row['corpus']}"] if "corpus" in several or row["experiment"] == "generated" else []
    places += [f"judged by {row['scorer']}"] if row["scorer"] else []
    places += [str(row[name]) for name in ("experiment", "source") if name in several and row[name]]
    places += [f"level {row['level']:g}"] if row["level"] is not None else []
    return f"{row['subject']} against {row['against']}: {', '.join([row['measure'], *places])}"


def _bar(row: Row, label: str, widest: float, comparable: bool) -> Bar:
    sign, theirs = DIRECTIONS[row["direction"]], row["published"]
    value, low, high = (50 + REACH * sign * x / widest for x in _ends(row))
    context = "" if comparable else ", not comparable"
    printed = "" if theirs is None else f"the paper {theirs:+.4g}{context}"
    place = None if theirs is None else min(99.0, max(1.0, 50 + REACH * sign * theirs / widest))
    return Bar(
        label, f"{row['text']} {row['interval']}", printed, min(low, high), value, max(low, high), place, row["link"]
    )


# ------------------------------------------------------------------------------------------------ captioners
def captioner_effects(comparisons: Iterable[Row]) -> list[Effect]:
    """Return the differences between captioners by a few metrics, for a run without papers."""
    rows = [row for row in means(comparisons) if is_named(row["candidates"])]
    known = {row["metric"] for row in rows}
    metrics = [name for name in METRICS if name in known][:MOST] or sorted(known)[:MOST]
    found = []
    for metric in metrics:
        own = [row for row in rows if row["metric"] == metric]
        widest = max(abs(x) for row in own for x in _ends(row)) or 1.0
        bars = [_difference(row, widest) for row in own[:SHOWN]]
        found.append(Effect(metric, f"Differences of {metric}", [], bars, max(0, len(own) - SHOWN)))
    return found


def _difference(row: Row, widest: float) -> Bar:
    value, low, high = (50 + REACH * x / widest for x in _ends(row))
    cell = interval_cell(_ends(row), "+.2f", link=link_of(row, row["against"]))
    tested = f", {p_text(row['p_holm'])} after Holm's correction" if row["p_holm"] is not None else ""
    by = f", judged by {row['retriever']}" if row["retriever"] else ""
    label = f"{row['captioner']} against {row['against']} on {row['corpus']} in {row['evaluation']}{by}"
    return Bar(label, f"{cell.text} {cell.detail}{tested}", "", low, value, high, None, cell.link)
