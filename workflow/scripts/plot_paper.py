"""Draw the figures of a paper."""

from captionlab.jobs.scripting import script
from captionlab.plugins import module
from captionlab.reporting.tables.figures import looking, save
from captionlab.storage.files import read_yaml


@script
def main(snakemake):
    params, style = dict(snakemake.params.items()), read_yaml(snakemake.input.style)
    files = dict(snakemake.output.items())
    with looking(style):
        drawings = module(params["module"]).drawings(dict(snakemake.input.items()), params, style)
        for name, draw in drawings.items():
            save(draw, files[name], style, params.get("caveats", []))
