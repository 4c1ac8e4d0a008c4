"""Cross-entropy: the captioner learns to give the reference caption of an image."""

from typing import Any

import torch

from captionlab.training.batches import CaptionBatch


class CrossEntropy:
    """Mean negative log-probability (nats) of the tokens of the references, the end token included.

    The mean is over the tokens of the whole batch, padding left out by position. (ClipCap's own code leaves out token 0
    wherever it stands, because it pads with 0.)
    """

    def loss(self, model: Any, batch: CaptionBatch) -> tuple[torch.Tensor, dict[str, Any]]:
        """The loss of a batch with its gradient, and what to log."""
        log_probs = model.log_probs(batch.visual, batch.tokens, batch.mask)
        tokens = batch.mask.sum()
        return -(log_probs * batch.mask).sum() / tokens, {"caption_length": tokens / len(batch.tokens)}

    def end_batch(self) -> None:
        """Nothing is kept from batch to batch."""

    def state_dict(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take nothing back."""
