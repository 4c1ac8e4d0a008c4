"""Train CLIP from scratch: an image and its caption are pulled together, all other pairs of the batch apart."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from captionlab.encoders.clip.encoder import MEAN, STD, Clip, build, encode_tokens, tokenise
from captionlab.encoders.images import crop, decode, normalise
from captionlab.jobs.progress import progress
from captionlab.training.loop.batches import CaptionBatch, CaptionBatches
from captionlab.training.loop.data import texts_by_image
from captionlab.training.loop.trainer import Objective, train

# The largest factor between cosine and logit (Radford et al. 2021, section 2.5).
LARGEST_SCALE = 100.0
# Mean length of image embeddings, as usual for OpenAI's ViT-B/32, and the number of images that it is measured on. The
# loss determines directions only and leaves lengths arbitrary, but captioners and region features read embeddings
# without normalising. On held-out training images of the toy world, an FC captioner named an object .80 times as often
# as people do at length 45, which the training had produced, and .83 times as often at length 10.
LENGTH, MEASURED = 10.0, 1000


class ContrastiveObjective(Objective):
    """Symmetric cross-entropy over the similarities of a batch's images and captions (Radford et al. 2021, figure 3).

    `batch.visual` are bytes (B, 3, height, width), `batch.tokens` (B, T) token ids. The other pairs of the batch are
    the negatives, so a batch cannot be accumulated from parts.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float]):
        self.mean, self.std = mean, std

    def loss(self, model: Any, batch: CaptionBatch) -> tuple[Tensor, dict[str, Any]]:
        """Return the loss (nats) of a batch, with gradient, and retrieval accuracy and logit scale as statistics."""
        images = normalize(model.encode_image(normalise(batch.visual, self.mean, self.std)), dim=1)
        texts = normalize(encode_tokens(model, batch.tokens), dim=1)
        scale = model.logit_scale.clamp(max=math.log(LARGEST_SCALE)).exp()
        logits = scale * texts @ images.T
        target = torch.arange(len(logits), device=logits.device)
        loss = (cross_entropy(logits, target) + cross_entropy(logits.T, target)) / 2
        return loss, {"accuracy": (logits.argmax(dim=1) == target).float().mean(), "logit_scale": scale.detach()}


class SmallVocabulary:
    """Temporary table of token embeddings with only the tokens of the training captions.

    It replaces the table of the text tower during training. The other rows of the full table would get no gradient, but
    each update would pass over all 49,408 rows. Ids keep their order, so the end token stays the largest. Rows of other
    tokens keep their initial values.
    """

    def __init__(self, model: Any, tokens: Sequence[Sequence[int]]):
        self.model, self.table = model, model.token_embedding
        self.ids = torch.tensor(sorted({token for ids in tokens for token in ids}))
        small = torch.nn.Embedding(len(self.ids), self.table.embedding_dim, device=self.table.weight.device)
        small.weight.data.copy_(self.table.weight.data[self.ids])
        model.token_embedding = small

    def encode(self, tokens: Sequence[int]) -> list[int]:
        """Return the ids of tokens in the small table."""
        return torch.searchsorted(self.ids, torch.tensor(tokens)).tolist()

    def restore(self) -> None:
        """Copy the trained rows into the full table, and put the full table back into the model."""
        self.table.weight.data[self.ids] = self.model.token_embedding.weight.data
        self.model.token_embedding = self.table


def train_clip(
    config: Mapping[str, Any],
    images: pa.Table,
    captions: pa.Table,
    *,
    seed: int,
    device: str,
    threads: int = 1,
    **training: Any,
) -> Clip:
    """Train a CLIP on images and captions, with one random caption of each image per epoch.

    `config` has `architecture` (of open_clip) and `optimizer`. `images` has the columns image_id and PLACE, `captions`
    the columns image_id and caption. The images are decoded once and kept as bytes on the device. Other arguments are
    passed to the trainer. On the CPU the weights depend on these arguments alone, to the byte. Raises ValueError if
    `optimizer.accumulate` is not 1 or if an image has no caption.
    """
    if config["optimizer"].get("accumulate", 1) != 1:
        raise ValueError("optimizer.accumulate must be 1: the other pairs of the whole batch are the contrast")
    architecture = config["architecture"]
    model = build(architecture, seed).to(device)
    if isinstance(architecture["vision_cfg"]["layers"], list):
        # Convolutions with few channels take two thirds of the time if the channels of a pixel are adjacent in memory.
        model.visual.to(memory_format=torch.channels_last)
    texts = texts_by_image(captions, images["image_id"].to_pylist())
    flat = tokenise([text for of_image in texts for text in of_image], model.context_length)
    vocabulary = SmallVocabulary(model, flat)
    small = iter([vocabulary.encode(tokens) for tokens in flat])
    pixels = decode_all(images, architecture["vision_cfg"]["image_size"], threads).to(device)
    tokens = [[next(small) for _ in of_image] for of_image in texts]
    batches = CaptionBatches(pixels, tokens, config["optimizer"]["batch"], seed, padding=0)
    objective = ContrastiveObjective(MEAN, STD)
    train(model, objective, batches, config["optimizer"], seed=seed, device=device, **training)
    vocabulary.restore()
    model.logit_scale.data.clamp_(max=math.log(LARGEST_SCALE))
    clip = Clip(model, {"architecture": architecture, "image_mean": list(MEAN), "image_std": list(STD)}, device)
    set_length(clip, pixels[:MEASURED])
    return clip


@torch.no_grad()
def set_length(clip: Clip, pixels: Tensor) -> None:
    """Scale the last layer of the image tower so that image embeddings have the mean length LENGTH.

    The length is measured on `pixels`, images (n, 3, height, width) as bytes. Cosines of embeddings do not change.
    """
    lengths = torch.cat([clip.embed_images(part).norm(dim=1) for part in pixels.split(100)])
    tower = clip.model.visual
    convolutional = isinstance(clip.config["architecture"]["vision_cfg"]["layers"], list)
    for parameter in tower.attnpool.c_proj.parameters() if convolutional else [tower.proj]:
        parameter *= LENGTH / lengths.mean()


def decode_all(images: pa.Table, size: int, threads: int) -> Tensor:
    """Return all images of a table as bytes (n, 3, size, size)."""
    pixels = torch.empty(len(images), 3, size, size, dtype=torch.uint8)
    for row, image in enumerate(progress(decode([images], partial(crop, size=size), threads), "images", len(images))):
        pixels[row] = image
    return pixels
