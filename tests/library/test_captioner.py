"""A captioner as an object."""

import pytest
import torch
from PIL import Image
from support.decodings import decoding_of
from support.hub_models import hub_model
from support.tiny_captioners import BUILT, TOKENIZER
from support.tiny_run import CAPTIONER, CORPUS, DECODINGS, ENCODER, MODELS, OTHER

from captionlab.captioners.camel.captioner import Camel
from captionlab.captioners.prompts import Prompter
from captionlab.captioners.store import import_folder, save_captioner
from captionlab.captioners.store import load_captioner as load_weights
from captionlab.encoders.store import load_encoder
from captionlab.generation.decoding import decode
from captionlab.library.captioner import load_captioner
from captionlab.library.runs import open_run
from captionlab.networks import hub


@pytest.fixture(scope="module")
def run(tiny_run):
    return open_run(tiny_run)


@pytest.mark.parametrize("evaluation", DECODINGS)
def test_captions_are_those_of_the_workflow(run, evaluation):
    captions = run.captions(CAPTIONER, CORPUS, evaluation)
    images = [run.image(CORPUS, name) for name in dict.fromkeys(captions["image_id"])]
    captioner = load_captioner(run, CAPTIONER)
    found = captioner.caption(images, run.decoding(CAPTIONER, evaluation), seed=3 if evaluation == OTHER else 0)
    assert found == captions["caption"].tolist()


def test_files_and_images_in_memory_have_the_same_caption(run, tiny_run, tmp_path):
    image = run.image(CORPUS, run.captions("human")["image_id"][0])
    image.save(tmp_path / "a.png")
    captioner = load_captioner(tiny_run / "results" / "captioners" / CAPTIONER)
    in_grey = captioner.caption([image.convert("L"), image.convert("L").convert("CMYK"), image.convert("L")])
    assert len(set(in_grey)) == 1
    assert captioner.caption([tmp_path / "a.png"]) == captioner.caption([image])


def test_a_photograph_in_memory_is_turned_upright(run, tmp_path):
    image = run.image(CORPUS, run.captions("human")["image_id"][0])
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(tmp_path / "a.png", exif=exif)
    captioner = load_captioner(run, CAPTIONER)
    with Image.open(tmp_path / "a.png") as opened:
        assert captioner.caption([opened]) == captioner.caption([image.transpose(Image.Transpose.ROTATE_270)])


def test_a_folder_outside_of_a_run_takes_an_encoder(run):
    images = [run.image(CORPUS, name) for name in run.captions("human")["image_id"][:2]]
    alone = load_captioner(MODELS / "toy-clipcap-coco", encoder=MODELS / "toy-clip-a")
    assert alone.caption(images) == load_captioner(run, CAPTIONER).caption(images)


def test_patches_of_an_encoder(run, tmp_path):
    """Patches between rules are in half precision, and so are they here."""
    encoder = load_encoder(run.model("encoders", ENCODER))
    _, size = encoder.patch_shape
    torch.manual_seed(0)
    model = Camel(size, TOKENIZER.size, 8, 1, 1, 1, 8, 2, True, TOKENIZER.end, head_size=8, dropout=0.0)
    save_captioner(model, TOKENIZER, tmp_path / "camel")
    images = [run.image(CORPUS, name) for name in run.captions("human")["image_id"][:3]]
    with torch.no_grad():
        patches = encoder.embed_patches(torch.stack([encoder.preprocess(image) for image in images])).half().float()
        expected = decode(model.eval(), patches, decoding_of("greedy", 9), TOKENIZER)
    found = load_captioner(tmp_path / "camel", encoder=run.model("encoders", ENCODER))
    captions = found.caption(images, {"kind": "greedy", "max_tokens": 9})
    assert captions == [" ".join(text.split()) for text in TOKENIZER.decode(expected.tokens.tolist())]


def test_a_captioner_of_the_hub_reads_pixels(run, tmp_path):
    block = {"dtype": "float32", "reads": "pixels", "prompt": "a photo of"}
    import_folder("transformers", hub_model("git", tmp_path), tmp_path / "git-here", block)
    images = [run.image(CORPUS, name) for name in run.captions("human")["image_id"][:3]]
    captions = load_captioner(tmp_path / "git-here").caption(images, {"kind": "greedy", "max_tokens": 6})
    model, processor = hub.read_folder(tmp_path / "git")
    architecture = load_weights(tmp_path / "git-here")[0].architecture
    inputs = Prompter(processor, architecture["block"], architecture["reads_prompt"])(images)
    tokens = model.generate(**inputs, max_new_tokens=6, do_sample=False)[:, inputs["input_ids"].shape[1] :]
    assert captions == [processor.tokenizer.decode(one, skip_special_tokens=True).strip() for one in tokens]


def test_long_work_shows_its_progress_and_short_work_nothing(run, capsys, monkeypatch):
    captioner, images = load_captioner(run, CAPTIONER), [run.image(CORPUS, run.captions("human")["image_id"][0])]
    captioner.caption(images)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("captionlab.library.captioner.PATIENCE", 0.0)
    captioner.caption(images)
    assert "images: 0 of 1" in capsys.readouterr().err


def test_a_captioner_that_reads_regions_is_refused(tmp_path, answers):
    model, _ = BUILT["vinvl"]()
    save_captioner(model, TOKENIZER, tmp_path / "vinvl")
    with pytest.raises(ValueError, match="regions and tags") as failure:
        load_captioner(tmp_path / "vinvl")
    answers.hold("a VinVL as an object", failure.value, "vinvl")


@pytest.mark.parametrize(
    ("given", "load", "part"),
    [
        ("a captioner that is not in the run", lambda run, _: load_captioner(run, "clipcup"), "clipcap"),
        ("a run without a captioner's name", lambda run, _: load_captioner(run), "clipcap, human"),
        ("a folder without a captioner", lambda run, folder: load_captioner(folder), "config.json"),
        ("a ClipCap without its encoder", lambda run, _: load_captioner(run.folder / "alone"), "encoder"),
        ("no image", lambda run, _: load_captioner(run, CAPTIONER).caption([]), "no images"),
        (
            "a file that is not there",
            lambda run, folder: load_captioner(run, CAPTIONER).caption([folder / "a.png"]),
            "image 0",
        ),
        ("one image in place of a list", lambda run, folder: load_captioner(run, CAPTIONER).caption(folder), "list"),
        (
            "a decoding without `max_tokens`",
            lambda run, folder: load_captioner(run, CAPTIONER).caption([folder], {"kind": "greedy"}),
            "max_tokens",
        ),
        (
            "a decoding of an unknown kind",
            lambda run, folder: load_captioner(run, CAPTIONER).caption([folder], {"kind": "dream"}),
            "dream",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tiny_run, tmp_path, answers, given, load, part):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "results").symlink_to(tiny_run / "results")
    (tmp_path / "run" / "alone").symlink_to(MODELS / "toy-clipcap-coco")
    with pytest.raises(ValueError, match=part) as failure:
        load(open_run(tmp_path / "run"), tmp_path)
    answers.hold(given, failure.value, part)


def test_a_family_of_a_plugin_that_is_not_in_use_is_named(tmp_path):
    (tmp_path / "config.json").write_text('{"family": "echo"}')
    with pytest.raises(ValueError, match=r"family 'echo', .*captionlab\.plugins"):
        load_captioner(tmp_path)
