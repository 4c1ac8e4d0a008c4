"""Write the first page of a run: what was run, whether it is valid, and what it says on each paper."""

from datetime import UTC, datetime

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.claims.effects import EFFECTS
from captionlab.reporting.documents.answer import answer_page
from captionlab.reporting.documents.costs import COSTS
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.reporting.tables.formats.files import write_text
from captionlab.storage.schemas import COMPARISONS
from captionlab.storage.tables import read_metadata, read_table


@script
def main(snakemake):
    inputs, params = snakemake.input, snakemake.params
    page = answer_page(
        run={"commit": commit(), **params.provenance, **read_metadata(inputs.summary)},
        costs=read_table(inputs.costs, COSTS).to_pylist(),
        validity=[row for path in inputs.validity for row in read_records(path)],
        claims=[row for path in inputs.claims for row in read_records(path)],
        effects=[row for path in inputs.effects for row in read_table(path, EFFECTS).to_pylist()],
        numbers=[row for path in inputs.reproduction for row in read_records(path)],
        comparisons=read_table(inputs.comparisons, COMPARISONS).to_pylist(),
        papers=params.papers,
        places=params.places,
        finished=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    write_text(snakemake.output.page, page)
