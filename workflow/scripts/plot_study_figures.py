"""Draw where a finetuned caption succeeds, and those of people and of its parent fail."""

from typing import Any

import yaml

from captionlab.papers.discritune.study_figures import examples, plot_examples
from captionlab.schemas import IMAGES
from captionlab.scripting import run
from captionlab.study.responses import SIMULATED
from captionlab.study.schemas import ANSWERS, STIMULI
from captionlab.tables import read_table


def main(snakemake: Any) -> None:
    with open(snakemake.input.style, encoding="utf-8") as file:
        style = yaml.safe_load(file)
    screens = read_table(snakemake.input.stimuli, STIMULI).to_pylist()
    answers = read_table(snakemake.input.answers, ANSWERS).to_pylist()
    images = read_table(snakemake.input.images, IMAGES, ["image_id", "path", "data"])
    simulated = snakemake.wildcards.participants == SIMULATED
    chosen = examples(screens, answers, snakemake.params.people, snakemake.params.parents)
    plot_examples(chosen, images, simulated, style, snakemake.output[0])


if __name__ == "__main__":
    run(main, globals())
