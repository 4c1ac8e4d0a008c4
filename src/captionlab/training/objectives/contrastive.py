"""Training CLIP from scratch: an image and its caption close together, all other pairs of the batch apart."""

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
from captionlab.progress import progress
from captionlab.training.loop.batches import CaptionBatch, CaptionBatches
from captionlab.training.loop.data import texts_by_image
from captionlab.training.loop.trainer import Objective, train

# The largest factor between cosine and logit (Radford et al. 2021, section 2.5).
LARGEST_SCALE = 100.0
# The usual length of an image embedding of OpenAI's ViT-B/32. The loss asks for directions only and leaves lengths to
# chance, but captioners and region features read embeddings as they are. Measured in the toy world, on training images
# set aside: at length 45, as it came out, an FC captioner named an object .80 times as often as people do, at 10 .83.
LENGTH, MEASURED = 10.0, 1000


class ContrastiveObjective(Objective):
    """Symmetric cross-entropy over the similarities of a batch's images and captions (Radford et al. 2021, figure 3).

    `batch.visual` are bytes (B, 3, height, width), `batch.tokens` (B, T) token ids. The other pairs of the batch are
    the negatives, so a batch cannot be accumulated from parts.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float]):
        self.mean, self.std = mean, std

    def loss(self, model: Any, batch: CaptionBatch) -> tuple[Tensor, dict[str, Any]]:
        """The loss (nats), and how often a caption finds its image in the batch."""
        images = normalize(model.encode_image(normalise(batch.visual, self.mean, self.std)), dim=1)
        texts = normalize(encode_tokens(model, batch.tokens), dim=1)
        scale = model.logit_scale.clamp(max=math.log(LARGEST_SCALE)).exp()
        logits = scale * texts @ images.T
        target = torch.arange(len(logits), device=logits.device)
        loss = (cross_entropy(logits, target) + cross_entropy(logits.T, target)) / 2
        return loss, {"accuracy": (logits.argmax(dim=1) == target).float().mean(), "logit_scale": scale.detach()}


class SmallVocabulary:
    """A text tower that for the time of its training knows only the tokens of the training captions.

    The other rows of its table of token embeddings would get no gradient, but each update would pass over all 49,408.
    Ids keep their order, so the end token stays the largest. Rows of other tokens keep their initial values.
    """

    def __init__(self, model: Any, tokens: Sequence[Sequence[int]]):
        self.model, self.table = model, model.token_embedding
        self.ids = torch.tensor(sorted({token for ids in tokens for token in ids}))
        small = torch.nn.Embedding(len(self.ids), self.table.embedding_dim, device=self.table.weight.device)
        small.weight.data.copy_(self.table.weight.data[self.ids])
        model.token_embedding = small

    def encode(self, tokens: Sequence[int]) -> list[int]:
        """The ids that stand for these tokens during training."""
        return torch.searchsorted(self.ids, torch.tensor(tokens)).tolist()

    def restore(self) -> None:
        """Put the trained rows back among all others."""
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
    """Train a CLIP on images and captions, one random caption of an image at a time.

    `config` has `architecture` (of open_clip) and `optimizer`; `images` has the columns image_id and PLACE,
    `captions` image_id and caption. The images are decoded once and kept as bytes on the device. The other arguments
    are the trainer's. On the CPU the weights depend on these arguments alone, to the byte.
    """
    if config["optimizer"].get("accumulate", 1) != 1:
        raise ValueError("optimizer.accumulate must be 1: the other pairs of the whole batch are the contrast")
    architecture = config["architecture"]
    model = build(architecture, seed).to(device)
    if isinstance(architecture["vision_cfg"]["layers"], list):
        # Convolutions with few channels take two thirds of the time when the channels of a pixel lie side by side.
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
    """Scale the last layer of the image tower so that embeddings of images (n, 3, height, width) have a mean LENGTH.

    Where several embeddings are compared by their cosine, this changes nothing.
    """
    lengths = torch.cat([clip.embed_images(part).norm(dim=1) for part in pixels.split(100)])
    tower = clip.model.visual
    convolutional = isinstance(clip.config["architecture"]["vision_cfg"]["layers"], list)
    for parameter in tower.attnpool.c_proj.parameters() if convolutional else [tower.proj]:
        parameter *= LENGTH / lengths.mean()


def decode_all(images: pa.Table, size: int, threads: int) -> Tensor:
    """All images of a table as bytes (n, 3, size, size)."""
    pixels = torch.empty(len(images), 3, size, size, dtype=torch.uint8)
    for row, image in enumerate(progress(decode([images], partial(crop, size=size), threads), "images", len(images))):
        pixels[row] = image
    return pixels
