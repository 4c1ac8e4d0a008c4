"""Evidence on the paper's claims: captioners and their values, differences, variants, and human answers."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from captionlab.evaluation.rows import row as difference_row
from captionlab.evaluation.schemas import ROLE_DIFFERENCES
from captionlab.papers.discritune.adjectives import COLOURS
from captionlab.papers.discritune.adjectives import MEASURE as COLOURS_ON_TOP
from captionlab.papers.discritune.layouts import RETRIEVAL_METRIC, TEXT_HEADINGS
from captionlab.papers.discritune.study import BOUNDS, study_differences
from captionlab.papers.discritune.summary import GAIN_ON
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.claims.printed import Row, Sides, apart, pair, printed_difference
from captionlab.reporting.claims.reading import read_rows
from captionlab.reporting.runs.published import Published, read_published
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.runs.values import Coordinates, PaperRun
from captionlab.reporting.tables.cells import places_behind
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.study.schemas import ACCURACY, PAIRWISE

# Experiments about the captioners of Tables 1 to 5.
BETWEEN_CAPTIONERS = ("gains", "transfer", "in-domain", "fluency")
# Tables of the same test with different captioners.
TOGETHER = [("1", "4")]
# The paper's sets of look-alikes, and the best P@1 that was reported on them before, by human captions (appendix D.1).
LOOKALIKE_CORPUS, BEFORE, BEST_BEFORE = "ImageCoDe", "the best result before", 29.9


def evidence(inputs: Row, params: Row) -> Evidence:
    """Return the differences with the paper's labels, and the paper's captioners with their values."""
    block, differences = params["config"], []
    for row in read_rows(inputs["differences"], ROLE_DIFFERENCES):
        corpora = block.get("variants", {}).get(row["experiment"], block).get("corpora", {})
        labels = {name: label for label, name in sorted(corpora.items())}  # the last label of a corpus counts
        places = places_behind(_of_captioners(row, block["captioners"]), row["subject"], row["against"])
        differences.append({**row, "corpus": labels.get(row["corpus"], row["corpus"]), "places": places})
    if "study_pairwise" in inputs:
        answers = read_rows(inputs["study_accuracy"], ACCURACY), read_rows(inputs["study_pairwise"], PAIRWISE)
        of_people = study_differences(*answers, block["captioners"])
        differences += [{**row, "places": places_behind(row)} for row in of_people]
    paper = Reproduction(block, params["lineage"])
    run = paper.run(read_rows(inputs["summary"], SUMMARY), read_rows(inputs["comparisons"], COMPARISONS))
    published = read_published(inputs["published"])
    retriever, parents = next(iter(paper.retrievers_of(run)), None), paper.parents()
    differences += lookalike_rows(paper, run, retriever)

    def printed(row: Row) -> float | None:
        if row["measure"] == COLOURS_ON_TOP:
            return printed_colours(published, row)
        return printed_difference(published, row, lambda place: sides_of(place, retriever, parents), TOGETHER)

    return Evidence(differences, printed, (paper, run), block["comparable"])


def _of_captioners(row: Row, captioners: Mapping[str, str]) -> Row:
    """Return a row between the paper's captioners with the place that their tables use; other rows are unchanged."""
    if row["experiment"] not in BETWEEN_CAPTIONERS:
        return row
    names = {side: captioners.get(row[side], row[side]) for side in ("subject", "against")}
    return {**row, **names, "experiment": "generated"}


def lookalike_rows(paper: Reproduction, run: PaperRun, retriever: str | None) -> Iterator[dict[str, Any]]:
    """Yield how far the paper's captioners exceed BEST_BEFORE on its sets of look-alikes, by the paper's retriever.

    Other sets of look-alikes have another best result, so nothing is yielded unless the run is comparable with the
    paper.
    """
    if not paper.comparable or LOOKALIKE_CORPUS not in paper.corpora:
        return
    for label, name in sorted(paper.captioners.items()):
        place = Coordinates(name, paper.corpora[LOOKALIKE_CORPUS], RETRIEVAL_METRIC, retriever)
        if found := run.value(place):
            ends = [end - BEST_BEFORE for end in (found.value, found.ci_low, found.ci_high)]
            made = difference_row(
                LOOKALIKE_CORPUS, "look-alikes", label, RETRIEVAL_METRIC, (ends[0], ends[1], ends[2]), found.n,
                seeds=found.seeds, scorer=retriever, against=BEFORE,
            )  # fmt: skip
            yield {**made, "places": places_behind({**made, **asdict(place)}, label)}


def printed_colours(published: Published, row: Row) -> float | None:
    """Return how many more colours the paper prints among the adjectives of one captioner than of another, or None."""
    lists = [
        [word for (table, word, column, _), _ in published.values.items() if (table, column) == ("7", row[side])]
        for side in ("subject", "against")
    ]
    if row["corpus"] != "ConCap" or not all(lists):
        return None
    first, second = (sum(word in COLOURS for word in words) for words in lists)
    return float(first - second)


def sides_of(row: Row, retriever: str | None, parents: Mapping[str, str]) -> Sides | None:
    """Return the published numbers for the two sides of a row, or None.

    `retriever` stands for the paper's retriever; there are no published numbers for other retrievers. `parents` maps
    the paper's label of a finetuned captioner to the label of its parent. Captioners without a parent have no gain.
    """
    subject, against, corpus = row["subject"], row["against"], row["corpus"]
    if row["scorer"] not in (None, retriever):
        return None
    metric = TEXT_HEADINGS.get(row["measure"], str(row["measure"]))
    if row["experiment"] == "gains":
        if subject not in parents:
            return None
        texts = corpus, against.removeprefix(GAIN_ON)
        first, second = (apart((subject, text, metric), (parents[subject], text, metric)) for text in texts)
        return first, second
    if against == BEFORE:
        return {(subject, corpus, metric): 1.0}, BEST_BEFORE
    if against in BOUNDS:
        return {(subject, corpus, metric): 1.0}, BOUNDS[against]
    return pair((subject, corpus, metric), (against, corpus, metric))
