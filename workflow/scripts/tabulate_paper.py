"""Put this run's numbers and examples into the tables of a paper, beside the published numbers."""

from dataclasses import replace
from pathlib import Path

from captionlab.jobs.provenance import commit, part_of
from captionlab.jobs.scripting import script
from captionlab.plugins import module
from captionlab.reporting.tables.cells import write_cells
from captionlab.reporting.tables.formats.files import write_table_files


@script
def main(snakemake):
    params, files = dict(snakemake.params.items()), list(map(Path, snakemake.output.tables))
    Path(snakemake.output.pictures).mkdir(parents=True, exist_ok=True)
    provenance, made = {"commit": commit(), **params["provenance"]}, []
    for tabulate in module(params["module"]).TABLES:
        with part_of(snakemake.input) as inputs:
            for table in tabulate(inputs, params, provenance):
                outputs = [path for path in files if path.stem == table.name]
                write_table_files(replace(table, figures=params.get("figures", {}).get(table.name, {})), outputs)
                inputs.makes(outputs)
                made.append(table)
    if odd := sorted({path.stem for path in files} ^ {table.name for table in made}):
        raise ValueError(f"{params['module']} declares {odd[0]!r} and does not make it, or the other way round")
    write_cells(snakemake.output.cells, made)
