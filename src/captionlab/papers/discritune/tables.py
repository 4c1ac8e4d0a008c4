"""Tables of Dessì et al. 2023: our value with its interval, the published number beside it, and a verdict.

Rows and columns have the paper's labels from the config's block `papers.discritune`. Tables 1 to 3 have the captioners
that the paper shows there, and captioners that the paper does not have.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from captionlab.language.schemas import ASSOCIATIONS as ASSOCIATED
from captionlab.language.schemas import STATISTICS
from captionlab.papers.discritune.layouts import (
    ASSOCIATIONS,
    DECIMALS,
    LAYOUTS,
    LOOKALIKES,
    OWN_TABLES,
    RETRIEVAL,
    RETRIEVAL_METRIC,
    TEXT,
    TEXT_HEADINGS,
    WITH_CIDER,
    Layout,
    associations_name,
)
from captionlab.papers.discritune.study import study_table
from captionlab.reporting.claims.reading import Provenance, measured_on, read_measured, read_rows
from captionlab.reporting.runs.published import Published, PublishedValue, read_published
from captionlab.reporting.runs.reproduction import Reproduction, in_order
from captionlab.reporting.runs.values import Coordinates, PaperRun, Row
from captionlab.reporting.tables.builder import Line, Number, blocks_of, columns_of, rows_of
from captionlab.reporting.tables.footnotes import protocol_note
from captionlab.reporting.tables.language import TOP, side_by_side
from captionlab.reporting.tables.render import MISSING, PAPER, Block, Cell, Column, Table, Value
from captionlab.reporting.tables.sheets import PROVENANCE, Sheet, table_of
from captionlab.reporting.tables.verdicts import CONTEXT, legend
from captionlab.storage.schemas import SUMMARY
from captionlab.study.responses import SIMULATED
from captionlab.study.schemas import ACCURACY, AGREEMENT, PAIRWISE, PARTICIPANTS

ANSWERS = {"accuracy": ACCURACY, "pairwise": PAIRWISE, "agreement": AGREEMENT, "participants": PARTICIPANTS}
NUMBERED = ("1", "2", "3", "4", "5", "10", "11")
RECORD_COLUMNS = (
    "paper_row", "paper_column", "captioner", "corpus", "split", "evaluation", "retriever", "metric",
    "value", "ci_low", "ci_high", "seeds", "n", "candidates", "decoding", "published", "difference", "verdict",
    "smallest_difference", *PROVENANCE,
)  # fmt: skip
WORD_COLUMNS = ("corpus", "caption_type", "tag", "rank", "lemma", "count", "association", "published", *PROVENANCE)
# Marks a value of the retriever that gave the reward.
OWN = "°"
_P_AT_1 = "P@1 (%): the share of captions by which a retriever finds their image among the candidates."
_TEXT = "BLEU-4 (B@4), METEOR (M), CIDEr (C) and SPICE (S), times 100"
WHAT = {RETRIEVAL: _P_AT_1, TEXT: f"{_TEXT}.", WITH_CIDER: f"{_P_AT_1} CIDEr (C), times 100."}


def _of_captioners(inputs: Row, params: Row, provenance: Provenance) -> list[Table]:
    if not params["config"]:
        return []
    paper = _paper(inputs, params)
    run = paper.run(read_rows(inputs["summary"], SUMMARY))
    return captioner_tables(run, paper, measured_on(provenance, inputs["summary"]))


def _of_variants(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    if params["config"].get("variants"):
        made = measured_on(provenance, inputs["values"])
        yield from variant_tables(*read_measured(inputs), params["config"], params["retrievers"], made)


def _of_study(who: str, inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    if who in params["participants"]:
        answers = {name: read_rows(inputs[f"{who}_{name}"], kind) for name, kind in ANSWERS.items()}
        about = params["study_captioners"], params["study_corpus"], _paper(inputs, params)
        yield study_table(who, answers, *about, provenance)


def _of_associations(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    if "associations" in inputs:
        associations, paper = read_rows(inputs["associations"], ASSOCIATED), _paper(inputs, params)
        corpora = list(dict.fromkeys(row["corpus"] for row in read_rows(inputs["statistics"], STATISTICS)))
        for tag in ASSOCIATIONS:
            yield associations_table(associations, params["caption_types"], corpora, tag, paper, provenance)


TABLES = (_of_captioners, _of_variants, *(partial(_of_study, who) for who in ("people", SIMULATED)), _of_associations)


def _paper(inputs: Row, params: Row) -> Reproduction:
    return Reproduction(params["config"], params["lineage"], read_published(inputs["published"]))


def captioner_tables(run: PaperRun, paper: Reproduction, provenance: Mapping[str, Any]) -> list[Table]:
    """Return the tables of LAYOUTS that the paper's block asks for. `run_notes` describes `provenance`."""
    block = {"captioners": paper.captioners, "corpora": paper.corpora}
    sheets = [CaptionersSheet(run, paper, layout, provenance) for layout in LAYOUTS if layout.is_asked(block)]
    return [_text(sheet) if sheet.layout.metrics == TEXT else _retrieval(sheet) for sheet in sheets]


