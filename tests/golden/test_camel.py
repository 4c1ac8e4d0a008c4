"""CaMEL against the numbers of the original classes, meshed and not (see config.json beside them)."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from captionlab.captioners.camel import Camel
from captionlab.generation.decoding import Decoding, decode

FOLDER = Path(__file__).parent


class Vocabulary:
    end = 59

    def stop_ids(self, text: str) -> list[int]:
        return []


class Fixture:
    """The captioner, inputs and expected outputs of one folder."""

    def __init__(self, name: str):
        self.config = json.loads((FOLDER / name / "config.json").read_text())
        self.tensors = load_file(FOLDER / name / "io.safetensors")
        weights = load_file(FOLDER / name / "weights.safetensors")
        start = self.config["bos_id"]
        self.captioner, state = Camel.from_published({"state_dict_o": weights, "epoch": 3}, start=start)
        self.captioner.load_state_dict(state)
        self.captioner.eval()
        self.visual = self.tensors["in.grid_feats"]

    def close(self, ours: torch.Tensor, name: str, tolerance: float = 1e-5) -> None:
        torch.testing.assert_close(ours, self.tensors[f"out.{name}"], rtol=0, atol=tolerance)

    def check_caption(self, decoded: Any, name: str) -> None:
        """Tokens, and log-probabilities of each, with zeros after the end as the original has them."""
        ids, log_probs = self.tensors[f"out.{name}_ids"], self.tensors[f"out.{name}_logprobs"]
        for row, length in enumerate(decoded.lengths.tolist()):
            assert decoded.tokens[row, :length].tolist() == ids[row, :length].tolist()
            assert not ids[row, length:].any()
        replayed = self.captioner.log_probs(self.visual, decoded.tokens, decoded.mask)
        longest = replayed.shape[1]
        torch.testing.assert_close(replayed, log_probs[:, :longest], rtol=0, atol=1e-5)
        # A sum of as many numbers as there are tokens, each of which may differ by 1e-5.
        per_token = log_probs.sum(1) / decoded.lengths
        torch.testing.assert_close(decoded.log_prob / decoded.lengths, per_token, rtol=0, atol=1e-5)
        self.close(replayed.sum(1) / decoded.lengths, f"{name}_egg_logprob")


@pytest.fixture(scope="module", params=["camel_mesh", "camel_nomesh"])
def fixture(request) -> Fixture:
    return Fixture(request.param)


def test_sizes_are_read_off_the_weights(fixture):
    sizes = fixture.config["sizes"]
    assert fixture.captioner.architecture == {
        "visual_size": sizes["image_dim"],
        "vocabulary": sizes["vocab_size"],
        "width": sizes["d_model"],
        "encoder_layers": sizes["N_enc"],
        "decoder_layers": sizes["N_dec"],
        "heads": sizes["head"],
        "feed_forward": sizes["d_ff"],
        "memory": sizes["m"],
        "meshed": fixture.config["mesh"],
        "start": fixture.config["bos_id"],
        "padding": fixture.config["pad_id"],
        "longest": fixture.config["decoder_max_len"],
        "head_size": fixture.config["d_k"],
        "grid_positions": sizes["with_pe"],
        "dropout": 0.1,
    }


@torch.no_grad()
def test_encoder(fixture):
    outputs = fixture.captioner.encoder(fixture.visual)
    fixture.close(torch.stack(outputs, dim=1) if fixture.config["mesh"] else outputs[-1], "encoder_output")


def test_given_captions(fixture):
    sequence = fixture.tensors["in.seq"]
    tokens, mask = sequence[:, 1:], sequence[:, 1:] != 0
    logits = fixture.captioner.logits(fixture.visual, tokens)
    expected = fixture.tensors["out.tf_logits"][:, :-1]
    torch.testing.assert_close(logits[mask], expected[mask], rtol=0, atol=1e-5)
    log_probs = fixture.captioner.log_probs(fixture.visual, tokens, mask)
    of_tokens = fixture.tensors["out.tf_logprobs"][:, :-1].gather(2, tokens[:, :, None])[:, :, 0]
    torch.testing.assert_close(log_probs, of_tokens * mask, rtol=0, atol=1e-5)
    fixture.close(-log_probs.sum() / mask.sum(), "xe_loss")


def test_greedy(fixture):
    decoded = decode(fixture.captioner, fixture.visual, Decoding("greedy", 40), Vocabulary())
    fixture.check_caption(decoded, "greedy")


def test_beam_search(fixture):
    decoded = decode(fixture.captioner, fixture.visual, Decoding("beam", 40, rules="camel"), Vocabulary())
    fixture.check_caption(decoded, "beam5")
    per_token = fixture.tensors["out.beam5_all_sum"][:, 0] / decoded.lengths
    torch.testing.assert_close(decoded.score / decoded.lengths, per_token, rtol=0, atol=1e-5)


def test_the_target_network_is_another(fixture):
    online, target = fixture.captioner.state_dict(), {}
    for name, value in online.items():
        target[name] = value + 1
    _, state = Camel.from_published({"state_dict_o": online, "state_dict_t": target}, network="target")
    assert torch.equal(state["decoder.fc.weight"], target["decoder.fc.weight"])
