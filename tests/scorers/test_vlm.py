"""Models of the Hugging Face hub as scorers, against the logits and the loss of the model itself."""

import io
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from support.hub_models import hub_model
from support.running import run_script
from transformers import AutoModelForImageTextToText, AutoProcessor

from captionlab.networks.checkpoints import CheckpointError
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.store import import_folder, load_scorer
from captionlab.scorers.vlm.config import Imported
from captionlab.storage.schemas import ALIGNMENT, GENERATED, IMAGES
from captionlab.storage.tables import TableError, read_table, write_table
from captionlab.training.rewards.scorer.reward import build

TYPES = ("smolvlm", "qwen2_5_vl", "llava")
# How a user shows an image to each model, and the token by which its answers end.
SHOWN = {"smolvlm": "<image>", "qwen2_5_vl": "<|vision_start|> <|image_pad|> <|vision_end|>", "llava": "IMAGE"}
ENDS = {"smolvlm": "<end_of_utterance>", "qwen2_5_vl": "<|im_end|>", "llava": "</s>"}
# The tokenizers of the small models know no "Yes".
YES = {"answer": "red"}
LIKELY = {"score": "likelihood", "chat": "describe it"}
CAPTIONS = [
    'a "red" ball',
    "",
    "ein Hündchen 🐕 läuft",
    "a man in a blue house next to a tree",
    "a dog",
    "the {caption}",
]
SIZES = [(50, 40), (32, 32), (96, 32), (50, 40)]
ROWS = [0, 1, 2, 0, 1, 3]


