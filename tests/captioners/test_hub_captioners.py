"""Captioners of the hub against transformers itself: `generate`, and plain passes over one image at a time."""

import json
import re
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
from captionlab.captioners.prompts import answer_form, of_image, read_prompt
from captionlab.captioners.store import import_folder, load_captioner
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
    "blip-2 by a table": ("blip-2", "table", PROMPT),
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
    """A captioner, its tokenizer, the images as it reads them, and transformers' own model with its inputs of each."""
    kind, reads, block = CASES[request.param]
    folder = hub_model(kind, tmp_path_factory.mktemp("hub"))
    block = {"dtype": "float32", "prompt": "", "reads": reads, **block}
    import_folder("transformers", folder, folder / "stored", block)
    captioner, tokenizer = load_captioner(folder / "stored")
    model, processor = hub.read_folder(folder, options=block.get("processor"))
    # No caption of ours has a placeholder of an image; what is random here would have some.
    unsaid = torch.tensor(captioner.unsaid, dtype=torch.long)
    model.get_output_embeddings().register_forward_hook(lambda _, __, out: out.index_fill(-1, unsaid, -torch.inf))
    inputs = [read_prompt(processor, block, image) for image in images]
    with torch.no_grad():
        if reads == "pixels":
            visual = Pictures([captioner.see(one) for one in inputs])
        else:
            seen = [hub.image_features(model, captioner.kind, of_image(one)) for one in inputs]
            visual = torch.cat([torch.stack(list(features)) for features in seen])
    return captioner, tokenizer, visual, model, inputs


def cut(tokens, end):
    return tokens[: tokens.index(end) + 1] if end in tokens else tokens


def generated(model, inputs, **options):
    """Tokens of one image by `generate`."""
    found = model.generate(**inputs, max_new_tokens=8, do_sample=False, **options)
    return found[0, inputs["input_ids"].shape[1] :].tolist()


@pytest.mark.parametrize("beams", [1, 3])
def test_captions_of_a_batch_are_those_that_generate_gives_one_by_one(case, beams):
    captioner, tokenizer, visual, model, inputs = case
    decoding = decoding_of("greedy", 8) if beams == 1 else decoding_of("beam", 8, beams=beams)
    decoded = decode(captioner, visual, decoding, tokenizer)
    found = [tokens[:length].tolist() for tokens, length in zip(decoded.tokens, decoded.lengths, strict=True)]
    assert found == [cut(generated(model, one, num_beams=beams), tokenizer.end) for one in inputs]
    assert len({tuple(tokens) for tokens in found}) > 1, "the captions depend on the images"


def plain(captioner, model, inputs, tokens):
    """Log-probabilities of tokens (T,) by a pass of the whole model over one image."""
    logits = model(**hub.followed(inputs, tokens[None, :-1], captioner.kind)).logits[0, -len(tokens) :]
    return logits.log_softmax(-1).gather(1, tokens[:, None])[:, 0]


def test_log_probabilities_of_captions_of_several_lengths_are_those_of_plain_passes(case):
    captioner, _, visual, model, inputs = case
    sayable = torch.tensor([token for token in range(30) if token not in captioner.unsaid])
    lengths = [6, 2, 4, 1]
    tokens = sayable[torch.randint(len(sayable), (4, 6), generator=torch.Generator().manual_seed(3))]
    mask = torch.arange(6) < torch.tensor(lengths)[:, None]
    found = captioner.log_probs(visual, tokens, mask)
    assert found.requires_grad
    for row, length in enumerate(lengths):
        with torch.no_grad():
            alone = plain(captioner, model, inputs[row], tokens[row, :length])
        torch.testing.assert_close(found[row, :length], alone, atol=1e-5, rtol=1e-5)
        assert (found[row, length:] == 0).all()


def test_samples_are_drawn_as_from_plain_passes_with_the_same_random_numbers(case):
    captioner, tokenizer, visual, model, inputs = case
    decoding = decoding_of("sample", 5, samples=2)
    decoded = decode(captioner, visual, decoding, tokenizer, torch.Generator().manual_seed(5))
    generator = torch.Generator().manual_seed(5)
    rows = [image for image in range(len(inputs)) for _ in range(2)]
    drawn = [[] for _ in rows]
    for _ in range(5):
        going = [row for row, tokens in enumerate(drawn) if tokenizer.end not in tokens]
        weights = []
        for row in going:
            # Any token stands for the one that is asked for.
            asked = torch.tensor([[*drawn[row]]], dtype=torch.long)
            with torch.no_grad():
                read = hub.followed(inputs[rows[row]], asked, captioner.kind)
                weights.append(model(**read).logits[0, -1].softmax(-1))
        for row, token in zip(going, torch.multinomial(torch.stack(weights), 1, generator=generator), strict=True):
            drawn[row].append(int(token))
    assert [tokens[:n].tolist() for tokens, n in zip(decoded.tokens, decoded.lengths, strict=True)] == drawn
    again = captioner.log_probs(visual.repeat_interleave(2, dim=0), decoded.tokens, decoded.mask).sum(1)
    torch.testing.assert_close(decoded.log_prob, again, atol=2e-5, rtol=1e-5)


