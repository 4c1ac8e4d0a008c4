"""ViLBERT (Lu et al. 2019): a BERT for words and a BERT for regions, with layers in which they attend to each other.

After github.com/jiasenlu/vilbert_beta (vilbert/vilbert.py), and github.com/facebookresearch/vilbert-multi-task (Lu et
al. 2020, "12-in-1"), whose checkpoints may have an embedding per task. In names, v is vision, t is text, and c is a
layer that connects the two.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import torch
from torch import Tensor, nn

from captionlab.networks.bert import (
    FIRST,
    Expansion,
    Layer,
    Pooler,
    Projection,
    RegionEmbeddings,
    TextEmbeddings,
    attend,
    check_heads,
    initialise,
    read_sizes,
    said,
    without_prefixes,
)
from captionlab.networks.checkpoints import count_layers
from captionlab.networks.linear import Linear
from captionlab.regions.batches import RegionBatch
from captionlab.scorers.scorer import Matching, ScorerNetwork, Visual

# Prefixes of the tensors that scoring needs beside the head. The layers q_dense1 and q_dense2 exist but are never used.
_KEPT = ("embeddings.", "task_embeddings.", "v_embeddings.", "layer.", "v_layer.", "c_layer.", "t_pooler.", "v_pooler.")


_PARTS = {
    "biattention.": "",
    "biOutput.dense1.": "v_gathered.dense.",
    "biOutput.LayerNorm1.": "v_gathered.LayerNorm.",
    "biOutput.dense2.": "t_gathered.dense.",
    "biOutput.LayerNorm2.": "t_gathered.LayerNorm.",
}


class Connection(nn.Module):
    """Layer in which each stream (1: vision, 2: text) attends to the other, before its own feed-forward layer."""

    def __init__(self, v: tuple[int, int], t: tuple[int, int], joint_width: int, heads: int, dropout: float):
        """Take for each stream, `v` and `t`, its width and the number of units in its feed-forward layer."""
        super().__init__()
        check_heads(joint_width, heads)
        self.heads, self.dropout = heads, dropout
        (v_width, v_feed_forward), (t_width, t_feed_forward) = v, t
        self.query1, self.key1, self.value1 = (Linear(v_width, joint_width) for _ in range(3))
        self.query2, self.key2, self.value2 = (Linear(t_width, joint_width) for _ in range(3))
        self.v_gathered, self.t_gathered = (Projection(joint_width, width, dropout) for width in (v_width, t_width))
        self.v_intermediate = Expansion(v_width, v_feed_forward)
        self.v_output = Projection(v_feed_forward, v_width, dropout)
        self.t_intermediate = Expansion(t_width, t_feed_forward)
        self.t_output = Projection(t_feed_forward, t_width, dropout)

    def forward(self, v: Tensor, v_mask: Tensor | None, t: Tensor, t_mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the streams, (B, R, v_width) and (B, T, t_width), after attending to each other."""
        dropout = self.dropout if self.training else 0.0
        from_text = attend(self.query1(v), self.key2(t), self.value2(t), self.heads, t_mask, dropout)
        from_image = attend(self.query2(t), self.key1(v), self.value1(v), self.heads, v_mask, dropout)
        v, t = self.v_gathered(from_text, v), self.t_gathered(from_image, t)
        return self.v_output(self.v_intermediate(v), v), self.t_output(self.t_intermediate(t), t)


