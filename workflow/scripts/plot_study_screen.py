"""Draw a screen of the study with a human caption."""

from typing import Any

import yaml

from captionlab.papers.discritune.study_figures import plot_screen
from captionlab.schemas import IMAGES
from captionlab.scripting import run
from captionlab.study.schemas import STIMULI
from captionlab.tables import read_table


def main(snakemake: Any) -> None:
    with open(snakemake.input.style, encoding="utf-8") as file:
        style = yaml.safe_load(file)
    screens = read_table(snakemake.input.stimuli, STIMULI).to_pylist()
    people = snakemake.params.people
    screen = next(row for row in screens if row["role"] == "question" and row["caption_type"] == people)
    images = read_table(snakemake.input.images, IMAGES, ["image_id", "path", "data"])
    plot_screen(screen, images, style, snakemake.output[0])


if __name__ == "__main__":
    run(main, globals())
