"""What the paper's claims are judged by: its captioners, differences, variants, and the answers of people."""

from collections.abc import Mapping

from captionlab.evaluation.schemas import ROLE_DIFFERENCES
from captionlab.papers.discritune.layouts import TEXT_HEADINGS
from captionlab.papers.discritune.study import BOUNDS, study_differences
from captionlab.papers.discritune.summary import GAIN_ON
from captionlab.reporting.cells import places_behind
from captionlab.reporting.evidence import Evidence
from captionlab.reporting.printed import Row, Sides, apart, pair, printed_difference
from captionlab.reporting.published import read_published
from captionlab.reporting.reading import read_rows
from captionlab.reporting.reproduction import Reproduction
from captionlab.schemas import COMPARISONS, SUMMARY
from captionlab.study.schemas import ACCURACY, PAIRWISE

# Experiments whose numbers are of the captioners that tables 1 to 5 are about.
BETWEEN_CAPTIONERS = ("gains", "transfer", "fluency")
# Tables of one test, of other captioners.
TOGETHER = [("1", "4")]


def evidence(inputs: Row, params: Row) -> Evidence:
    """Differences by the paper's labels, and its captioners with their values."""
    block, differences = params["config"], []
    for row in read_rows(inputs["differences"], ROLE_DIFFERENCES):
        corpora = block.get("variants", {}).get(row["experiment"], block).get("corpora", {})
        labels = {name: label for label, name in sorted(corpora.items())}  # of two labels of a corpus the last
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

    def printed(row: Row) -> float | None:
        return printed_difference(published, row, lambda place: sides_of(place, retriever, parents), TOGETHER)

    return Evidence(differences, printed, (paper, run), block["comparable"])


def _of_captioners(row: Row, captioners: Mapping[str, str]) -> Row:
    """A row between the paper's captioners as their tables name its place; a row between variants as it is."""
    if row["experiment"] not in BETWEEN_CAPTIONERS:
        return row
    names = {side: captioners.get(row[side], row[side]) for side in ("subject", "against")}
    return {**row, **names, "experiment": "generated"}


def sides_of(row: Row, retriever: str | None, parents: Mapping[str, str]) -> Sides | None:
    """The numbers of the paper that a row is the difference of.

    `retriever` stands for the paper's: by others it has no numbers. `parents` are the paper's labels of captioners
    before finetuning, by those after it: who has none has no gain.
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
    if against in BOUNDS:
        return {(subject, corpus, metric): 1.0}, BOUNDS[against]
    return pair((subject, corpus, metric), (against, corpus, metric))
