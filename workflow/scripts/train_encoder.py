"""Train a CLIP from scratch on the train split of a corpus."""

from pathlib import Path

import pyarrow.compute as pc
import torch

from captionlab import paths
from captionlab.schemas import CAPTIONS, IMAGES
from captionlab.scripting import device, script
from captionlab.tables import read_table
from captionlab.training.loop.checkpoints import fingerprint, intervals, remove
from captionlab.training.objectives.contrastive import train_clip


@script
def main(snakemake):
    # The rule's threads decode images. With them torch would sum in another order, and a profile that gives more
    # would change the weights.
    torch.set_num_threads(1)
    images = read_table(snakemake.input.images, IMAGES, columns=["image_id", "split", "path", "data"])
    images = images.filter(pc.equal(images["split"], "train"))
    directory = Path(snakemake.output.weights).parent
    state_directory = paths.state("train_encoder", directory.name)
    clip = train_clip(
        snakemake.params.config,
        images,
        read_table(snakemake.input.captions, CAPTIONS),
        seed=snakemake.params.seed,
        log_path=snakemake.output.training,
        state_directory=state_directory,
        fingerprint=fingerprint(snakemake),
        device=device(),
        threads=snakemake.threads,
        **intervals(snakemake.config),
    )
    clip.save(directory)
    remove(state_directory)
