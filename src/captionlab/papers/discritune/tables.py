"""Tables of Dessì et al. 2023 from a run: ours with its interval, the published number beside it, a verdict.

Rows and columns are the paper's, by the labels of the config's block `papers.discritune`. Tables 1 to 3 have the
captioners that the paper has there, and those that it does not have at all.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.language.schemas import ASSOCIATIONS as ASSOCIATED
from captionlab.language.schemas import STATISTICS
from captionlab.papers.discritune.associations import associations_table
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
    Layout,
)
from captionlab.papers.discritune.study import study_table
from captionlab.papers.discritune.variant_tables import variant_tables
from captionlab.reporting.footnotes import protocol_note, run_notes
from captionlab.reporting.measurements import Measurements
from captionlab.reporting.published import Published, PublishedValue, read_published
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table, Value
from captionlab.reporting.reproduction import Reproduction
from captionlab.reporting.sheets import PROVENANCE
from captionlab.reporting.verdicts import CONTEXT, beside, judge, legend, smallest_difference
from captionlab.schemas import SUMMARY
from captionlab.study.schemas import ACCURACY, AGREEMENT, PAIRWISE, PARTICIPANTS
from captionlab.tables import read_metadata, read_table

ANSWERS = {"accuracy": ACCURACY, "pairwise": PAIRWISE, "agreement": AGREEMENT, "participants": PARTICIPANTS}
TABLES = ("1", "2", "3", "4", "5", "10", "11")
MEASURED = ("split", "evaluation", "value", "ci_low", "ci_high", "n", "candidates", "decoding")
RECORD_COLUMNS = (
    "paper_row", "paper_column", "captioner", "corpus", "split", "evaluation", "retriever", "metric",
    "value", "ci_low", "ci_high", "n", "candidates", "decoding", "published", "difference", "verdict",
    "smallest_difference", *PROVENANCE,
)  # fmt: skip


def tabulate(inputs: Mapping[str, Any], params: Mapping[str, Any], provenance: Mapping[str, Any]) -> Iterator[Table]:
    """Tables of captioners, of variants, of the study and of language, so far as the config asks for them."""
    published = read_published(inputs["published"])
    paper = Reproduction(params["config"], params["lineage"], published)
    if params["config"]:
        run = Measurements(read_table(inputs["summary"], SUMMARY).to_pylist(), (), paper.evaluations)
        yield from discritune_tables(run, published, paper, {**provenance, **read_metadata(inputs["summary"])})
        values = read_table(inputs["values"], ROLE_VALUES).to_pylist()
        differences = read_table(inputs["differences"], ROLE_DIFFERENCES).to_pylist()
        made = {**provenance, **read_metadata(inputs["values"])}
        yield from variant_tables(values, differences, published, params["config"], params["retrievers"], made)
    for number, who in enumerate(params["participants"]):
        answers = {
            name: read_table(inputs[f"study_{name}"][number], kind).to_pylist() for name, kind in ANSWERS.items()
        }
        yield study_table(who, answers, params["study_captioners"], params["study_corpus"], paper, provenance)
    if "associations" in inputs:
        associations = read_table(inputs["associations"], ASSOCIATED).to_pylist()
        statistics = [row for path in inputs["statistics"] for row in read_table(path, STATISTICS).to_pylist()]
        corpora = list(dict.fromkeys(row["corpus"] for row in statistics))
        for tag in ASSOCIATIONS:
            yield associations_table(associations, params["caption_types"], corpora, tag, paper, provenance)


def discritune_tables(
    run: Measurements, published: Published, paper: Reproduction, provenance: Mapping[str, Any]
) -> list[Table]:
    """Those of LAYOUTS that the paper's block asks for. `provenance` is described at `run_notes`."""
    asked = [layout for layout in LAYOUTS if layout.is_asked(paper.captioners, paper.corpora)]
    sheets = [_Sheet(run, published, paper, provenance, layout) for layout in asked]
    return [_text(sheet) if sheet.layout.metrics == TEXT else _retrieval(sheet) for sheet in sheets]


