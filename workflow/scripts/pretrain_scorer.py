"""Train a scorer from scratch on images and captions of a corpus, then evaluate it on images that it has not seen."""

import torch

from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.neighbours import nearest
from captionlab.encoders.store import load_encoder
from captionlab.generation.captions import evaluated_images
from captionlab.jobs.processes import is_first
from captionlab.jobs.scripting import device, folder_of, parallel_script
from captionlab.regions.batches import RegionTable
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.schemas import MATCHING
from captionlab.scorers.store import new_scorer, save_scorer
from captionlab.storage import paths
from captionlab.storage.tables import write_table
from captionlab.training.loop.checkpoints import Training, remove
from captionlab.training.loop.data import references, training_images
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.itm import MatchingBatches, MatchingObjective, Negatives, align_words, examine


def pairs(captions, features, ids, share):
    """Return the captions of images, and a source of negatives among these captions.

    Hard negatives are captions of the `share` of images whose `features` are nearest.
    """
    texts = references(captions, ids)
    embeddings = load_embeddings(features, ids).values
    alike = max(1, round(share * len(ids)))
    return texts, Negatives(texts, nearest(embeddings, min(alike, len(ids) - 1))[0].numpy())


@parallel_script
def main(snakemake):
    inputs, params, config = snakemake.input, snakemake.params, snakemake.params.config
    regions = RegionTable(inputs.regions)
    ids = training_images(inputs.images)
    texts, negatives = pairs(inputs.captions, inputs.neighbours, ids, config["negatives"]["nearest"])
    torch.manual_seed(params.seed)
    scorer = new_scorer(config, (text for of_image in texts for text in of_image), regions.region_size, device())
    if config["word_embeddings"] == "encoder":
        align_words(scorer, load_encoder(folder_of(inputs.encoder_weights[0]), device()))
    hard, size = config["negatives"]["hard"], config["optimizer"]["batch"]
    batches = MatchingBatches(ids, regions, texts, negatives, hard, size, params.seed, device())
    training = Training(
        rule=snakemake.rule,
        params=dict(snakemake.params.items()),
        images=inputs.images,
        weights=snakemake.output.weights,
        log=snakemake.output.training,
        checkpoints=snakemake.config.get("checkpoints", {}),
        tracking=snakemake.config.get("tracking", "none"),
    )
    train(scorer, MatchingObjective(), batches, config["optimizer"], **training.options())
    if not is_first():
        return
    scorer.eval()
    ids = evaluated_images(inputs.images, paths.owner_of(inputs.images), params.split)
    texts, negatives = pairs(inputs.captions, inputs.neighbours, ids, config["negatives"]["nearest"])
    images = ScorerImages(scorer, inputs.regions, device())
    found = examine(scorer, images, ids, texts, negatives, params.split, params.seed)
    write_table(snakemake.output.matching, MATCHING, found)
    save_scorer(scorer, folder_of(snakemake.output.weights), {"config": config, "seed": params.seed})
    remove(training.state)
