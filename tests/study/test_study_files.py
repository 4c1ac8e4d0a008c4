"""The study's files: the web page, the PsychoPy experiment against what PsychoPy takes, images, and the scripts."""

import ast
import copy
import csv
import io
import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from support.plans import config_of
from support.running import load_script, run_script
from support.study_stand_in import ODD, TYPES, study_screens, write_images

from captionlab.encoders.clip.encoder import MEAN, STD, Clip, build
from captionlab.images.locations import LOCATION
from captionlab.storage.schemas import GENERATED, IMAGES, embeddings_schema
from captionlab.storage.tables import read_metadata, read_table, write_table
from captionlab.study import pages
from captionlab.study.pages import SIZE, consent_text, file_name, pictures, read_template, review_page, study_page
from captionlab.study.psychopy import CONDITIONS, conditions, conditions_file, experiment
from captionlab.study.schemas import ACCURACY, AGREEMENT, ANSWERS, PAIRWISE, PARTICIPANTS, STIMULI
from captionlab.study.stimuli import IMAGES_OF_SCREEN, StudyError

ROOT = Path(__file__).parents[2]
RESOURCES = ROOT / "resources" / "study"
# Parameters of PsychoPy's components, their types and values: read from PsychoPy 2026.2.5 by building each component;
# `nReps` has the type num in files that its demos were saved with.
PSYCHOPY = json.loads((ROOT / "tests" / "golden" / "psychopy" / "parameters.json").read_text(encoding="utf-8"))
SCREENS = study_screens(controls=2)


class Data(HTMLParser):
    """The JSON of a page, as a browser finds it: the script element ends at the first end tag."""

    def __init__(self, page: str):
        super().__init__()
        self.inside, self.text, self.elements = False, "", []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.inside = ("id", "data") in attributes

    def handle_data(self, data: str) -> None:
        self.text += data if self.inside else ""

    def handle_endtag(self, tag: str) -> None:
        self.inside = False


def test_captions_cannot_leave_their_place_in_a_page():
    template = read_template(RESOURCES / "page.html")
    page = Data(study_page(template, "study-0", SCREENS, "One.\nStill <b>one</b>.\n\nTwo.", None))
    assert page.elements == Data(template).elements
    data = json.loads(page.text)
    assert data["consent"] == ["One. Still <b>one</b>.", "Two."]
    by_place = {(s["block"], s["question"]): s for s in SCREENS}
    for block, screens in enumerate(data["blocks"], 1):
        assert len(screens) == 8
        for question, screen in enumerate(screens, 1):
            row = by_place[block, question]
            assert screen == {"caption": row["caption"], "images": [file_name(image) for image in row["images"]]}
    assert {odd for odd in ODD[:6] if any(odd in s["caption"] for b in data["blocks"] for s in b)} == set(ODD[:6])
    template = read_template(RESOURCES / "review.html")
    review = Data(review_page(template, "study-0", SCREENS, {"</script>", "b"}, "web/images"))
    assert review.elements == Data(template).elements
    shown = json.loads(review.text)
    assert (shown["study"], shown["excluded"]) == ("study-0", ["</script>", "b"])
    first = shown["sets"][-1]
    targets = {s["stimulus"]: s["target"] for s in SCREENS}
    assert first["images"][0]["id"] == targets[first["name"]]
    assert [entry["type"] for entry in first["captions"]] == [
        s["caption_type"] for s in SCREENS if s["stimulus"] == first["name"]
    ]


def test_the_page_needs_nothing_from_elsewhere():
    assert "http" not in study_page(read_template(RESOURCES / "page.html"), "study-0", SCREENS, "consent", None)


def test_the_consent_text_says_where_the_images_come_from():
    text = (RESOURCES / "consent.txt").read_text(encoding="utf-8")
    texts = {origin: consent_text(text, origin, "our-photos") for origin in pages.ORIGINS}
    assert "a computer program rendered" in texts["rendered"]
    assert "upsetting" not in texts["rendered"]
    assert "a published data set" in texts["published"]
    assert "images of the corpus our-photos" in texts["own"]
    for origin, said in texts.items():
        assert ("published data set" in said) == (origin == "published")
        assert not any(word in said for word in ("{{", "{corpus}", "from the web", "of our own"))
    assert consent_text("The ethics board's own text.", "own", "our-photos") == "The ethics board's own text."


@pytest.mark.parametrize(
    ("corpus", "origin"),
    [
        (config_of("config")["corpora"]["toy-study"], "rendered"),
        ({"reader": "vizwiz", "annotations": {"test": "a.json"}, "images": "images"}, "published"),
        ({"reader": "folder", "images": "images", "captions": "a.csv"}, "own"),
    ],
)
def test_only_readers_of_published_data_sets_are_said_to_be_published(planned, corpus, origin):
    config = copy.deepcopy(config_of("config"))
    config["corpora"]["toy-study"] = corpus
    params = planned(config, "results/study/web").job("build_study").params
    assert (params["origin"], params["corpus"]) == (origin, "toy-study")


