"""Put this run's numbers and examples into the tables of a paper, the published ones beside them."""

from importlib import import_module
from pathlib import Path

from captionlab.provenance import commit
from captionlab.reporting.render import write_table_files
from captionlab.scripting import script


@script
def main(snakemake):
    params, files = dict(snakemake.params.items()), list(map(Path, snakemake.output.tables))
    provenance = {"commit": commit(), **params["provenance"]}
    tabulate = import_module(params["module"]).tabulate
    made = {table.name: table for table in tabulate(dict(snakemake.input.items()), params, provenance)}
    if odd := sorted({path.stem for path in files} ^ made.keys()):
        raise ValueError(f"{params['module']} declares {odd[0]!r} and does not make it, or the other way round")
    for name, table in made.items():
        write_table_files(table, [path for path in files if path.stem == name])
