"""Write the study as a web page and as an experiment for PsychoPy, and a page to look its images through."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from captionlab.reporting.render import write_text
from captionlab.schemas import IMAGES
from captionlab.scripting import script
from captionlab.study.pages import file_name, pictures, read_template, review_page, study_page, write_pictures
from captionlab.study.psychopy import EXAMPLE_CONDITIONS, conditions, conditions_file, experiment
from captionlab.study.schemas import STIMULI
from captionlab.tables import read_metadata, read_table


@script
def main(snakemake: Any) -> None:
    screens = read_table(snakemake.input.stimuli, STIMULI).to_pylist()
    study = read_metadata(snakemake.input.stimuli)["study"]
    web, psychopy = Path(snakemake.output.web), Path(snakemake.output.psychopy)
    shown = sorted({image for screen in screens for image in screen["images"]})
    images = read_table(snakemake.input.images, IMAGES, ["image_id", "path", "data"])
    images = images.filter(pc.is_in(images["image_id"], pa.array(shown)))
    write_pictures(pictures(images), [web / "images", psychopy / "images"])
    consent = Path(snakemake.input.consent[0]).read_text(encoding="utf-8")
    page = study_page(read_template(snakemake.input.page), study, screens, consent, snakemake.params.post)
    write_text(web / "index.html", page)
    write_text(
        snakemake.output.review, review_page(read_template(snakemake.input.review), screens, f"{web.name}/images")
    )
    blocks = sorted({screen["block"] for screen in screens} - {0})
    for block in (0, *blocks):
        path = conditions_file(block) if block else EXAMPLE_CONDITIONS
        write_text(psychopy / path, conditions(study, [screen for screen in screens if screen["block"] == block]))
    files = [file_name(image) for image in shown]
    template = Path(snakemake.input.experiment).read_text(encoding="utf-8")
    write_text(psychopy / "study.psyexp", experiment(template, study, blocks, consent, files))
