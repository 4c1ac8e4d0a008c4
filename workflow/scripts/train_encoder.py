"""Train a CLIP from scratch on the train split of a corpus."""

import pyarrow.compute as pc
import torch

from captionlab.images.locations import LOCATION
from captionlab.jobs.scripting import folder_of, script
from captionlab.storage.row_groups import read_chosen
from captionlab.storage.schemas import CAPTIONS, IMAGES
from captionlab.storage.tables import read_table
from captionlab.training.loop.checkpoints import Training, remove
from captionlab.training.objectives.contrastive import train_clip


@script
def main(snakemake):
    # The rule's threads decode images only. In torch, another number of threads would sum in another order, so the
    # weights would depend on the profile.
    torch.set_num_threads(1)
    splits = read_table(snakemake.input.images, IMAGES, columns=["image_id", "split"])
    ids = splits.filter(pc.equal(splits["split"], "train"))["image_id"].to_pylist()
    if not ids:
        raise ValueError(
            f"{snakemake.input.images}: an encoder is trained on the split 'train', and this corpus has none"
        )
    # The table may hold the bytes of images, so images of other splits are not read.
    images = read_chosen(snakemake.input.images, IMAGES, ["image_id", "split", *LOCATION], ids)
    captions = read_table(snakemake.input.captions, CAPTIONS)
    training = Training(
        rule=snakemake.rule,
        params=dict(snakemake.params.items()),
        images=snakemake.input.images,
        weights=snakemake.output.weights,
        log=snakemake.output.training,
        checkpoints=snakemake.config.get("checkpoints", {}),
        tracking=snakemake.config.get("tracking", "none"),
    )
    clip = train_clip(snakemake.params.config, images, captions, threads=snakemake.threads, **training.options())
    clip.save(folder_of(snakemake.output.weights))
    remove(training.state)
