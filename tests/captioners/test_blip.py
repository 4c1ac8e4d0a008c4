"""BLIP's decoder against transformers' own model, with random weights in the published layout."""

import copy
from itertools import pairwise

import pytest
import torch
from support.decodings import decoding_of

from captionlab.captioners.blip.captioner import ADDED, Blip
from captionlab.captioners.store import import_captioner, load_captioner
from captionlab.encoders.blip.encoder import MEAN, STD
from captionlab.encoders.images import normalise
from captionlab.encoders.store import import_encoder, load_encoder
from captionlab.generation.decoding import decode
from captionlab.networks.checkpoints import CheckpointError

END, PROMPT, MAX_TOKENS = 3, [60, 11, 12, 13], 9


class Vocabulary:
    end = END

    def stop_ids(self, text: str) -> list[int]:
        return []


@pytest.fixture(scope="module")
def theirs():
    """transformers' model, with weights large enough for captions to differ and to end."""
    from transformers import BlipConfig, BlipForConditionalGeneration

    text = {
        "vocab_size": 62, "hidden_size": 32, "encoder_hidden_size": 24, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 4, "max_position_embeddings": 20, "bos_token_id": PROMPT[0], "sep_token_id": END,
        "pad_token_id": 0, "eos_token_id": 2,
    }  # fmt: skip
    vision = {
        "hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 32,
        "patch_size": 8,
    }  # fmt: skip
    torch.manual_seed(0)
    model = BlipForConditionalGeneration(BlipConfig(text_config=text, vision_config=vision)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=1.5 if "crossattention" in name or "vision" in name else 0.4)
            elif "LayerNorm" not in name:
                parameter.normal_(std=0.1)
        model.text_decoder.cls.predictions.bias[END] += 3.5
    return model


@pytest.fixture(scope="module")
def checkpoint(theirs) -> dict:
    """The same in the layout of LAVIS: all of the model under one key, other parts and buffers included."""
    state = {name: value for name, value in theirs.state_dict().items() if name.startswith("text_decoder.")}
    others = {"visual_encoder.cls_token": torch.zeros(1), "text_decoder.bert.embeddings.position_ids": torch.arange(20)}
    return {"model": {**state, **others}, "epoch": 4}


@pytest.fixture(scope="module")
def captioner(checkpoint) -> Blip:
    captioner, weights = Blip.from_published(checkpoint, heads=4, prompt=PROMPT)
    captioner.load_state_dict(weights)
    return captioner.eval()


