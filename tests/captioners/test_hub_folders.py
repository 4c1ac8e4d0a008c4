"""Folders of the Hugging Face hub: settings of generation, forms of weights, and folders that are refused."""

import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from support.answers import Answers
from support.decodings import decoding_of
from support.hub_models import hub_model
from support.hub_types import hub_type

from captionlab.captioners.pictures import Pictures
from captionlab.captioners.prompts import Prompter
from captionlab.captioners.store import import_folder, load_captioner
from captionlab.generation.decoding import decode
from captionlab.networks import hub
from captionlab.networks.checkpoints import CheckpointError

CHAT = {"chat": "describe it"}
GREEDY, BEAM = decoding_of("greedy", 8), decoding_of("beam", 8, beams=3)


@pytest.fixture(scope="module")
def images():
    pixels = np.random.default_rng(0)
    return [Image.fromarray(pixels.integers(0, 255, (48, 64, 3), dtype=np.uint8)) for _ in range(4)]


@pytest.fixture
def folder(tmp_path):
    return hub_model("llava", tmp_path)


def write(path, **changes):
    """Change keys of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def imported(folder, images, dtype="float32", **block):
    """Return a captioner of a folder, its tokenizer, and images as it reads them."""
    import_folder("transformers", folder, folder / "stored", {"dtype": dtype, "reads": "pixels", **CHAT, **block})
    captioner, tokenizer = load_captioner(folder / "stored")
    prompter = Prompter(hub.read_folder(folder)[1], captioner.architecture["block"], "decoder")
    return captioner, tokenizer, Pictures(images, prompter, torch.device("cpu"))


def words(decoded):
    return [tokens[:length] for tokens, length in zip(decoded.tokens.tolist(), decoded.lengths.tolist(), strict=True)]


def of_generate(folder, pictures, ends, **options):
    """Return captions by `generate` of the model in the folder, through their ends."""
    model, _ = hub.read_folder(folder)
    inputs = pictures.inputs
    rows = model.generate(**inputs, max_new_tokens=8, **options)[:, inputs["input_ids"].shape[1] :].tolist()
    ended = [next((place for place, token in enumerate(row) if token in ends), len(row)) for row in rows]
    return [row[: place + 1] for row, place in zip(rows, ended, strict=True)]


SETTINGS = {
    "repetition_penalty": {"repetition_penalty": 3.0},
    "no_repeat_ngram_size": {"no_repeat_ngram_size": 1},
    "suppress_tokens": {"suppress_tokens": [16, 20, 25]},
    "several ends": {"eos_token_id": [2, 20, 8]},
    "settings of samples and beams": {"do_sample": True, "temperature": 0.1, "top_k": 3, "num_beams": 2},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_model_hold(name, folder, images):
    before, tokenizer, pictures = imported(folder, images)
    free = words(decode(before, pictures, GREEDY, tokenizer))
    shutil.rmtree(folder / "stored")
    write(folder / "generation_config.json", **SETTINGS[name])
    captioner, tokenizer, pictures = imported(folder, images)
    ends = captioner.ends
    assert set(ends) == set(SETTINGS[name].get("eos_token_id", [2]))
    greedy = words(decode(captioner, pictures, GREEDY, tokenizer))
    assert greedy == of_generate(folder, pictures, ends, do_sample=False, num_beams=1)
    beams = words(decode(captioner, pictures, BEAM, tokenizer))
    assert beams == of_generate(folder, pictures, ends, do_sample=False, num_beams=3)
    assert (greedy == free) is (name == "settings of samples and beams")
    recorded = json.loads((folder / "stored" / "config.json").read_text())["architecture"]["generation"]
    assert recorded.items() >= SETTINGS[name].items()


def test_a_decoding_replaces_settings_of_the_model(folder, images):
    write(folder / "generation_config.json", repetition_penalty=3.0, length_penalty=0.0)
    captioner, tokenizer, pictures = imported(folder, images)
    found = words(decode(captioner, pictures, decoding_of("greedy", 8, repetition_penalty=1.0), tokenizer))
    assert found == of_generate(folder, pictures, captioner.ends, do_sample=False, repetition_penalty=1.0)
    assert found != words(decode(captioner, pictures, GREEDY, tokenizer))
    options = {"beams": 3, "length_penalty": 2.0, "repetition_penalty": 1.5}
    found = words(decode(captioner, pictures, decoding_of("beam", 8, **options), tokenizer))
    del options["beams"]
    assert found == of_generate(folder, pictures, captioner.ends, do_sample=False, num_beams=3, **options)


def test_samples_are_drawn_from_the_model_itself(folder, images):
    write(folder / "generation_config.json", do_sample=True, temperature=1e-6, top_k=1, top_p=0.01)
    captioner, tokenizer, pictures = imported(folder, images)
    sampled = decode(captioner, pictures, decoding_of("sample", 8), tokenizer, torch.Generator().manual_seed(1))
    assert words(sampled) != words(decode(captioner, pictures, GREEDY, tokenizer))


def test_samples_are_drawn_without_penalties(folder, images):
    sample, seed = decoding_of("sample", 8, samples=2), torch.Generator()
    before, tokenizer, pictures = imported(folder, images)
    free = decode(before, pictures, sample, tokenizer, seed.manual_seed(1))
    shutil.rmtree(folder / "stored")
    settings = {"repetition_penalty": 5.0, "no_repeat_ngram_size": 1, "min_p": 0.9, "typical_p": 0.1}
    write(folder / "generation_config.json", do_sample=True, **settings)
    captioner, tokenizer, pictures = imported(folder, images)
    assert words(decode(captioner, pictures, sample, tokenizer, seed.manual_seed(1))) == words(free)


def test_settings_of_samples_without_do_sample_can_be_exported(folder, images):
    write(folder / "generation_config.json", temperature=0.5, top_p=0.9)
    captioner, tokenizer, pictures = imported(folder, images)
    captioner.export(tokenizer, folder / "export", {})
    again, _ = hub.read_folder(folder / "export")
    assert again.generation_config.temperature == 0.5
    greedy = words(decode(captioner, pictures, GREEDY, tokenizer))
    assert greedy == of_generate(folder, pictures, captioner.ends, do_sample=False)


def test_config_with_several_ends_and_a_tokenizer_without_padding(folder, images):
    write(folder / "config.json", eos_token_id=[2, 20])
    write(folder / "generation_config.json", eos_token_id=[2, 20])
    write(folder / "tokenizer_config.json", pad_token=None)
    captioner, tokenizer, pictures = imported(folder, images)
    assert {*captioner.ends} == {2, 20}
    assert captioner.placeholders.tolist() == [3]
    assert words(decode(captioner, pictures, GREEDY, tokenizer))


def test_names_of_folders_are_not_stored(folder, images):
    imported(folder, images)
    assert str(folder) not in (folder / "stored" / "config.json").read_text()


def test_weights_of_a_published_trocr_lack_a_pooler(tmp_path):
    """Their image encoder has none, and transformers builds one that no caption depends on."""
    folder = hub_type("trocr", tmp_path)
    weights = load_file(folder / "model.safetensors")
    for name in [name for name in weights if name.startswith("encoder.pooler.")]:
        del weights[name]
    weights["decoder.transformer.h.0.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    block = {"dtype": "float32", "reads": "pixels", "prompt": ""}
    import_folder("transformers", folder, folder / "stored", block)
    captioner, _ = load_captioner(folder / "stored")
    assert not any(value.any() for name, value in captioner.named_parameters() if ".pooler." in name)


def test_nothing_of_the_image_side_is_dropped_in_a_training(tmp_path):
    folder = hub_model("blip-2", tmp_path)
    import_folder("transformers", folder, folder / "s", {"dtype": "float32", "reads": "pixels", "prompt": "a photo of"})
    captioner, _ = load_captioner(folder / "s")
    captioner.train()
    assert not captioner.model.qformer.training
    assert not captioner.model.vision_model.training
    assert captioner.model.language_model.training


def test_rules_of_other_programs_are_refused(folder, images):
    captioner, tokenizer, pictures = imported(folder, images)
    with pytest.raises(ValueError, match=r"decoding.rules is 'transformers-2022'.* leave `rules` out"):
        decode(captioner, pictures, decoding_of("beam", 8, beams=2, rules="transformers-2022"), tokenizer)


def saved_again(folder, model, **options):
    """Replace the weights and the config in a folder."""
    for path in folder.glob("*.safetensors"):
        path.unlink()
    model.save_pretrained(folder, **options)


FORMS = ["sharded", "tied", "bfloat16", "padded vocabulary"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_forms_of_weights(form, dtype, images, tmp_path):
    folder = hub_model("llava", tmp_path)
    model, _ = hub.read_folder(folder)
    if form == "sharded":
        saved_again(folder, model, max_shard_size="40KB")
        assert len([*folder.glob("*.safetensors")]) > 1
    if form == "tied":
        config = model.config
        config.tie_word_embeddings = config.text_config.tie_word_embeddings = True
        torch.manual_seed(1)
        saved_again(folder, type(model)(config))
        assert not [name for name in load_file(folder / "model.safetensors") if "lm_head" in name]
    if form == "bfloat16":
        saved_again(folder, model.bfloat16())
        assert {value.dtype for value in load_file(folder / "model.safetensors").values()} == {torch.bfloat16}
    if form == "padded vocabulary":
        model.resize_token_embeddings(64)
        saved_again(folder, model)
    captioner, tokenizer, pictures = imported(folder, images, dtype)
    assert {parameter.dtype for parameter in captioner.parameters()} == {hub.PRECISIONS[dtype]}
    theirs, _ = hub.read_folder(folder, dtype)
    inputs = {
        name: value.to(hub.PRECISIONS[dtype]) if value.is_floating_point() else value
        for name, value in pictures.inputs.items()
    }
    for decoding, beams in ((GREEDY, 1), (BEAM, 3)):
        decoded = decode(captioner, pictures, decoding, tokenizer)
        rows = theirs.generate(**inputs, max_new_tokens=8, num_beams=beams)[:, inputs["input_ids"].shape[1] :]
        for ours, row in zip(words(decoded), rows.tolist(), strict=True):
            assert ours == row[: len(ours)]
    captioner.export(tokenizer, folder / "export", {})
    again, _ = hub.read_folder(folder / "export", dtype)
    with torch.no_grad():
        torch.testing.assert_close(again(**inputs).logits, theirs(**inputs).logits, atol=0, rtol=0)


def test_two_imports_are_equal(folder, images, tmp_path):
    first, _, _ = imported(folder, images)
    shutil.copytree(folder, tmp_path / "other", ignore=shutil.ignore_patterns("stored"))
    second, _, _ = imported(tmp_path / "other", images)
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name])


def changed_weights(folder, change):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def without_tensor(folder):
    changed_weights(folder, lambda weights: weights.pop(next(name for name in weights if "layers.1" in name)))


def with_tensor(folder):
    changed_weights(folder, lambda weights: weights.update({"language_model.extra.weight": torch.zeros(2)}))


def with_other_shape(folder):
    def narrow(weights):
        name = next(name for name in weights if name.endswith("q_proj.weight") and "language" in name)
        weights[name] = weights[name][:5].clone()

    changed_weights(folder, narrow)


def adapters_alone(folder):
    (folder / "config.json").rename(folder / "adapter_config.json")


def own_code(folder):
    write(folder / "config.json", model_type="new_captioner", auto_map={"AutoModel": "modeling_new.NewCaptioner"})


def quantised(folder):
    write(folder / "config.json", quantization_config={"quant_method": "awq", "bits": 4})


def pointer(folder):
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    (folder / "model.safetensors").write_text(text)


def pickled(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def without_template(folder):
    (folder / "chat_template.jinja").unlink()


def nothing(folder):
    pass


REFUSED = {
    "a folder of the hub without one tensor": (without_tensor, CHAT, "missing model.language_model.layers.1"),
    "a folder of the hub with a tensor of another model": (with_tensor, CHAT, "unexpected "),
    "a folder of the hub with a tensor of another shape": (with_other_shape, CHAT, "q_proj.weight is (5, 32)"),
    "a folder of the hub with adapters alone": (adapters_alone, CHAT, "has adapters alone; merge"),
    "a folder of the hub whose type its own code builds": (own_code, CHAT, "Code of a folder is not run"),
    "a folder of the hub with quantised weights": (quantised, CHAT, "llava"),
    "a folder of the hub with a pointer of Git LFS": (pointer, CHAT, "git lfs pull"),
    "a folder of the hub with pickled weights": (pickled, CHAT, "pytorch_model.bin"),
    "`chat` for a model without a chat template": (without_template, CHAT, "give a `prompt` in place of `chat`"),
    "`prompt: a photo of` for a LLaVA, without a placeholder": (nothing, {"prompt": "a photo of"}, "placeholder"),
    "`prompt` with two placeholders for one image": (nothing, {"prompt": "IMAGE IMAGE a photo of"}, "placeholder"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_folder_is_refused(name, folder, answers: Answers):
    change, block, named = REFUSED[name]
    change(folder)
    with pytest.raises(CheckpointError) as raised:
        import_folder("transformers", folder, folder / "stored", {"dtype": "float32", "reads": "pixels", **block})
    assert "llava" in str(raised.value)
    assert not (folder / "stored").exists(), "nothing half-written stays"
    answers.hold(name, raised.value, named)


def test_a_wrong_path_is_refused(tmp_path, answers: Answers):
    with pytest.raises(CheckpointError) as raised:
        import_folder("transformers", tmp_path / "none", tmp_path / "s", {"dtype": "float32", "reads": "pixels"})
    answers.hold("a path without a folder of the hub", raised.value, "none is no folder")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError) as raised:
        import_folder("transformers", tmp_path / "empty", tmp_path / "s", {"dtype": "float32", "reads": "pixels"})
    answers.hold("a folder of the hub without files", raised.value, "as `save_pretrained` writes them")


def test_prompt_and_chat_are_refused_together(folder):
    block = {"dtype": "float32", "reads": "pixels", "chat": "describe it", "prompt": "a photo of"}
    with pytest.raises(ValueError, match="prompt and chat are both given"):
        import_folder("transformers", folder, folder / "stored", block)
