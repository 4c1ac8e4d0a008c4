"""Captioners of the hub against transformers itself: `generate`, and plain passes over one image at a time."""

import json
import runpy
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from support.decodings import decoding_of
from support.hub_models import hub_model
from transformers import PreTrainedTokenizerFast

from captionlab.captioners.pictures import Pictures
from captionlab.captioners.prompts import Prompter, answer_form
from captionlab.captioners.store import import_folder, load_captioner
from captionlab.captioners.transformers import captioner as family
from captionlab.generation.decoding import decode
from captionlab.networks import hub
from captionlab.networks.checkpoints import CheckpointError
from captionlab.networks.tokenizer import Tokenizer

CHAT, PROMPT = {"chat": "describe it"}, {"prompt": "a photo of"}
WHOLE = {"processor": {"do_image_splitting": False}}
CASES = {
    "git by a table": ("git", "table", PROMPT),
    "git without a prompt": ("git", "table", {"prompt": ""}),
    "git by pixels": ("git", "pixels", PROMPT),
    "blip-2 by pixels": ("blip-2", "pixels", PROMPT),
    "llava by a table": ("llava", "table", CHAT),
    "llava by pixels": ("llava", "pixels", CHAT),
    "paligemma by a table": ("paligemma", "table", PROMPT),
    "smolvlm by a table": ("smolvlm", "table", CHAT | WHOLE),
    "smolvlm by pixels, images of other shapes in parts": ("smolvlm", "pixels", CHAT),
    "qwen2_5_vl by pixels, images of other shapes of other lengths": ("qwen2_5_vl", "pixels", CHAT),
}
# Those of the last two are read with prompts of several lengths.
SHAPES = [(40, 60), (64, 48), (32, 90), (50, 50)]


@pytest.fixture(scope="module")
def images():
    pixels = np.random.default_rng(0)
    return [Image.fromarray(pixels.integers(0, 255, (*shape, 3), dtype=np.uint8)) for shape in SHAPES]


@pytest.fixture(scope="module", params=CASES)
def case(request, images, tmp_path_factory):
    """A captioner, its tokenizer, the images as it reads them, and transformers' own model with its inputs."""
    kind, reads, block = CASES[request.param]
    folder = hub_model(kind, tmp_path_factory.mktemp("hub"))
    block = {"dtype": "float32", "prompt": "", "reads": reads, **block}
    import_folder("transformers", folder, folder / "stored", block)
    captioner, tokenizer = load_captioner(folder / "stored")
    model, processor = hub.read_folder(folder, options=block.get("processor"))
    pictures = pictures_of(images, processor, captioner)
    visual = pictures
    if reads == "table":
        with torch.no_grad():
            visual = torch.stack([*hub.image_features(model, pictures.inputs).pooler_output])
    return captioner, tokenizer, visual, model, pictures


def pictures_of(images, processor, captioner):
    """Images as a captioner reads them by pixels."""
    prompter = Prompter(processor, captioner.architecture["block"], captioner.architecture["reads_prompt"])
    return Pictures(images, prompter, torch.device("cpu"))


def cut(tokens, end):
    return tokens[: tokens.index(end) + 1] if end in tokens else tokens


def generated(model, inputs, **options):
    """Tokens of captions by `generate`."""
    found = model.generate(**inputs, max_new_tokens=8, do_sample=False, **options)
    return found[:, inputs["input_ids"].shape[1] :].tolist()


@pytest.mark.parametrize("beams", [1, 3])
def test_captions_of_a_batch_are_those_of_generate(case, beams):
    captioner, tokenizer, visual, model, pictures = case
    decoding = decoding_of("greedy", 8) if beams == 1 else decoding_of("beam", 8, beams=beams)
    decoded = decode(captioner, visual, decoding, tokenizer)
    found = [tokens[:length].tolist() for tokens, length in zip(decoded.tokens, decoded.lengths, strict=True)]
    batch = [cut(tokens, tokenizer.end) for tokens in generated(model, pictures.inputs, num_beams=beams)]
    alone = [generated(model, pictures[row : row + 1].inputs, num_beams=beams)[0] for row in range(4)]
    assert found == batch == [cut(tokens, tokenizer.end) for tokens in alone]
    assert len({tuple(tokens) for tokens in found}) > 1, "the captions depend on the images"


def plain(model, inputs, tokens):
    """Log-probabilities of tokens (T,) by words that are added one by one to the prompt of a single image."""
    captioned, found = dict(inputs), []
    for token in tokens:
        # `generate` of a single token is a pass of the whole model over prompt and words.
        output = model.generate(
            **captioned, max_new_tokens=1, do_sample=False, return_dict_in_generate=True, output_logits=True
        )
        found.append(output.logits[0][0].log_softmax(-1)[token])
        behind = {"attention_mask": 1, "input_ids": int(token), "token_type_ids": 1, "mm_token_type_ids": 0}
        for name in captioned.keys() & behind.keys():
            added = torch.full_like(captioned[name][:, :1], behind[name])
            captioned[name] = torch.cat([captioned[name], added], dim=1)
    return torch.stack(found)


