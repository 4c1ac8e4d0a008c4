"""Train probes on the states of a captioner to tell scenes and objects, and score them."""

from typing import Any

from captionlab.probes.experiment import run_probes
from captionlab.probes.objects import run_object_probes
from captionlab.probes.schemas import OBJECT_SCORES, SCORES, SEARCH
from captionlab.probes.tables import read_encodings
from captionlab.regions.tagged_images import objects_of, read_tags
from captionlab.scripting import run
from captionlab.tables import TableSchema, write_table


def main(snakemake: Any) -> None:
    config, name = snakemake.params.config, snakemake.params.captioner
    encodings, scenes = read_encodings(snakemake.input.encodings)
    seeds = [snakemake.params.seed + place for place in range(config["seeds"])]
    rows, tried = run_probes(encodings, [*scenes.values()], config["test_shares"], seeds)
    write_scores(snakemake.output.scores, SCORES, name, rows)
    objects = objects_of(read_tags(snakemake.input.tags))
    # The hardest split is what the table of objects shows.
    rows = run_object_probes(encodings[min(encodings)], scenes, objects, max(config["test_shares"]), seeds)
    write_scores(snakemake.output.objects, OBJECT_SCORES, name, rows)
    found = {
        "captioner": [name] * len(tried),
        "rank": list(range(1, len(tried) + 1)),
        "hidden": [list(settings["hidden_layer_sizes"]) for settings, _ in tried],
        "alpha": [settings["alpha"] for settings, _ in tried],
        "macro_f1": [f1 for _, f1 in tried],
    }
    write_table(snakemake.output.search, SEARCH, found)


def write_scores(path: str, kind: TableSchema, captioner: str, rows: list[dict[str, Any]]) -> None:
    """Rows of scores, which do not say whose they are."""
    columns = {column: [{"captioner": captioner, **row}[column] for row in rows] for column in kind.columns}
    write_table(path, kind, columns)


if __name__ == "__main__":
    run(main, globals())