class Vilbert(ScorerNetwork):
    """Network of ViLBERT. The match output is index 0, the "next sentence" of BERT. Text is cut to 36 tokens.

    Connection k follows `v_biattention_id[k]` layers of vision and `t_biattention_id[k]` layers of text, as in the
    authors' configs. By default connection k of n, from 0, precedes the last n - k layers of each stream, as in the
    config of the published weights.
    """

    MATCHING, PROJECTION = Matching(match_index=0, max_tokens=36), "v_embeddings.image_embeddings"

    def __init__(
        self,
        vocabulary: int,
        positions: int,
        width: int,
        layers: int,
        heads: int,
        feed_forward: int,
        visual_width: int,
        visual_layers: int,
        visual_heads: int,
        visual_feed_forward: int,
        connections: int,
        joint_width: int,
        joint_heads: int,
        region_size: int,
        outputs: int = 2,
        dropout: float = 0.1,
        tasks: int = 0,
        task: int = 0,
        v_biattention_id: Sequence[int] | None = None,
        t_biattention_id: Sequence[int] | None = None,
    ):
        """Build a network with random weights for regions with `region_size` numbers; the head has 2 or 1 `outputs`.

        If `tasks` > 0, there is an embedding per task, and the embedding of `task` follows the start token of the text.
        Raises ValueError if `task` or the layers before connections do not fit.
        """
        super().__init__(locals())
        self.v_done = _layers_done("v_biattention_id", v_biattention_id, connections, visual_layers)
        self.t_done = _layers_done("t_biattention_id", t_biattention_id, connections, layers)
        if tasks and not 0 <= task < tasks:
            raise ValueError(f"task is {task}; there are embeddings of the tasks 0 to {tasks - 1}")
        self.architecture |= {"v_biattention_id": self.v_done, "t_biattention_id": self.t_done}
        self.task = task
        self.embeddings = TextEmbeddings(vocabulary, positions, width, dropout)
        self.task_embeddings = nn.Embedding(tasks, width) if tasks else None
        self.v_embeddings = RegionEmbeddings(region_size, visual_width, dropout)
        self.layer = nn.ModuleList(Layer(width, heads, feed_forward, dropout) for _ in range(layers))
        self.v_layer = nn.ModuleList(
            Layer(visual_width, visual_heads, visual_feed_forward, dropout) for _ in range(visual_layers)
        )
        self.c_layer = nn.ModuleList(
            Connection((visual_width, visual_feed_forward), (width, feed_forward), joint_width, joint_heads, dropout)
            for _ in range(connections)
        )
        self.t_pooler, self.v_pooler = Pooler(width, joint_width), Pooler(visual_width, joint_width)
        self.dropout = nn.Dropout(dropout)
        self.head = Linear(joint_width, outputs)
        initialise(self)

    @classmethod
    def from_published(
        cls,
        checkpoint: Mapping[str, Any],
        head: str = "itm",
        heads: int | None = None,
        visual_heads: int | None = None,
        joint_heads: int | None = None,
        task: int = 7,
        **order: Any,
    ) -> tuple[Self, dict[str, Tensor]]:
        """Return a network with the sizes of a published checkpoint, and the weights to load into it.

        `task` is used if the checkpoint has an embedding per task: 7 is retrieval in COCO, 8 in Flickr30k. The order of
        the layers (`v_biattention_id`, `t_biattention_id`) cannot be read off the weights either. Only fine-tuned
        checkpoints have the retrieval head. Raises KeyError for a missing tensor, and CheckpointError if a number of
        heads is not given.
        """
        published = {_rename(name): value for name, value in checkpoint.items()}
        weights = {name: v for name, v in published.items() if name.startswith(_KEPT) and ".q_dense" not in name}
        source = "cls.bi_seq_relationship" if head == "itm" else "vil_logit"
        weights |= {f"head.{part}": published[f"{source}.{part}"] for part in ("weight", "bias")}
        visual_width, region_size = weights[f"{cls.PROJECTION}.weight"].shape
        joint_width = len(weights["c_layer.0.query1.bias"])
        tasks = len(weights.get("task_embeddings.weight", ()))
        network = cls(
            **read_sizes(weights, heads),
            visual_width=visual_width,
            visual_layers=count_layers(weights, "v_layer"),
            visual_heads=said(visual_heads, "visual_heads"),
            visual_feed_forward=len(weights["v_layer.0.intermediate.dense.bias"]),
            connections=count_layers(weights, "c_layer"),
            joint_width=joint_width,
            joint_heads=said(joint_heads, "joint_heads"),
            region_size=region_size,
            outputs=len(weights["head.bias"]),
            tasks=tasks,
            task=task if tasks else 0,
            **order,
        )
        return network, weights

    def encode_image(self, regions: RegionBatch) -> Visual:
        """Return the states of the regions after the layers before the first connection.

        The first state of each image belongs to a token for the whole image, the mean of its regions.
        """
        counts = torch.tensor(regions.counts, device=regions.features.device)
        mean = regions.features.sum(dim=1, keepdim=True) / counts[:, None, None]
        boxes = torch.cat([regions.corners, regions.areas], dim=-1)
        whole = boxes.new_tensor([0, 0, 1, 1, 1]).expand(len(boxes), 1, 5)
        states = self.v_embeddings(torch.cat([mean, regions.features], dim=1), torch.cat([whole, boxes], dim=1))
        visual = Visual(states, [count + 1 for count in regions.counts])
        for layer in self.v_layer[: self.v_done[0]]:
            states = layer(states, visual.mask)
        return Visual(states, visual.counts)

    def states(
        self, visual: Visual, ids: Tensor, mask: Tensor | None, positions: slice = slice(None)
    ) -> tuple[Tensor, Tensor]:
        """Return final states of text (B, T, width) and regions (B, R, visual_width), at all or some `positions`."""
        t, t_mask = self._embed_text(ids, mask)
        v, v_mask = visual.states, visual.mask
        for layer in self.layer[: self.t_done[0]]:
            t = layer(t, t_mask)
        t_ends, v_ends = [*self.t_done[1:], len(self.layer)], [*self.v_done[1:], len(self.v_layer)]
        for number, connection in enumerate(self.c_layer):
            v, t = connection(v, v_mask, t, t_mask)
            kept = positions if number == len(self.c_layer) - 1 else slice(None)
            t = _through(self.layer[self.t_done[number] : t_ends[number]], t, t_mask, kept)
            v = _through(self.v_layer[self.v_done[number] : v_ends[number]], v, v_mask, kept)
        return t, v

    def pooled(self, visual: Visual, ids: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return summaries of text and image, (B, joint_width) each.

        The last layer of each stream is computed for its first token alone.
        """
        t, v = self.states(visual, ids, mask, FIRST)
        return torch.relu(self.t_pooler(t)), torch.relu(self.v_pooler(v))

    def logits(self, visual: Visual, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Return the head's logits (B, outputs) of image-text pairs; `mask` (B, T) hides padding of `ids` (B, T)."""
        t, v = self.pooled(visual, ids, mask)
        return self.head(self.dropout(t * v))

    def _embed_text(self, ids: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        if self.task_embeddings is None:
            return self.embeddings(ids), mask
        # The task has neither position nor token type.
        summed = self.embeddings.sum(ids)
        task = self.task_embeddings.weight[self.task].expand(len(ids), 1, -1)
        summed = torch.cat([summed[:, :1], task, summed[:, 1:]], dim=1)
        embedded: Tensor = self.embeddings.dropout(self.embeddings.LayerNorm(summed))
        # Texts are padded at their end, so the token added in front adds a position that is not masked.
        return embedded, None if mask is None else torch.cat([mask.new_ones(len(mask), 1), mask], dim=1)


def _layers_done(key: str, given: Sequence[int] | None, connections: int, layers: int) -> list[int]:
    """Return how many layers of a stream precede each connection, by default the layout of the published weights.

    Raises ValueError if the given numbers do not fit.
    """
    done = [layers - left for left in range(connections, 0, -1)] if given is None else list(given)
    if len(done) != connections or not done or any(later < sooner for sooner, later in pairwise([0, *done, layers])):
        raise ValueError(
            f"{key} is {done}, and there are {connections} connections and {layers} layers: it must have a number for "
            f"each connection, from 0 to {layers} and none smaller than the one before it; the configuration that was "
            "published beside the weights has them"
        )
    return done


def _through(layers: nn.ModuleList, states: Tensor, mask: Tensor | None, positions: slice) -> Tensor:
    """Return states after some layers, or none. The last layer computes `positions` only."""
    for number, layer in enumerate(layers, start=1):
        states = layer(states, mask, positions if number == len(layers) else slice(None))
    return states if len(layers) else states[:, positions]


def _rename(name: str) -> str:
    """Return the name of a tensor in this network, without the prefixes that it may have."""
    name = without_prefixes(name, "module", "bert", "encoder").replace("embeddings.task_embed", "task_embed", 1)
    for original, ours in _PARTS.items():
        name = name.replace(original, ours)
    return name


FAMILY = Vilbert
