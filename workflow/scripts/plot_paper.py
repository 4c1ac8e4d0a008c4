"""Draw the figures of a paper."""

from captionlab.config.plotting import read_style
from captionlab.jobs.scripting import script
from captionlab.plugins import module
from captionlab.reporting.tables.figure_pages import PageOfFigure
from captionlab.reporting.tables.figures import looking, save


@script
def main(snakemake):
    params = dict(snakemake.params.items())
    style = read_style(snakemake.input.style, params["venue"])
    files = dict(snakemake.output.items())
    with looking(style):
        drawings = module(params["module"]).drawings(dict(snakemake.input.items()), params, style)
        for name, draw in drawings.items():
            page = PageOfFigure(**params["pages"][name])
            save(draw, files[name], style, page, params.get("caveats", []))