def sayable_tokens(captioner):
    """Return the ids of words that no image stands behind."""
    return torch.tensor([token for token in range(30) if token not in captioner.placeholders])


def test_log_probabilities_of_captions_of_several_lengths_are_those_of_plain_passes(case):
    captioner, _, visual, model, pictures = case
    sayable = sayable_tokens(captioner)
    lengths = [6, 2, 4, 1]
    tokens = sayable[torch.randint(len(sayable), (4, 6), generator=torch.Generator().manual_seed(3))]
    mask = torch.arange(6) < torch.tensor(lengths)[:, None]
    found = captioner.log_probs(visual, tokens, mask)
    assert found.requires_grad
    for row, length in enumerate(lengths):
        with torch.no_grad():
            alone = plain(model, pictures[row : row + 1].inputs, tokens[row, :length])
        torch.testing.assert_close(found[row, :length], alone, atol=1e-5, rtol=1e-5)
        assert (found[row, length:] == 0).all()


def test_samples_are_those_of_generate_with_a_seed_from_the_generator(case):
    captioner, tokenizer, visual, model, pictures = case
    decoding = decoding_of("sample", 5, samples=2, temperature=1.5, top_k=7)
    decoded = decode(captioner, visual, decoding, tokenizer, torch.Generator().manual_seed(5))
    again = decode(captioner, visual, decoding, tokenizer, torch.Generator().manual_seed(5))
    assert torch.equal(decoded.tokens, again.tokens)
    other = decode(captioner, visual, decoding, tokenizer, torch.Generator().manual_seed(6))
    assert decoded.tokens.tolist() != other.tokens.tolist()
    seed = int(torch.randint(2**62, (1,), generator=torch.Generator().manual_seed(5)))
    torch.manual_seed(seed)
    options = {"do_sample": True, "temperature": 1.5, "top_k": 7, "top_p": 1.0, "num_return_sequences": 2}
    theirs = model.generate(**pictures.inputs, max_new_tokens=5, **options)[:, pictures.inputs["input_ids"].shape[1] :]
    for tokens, length, row in zip(decoded.tokens.tolist(), decoded.lengths.tolist(), theirs.tolist(), strict=True):
        assert tokens[:length] == row[:length]
    if not torch.isin(decoded.tokens, captioner.placeholders).any():
        scored = captioner.log_probs(visual.repeat_interleave(2, dim=0), decoded.tokens, decoded.mask).sum(1)
        torch.testing.assert_close(decoded.log_prob, scored, atol=2e-5, rtol=1e-5)


def test_the_random_numbers_of_others_stay_as_they_are(case):
    captioner, tokenizer, visual, _, _ = case
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    decode(captioner, visual, decoding_of("sample", 2), tokenizer, torch.Generator().manual_seed(5))
    assert torch.equal(torch.rand(2), expected)


def test_pieces_of_a_batch_say_what_the_whole_says(case):
    captioner, _, visual, _, _ = case
    tokens, mask = torch.stack([sayable_tokens(captioner)[:3]] * 4), torch.ones(4, 3)
    whole = captioner.log_probs(visual, tokens, mask)
    parts = [captioner.log_probs(part, tokens[:2], mask[:2]) for part in visual.tensor_split(2)]
    torch.testing.assert_close(whole, torch.cat(parts), atol=1e-5, rtol=1e-5)
    backwards = captioner.log_probs(visual[torch.tensor([3, 2, 1, 0])], tokens, mask)
    torch.testing.assert_close(whole.flip(0), backwards, atol=1e-5, rtol=1e-5)


