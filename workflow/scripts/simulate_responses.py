"""Let simulated participants, driven by a retriever, take part in the study."""

from pathlib import Path
from typing import Any

import numpy as np

from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.store import load_encoder
from captionlab.evaluation.metrics.retrieval import unit_length
from captionlab.reporting.render import write_text
from captionlab.scripting import device, script
from captionlab.study.responses import simulate
from captionlab.study.schemas import STIMULI
from captionlab.tables import read_metadata, read_table


@script
def main(snakemake: Any) -> None:
    screens = read_table(snakemake.input.stimuli, STIMULI).to_pylist()
    clip = load_encoder(Path(snakemake.input.weights).parent, device())
    embeddings = load_embeddings(snakemake.input.features)
    captions = [screen["caption"] for screen in screens]
    texts = unit_length(clip.embed_texts(captions).cpu().numpy(), captions, "captions of the study")
    rows = [image for screen in screens for image in screen["images"]]
    images = unit_length(embeddings.rows(rows).numpy(), rows, "images of the study").reshape(
        len(screens), -1, texts.shape[1]
    )
    similarities = np.einsum("sd,sid->si", texts, images)
    study = read_metadata(snakemake.input.stimuli)["study"]
    answers = simulate(
        screens, similarities, clip.logit_scale, snakemake.params.participants, study, snakemake.params.seed
    )
    write_text(snakemake.output[0], answers)
