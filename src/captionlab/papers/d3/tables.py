"""Tables of Gaur et al. 2024: retrieval by each role's captions, and what the last training adds."""

from collections.abc import Iterator

from captionlab.papers.d3.values import FOUND, SIMILAR, D3Run, bag_measures
from captionlab.reporting.claims.reading import Provenance, measured_on, read_measured
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.builder import Line, Number, blocks_of, columns_of, rows_of
from captionlab.reporting.tables.render import Block, Table
from captionlab.reporting.tables.sheets import RECORD_COLUMNS, Sheet

COLUMNS = [name for name in RECORD_COLUMNS if name not in ("experiment", "source", "level")]
BAGS_NOTE = (
    "Bags of look-alikes: an image and its nearest other images by an encoder, with no image in two bags, as many bags "
    "as the evaluation names. Images in no bag are left out."
)


def _retrieval(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    run = D3Run(*read_measured(inputs), params["config"], params["cells"])
    made = measured_on(provenance, inputs["values"])
    yield truematch_table(run, made)
    yield retrieval_table(run, made)


TABLES = (_retrieval,)


def truematch_table(run: D3Run, provenance: Provenance) -> Table:
    """Return the table of retrieval in bags of each size, by each retriever, with one row for each role."""
    sheet = Sheet(run, provenance, COLUMNS)
    bags = bag_measures(run.found("measure"))
    numbers = [
        Number({"measure": bag, "scorer": retriever}, f"by {retriever}", bag)
        for retriever in sorted(run.found("scorer", measure=FOUND))
        for bag in bags
    ]
    lines = [Line([role], {"subject": role}, role) for role in run.roles]
    label, corpus = next(iter(run.corpora.items()))
    blocks = [Block(rows_of(sheet, None, label, corpus, lines, numbers), sheet.heading(label))] if numbers else []
    sheet.notes.append(BAGS_NOTE)
    return sheet.table(
        "d3_truematch",
        "No Detail Left Behind: retrieval in bags of look-alikes",
        "Share of captions by which a retriever finds their image among the images of its bag, in per cent.",
        columns_of(["captioner"], numbers),
        blocks,
    )


def retrieval_table(run: D3Run, provenance: Provenance) -> Table:
    """Return the table of retrieval among candidates at random or in sets, and of CIDEr, on each corpus."""
    sheet = Sheet(run, provenance, COLUMNS)
    numbers = [
        *(
            Number({"measure": FOUND, "scorer": retriever}, f"by {retriever}", FOUND)
            for retriever in sorted(run.found("scorer", measure=FOUND))
        ),
        Number({"measure": SIMILAR}, "similarity to references", SIMILAR),
    ]
    lines = [Line([role], {"subject": role}, role) for role in run.roles]
    blocks = blocks_of(sheet, None, lines, numbers)
    return sheet.table(
        "d3_retrieval",
        "No Detail Left Behind: retrieval among distractors at random, and similarity to references",
        "Share of captions by which a retriever finds their image, in per cent, among distractors at random (COCO: "
        "RD100) or among the images of its set (ImageCoDe), and CIDEr.",
        columns_of(["captioner"], numbers),
        blocks,
    )