class CaptionersSheet(Sheet):
    """A sheet whose subjects are names of captioners, and whose rows and columns are labels of the paper."""

    def __init__(self, run: PaperRun, paper: Reproduction, layout: Layout, provenance: Mapping[str, Any]):
        super().__init__(run, provenance, RECORD_COLUMNS)
        self.paper, self.layout = paper, layout

    def captioners(self) -> list[str]:
        """Return the labels of the rows, the paper's labels first and in its order."""
        printed, tables = self.run.published.rows, self.layout.captioners
        labels, own = self.paper.ordered_captioners(printed(*NUMBERED)), printed(*(tables or OWN_TABLES))
        if tables is None:
            return labels
        if not tables:
            return [label for label in labels if label not in own]
        return [label for label in labels if label in own]

    def corpora(self) -> list[str]:
        """Return the labels of the corpora, the paper's labels first and in its order.

        Concadia is one column for retrieval and two columns for text metrics. Look-alikes have a table of their own.
        """
        printed = self.run.published.columns
        known = printed(*(self.layout.corpora or ("1",)))
        other = ("2", "3", "5") if self.layout.metrics == RETRIEVAL else ("1", "4")
        elsewhere = {*printed(*other, LOOKALIKES)} - {*known}
        strangers = self.layout.captioners == ()  # tables 1 to 3 also show labels that the paper does not have
        labels = in_order(self.paper.corpora, known)
        return [label for label in labels if label in known or (strangers and label not in elsewhere)]

    def rows(self, corpus: str, captioners: Sequence[str], numbers: Sequence[Number]) -> list[list[Cell]]:
        """Return the numbers of captioners on a corpus, by their labels."""
        lines = [
            Line([label], {"subject": self.paper.captioners[label]}, label, self.paper.family(label) == "human")
            for label in captioners
        ]
        return rows_of(self, self.layout.published, corpus, self.paper.corpora[corpus], lines, numbers)

    def details(self, place: Coordinates, published: PublishedValue | None) -> dict[str, Value]:
        """Return the columns of the summary for the number, and its difference from a comparable published number."""
        row = self.run.row(place) or {}
        known = {name: row.get(name) for name in ("split", "evaluation", "candidates", "decoding")}
        apart = row["value"] - published.value if row and published and self.run.comparable else None
        names = {"captioner": place.subject, "retriever": place.scorer, "metric": place.measure}
        return {**known, **names, "difference": apart}

    def titled(self, corpus: str) -> str:
        """Return the label of a corpus and the number of images behind its numbers."""
        counts = sorted({int(str(r["n"])) for r in self.records if r["paper_column"] == corpus and r["n"]})
        images = f"n = {' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))}" if counts else "not in this run"
        return f"{corpus} ({images})"

    def why_missing(self, place: Mapping[str, Value]) -> str:
        """Return a note: the captioner was not evaluated on the corpus, or not by this retriever or measure."""
        captioner, corpus, measure, retriever = (place[name] for name in ("subject", "corpus", "measure", "scorer"))
        if not self.run.found("measure", subject=captioner, corpus=corpus):
            return f"{captioner} was not evaluated on {corpus} in this run."
        if retriever is not None:
            return f"{retriever} did not judge {captioner} on {corpus} in this run."
        return f"{measure} of {captioner} on {corpus} was not measured in this run."

    def footnotes(self, blocks: Sequence[Block]) -> list[str]:
        """Return the usual notes, and notes on the corpora that stand for the paper's, decoding and candidates."""
        notes = [*filter(None, [legend(record["verdict"] for record in self.records)]), *self.notes]
        if any(cell == Cell(MISSING) for block in blocks for row in block.rows for cell in row):
            notes.append(f"{MISSING} in a column of the paper: the paper has no such number.")
        if not self.run.comparable:
            notes.append(CONTEXT)
        shown: list[Any] = [record for record in self.records if record["n"]]
        stand_ins = dict.fromkeys((r["paper_column"], r["corpus"], r["split"]) for r in shown)
        if stand_ins:
            notes.append("; ".join(f"{label} is {name}, {split}" for label, name, split in stand_ins) + ".")
        if retrievers := sorted({str(record["scorer"]) for record in self.records if record.get("scorer")}):
            notes.append(
                f"Retrievers have their names in this run's config ({', '.join(retrievers)}); captioners and corpora "
                "have the paper's labels, or labels of papers.discritune where the paper has none."
            )
        notes.append(protocol_note({r["decoding"] for r in shown}, {r["candidates"] for r in shown}))
        if any(record["seeds"] > 1 for record in shown):
            notes += self.trainings_notes("a captioner")
        return notes


