"""Measure what a paper compares: its values and differences, with intervals."""

from importlib import import_module
from typing import Any

from captionlab.evaluation.devices import device_note
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.scripting import run
from captionlab.tables import write_table


def main(snakemake: Any) -> None:
    params, output = dict(snakemake.params.items()), snakemake.output
    summarise = import_module(params["module"]).summarise
    values, differences, measured = summarise(dict(snakemake.input.items()), params)
    for path, kind, rows in (
        (output.values, ROLE_VALUES, values),
        (output.differences, ROLE_DIFFERENCES, differences),
    ):
        columns = {name: [row[name] for row in rows] for name in kind.columns}
        write_table(path, kind, columns, device_note(measured))


if __name__ == "__main__":
    run(main, globals())
