"""Every image-text-to-text type of transformers as captioner, against transformers and peft themselves."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from peft import PeftModel
from PIL import Image
from support.decodings import decoding_of
from support.hub_types import (
    BLOCKS,
    LEFT_OUT,
    LENGTH_MATTERS,
    MAKERS,
    ONE_CAPTION,
    TABLE_OPTIONS,
    TABLES,
    WITHOUT_PEFT,
    hub_type,
    types_table,
)
from transformers import AutoModelForImageTextToText
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as TYPES

from captionlab.captioners.adapters import export_adapters, new_adapters
from captionlab.captioners.pictures import Pictures
from captionlab.captioners.prompts import Prompter, of_words
from captionlab.captioners.store import import_folder, load_captioner
from captionlab.encoders.store import import_encoder, load_encoder
from captionlab.generation.decoding import decode
from captionlab.networks import hub
from captionlab.networks.checkpoints import CheckpointError
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.objectives.baselines import RunningMean
from captionlab.training.objectives.grpo.objective import Grpo
from captionlab.training.objectives.reinforce.objective import Reinforce

pytestmark = pytest.mark.slow
SHAPES = [(40, 60), (64, 48), (32, 90), (50, 50)]
LORA = {"rank": 2, "alpha": 4, "dropout": 0.0, "targets": "all-linear"}


def test_every_type_of_transformers_is_tried_or_left_out_for_a_reason():
    tried = {re.sub(r" with .*|^trocr$", "", kind) or "vision-encoder-decoder" for kind in MAKERS}
    assert {*TYPES} <= tried | {*LEFT_OUT}, "each type has a maker, or a reason"
    assert len(tried & {*TYPES}) >= 60
    assert not tried & {*LEFT_OUT}
    assert all(reason.strip() for reason in LEFT_OUT.values())


@pytest.fixture(scope="module", params=MAKERS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def folder(kind, tmp_path_factory):
    return hub_type(kind, tmp_path_factory.mktemp("hub"))


@pytest.fixture(scope="module")
def images():
    pixels = np.random.default_rng(0)
    return [Image.fromarray(pixels.integers(0, 255, (*shape, 3), dtype=np.uint8)) for shape in SHAPES]


def stored(kind, folder, dtype):
    """Return a captioner by pixels, its tokenizer and its folder."""
    directory = folder / f"captioner-{dtype}"
    if not directory.exists():
        block = {"dtype": dtype, "reads": "pixels", **BLOCKS.get(kind, {"chat": "describe it"})}
        import_folder("transformers", folder, directory, block)
    return *load_captioner(directory), directory


@pytest.fixture(scope="module")
def processor(folder):
    return hub.read_folder(folder)[1]


def pictures_of(images, processor, captioner):
    prompter = Prompter(processor, captioner.architecture["block"], captioner.architecture["reads_prompt"])
    return Pictures(images, prompter, torch.device("cpu"))


@pytest.mark.parametrize(("dtype", "beams"), [("float32", 3), ("bfloat16", 1)])
def test_captions_are_those_of_generate(kind, folder, processor, images, dtype, beams):
    if beams > 1 and kind in ONE_CAPTION:
        captioner, tokenizer, _ = stored(kind, folder, dtype)
        with pytest.raises(ValueError, match="use greedy decoding, or a single sample"):
            decode(captioner, pictures_of(images, processor, captioner), decoding_of("beam", 6, beams=beams), tokenizer)
        return
    captioner, tokenizer, _ = stored(kind, folder, dtype)
    pictures = pictures_of(images, processor, captioner)
    decoding = decoding_of("greedy", 6) if beams == 1 else decoding_of("beam", 6, beams=beams)
    decoded = decode(captioner, pictures, decoding, tokenizer)
    model, _ = hub.read_folder(folder, dtype)
    inputs = {
        name: value.to(hub.PRECISIONS[dtype]) if torch.is_tensor(value) and value.is_floating_point() else value
        for name, value in pictures.inputs.items()
    }
    if kind == "blip":  # its `generate` leaves out the last word of a prompt, where its tokenizer writes an end
        inputs |= {name: torch.cat([ids, ids[:, -1:]], dim=1) for name, ids in of_words(inputs).items()}
    theirs = model.generate(**inputs, max_new_tokens=6, do_sample=False, num_beams=beams)
    theirs = theirs[:, -decoded.tokens.shape[1] :].tolist()
    for tokens, length, row in zip(decoded.tokens.tolist(), decoded.lengths.tolist(), theirs, strict=True):
        assert tokens[:length] == row[:length]
        assert length == len(row) or tokens[length - 1] in captioner.ends
    assert torch.isfinite(decoded.log_prob).all()


def test_log_probabilities_are_the_loss_of_the_model(kind, folder, processor, images):
    captioner, _, _ = stored(kind, folder, "float32")
    model, _ = hub.read_folder(folder)
    banned = {*captioner.placeholders.tolist(), *captioner.ends}
    words = [token for token in range(20, 34) if token not in banned][:4]
    tokens = torch.tensor([[*words, captioner.ends[0]]])
    for row in range(len(images)):
        pictures = pictures_of(images[row : row + 1], processor, captioner)
        # A further token, so that both passes read the same words: Mistral Large 4 attends in blocks.
        longer = torch.cat([tokens, tokens[:, :1]], dim=1)
        found = captioner.log_probs(pictures, longer, torch.ones_like(longer))[:, :-1]
        inputs = captioner.inputs(pictures)
        if captioner.decoder_prompt.numel():
            first = inputs.pop("decoder_input_ids")
            ids = torch.cat([first, tokens[:, :-1]], dim=1)
            labels = torch.cat([torch.full_like(first[:, 1:], -100), tokens], dim=1)
            inputs |= {"decoder_input_ids": ids, "labels": labels}
        else:
            length = inputs["input_ids"].shape[1]
            per_word = of_words(inputs)
            for name, ids in per_word.items():
                behind = ids[:, -1:].expand(-1, tokens.shape[1], *ids.shape[2:])
                behind = torch.ones_like(behind) if name == "token_type_ids" and kind == "paligemma" else behind
                inputs[name] = torch.cat([ids, tokens if name == "input_ids" else behind], dim=1)
            inputs["labels"] = inputs["input_ids"].clone()
            inputs["labels"][:, :length] = -100
        with torch.no_grad():
            loss = model.eval()(**inputs).loss
        torch.testing.assert_close(-found.mean(), loss, atol=1e-4, rtol=1e-4)


def test_log_probabilities_of_samples_are_those_that_generate_drew(kind, folder, processor, images):
    """Two samples of each of four images, whose prompts have several lengths, in one pass of eight captions."""
    if kind in {**ONE_CAPTION, **LENGTH_MATTERS}:
        pytest.skip({**ONE_CAPTION, **LENGTH_MATTERS}[kind])
    captioner, tokenizer, _ = stored(kind, folder, "float32")
    pictures = pictures_of(images, processor, captioner)
    # Tokens that are read as something else than a word.
    special = {number for number, token in tokenizer.tokenizer.get_added_tokens_decoder().items() if token.special}
    marks = sorted({*captioner.placeholders.tolist(), *special} - {*captioner.ends})
    captioner.model.generation_config.suppress_tokens = marks
    decoded = decode(
        captioner, pictures, decoding_of("sample", 4, samples=2), tokenizer, torch.Generator().manual_seed(3)
    )
    found = captioner.log_probs(pictures.repeat_interleave(2), decoded.tokens, decoded.mask).sum(1)
    # Models with a model of words inside do not see settings of the outer model.
    whole = ~torch.isin(decoded.tokens, torch.tensor(marks)).any(1)
    assert whole.any()
    torch.testing.assert_close(decoded.log_prob[whole], found[whole], atol=2e-4, rtol=1e-4)


def batch_of(pictures):
    count = len(pictures)
    return ImageBatch(visual=pictures, images=torch.arange(count), step=0, start=0)


def rewarded(batch, captions):
    """Return the length of captions as reward."""
    return torch.tensor([float(len(caption)) + row % 3 for row, caption in enumerate(captions)]), {}


def updated(captioner, objective, pictures):
    """Return the statistics of two updates, and the names of the parameters that changed."""
    before = {name: parameter.detach().clone() for name, parameter in captioner.named_parameters()}
    trained = [parameter for parameter in captioner.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=1e-2)
    for _ in range(2):  # the gradient of A is 0 as long as B is
        loss, _ = objective.loss(captioner, batch_of(pictures))
        optimizer.zero_grad()
        loss.backward()
        assert torch.isfinite(loss)
        assert all(parameter.grad is not None for parameter in trained), "every adapter is on the way to the loss"
        optimizer.step()
        objective.end_batch()
        objective.number = -1
    after = dict(captioner.named_parameters())
    assert all(torch.isfinite(parameter).all() for parameter in trained)
    return {name for name, value in before.items() if not torch.equal(value, after[name])}


def test_an_update_by_a_reward_changes_adapters_alone(kind, folder, processor, images, tmp_path):
    """By GRPO, or by REINFORCE where an image can have one caption only."""
    torch.manual_seed(0)
    captioner, tokenizer, directory = stored(kind, folder, "float32")
    new_adapters(captioner, LORA, directory, seed=1)
    pictures = pictures_of(images, processor, captioner)
    sample = decoding_of("sample", 4)
    if kind not in ONE_CAPTION:
        built = Grpo(tokenizer, sample, rewarded, 2, clip=0.2, kl=0.0)
    else:
        built = Reinforce(
            generate=lambda model, visual: decode(model, visual, sample, tokenizer).tokens,
            decode=lambda tokens: tokenizer.decode(tokens.tolist()),
            ends=tokenizer.ends,
            reward=rewarded,
            baseline=RunningMean(),
            log_prob="sum",
            dropout=False,
        )
    changed = updated(captioner, built, pictures)
    adapters = {name for name, _ in captioner.named_parameters() if "lora_" in name}
    assert changed
    assert changed <= adapters, "nothing else changes"
    layers = {name.removeprefix("model.").partition(".lora_")[0] for name in adapters}
    assert not {hub.stacked(f"{layer}.weight") for layer in layers} & captioner.image_side
    if kind in WITHOUT_PEFT:
        return
    export_adapters(captioner, tmp_path / "adapters")
    with torch.no_grad():
        tokens = torch.full((len(images), 2), captioner.ends[0])
        expected = captioner.log_probs(pictures, tokens, torch.ones_like(tokens))
        own = captioner.model
        captioner.model = PeftModel.from_pretrained(hub.read_folder(folder)[0], tmp_path / "adapters").eval().model
        found = captioner.log_probs(pictures, tokens, torch.ones_like(tokens))
        captioner.model = own
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_an_export_is_read_by_transformers(kind, folder, images, tmp_path):
    captioner, tokenizer, _ = stored(kind, folder, "float32")
    captioner.export(tokenizer, tmp_path / "whole", {})
    model, report = AutoModelForImageTextToText.from_pretrained(tmp_path / "whole", output_loading_info=True)
    assert not any(report.values())
    theirs, own = model.state_dict(), captioner.model.state_dict()
    assert theirs.keys() == own.keys()
    assert all(torch.equal(value, own[name]) for name, value in theirs.items())
    assert model.generation_config.eos_token_id == captioner.model.generation_config.eos_token_id
    assert hub.read_folder(tmp_path / "whole")[1].__class__.__name__ == hub.read_folder(folder)[1].__class__.__name__


def by_table(kind, folder):
    """Return an encoder of the image side of a model and a captioner by a table of its features, with its tokenizer."""
    options = TABLE_OPTIONS.get(kind, {})
    encoder = import_encoder({"family": "image-side", **options}, folder)
    encoder.save(folder / "encoder")
    block = {"dtype": "float32", "reads": "table", **BLOCKS.get(kind, {"chat": "describe it"}), **options}
    import_folder("transformers", folder, folder / "by-table", block)
    return load_encoder(folder / "encoder"), *load_captioner(folder / "by-table")


def test_captions_by_a_table_of_features_are_those_by_pixels(kind, folder, images, tmp_path):
    if kind not in TABLES:
        with pytest.raises(CheckpointError):
            by_table(kind, folder)
        return
    encoder, captioner, tokenizer = by_table(kind, folder)
    model, processor = hub.read_folder(folder, options=TABLE_OPTIONS.get(kind, {}).get("processor"))
    inputs = Prompter(processor, captioner.architecture["block"], captioner.architecture["reads_prompt"])(images)
    features = encoder.embed_patches(torch.stack([encoder.preprocess(image) for image in images]))
    with torch.no_grad():
        expected = torch.stack([*hub.image_features(model, inputs).pooler_output])
    torch.testing.assert_close(features, expected, atol=1e-5, rtol=1e-5)
    for decoding, beams in ((decoding_of("greedy", 6), 1), (decoding_of("beam", 6, beams=3), 3)):
        decoded = decode(captioner, features, decoding, tokenizer)
        theirs = model.generate(**inputs, max_new_tokens=6, do_sample=False, num_beams=beams)
        theirs = theirs[:, -decoded.tokens.shape[1] :].tolist()
        for tokens, length, row in zip(decoded.tokens.tolist(), decoded.lengths.tolist(), theirs, strict=True):
            assert tokens[:length] == row[:length]
    trained = {name for name, parameter in captioner.named_parameters() if parameter.requires_grad}
    by_pixels = stored(kind, folder, "float32")[0]
    assert trained == {name for name, parameter in by_pixels.named_parameters() if parameter.requires_grad}
    captioner.export(tokenizer, tmp_path / "whole", encoder.model.state_dict())
    whole, _ = hub.read_folder(tmp_path / "whole")
    assert all(torch.equal(value, whole.state_dict()[name]) for name, value in model.state_dict().items())


def test_the_page_lists_every_type(request):
    """`docs/captioners.md` has the table of the types; `pytest -n 0 --update-answers` writes it anew."""
    page = Path(__file__).parents[2] / "docs" / "captioners.md"
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- types -->\n")
    there, _, after = rest.partition("<!-- end -->")
    if request.config.getoption("--update-answers"):
        page.write_text(f"{before}<!-- types -->\n{types_table()}<!-- end -->{after}", encoding="utf-8")
    else:
        assert there == types_table()