def test_a_template_needs_a_place_for_data(tmp_path):
    (tmp_path / "page.html").write_text("<html></html>")
    with pytest.raises(ValueError, match=r"page.html has no \{\{data\}\}"):
        read_template(tmp_path / "page.html")


def test_the_experiment_is_what_psychopy_takes():
    files = sorted({file_name(image) for s in SCREENS for image in s["images"]})
    template = (RESOURCES / "study.psyexp").read_text(encoding="utf-8")
    text = experiment(template, "study-0", [1, 2, 3], "It costs $5 & <more>.\n\nAgreed?", files)
    root = ElementTree.fromstring(text)
    assert root.tag == "PsychoPy2experiment"
    assert [part.tag for part in root] == ["Settings", "Routines", "Flow"]
    for element in root.iter():
        if element.tag in PSYCHOPY:
            for parameter in element:
                known = PSYCHOPY[element.tag].get(parameter.get("name"))
                assert known, f"{element.tag} has no parameter {parameter.get('name')}"
                assert parameter.get("valType") in known["types"]
                assert parameter.get("val") in known.get("values", [parameter.get("val")])
                assert parameter.get("updates") in ("None", "constant", "set every repeat", "set every frame")
    components = root.findall("./Routines/Routine/*")
    assert {component.tag for component in components} <= PSYCHOPY.keys()
    names = [c.get("name") for c in components] + [r.get("name") for r in root.findall("./Routines/Routine")]
    names += [loop.get("name") for loop in root.iter("LoopInitiator")]
    # They become variables, and so do the columns of the conditions.
    assert len(names) == len(set(names))
    assert all(re.fullmatch("[a-z][a-z_0-9]*", name) for name in names)
    assert not {*CONDITIONS, "file_1"} & set(names)
    routines = {routine.get("name") for routine in root.iter("Routine")}
    assert [(part.tag, part.get("name")) for part in root.find("Flow")] == [
        ("Routine", "consent"), ("Routine", "instructions"),
        ("LoopInitiator", "example"), ("Routine", "screen"), ("LoopTerminator", "example"), ("Routine", "begin"),
        ("LoopInitiator", "trials"), ("Routine", "screen"), ("LoopTerminator", "trials"), ("Routine", "thanks"),
    ]  # fmt: skip
    assert {"consent", "instructions", "screen", "begin", "thanks"} == routines
    assert len(root.findall(".//ImageComponent")) == IMAGES_OF_SCREEN
    mouse = parameters(root, "mouse")
    assert mouse["clickable"].split(", ") == [c.get("name") for c in components if c.tag == "ImageComponent"]
    # Clicks beside the images must not be stored: PsychoPy would put them first.
    assert mouse["saveMouseState"] == "on valid click"
    assert parameters(root, "consent_text")["text"] == (
        "It costs \\$5 & <more>.\n\nAgreed?\n\nClick to agree and go on."
    )
    resources = {p.get("name"): p.get("val") for p in root.find("Settings")}["Resources"]
    assert all(repr(conditions_file(block)) in resources for block in (1, 2, 3))
    assert all(f"'images/{name}'" in resources for name in files)


def parameters(root: ElementTree.Element, name: str) -> Mapping[str, str]:
    [component] = [c for c in root.findall("./Routines/Routine/*") if c.get("name") == name]
    return {parameter.get("name"): parameter.get("val") for parameter in component}


@pytest.mark.parametrize("aspect", [4 / 3, 16 / 9])
def test_every_image_is_on_the_screen_whatever_its_shape(aspect):
    template = (RESOURCES / "study.psyexp").read_text(encoding="utf-8")
    root = ElementTree.fromstring(experiment(template, "study-0", [1], "Consent.", []))
    # The unit `height` is the height of the window, and (0, 0) its middle.
    right, top = aspect / 2, 0.5
    rectangles = []
    for number in range(1, IMAGES_OF_SCREEN + 1):
        image = parameters(root, f"image_{number}")
        assert image["units"] == "height"
        assert "anchor" not in image  # so `pos` is the middle
        (x, y), (width, height) = ast.literal_eval(image["pos"]), ast.literal_eval(image["size"])
        assert width == height >= 0.25
        rectangles.append((x - width / 2, y - height / 2, x + width / 2, y + height / 2))
    assert min(left for left, _, _, _ in rectangles) >= -right + 0.01
    assert max(end for _, _, end, _ in rectangles) <= right - 0.01
    assert min(bottom for _, bottom, _, _ in rectangles) >= -top + 0.01
    for (left, bottom, end, up), other in combinations(rectangles, 2):
        assert end < other[0] or other[2] < left or up < other[1] or other[3] < bottom
    # Numbers follow the reading order, five in a row.
    assert sorted(rectangles, key=lambda r: (-r[1], r[0])) == rectangles
    assert len({bottom for _, bottom, _, _ in rectangles}) == 2
    # Four lines of a caption, one and a half letters high each, stay below the edge and above the images.
    caption = parameters(root, "caption_text")
    middle, half = ast.literal_eval(caption["pos"])[1], 2 * 1.5 * float(caption["letterHeight"])
    assert max(up for _, _, _, up in rectangles) < middle - half < middle + half < top
    texts = [parameters(root, text.get("name")) for text in root.iter("TextComponent")]
    assert [text for text in texts if text["units"] != "height" or float(text["wrapWidth"]) > 2 * right] == []