def test_pieces_of_a_batch_say_what_the_whole_says(case):
    captioner, _, visual, _, _ = case
    sayable = [token for token in range(30) if token not in captioner.unsaid][:3]
    tokens, mask = torch.tensor([sayable] * 4), torch.ones(4, 3)
    whole = captioner.log_probs(visual, tokens, mask)
    parts = [captioner.log_probs(part, tokens[:2], mask[:2]) for part in visual.tensor_split(2)]
    torch.testing.assert_close(whole, torch.cat(parts), atol=1e-5, rtol=1e-5)
    backwards = captioner.log_probs(visual[torch.tensor([3, 2, 1, 0])], tokens, mask)
    torch.testing.assert_close(whole.flip(0), backwards, atol=1e-5, rtol=1e-5)


REFUSED = {
    "a type without a table": ("qwen2_5_vl", {"reads": "table", **CHAT}, "of whose images no table is known"),
    "images of several lengths": ("smolvlm", {"reads": "table", **CHAT}, "do_image_splitting: false"),
    "another processor": (
        "smolvlm",
        {"reads": "pixels", "processor": {"do_splitting": False}, **CHAT},
        "its image processor has no 'do_splitting'; it has .*do_image_splitting",
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


UNDECLARED = {
    "git": "counts positions of words from behind the image",
    "qwen2_5_vl": "leaves in the model where the words of the last images were",
}


@pytest.mark.parametrize("kind", UNDECLARED)
def test_a_type_that_does_something_in_a_way_that_nobody_declared_is_refused(kind, tmp_path, monkeypatch):
    monkeypatch.setitem(hub.TYPES, kind, hub.HubType(image_side=hub.TYPES[kind].image_side))
    block = {"dtype": "float32", "reads": "pixels", **(PROMPT if kind == "git" else CHAT)}
    with pytest.raises(CheckpointError, match="words after words come out otherwise than in one pass"):
        import_folder("transformers", hub_model(kind, tmp_path), tmp_path / "stored", block)


def test_a_type_whose_image_side_nobody_names_is_refused(tmp_path, monkeypatch):
    monkeypatch.delitem(hub.TYPES, "git")
    with pytest.raises(CheckpointError, match="which part of a git sees images is to be declared"):
        import_folder(
            "transformers", hub_model("git", tmp_path), tmp_path / "s", {"dtype": "float32", "reads": "pixels"}
        )


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


def test_of_several_ends_captions_have_one(tmp_path):
    folder = hub_model("llava", tmp_path)
    config = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps({**config, "eos_token_id": [2, 9]}))
    import_folder("transformers", folder, tmp_path / "s", {"dtype": "float32", "reads": "pixels", **CHAT})
    captioner, tokenizer = load_captioner(tmp_path / "s")
    assert (tokenizer.end, 9 in captioner.unsaid) == (2, True)
    states = torch.zeros(1, captioner.architecture["vocabulary"])
    assert captioner.said(states)[0, 9] == -torch.inf


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
    ids = processor.tokenizer(written).input_ids or [0]
    assert answer_form(processor, {"prompt": prompt}, [7], ids) == (lead, 7)


def test_the_page_names_the_types_whose_images_can_be_a_table():
    page = (Path(__file__).parents[2] / "docs" / "captioners.md").read_text(encoding="utf-8")
    rows = page.partition("| type | what the table holds")[2].partition("\n\n")[0]
    named = re.findall(r"`([\w-]+)`", "".join(row.split("|")[1] for row in rows.splitlines()[2:]))
    assert {*named} == {name for name, kind in hub.TYPES.items() if kind.makes_table}


def test_a_new_type_needs_no_code_and_for_a_table_one_declaration(images, tmp_path, monkeypatch):
    """The walk of docs/extending.md."""
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    name, declared = re.search(r'"(\w+)": (HubType\(.*\)),', page).groups()
    assert name not in hub.TYPES
    folder, block = hub_model(name, tmp_path), {"dtype": "float32", **CHAT}
    import_folder("transformers", folder, tmp_path / "pixels", {**block, "reads": "pixels"})
    with pytest.raises(CheckpointError, match="no table is known"):
        import_folder("transformers", folder, tmp_path / "table", {**block, "reads": "table"})
    monkeypatch.setitem(hub.TYPES, name, eval(declared, {"HubType": hub.HubType}))
    import_folder("transformers", folder, tmp_path / "table", {**block, "reads": "table"})
    (by_pixels, tokenizer), (by_table, _) = (load_captioner(tmp_path / reads) for reads in ("pixels", "table"))
    model, processor = hub.read_folder(folder)
    inputs = [read_prompt(processor, CHAT, image) for image in images]
    with torch.no_grad():
        seen = Pictures([by_pixels.see(one) for one in inputs])
        table = torch.cat([torch.stack([*hub.image_features(model, by_table.kind, of_image(one))]) for one in inputs])
    decoding = decoding_of("greedy", 8)
    found = decode(by_pixels, seen, decoding, tokenizer).tokens
    assert torch.equal(found, decode(by_table, table, decoding, tokenizer).tokens)
    assert len(found.unique(dim=0)) > 1
