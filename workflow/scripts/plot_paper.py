"""Draw the figures of a paper."""

from importlib import import_module

from captionlab.scripting import script


@script
def main(snakemake):
    import yaml

    with open(snakemake.input.style, encoding="utf-8") as file:
        style = yaml.safe_load(file)
    paths = {name: path for name, path in snakemake.output.items() if name != "provenance"}
    params = dict(snakemake.params.items())
    import_module(params["module"]).plot(dict(snakemake.input.items()), params, style, paths)
