"""Train probes on the states of a captioner to tell scenes, and score them."""

from typing import Any

from captionlab.probes.encodings import read_encodings
from captionlab.probes.experiment import run_probes
from captionlab.probes.kinds import SCORES, SEARCH
from captionlab.scripting import run
from captionlab.tables import write_table


def main(snakemake: Any) -> None:
    config, name = snakemake.params.config, snakemake.params.captioner
    encodings, classes = read_encodings(snakemake.input[0])
    seeds = [snakemake.params.seed + place for place in range(config["seeds"])]
    rows, tried = run_probes(encodings, classes, config["test_shares"], seeds)
    columns = {column: [{"captioner": name, **row}[column] for row in rows] for column in SCORES.columns}
    write_table(snakemake.output.scores, SCORES, columns)
    found = {
        "captioner": [name] * len(tried),
        "rank": list(range(1, len(tried) + 1)),
        "hidden": [list(settings["hidden_layer_sizes"]) for settings, _ in tried],
        "alpha": [settings["alpha"] for settings, _ in tried],
        "macro_f1": [f1 for _, f1 in tried],
    }
    write_table(snakemake.output.search, SEARCH, found)


if __name__ == "__main__":
    run(main, globals())
