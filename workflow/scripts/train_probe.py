"""Train probes that predict scenes and objects from the states of a captioner, and score the probes."""

from captionlab.jobs.scripting import script
from captionlab.probes.probe import run_object_probes, run_probes
from captionlab.probes.schemas import OBJECT_SCORES, SCORES, SEARCH, read_encodings
from captionlab.regions.tags import objects_of, read_tags
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    config, name = snakemake.params.config, snakemake.params.captioner
    encodings, scenes = read_encodings(snakemake.input.encodings)
    seeds = [snakemake.params.seed + place for place in range(config["seeds"])]
    rows, tried = run_probes(encodings, [*scenes.values()], config["test_shares"], seeds, config["search"])
    write_table(snakemake.output.scores, SCORES, [{"captioner": name, **row} for row in rows])
    objects = objects_of(read_tags(snakemake.input.tags))
    # The table of objects shows the hardest split, which has the largest test share.
    rows = run_object_probes(encodings[min(encodings)], scenes, objects, max(config["test_shares"]), seeds)
    write_table(snakemake.output.objects, OBJECT_SCORES, [{"captioner": name, **row} for row in rows])
    rows = [
        (name, rank, list(settings["hidden_layer_sizes"]), settings["alpha"], f1)
        for rank, (settings, f1) in enumerate(tried, 1)
    ]
    write_table(snakemake.output.search, SEARCH, [dict(zip(SEARCH.columns, row, strict=True)) for row in rows])
