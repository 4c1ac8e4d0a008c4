"""The FC captioner against the numbers of the original classes (see config.json beside them)."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from support.decodings import decoding_of

from captionlab.captioners.newfc.captioner import NewFC
from captionlab.generation.decoding import decode
from captionlab.training.loop.batches import CaptionBatch
from captionlab.training.objectives.cross_entropy.objective import CrossEntropy
from captionlab.training.objectives.reinforce.objective import through_end

FIXTURE = Path(__file__).parent / "newfc"
SIZES = json.loads((FIXTURE / "config.json").read_text())["sizes"]
TENSORS = load_file(FIXTURE / "io.safetensors")
END = 0


class Vocabulary:
    end = END

    def stop_ids(self, text: str) -> list[int]:
        raise AssertionError("the FC captioner has no stop rule")


@pytest.fixture
def captioner() -> NewFC:
    captioner, state = NewFC.from_published(load_file(FIXTURE / "weights.safetensors"))
    captioner.load_state_dict(state)
    return captioner.eval()


@pytest.fixture
def visual() -> torch.Tensor:
    return TENSORS["in.fc_feats"]


def close(ours: torch.Tensor, name: str) -> None:
    torch.testing.assert_close(ours, TENSORS[f"out.{name}"], rtol=0, atol=1e-5)


def chosen(name: str, tokens: torch.Tensor) -> torch.Tensor:
    """The authors' log-probabilities of these tokens, from those of the whole vocabulary."""
    return TENSORS[f"out.{name}"].gather(2, tokens[:, :, None])[:, :, 0]


def test_sizes_are_read_off_the_weights(captioner):
    assert captioner.architecture == {
        "visual_size": SIZES["fc_feat_size"],
        "width": SIZES["rnn_size"],
        "input_width": SIZES["input_encoding_size"],
        "vocabulary": SIZES["vocab_size"] + 1,
        "dropout": 0.5,
        "max_words": 16,
    }


def references(visual: torch.Tensor) -> CaptionBatch:
    """The two captions of each image, without their first 0."""
    tokens, mask = TENSORS["in.labels"].flatten(0, 1)[:, 1:], TENSORS["in.masks"].flatten(0, 1)[:, 1:].bool()
    return CaptionBatch(visual.repeat_interleave(2, dim=0), tokens, mask)


def test_log_probs_of_references(captioner, visual):
    batch = references(visual)
    # Where the authors' loop had stopped because all captions had ended there are zeros.
    everywhere = captioner.log_probs(batch.visual, batch.tokens, torch.ones_like(batch.mask))
    theirs = chosen("tf_logprobs", batch.tokens)
    known = theirs != 0
    assert known[batch.mask].all()
    torch.testing.assert_close(everywhere[known], theirs[known], rtol=0, atol=1e-5)


def test_cross_entropy(captioner, visual):
    batch = references(visual)
    close(CrossEntropy().loss(captioner, batch)[0], "ce_loss")
    log_probs = captioner.log_probs(batch.visual, batch.tokens, batch.mask)
    close(-log_probs.sum(1) / batch.mask.sum(1), "ce_loss_per_caption")


def test_greedy_captions(captioner, visual):
    decoded = decode(captioner, visual, decoding_of("greedy", SIZES["seq_length"]), Vocabulary())
    theirs = TENSORS["out.greedy_seq"]
    assert decoded.tokens.tolist() == theirs[:, : decoded.tokens.shape[1]].tolist()
    assert not theirs[:, decoded.tokens.shape[1] :].any()
    log_prob = (chosen("greedy_logprobs", theirs) * through_end(theirs, [END])).sum(1)
    torch.testing.assert_close(decoded.log_prob, log_prob, rtol=0, atol=1e-5)


@pytest.mark.parametrize("beams", [3, 5])
def test_beam_captions(captioner, visual, beams):
    """The authors' search adds log-probabilities up, without regard to length, as CaMEL's does."""
    decoding = decoding_of("beam", SIZES["seq_length"], beams=beams, rules="camel")
    decoded = decode(captioner, visual, decoding, Vocabulary())
    theirs = TENSORS[f"out.beam{beams}_seq"]
    assert decoded.tokens.tolist() == theirs[:, : decoded.tokens.shape[1]].tolist()
    assert not theirs[:, decoded.tokens.shape[1] :].any()
    close(decoded.log_prob, f"beam{beams}_p")


def test_log_probs_of_samples(captioner, visual):
    tokens = TENSORS["in.sample_seq"]
    mask = through_end(tokens, [END])
    ours = captioner.log_probs(visual.repeat_interleave(2, dim=0), tokens, mask)
    torch.testing.assert_close(ours, TENSORS["out.sample_token_logprob"] * mask, rtol=0, atol=1e-5)
