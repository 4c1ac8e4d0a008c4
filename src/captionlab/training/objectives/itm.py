"""Learning to match: a scorer tells captions of an image from captions of others."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, normalize

from captionlab.scorers.scorer import NetworkScorer
from captionlab.training.itm_pairs import PairBatch
from captionlab.training.loop.trainer import Objective


class MatchingObjective(Objective):
    """Cross-entropy of match or no match, the task that all four families were pre-trained on besides others."""

    def loss(self, model: NetworkScorer, batch: PairBatch) -> tuple[Tensor, dict[str, Any]]:
        """The loss (nats) of a batch with its gradient, and the share of pairs that are predicted right."""
        logits = model.logits(model.encode_image(batch.regions), model.encode_text(batch.captions), batch.rows)
        matches = torch.tensor(batch.matches, device=logits.device)
        index = model.matching.match_index
        if model.matching.head == "itm":
            loss = cross_entropy(logits, torch.where(matches, index, 1 - index))
            predicted = (logits.argmax(1) == index) == matches
        else:
            loss = binary_cross_entropy_with_logits(logits[:, 0], matches.float())
            predicted = (logits[:, 0] > 0) == matches
        return loss, {"accuracy": predicted.float().mean()}


@torch.no_grad()
def align_words(scorer: NetworkScorer, encoder: Any) -> None:
    """Let each word piece of a new scorer start where a region that shows it starts, as far as an encoder knows.

    The regions must be embeddings by this encoder: its text tower puts words into the same space, from which the
    scorer's projection of regions takes both. Without this, to find out which region a word is about takes a network
    most of its training. (The published scorers start from BERT's words, and from far more data.) The deviation of the
    embeddings stays what it was.
    """
    texts = normalize(encoder.embed_texts([piece.removeprefix("##") for piece in scorer.words.pieces]), dim=1)
    words, regions = scorer.network.word_embeddings, scorer.network.region_projection
    if texts.shape[1] != regions.in_features:
        raise ValueError(f"the encoder's embeddings have {texts.shape[1]} numbers and regions {regions.in_features}")
    if words.embedding_dim != regions.out_features:
        raise ValueError(f"words are {words.embedding_dim} wide and regions {regions.out_features}; both must be equal")
    projected = (texts - texts.mean(0)).to(regions.weight.device) @ regions.weight.T
    words.weight.copy_(projected * (words.weight.std() / projected.std()))
