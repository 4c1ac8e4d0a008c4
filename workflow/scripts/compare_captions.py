"""Compare captions before and after objects are removed, for both captioners and on all splits."""

from captionlab.ablation.comparison import compare_splits, effects, pairs
from captionlab.ablation.schemas import ABLATED, EFFECTS, SPLITS
from captionlab.config.roles import ROLES
from captionlab.jobs.scripting import script
from captionlab.storage.tables import read_table, write_table


@script
def main(snakemake):
    found, tests = [], []
    for name in ROLES:
        of_captioner = pairs(read_table(snakemake.input[name], ABLATED).to_pylist())
        found += [{"captioner": name, **row} for row in effects(of_captioner, snakemake.params.seed)]
        tests += [{"captioner": name, **row} for row in compare_splits(of_captioner)]
    write_table(snakemake.output.effects, EFFECTS, found)
    write_table(snakemake.output.splits, SPLITS, tests)