@pytest.fixture(scope="module")
def pixels() -> torch.Tensor:
    return torch.randn(5, 3, 32, 32, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def visual(theirs, pixels) -> torch.Tensor:
    with torch.no_grad():
        return theirs.vision_model(pixels).last_hidden_state


def test_sizes_are_read_off_the_weights(captioner):
    assert captioner.architecture == {
        "visual_size": 24, "vocabulary": 62, "width": 32, "layers": 2, "heads": 4, "feed_forward": 48, "positions": 20,
        "prompt": PROMPT, "dropout": 0.1,
    }  # fmt: skip
    assert captioner.prompt_length == len(PROMPT)


def test_a_folder_of_transformers_is_encoder_and_captioner(tmp_path, theirs):
    """Its features and, without a word of a prompt, its captions, with the heads and the epsilon of its config."""
    folder = tmp_path / "theirs"
    model = copy.deepcopy(theirs)
    model.config.vision_config.update({"layer_norm_eps": 1e-2, "num_attention_heads": 3})
    model = type(model)(model.config).eval()
    model.load_state_dict(theirs.state_dict())
    model.save_pretrained(folder)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"[unused{number}]" for number in range(55))]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    encoder = import_encoder({"family": "blip"}, folder / "model.safetensors")
    encoder.save(tmp_path / "encoder")
    bytes_ = torch.randint(0, 256, (5, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(3))
    pixels = normalise(bytes_, MEAN, STD)
    visual = load_encoder(tmp_path / "encoder").embed_patches(bytes_)
    with torch.no_grad():
        torch.testing.assert_close(visual, model.vision_model(pixels).last_hidden_state, rtol=1e-5, atol=1e-5)
    import_captioner(
        "blip", folder / "model.safetensors", folder / "vocab.txt", tmp_path / "captioner", prompt=PROMPT[:1]
    )
    captioner, tokenizer = load_captioner(tmp_path / "captioner")
    assert (captioner.architecture["heads"], tokenizer.size) == (4, 62)
    decoded = decode(captioner.eval(), visual, decoding_of("greedy", MAX_TOKENS), Vocabulary())
    generated = model.generate(pixels, do_sample=False, max_length=1 + MAX_TOKENS)[:, 1:]
    for ours, length, expected in zip(
        decoded.tokens.tolist(), decoded.lengths.tolist(), generated.tolist(), strict=True
    ):
        assert ours[:length] == expected[:length]
    assert len({tuple(row) for row in decoded.tokens.tolist()}) > 1
    with pytest.raises(ValueError, match=r"heads is 2, and .* beside the weights says 3"):
        import_encoder({"family": "blip", "heads": 2}, folder / "model.safetensors")
    (folder / "config.json").unlink()
    with pytest.raises(CheckpointError, match="weights do not tell how many attention heads"):
        import_encoder({"family": "blip"}, folder / "model.safetensors")


@pytest.mark.parametrize("beams", [1, 5])
def test_same_captions_as_transformers(captioner, theirs, pixels, visual, beams):
    # transformers replaces the first id by the start token and drops the last one.
    ids = torch.tensor([[0, *PROMPT[1:], 2]]).repeat(len(pixels), 1)
    generated = theirs.generate(
        pixels, input_ids=ids, num_beams=beams, do_sample=False, max_length=len(PROMPT) + MAX_TOKENS
    )[:, len(PROMPT) :]
    kind = decoding_of("beam", MAX_TOKENS, beams=beams) if beams > 1 else decoding_of("greedy", MAX_TOKENS)
    decoded = decode(captioner, visual, kind, Vocabulary())
    for ours, length, expected in zip(
        decoded.tokens.tolist(), decoded.lengths.tolist(), generated.tolist(), strict=True
    ):
        assert ours[:length] == expected[:length]
        assert set(expected[length:]) <= {0, END}
    assert len({tuple(row) for row in decoded.tokens.tolist()}) > 1
    assert min(decoded.lengths.tolist()) < max(decoded.lengths.tolist())


def test_log_probs_are_those_of_transformers(captioner, theirs, visual):
    tokens = torch.randint(4, 60, (5, 6), generator=torch.Generator().manual_seed(2))
    mask = torch.arange(6) < torch.tensor([6, 3, 1, 5, 2])[:, None]
    ids = torch.cat([torch.tensor(PROMPT).expand(5, -1), tokens], dim=1)
    with torch.no_grad():
        logits = theirs.text_decoder(ids, encoder_hidden_states=visual, is_decoder=True).logits
    expected = logits.log_softmax(2)[:, len(PROMPT) - 1 : -1].gather(2, tokens[:, :, None])[:, :, 0]
    torch.testing.assert_close(captioner.log_probs(visual, tokens, mask), expected * mask, rtol=0, atol=1e-5)
    torch.testing.assert_close(captioner.logits(visual, tokens), logits[:, len(PROMPT) - 1 : -1], rtol=1e-5, atol=1e-5)


def test_steps_agree_with_the_whole(captioner, visual):
    decoded = decode(captioner, visual, decoding_of("beam", MAX_TOKENS), Vocabulary())
    replayed = captioner.log_probs(visual, decoded.tokens, decoded.mask).sum(1)
    torch.testing.assert_close(decoded.log_prob, replayed, rtol=1e-5, atol=1e-5)


def test_the_decoder_is_all_that_learns(captioner, visual):
    assert all(name.startswith("text_decoder.") for name, _ in captioner.named_parameters())
    captioner.log_probs(visual[:1], torch.tensor([[5, END]]), torch.ones(1, 2)).sum().backward()
    unused = {name for name, p in captioner.named_parameters() if p.grad is None or not p.grad.abs().sum()}
    # A bias of keys is the same for all of them, so attention does not see it.
    assert {name for name in unused if not name.endswith("key.bias")} == set()
    captioner.zero_grad()


def test_word_pieces_get_the_two_that_blip_adds(tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "picture", "of", "dog", "##s"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n")
    tokenizer = Blip.read_tokenizer(tmp_path / "vocab.txt")
    assert tokenizer.size == len(pieces) + len(ADDED)
    assert tokenizer.end == pieces.index("[SEP]")
    assert tokenizer.encode(["A picture of dogs"]) == [[5, 6, 7, 8, 9]]
    tokenizer.save(tmp_path / "tokenizer.json")
    again = Blip.read_tokenizer(tmp_path / "tokenizer.json")
    assert again.decode([[5, 8, 9, 3, 5]]) == ["a dogs"]


def test_features_and_lengths_that_do_not_fit(captioner):
    with pytest.raises(ValueError, match=r"the features of an image are \(24,\) and this captioner reads patches of"):
        captioner.start(torch.zeros(1, 24), 3)
    with pytest.raises(ValueError, match="a prompt of 4 and 17 tokens do not fit into 20 positions"):
        captioner.start(torch.zeros(1, 2, 24), 17)


def test_trained_from_scratch_on_byte_pairs():
    sizes = {"width": 16, "layers": 1, "heads": 2, "feed_forward": 16, "positions": 12, "vocabulary": 270}
    captioner, tokenizer = Blip.for_corpus(["a dog on a beach", "a dog"], [], 8, sizes)
    assert captioner.architecture["prompt"] == [tokenizer.end]
    assert captioner.longest == 11
    visual = torch.randn(3, 4, 8)
    losses = []
    tokens = torch.tensor([[*tokenizer.encode(["a dog"])[0], tokenizer.end]] * 3)
    optimizer = torch.optim.Adam(captioner.parameters(), lr=1e-2)
    for _ in range(5):
        loss = -captioner.log_probs(visual, tokens, torch.ones_like(tokens)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(later < earlier for earlier, later in pairwise(losses))