def _retrieval(sheet: "_Sheet") -> Table:
    """Rows are captioners, columns corpora, each by every retriever; the first one stands for the paper's."""
    retrievers = list(sheet.paper.retrievers or sheet.run.retrievers)
    labels = sheet.captioners()
    rows = [[Cell(label)] for label in labels]
    columns = [Column("captioner", numeric=False)]
    for corpus in sheet.corpora():
        for row, label in zip(rows, labels, strict=True):
            for retriever in retrievers[:1]:
                theirs = sheet.printed(label, corpus, RETRIEVAL_METRIC)
                row += sheet.cells(label, corpus, RETRIEVAL_METRIC, retriever, theirs)
            row += [sheet.cells(label, corpus, RETRIEVAL_METRIC, retriever, None)[0] for retriever in retrievers[1:]]
        group = f"{corpus} ({sheet.images(corpus)})"
        for index, retriever in enumerate(retrievers):
            columns.append(Column(retriever, sheet.role(retriever), group))
            if index == 0:
                columns.append(Column("paper", group=group))
    return sheet.table(
        "P@1 (%): the share of captions by which a retriever finds their image among the candidates. This run with its "
        "95 % interval, by each retriever; the paper's number beside the retriever that stands for the paper's.",
        columns,
        [Block(rows)] if len(columns) > 1 and rows else [],
    )


def _text(sheet: "_Sheet") -> Table:
    """Blocks are corpora, rows the captioners; of tables 2 and 3 those that were trained on it, or were not."""
    paper, in_domain = sheet.paper, sheet.layout.in_domain
    metrics = [metric for metric in TEXT_HEADINGS if metric != "SPICE" or "SPICE" in sheet.run.metrics]
    columns = [Column("captioner", numeric=False)]
    for metric in metrics:
        columns += [Column(heading, group=TEXT_HEADINGS[metric]) for heading in ("this run", "paper")]
    # People have no row: their captions are the references.
    captioners = [label for label in sheet.captioners() if paper.family(label) != "human"]
    blocks = []
    for corpus in sheet.corpora():
        rows = []
        for label in captioners:
            if in_domain is None or paper.in_domain(label, corpus) is in_domain:
                row = [Cell(label)]
                for metric in metrics:
                    theirs = sheet.printed(label, corpus, TEXT_HEADINGS[metric])
                    row += sheet.cells(label, corpus, metric, None, theirs)
                rows.append(row)
        if rows:
            blocks.append(Block(rows, f"{corpus} ({sheet.images(corpus)})"))
    if "SPICE" not in metrics:
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
        f"BLEU-4 (B@4), METEOR (M), CIDEr (C) and SPICE (S), times 100{where}. This run with its 95 % interval; "
        "beside it the paper's number.",
        columns,
        blocks,
    )


