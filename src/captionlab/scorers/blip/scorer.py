"""BLIP (Li et al. 2022) with its head for image-text matching, by the classes of transformers.

BLIP reads pixels, not regions. After github.com/salesforce/BLIP (models/blip_itm.py). Tensors have the names of
transformers' BlipForImageTextRetrieval, as in model.safetensors or pytorch_model.bin of Salesforce/blip-itm-base-coco.
Importing this module imports transformers.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor
from transformers.models.blip.configuration_blip import BlipTextConfig, BlipVisionConfig
from transformers.models.blip.modeling_blip import BlipVisionModel
from transformers.models.blip.modeling_blip_text import BlipTextModel

from captionlab.encoders.clip.encoder import MEAN, STD
from captionlab.encoders.images import normalise, squeeze
from captionlab.networks.bert import read_sizes, said
from captionlab.networks.checkpoints import count_layers
from captionlab.networks.linear import Linear
from captionlab.scorers.pixels import open_pixels
from captionlab.scorers.scorer import Matching, ScorerNetwork, Visual

_KEPT, _POSITIONS = ("vision_model.", "text_encoder.", "itm_head."), "text_encoder.embeddings.position_ids"


class Blip(ScorerNetwork):
    """Network of BLIP. The match output is index 1.

    Text is cut to 35 tokens, as the authors did (data/coco_karpathy_dataset.py).
    """

    MATCHING = Matching(match_index=1, max_tokens=35)
    # Two tokens after BERT's vocabulary, with which texts of other tasks begin (models/blip.py: init_tokenizer).
    ADDED = ("[DEC]", "[ENC]")

    def __init__(
        self,
        vocabulary: int,
        positions: int,
        width: int,
        layers: int,
        heads: int,
        feed_forward: int,
        image_size: int,
        patch_size: int,
        visual_width: int,
        visual_layers: int,
        visual_heads: int,
        visual_feed_forward: int,
        outputs: int = 2,
    ):
        """Build a network with random weights."""
        super().__init__(locals())
        self.vision_model = BlipVisionModel(
            BlipVisionConfig(
                hidden_size=visual_width,
                intermediate_size=visual_feed_forward,
                num_hidden_layers=visual_layers,
                num_attention_heads=visual_heads,
                image_size=image_size,
                patch_size=patch_size,
            )
        )
        text = BlipTextConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            encoder_hidden_size=visual_width,
            intermediate_size=feed_forward,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            max_position_embeddings=positions,
        )
        self.text_encoder = BlipTextModel(text, add_pooling_layer=False)
        self.itm_head = Linear(width, outputs)

    @classmethod
    def from_published(
        cls, checkpoint: Mapping[str, Any], head: str = "itm", heads: int | None = None, visual_heads: int | None = None
    ) -> tuple[Self, dict[str, Tensor]]:
        """Return a network with the sizes of a published checkpoint, and the weights to load into it.

        The itm head is also the head for retrieval by BLIP. Raises ValueError for another `head`, KeyError for a
        missing tensor, and CheckpointError if a number of heads is not given.
        """
        if head != "itm":
            raise ValueError("BLIP's head for matching is its itm head; set head: itm")
        weights = {name: v for name, v in checkpoint.items() if name.startswith(_KEPT) and name != _POSITIONS}
        visual_width, _, _, patch_size = weights["vision_model.embeddings.patch_embedding.weight"].shape
        patches = weights["vision_model.embeddings.position_embedding"].shape[1] - 1
        network = cls(
            **read_sizes(weights, heads, "text_encoder.", "encoder.layer"),
            image_size=round(patches**0.5) * patch_size,
            patch_size=patch_size,
            visual_width=visual_width,
            visual_layers=count_layers(weights, "vision_model.encoder.layers"),
            visual_heads=said(visual_heads, "visual_heads"),
            visual_feed_forward=len(weights["vision_model.encoder.layers.0.mlp.fc1.bias"]),
            outputs=len(weights["itm_head.bias"]),
        )
        return network, weights

    def load_state_dict(self, *given: Any, **options: Any) -> Any:
        """Load weights, and set position ids, which are not among the weights and have no values on `meta`."""
        result = super().load_state_dict(*given, **options)
        for name, buffer in list(self.named_buffers()):
            module, _, attribute = name.rpartition(".")
            if attribute == "position_ids":
                self.get_submodule(module).position_ids = torch.arange(buffer.shape[-1])[None]
        return result

    def open_images(self, paths: Sequence[str]) -> Callable[[Sequence[str]], Tensor]:
        """Return a function that decodes images of tables by their ids, as bytes (N, 3, image_size, image_size).

        Images are squeezed to squares. The function raises TableError for an image that is not in the tables.
        """
        pixels = open_pixels(paths, partial(squeeze, size=self.architecture["image_size"]))
        return lambda images: torch.stack(pixels(images))

    def encode_image(self, pixels: Tensor) -> Visual:
        """Return the states of class token and patches of images (N, 3, image_size, image_size) as bytes."""
        states = self.vision_model(normalise(pixels, MEAN, STD)).last_hidden_state
        return Visual(states, [states.shape[1]] * len(states))

    def logits(self, visual: Visual, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Return the head's logits (B, outputs) of image-text pairs; `mask` (B, T) hides padding of `ids` (B, T)."""
        states = self.text_encoder(
            input_ids=ids,
            attention_mask=None if mask is None else mask.long(),
            encoder_hidden_states=visual.states,
            return_dict=True,
        ).last_hidden_state
        return self.itm_head(states[:, 0])


FAMILY = Blip