def test_conditions():
    block = [s for s in SCREENS if s["block"] == 2]
    rows = list(csv.DictReader(io.StringIO(conditions("study-0", block))))
    assert [int(row["question"]) for row in rows] == list(range(1, 9))
    by_question = {s["question"]: s for s in block}
    for row in rows:
        screen = by_question[int(row["question"])]
        # In quotation marks a caption is no list, number or missing value to PsychoPy, which evaluates lists.
        assert row["caption"] == f"“{screen['caption']}”"
        assert [row[f"file_{n}"] for n in range(1, 11)] == [f"images/{file_name(i)}" for i in screen["images"]]
        assert set(row) == {*CONDITIONS, *(f"file_{n}" for n in range(1, 11))}


def test_images_become_squares_of_one_size(tmp_path):
    write_images(tmp_path / "images.parquet", ["a", "b/../c", "d"])
    files = dict(pictures(read_table(tmp_path / "images.parquet", IMAGES, ["image_id", *LOCATION])))
    assert set(files) == {file_name(image) for image in ("a", "b/../c", "d")}
    assert all(re.fullmatch("[0-9a-f]{16}.jpg", name) for name in files)
    for index, content in enumerate(files.values()):
        image = Image.open(io.BytesIO(content))
        assert image.size == (SIZE, SIZE)
        corner = image.getpixel((1, 1))
        assert (min(corner) > 250) == (index > 0)  # white beside what was not square


