"""CLIP: an image tower and a text tower in one space, built by open_clip, loaded and saved, frozen for use.

Radford et al. 2021, "Learning transferable visual models from natural language supervision"; github.com/openai/CLIP and
github.com/mlfoundations/open_clip. The only module that imports open_clip.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from captionlab.declarations import EncoderFamily
from captionlab.encoders.dual_encoder import DualEncoder
from captionlab.encoders.images import crop, normalise

DECLARATION = EncoderFamily(
    libraries=("open_clip_torch",),
    texts=True,
    patches=True,
    files=("weights",),
    imported={
        "model": {"type": "string", "description": "open_clip's name of the architecture; weights then is a tag"},
        "heads": {"type": "integer", "minimum": 1, "description": "text heads when they are not width / 64"},
        "quick_gelu": {"type": "boolean", "default": True, "description": "of a file: the activation is OpenAI's"},
    },
    architecture={
        "embed_dim": {"type": "integer", "minimum": 1, "description": "numbers in an embedding"},
        "vision_cfg": {"type": "object", "description": "open_clip's, of the image tower"},
        "text_cfg": {"type": "object", "description": "open_clip's, of the text tower"},
        "quick_gelu": {"type": "boolean", "default": False, "description": "whether the activation is OpenAI's"},
    },
)


@contextmanager
def _quick_import() -> Iterator[None]:
    """Hide from open_clip what it does not need here; its import then takes 1.5 s more than torch's instead of 6 s.

    transformers and timm are optional to open_clip. torchvision imports the compiler of torch (4 s) for one function
    that only its region pooling calls; a stand-in answers that nothing can be compiled.
    """
    stand_in: dict[str, ModuleType | None] = {"transformers": None, "timm": None}
    if "torch._dynamo" not in sys.modules:
        compiler, utilities = ModuleType("torch._dynamo"), ModuleType("torch._dynamo.utils")
        utilities.is_compile_supported = lambda device: False  # type: ignore[attr-defined]
        stand_in |= {"torch._dynamo": compiler, "torch._dynamo.utils": utilities}
    hidden = {name: sys.modules[name] for name in stand_in if name in sys.modules}
    sys.modules.update(stand_in)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in stand_in:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)


with _quick_import():
    import open_clip

# The keys of a model config that leave it a CLIP; open_clip knows more, for other families.
ARCHITECTURE = ("embed_dim", "vision_cfg", "text_cfg", "quick_gelu")
VISION = ("image_size", "layers", "width", "head_width", "patch_size", "mlp_ratio")
TEXT = ("context_length", "vocab_size", "width", "heads", "layers", "mlp_ratio")
MEAN, STD = open_clip.OPENAI_DATASET_MEAN, open_clip.OPENAI_DATASET_STD


def build(architecture: Mapping[str, Any], seed: int = 0) -> open_clip.CLIP:
    """A CLIP model with random weights that depend on the seed alone.

    `architecture` is a model config of open_clip: embed_dim, vision_cfg, text_cfg and quick_gelu. Raises ValueError for
    a key that is unknown or makes the model other than CLIP: the text tower is causal and read at the end token.
    """
    for where, given, known in (
        ("", architecture, ARCHITECTURE),
        (".vision_cfg", architecture.get("vision_cfg", {}), VISION),
        (".text_cfg", architecture.get("text_cfg", {}), TEXT),
    ):
        if wrong := sorted(set(given) - set(known)):
            raise ValueError(f"architecture{where}: {wrong[0]!r} is not supported; there are {', '.join(known)}")
    if missing := [key for key in ARCHITECTURE[:3] if key not in architecture]:
        raise ValueError(f"architecture: {missing[0]} is missing")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return open_clip.CLIP(**architecture)


@cache
def _tokenizer() -> open_clip.SimpleTokenizer:
    return open_clip.SimpleTokenizer()


def tokenise(captions: Sequence[str], context_length: int) -> list[list[int]]:
    """Token ids of every caption, start and end token included, cut to `context_length` (the end token stays)."""
    tokenizer = _tokenizer()
    start, end = tokenizer.sot_token_id, tokenizer.eot_token_id
    return [[start, *tokenizer.encode(caption)[: context_length - 2], end] for caption in captions]


def pad(tokens: Sequence[Sequence[int]]) -> Tensor:
    """Token lists as one (n, longest) tensor, padded with 0 as CLIP does."""
    return pad_sequence([torch.tensor(ids) for ids in tokens], batch_first=True)


def encode_tokens(model: open_clip.CLIP, tokens: Tensor) -> Tensor:
    """Text embeddings (n, d), not normalised, of padded tokens (n, t) with t up to the context length.

    The text tower is causal and is read at the end token, the largest id: what follows cannot change the result, so the
    padding up to the context length that open_clip's own method insists on is left out.
    """
    length = tokens.shape[1]
    states = model.token_embedding(tokens) + model.positional_embedding[:length]
    states = model.ln_final(model.transformer(states, attn_mask=model.attn_mask[:length, :length]))
    return states[torch.arange(len(tokens), device=tokens.device), tokens.argmax(dim=1)] @ model.text_projection


class Clip(DualEncoder):
    """A frozen CLIP with its preprocessing. `config` has architecture, image_mean and image_std."""

    image_tower = "visual"
    build = staticmethod(build)

    @property
    def image_dimensions(self) -> int:
        """Size of an embedding, of an image or a text."""
        return int(self.config["architecture"]["embed_dim"])

    @property
    def image_size(self) -> int:
        """Height and width of an image that the image tower takes, in pixels."""
        return int(self.config["architecture"]["vision_cfg"]["image_size"])

    @property
    def context_length(self) -> int:
        """The most tokens of a caption that are read, start and end token included."""
        return int(self.model.context_length)

    def preprocess(self, image: Image.Image) -> Tensor:
        """An image as the bytes (3, image_size, image_size) that `embed_images` takes."""
        return crop(image, self.image_size)

    @torch.no_grad()
    def embed_images(self, pixels: Tensor) -> Tensor:
        """Image embeddings (n, d), float32, not normalised, of preprocessed images (n, 3, height, width), uint8.

        On a GPU the tower computes in float16, the precision that OpenAI's weights were published in.
        """
        images = normalise(pixels.to(self.device), self.config["image_mean"], self.config["image_std"])
        with torch.autocast("cuda", torch.float16, enabled=images.is_cuda):
            return self.model.encode_image(images).float()

    @property
    def patch_shape(self) -> tuple[int, int]:
        """Places of the image tower's last layer, and the size of the vector of each."""
        vision = self.config["architecture"]["vision_cfg"]
        if self._is_resnet:
            return (self.image_size // 32) ** 2, 32 * int(vision["width"])
        return (self.image_size // vision["patch_size"]) ** 2, int(vision["width"])

    @torch.no_grad()
    def embed_patches(self, pixels: Tensor) -> Tensor:
        """The image tower's last layer before pooling, (n, places, d), float32, row by row.

        Of a ResNet it is what CaMEL reads (github.com/aimagelab/camel, models/clip.py); of a ViT, its patches.
        """
        images = normalise(pixels.to(self.device), self.config["image_mean"], self.config["image_std"])
        tower = self.model.visual
        with torch.autocast("cuda", torch.float16, enabled=images.is_cuda):
            if self._is_resnet:
                states = tower.layer4(tower.layer3(tower.layer2(tower.layer1(tower.stem(images)))))
                return states.flatten(2).transpose(1, 2).float()
            # All states of a ViT; the first is that of the class token.
            return tower.ln_post(tower.transformer(tower._embeds(images)))[:, 1:].float()

    @property
    def _is_resnet(self) -> bool:
        """Whether the image tower is a ResNet, with so many blocks in each of its stages, or a ViT."""
        return not isinstance(self.config["architecture"]["vision_cfg"]["layers"], int)

    @torch.no_grad()
    def embed_texts(self, captions: Sequence[str], batch: int = 256) -> Tensor:
        """As for every encoder; captions are embedded among others of about their length."""
        distinct = list(dict.fromkeys(captions))
        tokens = tokenise(distinct, self.context_length)
        by_length = sorted(range(len(distinct)), key=lambda i: len(tokens[i]))
        parts = [
            encode_tokens(self.model, pad([tokens[i] for i in by_length[start : start + batch]]).to(self.device))
            for start in range(0, len(distinct), batch)
        ]
        embeddings = torch.cat(parts) if parts else torch.empty(0, self.image_dimensions, device=self.device)
        rank = {distinct[i]: row for row, i in enumerate(by_length)}
        return embeddings[torch.tensor([rank[caption] for caption in captions], dtype=torch.long, device=self.device)]


FAMILY = Clip
