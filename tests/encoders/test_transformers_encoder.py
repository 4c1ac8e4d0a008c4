"""Dual encoders of the Hugging Face hub, against the library's own methods."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from support.answers import Answers
from support.dual_encoders import IN_SCRIPTS, MAKERS, dual_encoder, of_scripts
from support.hub_models import hub_model
from torch.nn.functional import cosine_similarity

from captionlab.encoders.store import import_encoder, load_encoder
from captionlab.networks.checkpoints import CheckpointError
from captionlab.scorers.clip.scorer import ClipScorer
from captionlab.scorers.store import load_scorer

CAPTIONS = ["a dog on the grass", "two cats", "a dog on the grass", "", "a red ball", "a dog next to the house"]
# The tokens of the longest text, and how the texts of a type are padded.
LENGTHS = {
    "clip": (10, True),
    "long-clip": (248, True),
    "metaclip_2": (10, True),
    "siglip": (8, "max_length"),
    "siglip2": (64, "max_length"),
    "align": (64, "max_length"),
    "chinese_clip": (9, True),
    "altclip": (10, True),
}
PICTURES = [
    Image.fromarray(np.random.default_rng(n).integers(0, 256, (h, w, 3), np.uint8))
    for n, (w, h) in enumerate([(50, 40), (32, 32), (40, 90)])
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hub")


@pytest.fixture(scope="module", params=MAKERS)
def both(request, folder):
    """The type of a model, the model and its processor, and the encoder that was imported, saved and loaded."""
    torch.set_num_threads(1)
    model, processor = dual_encoder(request.param, folder)
    import_encoder({"family": "transformers"}, folder / request.param).save(folder / "stored" / request.param)
    return request.param, model, processor, load_encoder(folder / "stored" / request.param)


def tokens(kind, number):
    """A text of so many tokens; the tokenizer of siglip2 knows letters only."""
    return "d" * number if kind == "siglip2" else " ".join(["dog"] * number)


def text_features(kind, model, processor, caption):
    length, padding = LENGTHS[kind]
    options = {"padding": padding, "truncation": True, "max_length": length}
    with torch.no_grad():
        return model.get_text_features(**processor(text=[caption], return_tensors="pt", **options)).pooler_output


def image_features(model, processor, picture):
    with torch.no_grad():
        return model.get_image_features(**processor(images=picture, return_tensors="pt"))


def test_embeddings_of_texts(both):
    kind, model, processor, encoder = both
    captions = [*CAPTIONS, tokens(kind, 300)]
    expected = torch.cat([text_features(kind, model, processor, caption) for caption in captions])
    found = encoder.embed_texts(captions, batch=4)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(found[0], found[5], atol=1e-3)  # order and words matter
    assert encoder.embed_texts([]).shape == (0, encoder.image_dimensions)


def test_captions_in_any_script(tmp_path):
    """Nothing is lost of captions in other letters than Latin, and a long caption is cut at its last tokens."""
    model, processor = dual_encoder("scripts", tmp_path, of_scripts)
    encoder = import_encoder({"family": "transformers"}, tmp_path / "scripts")
    assert encoder.config["length"] == 10
    captions = [*IN_SCRIPTS, IN_SCRIPTS[0] * 3]
    ids = processor(text=captions, padding=False)["input_ids"]
    assert not any(processor.tokenizer.unk_token_id in of_caption for of_caption in ids)
    assert encoder.tokens_left_out(captions) == [max(len(of_caption) - 10, 0) for of_caption in ids]
    expected = torch.cat([text_features("metaclip_2", model, processor, caption) for caption in captions])
    found = encoder.embed_texts(captions)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    between = torch.cdist(found[: len(IN_SCRIPTS)], found[: len(IN_SCRIPTS)])
    assert between[~torch.eye(len(IN_SCRIPTS), dtype=torch.bool)].min() > 1e-3


def test_embeddings_of_images(both):
    _, model, processor, encoder = both
    expected = torch.cat([image_features(model, processor, picture).pooler_output for picture in PICTURES])
    pixels = torch.stack([encoder.preprocess(picture) for picture in PICTURES])
    found = encoder.embed_images(pixels)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    assert found.shape == (3, encoder.image_dimensions)


def test_patches(both):
    kind, model, processor, encoder = both
    pixels = torch.stack([encoder.preprocess(picture) for picture in PICTURES])
    if kind == "siglip2":
        with pytest.raises(ValueError, match="a siglip2 does not have the same places in every image"):
            _ = encoder.patch_shape
        return
    inputs = processor(images=PICTURES, return_tensors="pt")
    with torch.no_grad():
        states = model.vision_model(**inputs).last_hidden_state
    if kind == "align":
        states = torch.stack([states[:, :, y, x] for y in range(8) for x in range(8)], dim=1)
    found = encoder.embed_patches(pixels)
    torch.testing.assert_close(found, states, atol=1e-5, rtol=1e-4)
    assert found.shape == (3, *encoder.patch_shape)


def test_the_logit_scale_is_the_factor_of_the_model(both):
    kind, model, processor, encoder = both
    length, padding = LENGTHS[kind]
    texts = processor(text=CAPTIONS[:2], return_tensors="pt", padding=padding, max_length=length, truncation=True)
    with torch.no_grad():
        logits = model(**texts, **processor(images=PICTURES[0], return_tensors="pt")).logits_per_image[0]
    cosines = cosine_similarity(
        encoder.embed_texts(CAPTIONS[:2]), encoder.embed_images(encoder.preprocess(PICTURES[0])[None])
    )
    assert encoder.logit_scale == pytest.approx(float((logits[0] - logits[1]) / (cosines[0] - cosines[1])), rel=1e-2)


def test_a_long_text_is_cut_and_keeps_its_end(both):
    kind, _, _, encoder = both
    begins = kind not in ("siglip", "siglip2")
    read = LENGTHS[kind][0] - 1 - begins  # the end is kept
    long, longest, shorter = (tokens(kind, number) for number in (300, read, read - 1))
    assert encoder.tokens_left_out([long, "a dog", longest]) == [300 - read, 0, 0]
    assert encoder.tokens_left_out([]) == []
    found = encoder.embed_texts([long, longest, shorter])
    torch.testing.assert_close(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_a_scorer_has_no_image_tower(both, tmp_path):
    encoder = both[3]
    ClipScorer(encoder, prompt="a ").save(tmp_path)
    scorer = load_scorer(tmp_path)
    assert "text_model" in dict(scorer.encoder.model.named_children())
    assert not {"vision_model", "visual_projection"} & dict(scorer.encoder.model.named_children()).keys()
    images = encoder.embed_images(torch.stack([encoder.preprocess(picture) for picture in PICTURES[:2]]))
    scores = scorer.score(scorer.encode_image(images), ["dog", "two cats"], [1, 0])
    expected = 100 * cosine_similarity(encoder.embed_texts(["a dog", "a two cats"]), images[[1, 0]])
    torch.testing.assert_close(scores, expected, atol=1e-3, rtol=0)


def test_weights_in_half_precision_are_read_in_float32(tmp_path):
    model, processor = dual_encoder("clip", tmp_path)
    model.bfloat16().save_pretrained(tmp_path / "clip")
    import_encoder({"family": "transformers"}, tmp_path / "clip").save(tmp_path / "stored")
    encoder = load_encoder(tmp_path / "stored")
    expected = text_features("clip", model.float(), processor, "a dog")
    torch.testing.assert_close(encoder.embed_texts(["a dog"]), expected, atol=1e-5, rtol=1e-4)


def refused(folder):
    with pytest.raises(CheckpointError) as raised:
        import_encoder({"family": "transformers"}, folder)
    return raised.value


def test_weights_that_do_not_fit(tmp_path, answers: Answers):
    dual_encoder("clip", tmp_path)
    weights = load_file(tmp_path / "clip" / "model.safetensors")
    missing = {name: value for name, value in weights.items() if name != "text_projection.weight"}
    save_file(missing, tmp_path / "clip" / "model.safetensors", {"format": "pt"})
    answers.hold("a CLIP that lacks a tensor", refused(tmp_path / "clip"), "missing text_projection.weight")
    save_file({**weights, "text_projection.weight": torch.zeros(3, 16)}, tmp_path / "clip" / "model.safetensors")
    answers.hold(
        "a CLIP with a tensor of another shape",
        refused(tmp_path / "clip"),
        "text_projection.weight is (3, 16), expected (12, 16)",
    )


def test_a_folder_that_is_not_of_a_dual_encoder(tmp_path, answers: Answers):
    (tmp_path / "empty").mkdir()
    answers.hold("a folder without a dual encoder", refused(tmp_path / "empty"), "…/empty is no folder of a dual")
    llava = hub_model("llava", tmp_path)
    answers.hold("a LLaVA as dual encoder", refused(llava), "…/llava is a llava, which has no get_text_features")
    blip_2 = hub_model("blip-2", tmp_path)
    answers.hold("a BLIP-2 as dual encoder", refused(blip_2), "…/blip-2 gives no vectors of one size")
    dual_encoder("clip", tmp_path)
    (tmp_path / "clip" / "tokenizer.json").unlink()
    answers.hold("a CLIP without a tokenizer", refused(tmp_path / "clip"), "…/clip ")
    weights = tmp_path / "clip" / "model.safetensors"
    weights.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    answers.hold(
        "a CLIP whose weights are a pointer of Git LFS", refused(tmp_path / "clip"), "…/clip/model.safetensors "
    )
    weights.write_bytes(b"PK")
    weights.rename(weights.with_name("pytorch_model.bin"))
    answers.hold("a CLIP with pickled weights", refused(tmp_path / "clip"), "pytorch_model.bin")


def test_images_of_different_shapes(tmp_path, answers: Answers):
    dual_encoder("clip", tmp_path)
    config = json.loads((tmp_path / "clip" / "processor_config.json").read_text())
    config["image_processor"]["do_center_crop"] = False
    (tmp_path / "clip" / "processor_config.json").write_text(json.dumps(config))
    answers.hold("a CLIP whose images are not cropped", refused(tmp_path / "clip"), "…/clip has an image processor")
