"""ClipCap against the numbers of the original classes and of transformers' generate (see config.json beside them)."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from support.decodings import decoding_of

from captionlab.captioners.clipcap.captioner import ClipCap
from captionlab.generation.decoding import decode

FIXTURE = Path(__file__).parent / "clipcap"
CONFIG = json.loads((FIXTURE / "config.json").read_text())
NEW_TOKENS = CONFIG["sizes"]["new_tokens"]
TENSORS = load_file(FIXTURE / "io.safetensors")


class Vocabulary:
    end = CONFIG["eos_id"]

    def stop_ids(self, text: str) -> list[int]:
        assert text == "."
        return CONFIG["sizes"]["stop_ids"]


@pytest.fixture(scope="module")
def captioner() -> ClipCap:
    weights = load_file(FIXTURE / "weights.safetensors")
    captioner, state = ClipCap.from_published(weights, heads=CONFIG["sizes"]["n_head"])
    captioner.load_state_dict(state)
    return captioner.eval()


@pytest.fixture
def visual() -> torch.Tensor:
    return TENSORS["in.clip_feats"]


def close(ours: torch.Tensor, name: str, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(ours, TENSORS[f"out.{name}"], rtol=0, atol=tolerance)


def authors_log_prob(captioner: ClipCap, visual: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Sum before the first end token over (their number + 1), at most the length."""
    before = (ids == Vocabulary.end).cumsum(1) == 0
    return captioner.log_probs(visual, ids, before).sum(1) / (before.sum(1) + 1).clamp(max=ids.shape[1])


def test_sizes_are_read_off_the_weights(captioner):
    sizes = CONFIG["sizes"]
    assert captioner.architecture == {
        "prefix_size": sizes["clip_dim"],
        "prefix_length": sizes["prefix_length"],
        "width": sizes["n_embd"],
        "layers": sizes["n_layer"],
        "heads": sizes["n_head"],
        "positions": sizes["n_positions"],
        "vocabulary": sizes["vocab_size"],
        "mapper_hidden": CONFIG["mapper_sizes"][1],
    }


@torch.no_grad()
def test_prefix_and_logits(captioner, visual):
    prefix = captioner.prefix(visual)
    close(prefix, "prefix")
    embeddings = torch.cat([prefix, captioner.gpt.transformer.wte(TENSORS["in.tokens"])], dim=1)
    logits = captioner.gpt.lm_head(captioner.gpt.transformer(embeddings))
    valid = TENSORS["in.mask"].bool()
    torch.testing.assert_close(logits[valid], TENSORS["out.logits"][valid], rtol=0, atol=1e-5)


def test_training_loss(captioner, visual):
    tokens = TENSORS["in.tokens"]
    valid = tokens != 0
    close(-captioner.log_probs(visual, tokens, valid).sum() / valid.sum(), "train_loss")


@pytest.mark.parametrize("given", ["given_eos", "given_noeos"])
def test_log_prob_of_given_tokens(captioner, visual, given):
    close(authors_log_prob(captioner, visual, TENSORS[f"in.{given}_ids"]), f"egg_{given}_logprob")


@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_decoding_of_transformers(captioner, visual, kind):
    decoded = decode(captioner, visual, decoding_of(kind, NEW_TOKENS), Vocabulary())
    name = "hf_greedy" if kind == "greedy" else "hf_beam5"
    assert decoded.tokens.tolist() == TENSORS[f"out.{name}_ids"].tolist()
    if kind == "beam":
        close(decoded.score, "hf_beam5_score")


@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_stop_rule_of_the_authors(captioner, visual, kind):
    decoded = decode(captioner, visual, decoding_of(kind, NEW_TOKENS, stop="."), Vocabulary())
    name = "egg_greedy" if kind == "greedy" else "egg_beam5"
    assert decoded.tokens.tolist() == TENSORS[f"out.{name}_ids"].tolist()
    close(authors_log_prob(captioner, visual, decoded.tokens), f"{name}_logprob")
    replayed = captioner.log_probs(visual, decoded.tokens, decoded.mask).sum(1)
    torch.testing.assert_close(decoded.log_prob, replayed, rtol=0, atol=1e-5)
