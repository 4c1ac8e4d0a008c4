"""Draw the figures of a paper."""

from importlib import import_module

from captionlab.files import read_yaml
from captionlab.scripting import script


@script
def main(snakemake):
    paths = {name: path for name, path in snakemake.output.items() if name != "provenance"}
    params = dict(snakemake.params.items())
    import_module(params["module"]).plot(dict(snakemake.input.items()), params, read_yaml(snakemake.input.style), paths)
