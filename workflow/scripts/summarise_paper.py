"""Compute the values and differences that a paper reports, with intervals."""

from captionlab.evaluation.devices import device_note
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.jobs.scripting import script
from captionlab.plugins import module
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    params, output = dict(snakemake.params.items()), snakemake.output
    summarise = module(params["module"]).summarise
    values, differences, measured = summarise(dict(snakemake.input.items()), params)
    write_table(output.values, ROLE_VALUES, values, device_note(measured))
    write_table(output.differences, ROLE_DIFFERENCES, differences, device_note(measured))
