"""Write the study as a web page and as a PsychoPy experiment, and a page for browsing its images."""

from pathlib import Path

from captionlab.images.locations import LOCATION
from captionlab.jobs.scripting import script
from captionlab.reporting.tables.formats.files import write_text
from captionlab.storage.row_groups import read_chosen
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_metadata, read_table
from captionlab.study.pages import (
    consent_text,
    file_name,
    pictures,
    read_template,
    review_page,
    study_page,
    write_pictures,
)
from captionlab.study.psychopy import EXAMPLE_CONDITIONS, conditions, conditions_file, experiment
from captionlab.study.schemas import STIMULI
from captionlab.study.stimuli import read_exclusions


@script
def main(snakemake):
    inputs, web, psychopy = snakemake.input, Path(snakemake.output.web), Path(snakemake.output.psychopy)
    screens = read_table(inputs.stimuli, STIMULI).to_pylist()
    study = read_metadata(inputs.stimuli)["study"]
    shown = sorted({image for screen in screens for image in screen["images"]})
    known = read_table(inputs.images, IMAGES, ["image_id"])["image_id"].to_pylist()
    excluded = read_exclusions(inputs.exclude[0], known) if inputs.exclude else set()
    images = read_chosen(inputs.images, IMAGES, ["image_id", *LOCATION], shown)
    write_pictures(pictures(images), [web / "images", psychopy / "images"])
    params = snakemake.params
    consent = consent_text(Path(inputs.consent).read_text(encoding="utf-8"), params.origin, params.corpus)
    page = study_page(read_template(inputs.page), study, screens, consent, params.post)
    write_text(web / "index.html", page)
    review = review_page(read_template(inputs.review), study, screens, excluded, f"{web.name}/images")
    write_text(snakemake.output.review, review)
    blocks = sorted({screen["block"] for screen in screens} - {0})
    for block in (0, *blocks):
        path = conditions_file(block) if block else EXAMPLE_CONDITIONS
        write_text(psychopy / path, conditions(study, [screen for screen in screens if screen["block"] == block]))
    template = Path(inputs.experiment).read_text(encoding="utf-8")
    write_text(psychopy / "study.psyexp", experiment(template, study, blocks, consent, list(map(file_name, shown))))