def test_a_batch_whose_logits_are_too_many_is_divided(case, monkeypatch):
    captioner, tokenizer, visual, _, _ = case
    decoding = decoding_of("beam", 6, beams=2)
    whole = decode(captioner, visual, decoding, tokenizer)
    monkeypatch.setattr(family, "_MOST_LOGITS", 1)
    parts = decode(captioner, visual, decoding, tokenizer)
    assert torch.equal(whole.tokens, parts.tokens)
    assert torch.equal(whole.lengths, parts.lengths)
    torch.testing.assert_close(whole.log_prob, parts.log_prob, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(whole.score, parts.score, atol=1e-5, rtol=1e-5)


def test_after_a_stop_the_end_is_forced_and_does_not_count(case):
    captioner, tokenizer, visual, _, _ = case
    for options in ({}, {"beams": 3}):
        kind = "beam" if options else "greedy"
        free = decode(captioner, visual, decoding_of(kind, 8, **options), tokenizer)
        words = (tokenizer.tokenizer.id_to_token(token) for token in free.tokens[0].tolist())
        word = next(word for word in words if tokenizer.stop_ids(word))
        stopped = decode(captioner, visual, decoding_of(kind, 8, stop=word, **options), tokenizer)
        stops = {*tokenizer.stop_ids(word)}
        for tokens, length in zip(stopped.tokens.tolist(), stopped.lengths.tolist(), strict=True):
            for before, after in pairwise(tokens[:length]):
                assert before not in stops or after in tokenizer.ends


REFUSED = {
    "a type without a table": (
        "qwen2_5_vl",
        {"reads": "table", **CHAT},
        "images of other shapes become other numbers of patches",
    ),
    "images of several lengths": ("smolvlm", {"reads": "table", **CHAT}, "do_image_splitting: false"),
    "another processor": (
        "smolvlm",
        {"reads": "pixels", "processor": {"do_splitting": False}, **CHAT},
        "has an image processor that has no 'do_splitting'; it has .*do_image_splitting",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name, tmp_path):
    kind, block, said = REFUSED[name]
    with pytest.raises(CheckpointError, match=said):
        import_folder("transformers", hub_model(kind, tmp_path), tmp_path / "stored", {"dtype": "float32", **block})


def test_a_folder_that_is_none(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match=r"empty is no folder of a model .* as `save_pretrained` writes them"):
        import_folder("transformers", tmp_path / "empty", tmp_path / "stored", {"dtype": "float32", "reads": "pixels"})


@pytest.mark.parametrize(("kind", "block"), [("git", PROMPT), ("qwen2_5_vl", CHAT), ("vipllava", CHAT)])
def test_nothing_that_images_alone_go_through_is_trained(kind, block, tmp_path):
    import_folder(
        "transformers", hub_model(kind, tmp_path), tmp_path / "s", {"dtype": "float32", "reads": "pixels", **block}
    )
    captioner, _ = load_captioner(tmp_path / "s")
    side = ("image_encoder", "visual", "vision_tower")
    frozen = {name for name, parameter in captioner.named_parameters() if not parameter.requires_grad}
    assert frozen
    assert all(name in frozen for name, _ in captioner.named_parameters() if any(part in name for part in side))
    assert not [name for name in captioner.linear_layers() if any(part in name for part in side)]


def test_a_caption_ends_with_any_of_several_ends(images, tmp_path):
    folder = hub_model("llava", tmp_path)
    config = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps({**config, "eos_token_id": [2, 20]}))
    import_folder("transformers", folder, tmp_path / "s", {"dtype": "float32", "reads": "pixels", **CHAT})
    captioner, tokenizer = load_captioner(tmp_path / "s")
    assert (tokenizer.end, tokenizer.ends) == (2, (2, 20))
    model, processor = hub.read_folder(folder)
    pictures = pictures_of(images, processor, captioner)
    decoded = decode(captioner, pictures, decoding_of("greedy", 8), tokenizer)
    theirs = generated(model, pictures.inputs)
    for tokens, length, row in zip(decoded.tokens.tolist(), decoded.lengths.tolist(), theirs, strict=True):
        assert tokens[:length] == row[:length]
        assert not {2, 20} & {*tokens[: length - 1]}
        assert tokens[length:] == [2] * (len(tokens) - length)
    assert 20 in decoded.tokens, "some caption ends with the second end"
    scored = captioner.log_probs(pictures, decoded.tokens, decoded.mask).sum(1)
    torch.testing.assert_close(decoded.log_prob, scored, atol=2e-5, rtol=1e-5)
    assert not [
        text for text in tokenizer.decode(decoded.tokens.tolist()) if tokenizer.tokenizer.id_to_token(20) in text
    ]


def byte_pairs():
    """A processor of texts that writes words as GPT-2 does, with their space before them."""
    words = Tokenizer.train(["a dog is here. describe: the dog"] * 9, 300)
    return SimpleNamespace(tokenizer=PreTrainedTokenizerFast(tokenizer_object=words.tokenizer))


@pytest.mark.parametrize(
    ("prompt", "written", "lead"),
    [("describe:", "describe:", " "), ("describe:", "describe:\n", ""), ("describe: ", "describe: ", ""), ("", "", "")],
)
def test_captions_are_learnt_as_they_follow_what_the_processor_wrote(prompt, written, lead):
    processor = byte_pairs()
    ids = torch.tensor([processor.tokenizer(written).input_ids or [0]])
    assert answer_form(Prompter(processor, {"prompt": prompt}, "decoder"), [7], ids) == (lead, 7)


def test_the_benchmark_compares_both(monkeypatch, capsys):
    monkeypatch.setattr(
        "sys.argv", ["hub_generation.py", "--images", "2", "--tokens", "2", "--rounds", "1", "--threads", "1"]
    )
    runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "hub_generation.py"))["main"]()
    found = json.loads(capsys.readouterr().out)
    assert found["tokens a second"].keys() == {"captionlab", "generate"}
    assert found["seconds of an epoch"].keys() == {"table", "pixels"}
