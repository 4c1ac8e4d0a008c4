"""ClipCap (Mokady et al. 2021): an image embedding becomes a prefix that GPT-2 continues with a caption.

Parameter names are as in the published checkpoints (rmokady/CLIP_prefix_caption, train.py).
"""

import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor, nn

from captionlab.captioners.captioner import Captioner, check_features, log_probs_of
from captionlab.networks.bert import said
from captionlab.networks.caches import Cache
from captionlab.networks.checkpoints import count_layers
from captionlab.networks.gpt2 import GPT2
from captionlab.networks.linear import Linear

# Masks that old versions of transformers stored with the weights. They are not parameters.
_MASK = re.compile(r"gpt\.transformer\.h\.\d+\.attn\.(bias|masked_bias)")


class ClipCap(Captioner[Cache]):
    """ClipCap as captioner. `visual` is the CLIP embedding of images, not normalised, (B, prefix_size)."""

    output_layer = "gpt.lm_head"
    replayable = True

    def __init__(
        self,
        prefix_size: int,
        prefix_length: int,
        width: int,
        layers: int,
        heads: int,
        positions: int,
        vocabulary: int,
        mapper_hidden: int | None = None,
    ):
        """Build a captioner with random weights.

        `prefix_length` vectors precede the caption, and prefix and caption together have up to `positions` positions.
        The mapper has `mapper_hidden` hidden units, or is a single linear layer if `mapper_hidden` is 0. By default it
        is as in the original: the number of hidden units is half the number of outputs for a prefix of up to 10
        vectors, and a longer prefix has a single linear layer.
        """
        super().__init__(locals())
        outputs = prefix_length * width
        if mapper_hidden is None:
            mapper_hidden = outputs // 2 if prefix_length <= 10 else 0
        self.architecture["mapper_hidden"] = mapper_hidden
        self.prompt_length, self.longest = prefix_length, positions - prefix_length
        self.clip_project: nn.Module
        if mapper_hidden:
            mapper = nn.Sequential(Linear(prefix_size, mapper_hidden), nn.Tanh(), Linear(mapper_hidden, outputs))
            self.clip_project = nn.Sequential(OrderedDict(model=mapper))
        else:
            self.clip_project = Linear(prefix_size, outputs)
        self.gpt = GPT2(vocabulary, positions, width, layers, heads)

    @classmethod
    def from_published(cls, checkpoint: Mapping[str, Any], heads: int | None = None) -> tuple[Self, dict[str, Tensor]]:
        """Return a captioner with the sizes of a published checkpoint, and the weights to load into it.

        Raises KeyError for weights of another family, and CheckpointError if `heads` is None.
        """
        weights = {name: value for name, value in checkpoint.items() if not _MASK.fullmatch(name)}
        vocabulary, width = weights["gpt.transformer.wte.weight"].shape
        linear = "clip_project.weight" in weights
        first = weights["clip_project.weight" if linear else "clip_project.model.0.weight"]
        last = first if linear else weights["clip_project.model.2.weight"]
        captioner = cls(
            prefix_size=first.shape[1],
            prefix_length=last.shape[0] // width,
            width=width,
            layers=count_layers(weights, "gpt.transformer.h"),
            heads=said(heads),
            positions=weights["gpt.transformer.wpe.weight"].shape[0],
            vocabulary=vocabulary,
            mapper_hidden=0 if linear else first.shape[0],
        )
        return captioner, weights

    def prefix(self, visual: Tensor) -> Tensor:
        """Return the prefix of each image, (B, prefix_length, width).

        Raises ValueError for embeddings of another size.
        """
        check_features(visual, self.architecture["prefix_size"], "vectors")
        return self.clip_project(visual).view(len(visual), self.prompt_length, -1)

    def log_probs(self, visual: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the log-probability (nats, with gradient) of each token after the tokens before it, as float32 (B, T).

        `tokens` and `mask` are (B, T). Raises ValueError if there are more than `longest` tokens.
        """
        self.check_length(tokens.shape[1])
        embeddings = torch.cat([self.prefix(visual), self.gpt.transformer.wte(tokens[:, :-1])], dim=1)
        hidden = self.gpt.transformer(embeddings)[:, self.prompt_length - 1 :]
        return log_probs_of(self.gpt.lm_head, hidden, tokens, mask)

    def start(self, visual: Tensor, max_tokens: int) -> tuple[Tensor, Cache]:
        """Return the logits (B, vocabulary) of the first token, and a state with room for `max_tokens` tokens."""
        self.check_length(max_tokens)
        layers, heads, width = (self.architecture[name] for name in ("layers", "heads", "width"))
        shape = self.prompt_length + max_tokens, layers, len(visual), heads, width // heads
        cache = Cache.empty(self.gpt.transformer.wpe.weight, *shape)
        hidden = self.gpt.transformer(self.prefix(visual), cache)
        return self.gpt.lm_head(hidden[:, -1]), cache

    def step(self, tokens: Tensor, state: Cache) -> tuple[Tensor, Cache]:
        """Return the logits (N, vocabulary) after `tokens` (N,), and the state, which is changed in place."""
        hidden = self.gpt.transformer(self.gpt.transformer.wte(tokens)[:, None], state)
        return self.gpt.lm_head(hidden[:, -1]), state


FAMILY = ClipCap