# ---------------------------------------------------------------------------------------------------- the scripts
@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A folder with a corpus of 700 images, captions, an encoder with random weights, and the study made of them."""
    folder = tmp_path_factory.mktemp("study")
    ids = [f"image {n}" for n in range(700)]
    write_images(folder / "images.parquet", ids)
    values = np.random.default_rng(0).normal(size=(len(ids), 8)).astype(np.float32)
    write_table(
        folder / "features.parquet", embeddings_schema(8, "float32"), {"image_id": ids, "embedding": list(values)}
    )
    architecture = {
        "embed_dim": 8,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 32},
        "text_cfg": {"context_length": 20, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 1},
    }
    Clip(build(architecture), {"architecture": architecture, "image_mean": list(MEAN), "image_std": list(STD)}).save(
        folder / "clip"
    )
    for name in TYPES:
        nothing = [None] * len(ids)
        captions = [f"{name} caption of {image}" for image in ids]
        if name == "tuned":
            captions[:100] = [" "] * 100  # no caption: never a target
        write_table(
            folder / f"{name}.parquet",
            GENERATED,
            {"corpus": ["toy"] * len(ids), "image_id": ids, "caption_index": [0] * len(ids), "caption": captions,
             "log_prob": nothing, "confidence": nothing},
        )  # fmt: skip
    (folder / "exclude.txt").write_text("image 150\nimage 7\n")
    sample(folder, [folder / "exclude.txt"])
    stimuli = {"stimuli": folder / "stimuli.parquet"}
    run_script(
        "build_study",
        {**stimuli, "images": folder / "images.parquet", "exclude": [folder / "exclude.txt"],
         "consent": RESOURCES / "consent.txt",
         "page": RESOURCES / "page.html", "review": RESOURCES / "review.html",
         "experiment": RESOURCES / "study.psyexp"},
        {"web": folder / "web", "psychopy": folder / "psychopy", "review": folder / "review.html"},
        post=None,
        origin="rendered",
        corpus="toy",
    )  # fmt: skip
    run_script(
        "simulate_responses",
        {**stimuli, **encoder(folder)},
        [folder / "responses.csv"],
        participants=7,
        seed=1,
    )
    outputs = {
        name: folder / f"{name}.parquet" for name in ("answers", "participants", "accuracy", "pairwise", "agreement")
    }
    responses = {**stimuli, "responses": [folder / "responses.csv"]}
    # The retriever has random weights and misses controls; they are made right so that somebody is left.
    right = {(s["block"], s["question"]): s["position"] for s in screens(folder) if s["role"] == "control"}
    lines = [line.split(",") for line in (folder / "responses.csv").read_text().splitlines()]
    for line in lines[1:]:
        if line[1] != "simulated-001":
            line[4] = str(right.get((int(line[2]), int(line[3])), line[4]))
    (folder / "responses.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    run_script("analyse_responses", responses, outputs, wildcards={"participants": "simulated"}, seed=1)
    return folder


def encoder(folder: Path) -> dict[str, Any]:
    clip = folder / "clip"
    return {
        "features": [folder / "features.parquet"],
        "config": clip / "config.json",
        "weights": clip / "model.safetensors",
    }


def sample(folder: Path, exclude: list[Path], seed: int = 1, output: str = "stimuli.parquet") -> None:
    run_script(
        "sample_stimuli",
        {"images": folder / "images.parquet", "captions": [folder / f"{name}.parquet" for name in TYPES],
         "exclude": exclude, **encoder(folder)},
        [folder / output],
        config={"sets": 12, "block": 6, "controls": 1, "max_similarity": 0.9},
        corpus="toy",
        split="test",
        captioners=TYPES,
        people="people",
        seed=seed,
    )  # fmt: skip


def screens(folder: Path) -> list[dict[str, Any]]:
    return read_table(folder / "stimuli.parquet", STIMULI).to_pylist()


def test_sampled_stimuli(run):
    rows = screens(run)
    assert len(rows) == 2 * 3 * 7 + 1
    shown = {image for row in rows for image in row["images"]}
    assert not shown & {"image 150", "image 7"}
    embeddings = dict(
        zip(*read_table(run / "features.parquet", embeddings_schema(8, "float32")).to_pydict().values(), strict=True)
    )
    for row in rows:
        assert row["caption"] == f"{row['caption_type']} caption of {row['target']}"
        target = np.array(embeddings[row["target"]])
        for image, similarity in zip(row["images"], row["similarities"], strict=True):
            other = np.array(embeddings[image])
            cosine = target @ other / np.linalg.norm(target) / np.linalg.norm(other)
            assert similarity == pytest.approx(cosine, abs=1e-5)
        if row["role"] == "question":
            assert int(row["target"].split()[1]) >= 100
            assert sorted(row["similarities"])[-2] <= 0.9
    sample(run, [run / "exclude.txt"], output="again.parquet")
    assert read_table(run / "again.parquet", STIMULI).equals(read_table(run / "stimuli.parquet", STIMULI))


def test_files_of_the_study(run):
    shown = {file_name(image) for row in screens(run) for image in row["images"]}
    for folder in ("web", "psychopy"):
        assert {path.name for path in (run / folder / "images").iterdir()} == shown
    study = read_metadata(run / "stimuli.parquet")["study"]
    data = json.loads(Data((run / "web" / "index.html").read_text()).text)
    assert data["study"] == study
    assert [len(block) for block in data["blocks"]] == [7] * 6
    assert len(list((run / "psychopy" / "conditions").iterdir())) == 7
    ElementTree.parse(run / "psychopy" / "study.psyexp")
    review = json.loads(Data((run / "review.html").read_text()).text)
    assert (review["study"], review["excluded"]) == (study, ["image 150", "image 7"])


def test_simulated_answers(run):
    answers = read_table(run / "answers.parquet", ANSWERS).to_pylist()
    assert {answer["source"] for answer in answers} == {"simulated"}
    assert len(answers) == 7 * 7
    assert [row["answers"] for row in read_table(run / "participants.parquet", PARTICIPANTS).to_pylist()] == [7] * 7
    accuracy = read_table(run / "accuracy.parquet", ACCURACY).to_pylist()
    assert [row["caption_type"] for row in accuracy] == sorted(TYPES)
    assert len(read_table(run / "pairwise.parquet", PAIRWISE)) == 3
    assert len(read_table(run / "agreement.parquet", AGREEMENT)) == 8


def test_simulated_answers_are_not_those_of_people(run, tmp_path):
    outputs = {name: tmp_path / name for name in ("answers", "participants", "accuracy", "pairwise", "agreement")}
    inputs = {"stimuli": run / "stimuli.parquet", "responses": [run / "responses.csv"]}
    with pytest.raises(StudyError, match="is simulated and must not be read as a person"):
        run_script("analyse_responses", inputs, outputs, wildcards={"participants": "people"}, seed=1)


def test_without_captions_of_the_corpus(run):
    with pytest.raises(StudyError, match="has no captions of 'other'; name an evaluation"):
        load_script("sample_stimuli").first_captions(run / "people.parquet", "other")
