"""One model behind `transformers serve` and in a folder: the families endpoint and transformers write the same."""

import csv

import numpy as np
import pytest
import torch
from PIL import Image
from PIL.ExifTags import Base
from support.asking import ask
from support.decodings import decoding_of
from support.hub_models import hub_model
from support.serving import transformers_serve
from support.small import start

from captionlab.captioners.pictures import Pictures
from captionlab.captioners.prompts import Prompter
from captionlab.captioners.store import import_folder, load_captioner
from captionlab.config.served import Served
from captionlab.generation.decoding import decode
from captionlab.images.pixels import open_image
from captionlab.networks import hub
from captionlab.served.client import ServerError
from captionlab.served.requests import Picture, Request, decoding_parameters
from captionlab.storage import paths
from captionlab.storage.schemas import GENERATED
from captionlab.storage.tables import read_table

pytestmark = pytest.mark.slow
CHAT = "describe it"
# Height and width; some are split into parts by the processor of the model. None is larger than what is sent.
SHAPES = [(40, 60), (64, 48), (32, 90), (50, 50), (200, 300), (7, 9)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return hub_model("smolvlm", tmp_path_factory.mktemp("hub"))


@pytest.fixture(scope="module")
def url(model, tmp_path_factory):
    with transformers_serve(model, tmp_path_factory.mktemp("server") / "log") as address:
        yield address


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Images of several shapes; half of them are JPEGs that lie on their sides."""
    folder, generator, found = tmp_path_factory.mktemp("images"), np.random.default_rng(0), []
    for number, shape in enumerate(SHAPES):
        image, exif = Image.fromarray(generator.integers(0, 256, (*shape, 3), dtype=np.uint8)), Image.Exif()
        exif[Base.Orientation] = 6
        path = folder / f"{number}.{'jpg' if number % 2 else 'png'}"
        image.save(path, **({"exif": exif} if number % 2 else {}))
        found.append({"path": str(path), "offset": None, "length": None, "data": None})
    return found


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def asked(rows, decoding, **parameters):
    parameters = decoding_parameters(decoding, 0) | parameters
    return [Request([("user", [Picture(row, 1024), CHAT])], parameters) for row in rows]


def without(row, keys):
    return {key: value for key, value in row.items() if key not in keys}


def test_captions_of_the_server_are_captions_of_the_folder(model, url, rows, tmp_path):
    import_folder("transformers", model, tmp_path / "local", {"dtype": "float32", "reads": "pixels", "chat": CHAT})
    captioner, tokenizer = load_captioner(tmp_path / "local")
    _, processor = hub.read_folder(model)
    prompter = Prompter(processor, captioner.architecture["block"], captioner.architecture["reads_prompt"])
    pictures = Pictures([open_image(row) for row in rows], prompter, torch.device("cpu"))
    greedy = decoding_of("greedy", 12)
    local = tokenizer.decode(decode(captioner, pictures, greedy, tokenizer).tokens.tolist())
    answers = ask(Served(url=url, model=str(model)), asked(rows, greedy), "captioners.served")
    assert [answer.text.strip() for answer in answers] == local
    assert len(set(local)) == len(rows)  # the model sees the images
    assert all(answer.tokens[0] > 0 for answer in answers)
    assert max(answer.tokens[1] for answer in answers) <= 12
    assert {answer.model for answer in answers} == {f"{model}@main"}


def test_refusals_of_the_server_have_its_reasons(model, url, rows):
    greedy = decoding_of("greedy", 12)
    with pytest.raises(ServerError, match=r"HTTP 400: .*pinned to"):
        ask(Served(url=url, model="another"), asked(rows, greedy), "captioners.served")
    with pytest.raises(ServerError, match=r"HTTP 422: .*top_k"):
        ask(Served(url=url, model=str(model)), asked(rows, greedy, top_k=5), "captioners.served")


def test_tables_of_the_server_are_tables_of_the_folder(model, url, tmp_path):
    served = {"family": "endpoint", "url": url, "model": str(model), "prompt": CHAT, "concurrency": 4}
    config = {
        "seed": 1,
        "spice": "off",
        "corpora": {"coco": {"reader": "toyworld", "domain": "coco", "seed": 2, "images": {"test": 24}}},
        "captioners": {"served": served, "local": {"family": "transformers", "weights": str(model), "chat": CHAT}},
        "decodings": {"greedy": {"kind": "greedy", "max_tokens": 12}},
        "evaluations": {"main": {"captioners": ["served", "local"], "corpora": ["coco"], "decoding": "greedy"}},
    }
    log = tmp_path / "log"
    process = start(tmp_path / "run", config, "--cores", "2", paths.table("evaluation.csv"), output=log)
    assert process.wait() == 0, log.read_text(encoding="utf-8")[-5000:]
    keys = ["corpus", "image_id", "caption_index", "caption"]
    first, second = (
        read_table(tmp_path / "run" / paths.captions(name, "main"), GENERATED).select(keys).to_pylist()
        for name in ("served", "local")
    )
    assert first == second
    assert len({row["caption"] for row in first}) > 5
    with open(tmp_path / "run" / paths.table("evaluation.csv"), encoding="utf-8") as file:
        table = [*csv.DictReader(file)]
    served, local = ([row for row in table if row["captioner"] == name] for name in ("served", "local"))
    own = {"captioner", "device"}
    assert served
    assert [without(row, own) for row in served] == [without(row, own) for row in local]
