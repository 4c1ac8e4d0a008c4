"""CaMEL against the numbers of the original classes, meshed and not (see config.json beside them)."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from support.decodings import decoding_of

from captionlab.captioners.camel.captioner import Camel
from captionlab.captioners.store import import_captioner, load_captioner
from captionlab.generation.decoding import decode
from captionlab.networks.words import learn_words

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
        known = {"start": self.config["bos_id"], "heads": self.config["sizes"]["head"]}
        self.captioner, state = Camel.from_published({"state_dict_o": weights, "epoch": 3}, **known)
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


def naive_encoder(weights: dict[str, torch.Tensor], visual: torch.Tensor, head_size: int) -> list[torch.Tensor]:
    """The encoder with positions in its grid, as its authors' --with_pe has it: one image, place and head at a time."""

    def linear(name: str, states: torch.Tensor) -> torch.Tensor:
        return states @ weights[f"encoder.{name}.weight"].T + weights[f"encoder.{name}.bias"]

    def normed(name: str, states: torch.Tensor) -> torch.Tensor:
        centred = states - states.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return scaled * weights[f"encoder.{name}.weight"] + weights[f"encoder.{name}.bias"]

    def layer(name: str, states: torch.Tensor) -> torch.Tensor:
        own = f"{name}.mhatt.attention"
        queries, keys, values = (linear(f"{own}.fc_{part}", states) for part in "qkv")
        memory = weights[f"encoder.{own}.m_k"][0], weights[f"encoder.{own}.m_v"][0]
        keys = torch.cat([keys, math.sqrt(head_size) * memory[0]])
        values = torch.cat([values, math.sqrt(len(memory[1])) * memory[1]])
        gathered = torch.zeros_like(queries)
        for head in range(queries.shape[1] // head_size):
            part = slice(head * head_size, (head + 1) * head_size)
            for place in range(len(queries)):
                products = [float(queries[place, part] @ key[part]) / math.sqrt(head_size) for key in keys]
                shares = torch.tensor(products, dtype=states.dtype).softmax(0)
                gathered[place, part] = sum(share * value[part] for share, value in zip(shares, values, strict=True))
        states = normed(f"{name}.mhatt.layer_norm", states + linear(f"{own}.fc_o", gathered))
        inner = linear(f"{name}.pwff.fc1", states).clamp(min=0)
        return normed(f"{name}.pwff.layer_norm", states + linear(f"{name}.pwff.fc2", inner))

    outputs: list[list[torch.Tensor]] = []
    for image in visual:
        placed = [row + weights["encoder.pos_emb.weight"][rank] for rank, row in enumerate(image, 1)]
        states, of_image = normed("layer_norm", linear("fc", torch.stack(placed)).clamp(min=0)), []
        while f"encoder.layers.{len(of_image)}.pwff.fc1.bias" in weights:
            states = layer(f"layers.{len(of_image)}", states)
            of_image.append(states)
        outputs.append(of_image)
    return [torch.stack(images) for images in zip(*outputs, strict=True)]


@torch.no_grad()
def test_positions_in_the_grid(fixture, tmp_path):
    """They change the encoder, are imported only when asked for, and are recorded with the captioner."""
    weights = fixture.captioner.state_dict()
    torch.save({"state_dict_o": weights}, tmp_path / "camel.pth")
    learn_words([f"w{n}" for n in range(58)], 1).save(tmp_path / "words.json")
    exact = {name: value.double() for name, value in weights.items()}
    expected = naive_encoder(exact, fixture.visual.double(), fixture.config["d_k"])
    for asked, difference in (({"grid_positions": True}, 0), ({}, 1), ({"grid_positions": False}, 1)):
        folder = tmp_path / f"imported-{len(asked)}-{difference}"
        heads = fixture.config["sizes"]["head"]
        import_captioner("camel", tmp_path / "camel.pth", tmp_path / "words.json", folder, heads=heads, **asked)
        recorded = json.loads((folder / "config.json").read_text())["architecture"]["grid_positions"]
        assert recorded is (difference == 0)
        outputs = load_captioner(folder)[0].encoder(fixture.visual)
        for ours, theirs in zip(outputs, expected, strict=True):
            largest = float((ours - theirs).abs().max())
            assert largest < 1e-5 if difference == 0 else largest > 0.1


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
    decoded = decode(fixture.captioner, fixture.visual, decoding_of("greedy", 40), Vocabulary())
    fixture.check_caption(decoded, "greedy")


def test_beam_search(fixture):
    decoded = decode(fixture.captioner, fixture.visual, decoding_of("beam", 40, rules="camel"), Vocabulary())
    fixture.check_caption(decoded, "beam5")
    per_token = fixture.tensors["out.beam5_all_sum"][:, 0] / decoded.lengths
    torch.testing.assert_close(decoded.score / decoded.lengths, per_token, rtol=0, atol=1e-5)


def test_the_target_network_is_another(fixture):
    online, target = fixture.captioner.state_dict(), {}
    for name, value in online.items():
        target[name] = value + 1
    networks, heads = {"state_dict_o": online, "state_dict_t": target}, fixture.config["sizes"]["head"]
    _, state = Camel.from_published(networks, network="target", heads=heads)
    assert torch.equal(state["decoder.fc.weight"], target["decoder.fc.weight"])
