"""Let simulated participants, driven by a retriever, take part in the study."""

import numpy as np

from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.store import load_encoder
from captionlab.evaluation.cut_captions import log_cut
from captionlab.evaluation.metrics.retrieval.metric import unit_length
from captionlab.jobs.scripting import device, folder_of, script
from captionlab.reporting.tables.formats.files import write_text
from captionlab.storage.tables import read_metadata, read_table
from captionlab.study.responses import simulate
from captionlab.study.schemas import STIMULI


@script
def main(snakemake):
    inputs, params = snakemake.input, snakemake.params
    screens = read_table(inputs.stimuli, STIMULI).to_pylist()
    clip = load_encoder(folder_of(inputs.weights), device())
    captions = [screen["caption"] for screen in screens]
    log_cut(clip.tokens_left_out(captions), "the study", clip.family)
    texts = unit_length(clip.embed_texts(captions).cpu().numpy(), captions, "captions of the study")
    rows = [image for screen in screens for image in screen["images"]]
    images = unit_length(load_embeddings(inputs.features).rows(rows).numpy(), rows, "images of the study")
    similarities = np.einsum("sd,sid->si", texts, images.reshape(len(screens), -1, texts.shape[1]))
    study = read_metadata(inputs.stimuli)["study"]
    answers = simulate(screens, similarities, clip.logit_scale, params.participants, study, params.seed)
    write_text(snakemake.output[0], answers)