class _Sheet:
    """The cells of one table, the record of each, and what the footnotes must say of them."""

    def __init__(
        self,
        run: Measurements,
        published: Published,
        paper: Reproduction,
        provenance: Mapping[str, Any],
        layout: Layout,
    ):
        self.run, self.published, self.paper, self.provenance, self.layout = run, published, paper, provenance, layout
        self.records: list[dict[str, Value]] = []
        self.notes: list[str] = []

    def captioners(self) -> list[str]:
        """Labels of the rows, the paper's in its order."""
        labels = self.paper.ordered_captioners(self._rows([*TABLES]))
        tables = self.layout.captioners
        if tables is None:
            return labels
        known, own = self._rows(tables), self._rows(OWN_TABLES)
        return [label for label in labels if (label in known if tables else label not in own)]

    def corpora(self) -> list[str]:
        """Labels of the corpora, the paper's in its order.

        Concadia is one column for retrieval and two for text metrics; look-alikes have a table of their own.
        """
        text, retrieval = (self._columns(tables) for tables in (("2", "3", "5"), ("1", "4")))
        other = text if self.layout.metrics == RETRIEVAL else retrieval
        known = self._columns(self.layout.corpora or ("1",))
        elsewhere = {*other, *self._columns((LOOKALIKES,))} - {*known}
        strangers = self.layout.captioners == ()  # labels that the paper does not have stand in tables 1 to 3
        return [
            label
            for label in self.paper.ordered_corpora(known)
            if label in known or (strangers and label not in elsewhere)
        ]

    def _rows(self, tables: Sequence[str]) -> list[str]:
        """The paper's row labels in these tables."""
        return list(dict.fromkeys(label for table in tables for label in self.published.rows(table)))

    def _columns(self, tables: Sequence[str]) -> list[str]:
        """The paper's corpora in these tables."""
        return list(dict.fromkeys(label for table in tables for label in self.published.columns(table)))

    def printed(self, row: str, column: str, metric: str) -> PublishedValue | None:
        """The paper's number."""
        return self.published.find(self.layout.published, row, column, metric)

    def role(self, retriever: str) -> str:
        """Whether captioners of this table were rewarded by a retriever; nothing where no reward is known."""
        if self.paper.rewarded_by(retriever):
            return "gave the reward"
        return "independent" if any(map(self.paper.rewarded_by, self.run.retrievers)) else ""

    def images(self, corpus: str) -> str:
        """How many images the numbers of a corpus rest on."""
        counts = sorted({int(str(r["n"])) for r in self.records if r["paper_column"] == corpus and r["n"]})
        if not counts:
            return "not in this run"
        return f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"

    def cells(
        self, label: str, corpus: str, metric: str, retriever: str | None, theirs: PublishedValue | None
    ) -> list[Cell]:
        """Our cell and the paper's; the record is kept."""
        captioner, name = self.paper.captioners[label], self.paper.corpora[corpus]
        ours = self.run.find(captioner, name, metric, retriever)
        verdict = judge(ours, theirs, self.paper.comparable)
        record: dict[str, Value] = {
            "paper_row": label, "paper_column": corpus, "captioner": captioner, "corpus": name,
            "retriever": retriever, "metric": metric, "verdict": verdict,
            **{key: self.provenance.get(key) for key in PROVENANCE},
            **{key: getattr(ours, key, None) for key in MEASURED},
            "published": theirs.text if theirs else None, "difference": None,
            "smallest_difference": smallest_difference(ours),
        }  # fmt: skip
        if ours is not None and theirs is not None and self.paper.comparable:
            record["difference"] = ours.value - theirs.value
        self.records.append(record)
        if ours is None:
            mine = Cell(MISSING, note=self._why_missing(captioner, name, metric, retriever))
        else:
            places = DECIMALS[metric]
            mine = Cell(f"{ours.value:.{places}f}", f"[{ours.ci_low:.{places}f}, {ours.ci_high:.{places}f}]")
        return [mine, beside(theirs, verdict, smallest_difference(ours))]

    def table(self, description: str, columns: Sequence[Column], blocks: Sequence[Block]) -> Table:
        """The table with its footnotes."""
        name, title = self.layout.name, f"DiscriTune, {self.layout.title}"
        notes = list(self.notes)
        if markers := legend(record["verdict"] for record in self.records):
            notes.insert(0, markers)
        if any(cell == Cell(MISSING) for block in blocks for row in block.rows for cell in row):
            notes.append(f"{MISSING} in a column of the paper: the paper has no such number.")
        if not self.paper.comparable:
            notes.append(CONTEXT)
        stand_ins = dict.fromkeys((r["paper_column"], r["corpus"], r["split"]) for r in self.records if r["n"])
        if stand_ins:
            notes.append("; ".join(f"{label} is {name}, {split}" for label, name, split in stand_ins) + ".")
        notes.append(
            protocol_note(
                {str(r["decoding"]) for r in self.records if r["n"]},
                {str(r["candidates"]) for r in self.records if r["candidates"]},
            )
        )
        notes += run_notes(self.provenance)
        return Table(name, title, description, columns, blocks, self.records, RECORD_COLUMNS, notes)

    def _why_missing(self, captioner: str, corpus: str, metric: str, retriever: str | None) -> str:
        if not self.run.evaluated(captioner, corpus):
            return f"{captioner} was not evaluated on {corpus} in this run."
        if retriever is not None:
            return f"{retriever} did not judge {captioner} on {corpus} in this run."
        return f"{metric} of {captioner} on {corpus} was not measured in this run."
