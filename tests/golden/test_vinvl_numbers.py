"""VinVL's captioner against the numbers of the authors' code (see config.json beside the tensors)."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from support.decodings import decoding_of

from captionlab.captioners.vinvl.captioner import Vinvl
from captionlab.generation.decoding import decode
from captionlab.regions.tagged_regions import TaggedRegions, padded
from captionlab.training.objectives.mlm.objective import MaskedBatch, MaskedLanguageModelling

FIXTURE = Path(__file__).parent / "vinvl"
CONFIG = json.loads((FIXTURE / "config.json").read_text())
SIZES, SPECIAL = CONFIG["sizes"], CONFIG["special_ids"]
TENSORS = load_file(FIXTURE / "io.safetensors")
SLOTS, TEXT = SIZES["max_seq_a_length"], SIZES["max_seq_length"]


class Vocabulary:
    end = SPECIAL["sep"]


@pytest.fixture(scope="module")
def captioner() -> Vinvl:
    weights = load_file(FIXTURE / "weights.safetensors")
    captioner, state = Vinvl.from_published(
        weights,
        heads=SIZES["num_attention_heads"],
        tag_position=CONFIG["generation"]["od_labels_start_posid"],
        start=SPECIAL["cls"],
        mask=SPECIAL["mask"],
    )
    captioner.load_state_dict(state)
    return captioner.eval()


def images(tag_slots: int) -> TaggedRegions:
    """The raw images with so many places for tags, the end token included, padded to all places."""
    tags = [
        torch.cat([ids[: min(length, tag_slots - 1)], torch.tensor([SPECIAL["sep"]])])
        for ids, length in zip(TENSORS["in.tag_token_ids"], TENSORS["in.tag_lens"].tolist(), strict=True)
    ]
    regions = [
        features[:number]
        for features, number in zip(TENSORS["in.region_features"], TENSORS["in.num_regions"].tolist(), strict=True)
    ]
    most = SIZES["max_img_seq_length"]
    return TaggedRegions(*padded(tags, tag_slots, min_count=tag_slots), *padded(regions, most, min_count=most))


def valid() -> torch.Tensor:
    """(B, 19) positions that are no padding: the rows of the authors' mask that are not empty."""
    return TENSORS["in.train_attention_mask"].sum(2) > 0


def close(ours: torch.Tensor, theirs: torch.Tensor, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def test_inputs_are_those_of_the_authors():
    """What we cut, pad and number is what their tensorizer made of the same raw images."""
    visual = images(TEXT - SLOTS)
    assert torch.equal(visual.tags, TENSORS["in.train_input_ids"][:, SLOTS:])
    assert torch.equal(visual.regions, TENSORS["in.train_img_feats"])
    assert torch.equal(visual.mask, valid()[:, SLOTS:])


@torch.no_grad()
def test_states(captioner):
    states = captioner.states(images(TEXT - SLOTS), TENSORS["in.full_input_ids"][:, :SLOTS])
    close(states[valid()], TENSORS["out.full_sequence_output"][valid()])


@torch.no_grad()
@pytest.mark.parametrize("layer", [1, 2])
def test_attention(captioner, layer):
    ours = captioner.attention(images(TEXT - SLOTS), TENSORS["in.full_input_ids"][:, :SLOTS], layer)
    theirs = TENSORS[f"out.attention_layer{layer}"]
    close(ours.transpose(1, 2)[valid()], theirs.transpose(1, 2)[valid()])
    # Where their mask lets something through, ours does, and nowhere else.
    assert torch.equal((ours > 0).any(1)[valid()], (TENSORS["in.train_attention_mask"] > 0)[valid()])


@torch.no_grad()
def test_no_such_layer(captioner):
    with pytest.raises(ValueError, match="there is no layer 3, but 1 to 2"):
        captioner.attention(images(TEXT - SLOTS), TENSORS["in.full_input_ids"][:, :SLOTS], 3)


def masked_batch() -> MaskedBatch:
    chosen = TENSORS["in.train_masked_pos"][:, :SLOTS] > 0
    targets = TENSORS["in.train_masked_ids"]
    return MaskedBatch(
        images(TEXT - SLOTS), TENSORS["in.train_input_ids"][:, :SLOTS], chosen, targets[targets > 0].flatten()
    )


@torch.no_grad()
def test_masked_logits(captioner):
    batch = masked_batch()
    close(captioner.masked_logits(batch.visual, batch.ids, batch.chosen), TENSORS["out.train_masked_logits"])


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("train_loss", {"smoothing": CONFIG["label_smoothing"]}),
        ("train_loss_no_smoothing", {}),
        ("train_loss_drop_worst", {"smoothing": CONFIG["label_smoothing"], "drop_worst": CONFIG["drop_worst_ratio"]}),
    ],
)
def test_loss(captioner, name, settings):
    loss, statistics = MaskedLanguageModelling(**settings).loss(captioner, masked_batch())
    close(loss, TENSORS[f"out.{name}"])
    told = TENSORS["out.train_masked_logits"].argmax(1) == masked_batch().targets
    assert statistics["masked_accuracy"] == told.float().mean()


@pytest.mark.parametrize("kind", ["greedy", "beam"])
@pytest.mark.parametrize("geometry", ["gen", "genw"])
def test_generation(captioner, geometry, kind):
    """Tokens and confidence, in the official geometry and in the wrapper's, which has more places for tags."""
    slots = TENSORS[f"in.{geometry}_input_ids"].shape[1] - SIZES["max_gen_length"]
    decoding = decoding_of(kind, SIZES["max_gen_length"] - 1, rules="oscar")
    decoded = decode(captioner, images(slots), decoding, Vocabulary())
    name = f"{geometry}_{'greedy' if kind == 'greedy' else 'beam5'}"
    theirs = TENSORS[f"out.{name}_ids"]
    for ours, ids in zip(decoded.tokens.tolist(), theirs[:, 1:].tolist(), strict=True):
        end = ids.index(SPECIAL["sep"])
        assert ours[: end + 1] == ids[: end + 1]
        assert {*ours[end:]} == {SPECIAL["sep"]}
    close(decoded.log_prob / decoded.lengths, TENSORS[f"out.{name}_logprob"])
    close(decoded.confidence, TENSORS[f"out.{name}_conf"])