@pytest.fixture(autouse=True)
def one_thread():
    """Two threads would wait for each other longer than these small networks compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """By type the folder of a model with random weights."""
    folder = tmp_path_factory.mktemp("hub")
    return {kind: hub_model(kind, folder) for kind in TYPES}


@pytest.fixture(scope="module")
def pictures():
    return [
        Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8))
        for seed, (width, height) in enumerate(SIZES)
    ]


@pytest.fixture(scope="module")
def tables(pictures, tmp_path_factory):
    """A table with the pictures a to d."""
    data = []
    for picture in pictures:
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        data.append(buffer.getvalue())
    columns = {"image_id": [*"abcd"], "position": [0, 1, 2, 3], "split": ["test"] * 4, "data": data}
    columns |= {"width": [width for width, _ in SIZES], "height": [height for _, height in SIZES]}
    columns |= {name: [None] * 4 for name in ("path", "offset", "length", "image_set")}
    path = tmp_path_factory.mktemp("corpus") / "images.parquet"
    write_table(path, IMAGES, columns)
    return [path]


def block(folder, **keys):
    """The keys of a scorer of the config that its import is given."""
    config = Imported(family="vlm", weights=str(folder), **keys).model_dump()
    return {name: value for name, value in config.items() if name != "weights"}


def imported(folder, directory, **keys):
    import_folder(block(folder, **keys), folder, directory)
    return load_scorer(directory)


def scores(scorer, tables, captions=CAPTIONS, rows=ROWS, **options):
    return scorer.score(ScorerImages(scorer, tables).visual([*"abcd"]), captions, rows, **options)


def read(folder, text, picture):
    """The output of the model in a folder for a text and a picture, and the ids of the text."""
    processor = AutoProcessor.from_pretrained(folder)
    inputs = processor(text=[text], images=[[picture]], return_tensors="pt")
    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    tail = len(processor.tokenizer(text.rpartition("assistant : ")[2], add_special_tokens=False).input_ids)
    labels = inputs["input_ids"].clone()
    labels[:, : labels.shape[1] - tail] = -100
    with torch.no_grad():
        return model(**inputs, **({"labels": labels} if tail else {})), processor.tokenizer


@pytest.mark.parametrize("kind", TYPES)
def test_yes_is_the_probability_of_the_answer_as_the_next_token(kind, folders, pictures, tables, tmp_path):
    found = scores(imported(folders[kind], tmp_path / "yes", **YES), tables)
    for score, caption, row in zip(found, CAPTIONS, ROWS, strict=True):
        question = f'Does this figure show "{caption}"? Please answer yes or no.'
        output, tokenizer = read(folders[kind], f"user : {SHOWN[kind]} {question} assistant : ", pictures[row])
        expected = output.logits[0, -1].softmax(0)[tokenizer.convert_tokens_to_ids("red")]
        torch.testing.assert_close(score, expected, atol=1e-6, rtol=1e-4)
    assert found.std() > 1e-4


@pytest.mark.parametrize("kind", TYPES)
def test_likelihood_is_minus_the_loss_of_the_caption(kind, folders, pictures, tables, tmp_path):
    found = scores(imported(folders[kind], tmp_path / "likely", scale=2.0, **LIKELY), tables)
    for score, caption, row in zip(found, CAPTIONS, ROWS, strict=True):
        chat = f"user : {SHOWN[kind]} describe it assistant : {caption}{ENDS[kind]}"
        torch.testing.assert_close(score, -2 * read(folders[kind], chat, pictures[row])[0].loss, atol=1e-4, rtol=1e-4)
    assert found.std() > 0.1


@pytest.mark.parametrize("keys", [YES, LIKELY])
@pytest.mark.parametrize("kind", TYPES)
def test_batches_of_different_images_score_as_single_pairs(kind, keys, folders, tables, tmp_path):
    scorer = imported(folders[kind], tmp_path / "scorer", **keys)
    single = torch.cat([scores(scorer, tables, [c], [row], batch=1) for c, row in zip(CAPTIONS, ROWS, strict=True)])
    torch.testing.assert_close(scores(scorer, tables, batch=6), single, atol=1e-5, rtol=1e-4)
    again = scores(scorer, tables, [*CAPTIONS, *CAPTIONS], torch.tensor([*ROWS, *ROWS]), batch=4)
    torch.testing.assert_close(again, torch.cat([single, single]), atol=1e-5, rtol=1e-4)


def test_a_reward_is_the_score_of_each_caption_with_its_image(folders, tables, tmp_path):
    scorer = imported(folders["smolvlm"], tmp_path / "scorer", **YES)
    asked = {"directory": tmp_path / "scorer", "features": tables}
    data = SimpleNamespace(reward_models={"scorers/vqa": asked}, device="cpu", ids=["b", "c", "a"])
    reward = build({"scorer": "vqa", "scale": 3.0}, data)
    batch = SimpleNamespace(images=torch.tensor([0, 2]), rows=torch.tensor([0, 0, 1]))
    found, statistics = reward(batch, CAPTIONS[:3])
    assert torch.equal(found, 3 * scores(scorer, tables, CAPTIONS[:3], [1, 1, 0]))
    assert statistics == {}


def test_a_caption_cannot_write_a_placeholder_of_an_image(folders, tables, tmp_path):
    scorer = imported(folders["smolvlm"], tmp_path / "scorer", **YES)
    written, plain = scores(scorer, tables, ["a <image> dog", "a  dog"], [0, 0])
    assert written == plain


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_stored_scorers_score_as_before(dtype, folders, tables, tmp_path):
    scorer = imported(folders["smolvlm"], tmp_path / "one", dtype=dtype, scale=3.0, **LIKELY)
    files = ["config.json", "model.safetensors", "tokenizer.json"]
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == files
    assert {str(value.dtype) for value in scorer.parameters()} == {f"torch.{dtype}"}
    assert not any(value.requires_grad for value in scorer.parameters())
    # As the folder of another run; its settings hold without the keys.
    again = {"family": "vlm", "scale": 3.0, "score": "likelihood"}
    import_folder(again, tmp_path / "one", tmp_path / "two")
    assert torch.equal(scores(load_scorer(tmp_path / "two"), tables), scores(scorer, tables))
    described = json.loads((tmp_path / "two" / "config.json").read_text())
    assert described["matching"] == {"chat": "describe it", "dtype": dtype, "scale": 3.0, "score": "likelihood"} | {
        key: Imported.model_fields[key].default for key in ("question", "answer")
    }


@pytest.fixture
def refused(folders, tmp_path, answers):
    """A function that holds the answer to the import of a small model with another chat template, or with none."""

    def refuse(given, reason, template=None, **keys):
        folder = tmp_path / "model"
        shutil.copytree(folders["smolvlm"], folder, dirs_exist_ok=True)
        (folder / "chat_template.jinja").unlink()
        if template is not None:
            (folder / "chat_template.jinja").write_text(template)
        with pytest.raises(CheckpointError) as raised:
            imported(folder, tmp_path / "scorer", **keys)
        answers.hold(given, raised.value, f"…/model: {reason}")

    return refuse


def test_models_that_cannot_be_asked_are_refused(refused):
    refused("a model without a chat template", "the model has no chat template, so it cannot be asked; name a model")
    listed = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    refused("a chat template that shows no image", "the model reads no image with the text", listed, **YES)
    refused("a chat template without answers", "its chat template fails", "{{ messages[0]['role'] }} content")
    refused("a chat template that raises", "its chat template fails (no)", "{{ raise_exception('no') }} content")
    closed = (
        "{{ messages[0]['role'] }} {{ messages[1]['content'][0]['text'].split('C')[0] }} . CONTINUE_FINAL_MESSAGE_TAG"
    )
    refused("a chat template that changes answers", "its chat template does not write the answer", closed)


def test_an_answer_without_tokens_is_refused(folders, tmp_path, answers):
    shutil.copytree(folders["llava"], tmp_path / "llava")
    with pytest.raises(CheckpointError) as raised:
        imported(tmp_path / "llava", tmp_path / "scorer")
    answers.hold(
        "a tokenizer that lacks the answer", raised.value, "llava: its tokenizer does not know the answer 'Yes'"
    )


def test_files_that_are_missing_are_named(folders, tables, tmp_path):
    with pytest.raises(CheckpointError, match="is no folder; name"):
        imported(tmp_path / "nothing", tmp_path / "scorer")
    scorer = imported(folders["smolvlm"], tmp_path / "scorer", **YES)
    with pytest.raises(TableError, match=r"images\.parquet: there is no image 'e'"):
        ScorerImages(scorer, tables).visual(["a", "e"])
    (tmp_path / "scorer" / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match="scorer does not hold a scorer"):
        load_scorer(tmp_path / "scorer")


def test_scripts(folders, tables, tmp_path, monkeypatch):
    """A scorer is imported from a folder, and from the files of another run, and scores captions."""
    monkeypatch.chdir(tmp_path)
    kinds = {"config": "config.json", "weights": "model.safetensors", "tokenizer": "tokenizer.json"}
    config = block(folders["qwen2_5_vl"], **YES)
    for name, files in (("one", [folders["qwen2_5_vl"]]), ("two", ["one/model.safetensors", "one/tokenizer.json"])):
        outputs = {kind: f"{name}/{file}" for kind, file in kinds.items()}
        run_script("import_scorer_folder", {"files": list(map(str, files)), "beside": []}, outputs, config=config)
    rows = [("given", "b", 0, "a dog"), ("given", "a", 0, "a cat"), ("given", "a", 1, "")]
    corpus, image, index, caption = zip(*rows, strict=True)
    columns = {"corpus": corpus, "image_id": image, "caption_index": index, "caption": caption}
    columns |= {"log_prob": [None] * 3, "confidence": [None] * 3}
    write_table("captions.parquet", GENERATED, columns)
    inputs = {"captions": "captions.parquet", "scorers": ["one/config.json", "two/config.json"]}
    sources = {name: {"given": [str(path) for path in tables]} for name in ("one", "two")}
    run_script("score_alignment", inputs, ["alignment.parquet"], sources=sources)
    found = read_table("alignment.parquet", ALIGNMENT).to_pylist()
    assert [row["scorer"] for row in found] == ["one"] * 3 + ["two"] * 3
    assert [row["score"] for row in found[:3]] == [row["score"] for row in found[3:]]
    assert all(0 < row["score"] < 1 for row in found)