def _retrieval(sheet: CaptionersSheet) -> Table:
    """Return a table with captioners as rows and corpora as columns, each by every retriever.

    The first retriever stands for the paper's.
    """
    paper, found = sheet.paper, sheet.run.found("scorer", measure=RETRIEVAL_METRIC)
    captioners, known = sheet.captioners(), any(map(paper.rewarded_by, found))
    rows, columns = [[Cell(label)] for label in captioners], [Column("captioner", numeric=False)]
    for corpus in sheet.corpora():
        numbers: list[Number] = []
        for retriever in paper.retrievers_of(sheet.run):
            role = "gave the reward" if paper.rewarded_by(retriever) else "independent" if known else ""
            place, printed = {"measure": RETRIEVAL_METRIC, "scorer": retriever}, None if numbers else RETRIEVAL_METRIC
            numbers.append(Number(place, "", retriever, role, printed, decimals=DECIMALS[RETRIEVAL_METRIC]))
        for row, others in zip(rows, sheet.rows(corpus, captioners, numbers), strict=True):
            row += others[1:]
        group = sheet.titled(corpus)
        columns += columns_of([], [replace(number, group=group) for number in numbers])
    return sheet.table(
        *_names(sheet.layout),
        f"{_P_AT_1} This run with its 95 % interval, by each retriever; the paper's number beside the retriever that "
        "stands for the paper's.",
        columns,
        [Block(rows)] if len(columns) > 1 and rows else [],
    )


def _text(sheet: CaptionersSheet) -> Table:
    """Return a table with corpora as blocks and captioners as rows.

    Table 2 has only captioners that were trained on the corpus, Table 3 only captioners that were not.
    """
    paper, in_domain = sheet.paper, sheet.layout.in_domain
    measured = sheet.run.found("measure")
    numbers = [
        Number({"measure": metric}, heading, printed=heading, decimals=DECIMALS[metric])
        for metric, heading in TEXT_HEADINGS.items()
        if metric != "SPICE" or metric in measured
    ]
    # People have no row: their captions are the references.
    captioners = [label for label in sheet.captioners() if paper.family(label) != "human"]
    blocks = []
    for corpus in sheet.corpora():
        here = [name for name in captioners if in_domain is None or paper.in_domain(name, corpus) is in_domain]
        if rows := sheet.rows(corpus, here, numbers):
            blocks.append(Block(rows, sheet.titled(corpus)))
    if "SPICE" not in measured:
        sheet.notes.append("SPICE is not in this run.")
    for label in captioners:
        if in_domain is not None and paper.in_domain(label, next(iter(paper.corpora))) is None:
            sheet.notes.append(f"{label} is left out: the config does not say what it was trained on.")
    if not blocks:
        sheet.notes.append("No captioner of this run was evaluated in this way.")
    where = {
        True: ", of captioners on the corpus of their own training",
        False: ", of captioners on corpora that neither they nor their parents were trained on",
        None: "",
    }[in_domain]
    return sheet.table(
        *_names(sheet.layout),
        f"{_TEXT}{where}. This run with its 95 % interval; beside it the paper's number.",
        columns_of(["captioner"], numbers),
        blocks,
    )


def variant_tables(
    values: Sequence[Row],
    differences: Sequence[Row],
    published: Published,
    block: Mapping[str, Any],
    retrievers: Mapping[str, Mapping[str, Any]],
    provenance: Mapping[str, Any],
) -> Iterator[Table]:
    """Yield the tables of the variants in `block`, which is `papers.discritune` of the config.

    `values` and `differences` are rows of ROLE_VALUES and ROLE_DIFFERENCES whose experiment is the group of variants.
    `retrievers` maps each group to its `retrievers`, with the retriever that stands for the paper's first, and to the
    retrievers that gave `rewards`, by label.
    """
    for layout in LAYOUTS:
        if layout.variants in block.get("variants", {}):
            variants = block["variants"][layout.variants]
            run = PaperRun(values, differences, published, block["comparable"], variants["corpora"])
            yield _variants(layout, variants, retrievers[layout.variants], Sheet(run, provenance))


def _variants(layout: Layout, variants: Mapping[str, Any], asked: Mapping[str, Any], sheet: Sheet) -> Table:
    def own(place: Coordinates) -> str:
        return OWN if place.scorer in asked["rewards"].get(place.subject, ()) else ""

    reference, found = variants["reference"], sheet.run.found("measure", layout.variants)
    numbers: list[Number] = []
    for metric in (metric for metric in layout.metrics if metric in found):
        for retriever in asked["retrievers"] if metric == RETRIEVAL_METRIC else [None]:
            heading, place = TEXT_HEADINGS.get(metric, metric), {"measure": metric, "scorer": retriever}
            group, decimals = " by ".join(filter(None, (heading, retriever))), DECIMALS[metric]
            # Published numbers stand beside values of the first retriever and beside text metrics.
            printed = heading if layout.published and (not numbers or metric != RETRIEVAL_METRIC) else None
            ours = Number(place, group, printed=printed, decimals=decimals, mark=own)
            numbers += [ours, Number(place, group, f"against {reference}", against=reference, decimals=decimals)]
    labels = in_order(variants["captioners"], sheet.run.published.rows(layout.published or ""))
    lines = [Line([label], {"subject": label, "experiment": layout.variants}, label) for label in labels]
    blocks = blocks_of(sheet, layout.published, lines, numbers)
    if any(OWN in cell.text for block in blocks for row in block.rows for cell in row):
        sheet.notes.append(f"{OWN} by the retriever that gave the reward.")
    if layout.metrics == TEXT and "SPICE" not in found:
        sheet.notes.append("SPICE is not in this run.")
    return sheet.table(
        *_names(layout),
        f"{WHAT[layout.metrics]} Means over trainings, and the difference from {reference}, each with its 95 % "
        "interval.",
        columns_of(["captioner"], numbers),
        blocks,
    )


def _names(layout: Layout) -> tuple[str, str]:
    """Return the name and the title of a table."""
    return f"discritune_{layout.name}", f"DiscriTune, {layout.title}"


def associations_table(
    associations: Sequence[Row],
    types: Sequence[str],
    corpora: Sequence[str],
    tag: str,
    paper: Reproduction,
    provenance: Mapping[str, Any],
) -> Table:
    """Return the table of lemmas of a part of speech (ADJ or NOUN) that are associated with each caption type.

    There is a block for each corpus, with types side by side. `types` are the caption types whose words were compared.
    A lemma that is not more frequent in a type than elsewhere (association 0 or less) is left out. The paper's lemmas
    have a column if the paper has the type.
    """
    number, word = ASSOCIATIONS[tag]
    theirs = paper.corpora.get("ConCap")  # the corpus of both tables
    printed = {one: paper.ranked(number, one, f"{word} rank") if theirs in corpora else {} for one in types}
    columns = [Column("rank", numeric=False)]
    for caption_type in types:
        group = paper.label(caption_type)
        columns += [Column("lemma", group=group, numeric=False), Column("LMI", group=group)]
        if printed[caption_type]:
            columns.append(Column(PAPER, group=group, numeric=False))
    blocks, records = [], []
    for corpus in corpora:
        lists: list[list[Cell]] = []
        for caption_type in types:
            words = printed[caption_type] if corpus == theirs else {}
            place = (corpus, caption_type, tag)
            rows = [row for row in associations if (row["corpus"], row["caption_type"], row["tag"]) == place]
            top = [row for row in rows if row["rank"] <= TOP and row["association"] > 0.0]
            top.sort(key=lambda row: row["rank"])
            records += [{**row, "published": words.get(row["rank"])} for row in top]
            lists += [[Cell(row["lemma"]) for row in top], [Cell(f"{row['association']:.1f}") for row in top]]
            if printed[caption_type]:
                lists.append([Cell(words.get(rank, MISSING)) for rank in range(1, max([0, *words]) + 1)])
        blocks.append(Block(side_by_side(lists), paper.corpus_label(corpus)))
    missing = f"{MISSING}: no more {word}s are more frequent in this type than elsewhere"
    beside = "; in a column of the paper: it prints none" if any(printed.values()) else ""
    return table_of(
        f"discritune_{associations_name(tag)}",
        f"DiscriTune, table {number}: {word}s that go with each type of captions",
        f"The {TOP} {word} lemmas with the largest local mutual information (LMI, nats) with each type of captions.",
        columns,
        blocks,
        records,
        WORD_COLUMNS,
        [f"{missing}{beside}.", *paper.notes(any(printed.values()))],
        provenance,
    )
