"""A run of the keys that no other run has, and of the rules: what was made elsewhere is taken over and used."""

import csv
import io
import json
import os
import sys
import tarfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from safetensors.torch import load_file
from support.dual_encoders import dual_encoder
from support.hub_models import hub_model
from support.interval_ranges import intervals_outside
from support.other_run import write_models
from support.published_models import write_blip_matcher, write_detector, write_siglip
from support.small import start
from support.word_vectors import install

from captionlab.ablation.schemas import CHOSEN
from captionlab.corpora.toyworld.render import ToyImage, render
from captionlab.storage import paths
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES
from captionlab.storage.tables import read_table
from captionlab.texts.arpa import write_arpa
from captionlab.texts.ngram import train

pytestmark = pytest.mark.slow

CONFIG = yaml.safe_load(Path(__file__).with_name("every_key.yaml").read_text(encoding="utf-8"))
TOY = CONFIG["corpora"]["coco"]
READ = ("rows", "files", "tars")
REUSED = {name: block for name, block in CONFIG["captioners"].items() if "run" in block}
JUDGED = ("nlg", "clipscore", "alignment", "chair", "amber", "diversity", "questions", "sacrebleu", "command-words")
TABLES = ("clipscore_table1_expert.csv", "hl_baselines.csv", "own_mine.csv", "own_mine.tex", "make_table.html")
CHOICE = {"captioners": ["given"], "corpora": ["coco"], "evaluations": ["main"]}
# A metric that gives each caption its number of characters, without a library.
COUNT = """
import json, sys

with open(sys.argv[2], "w") as file:
    for row in map(json.loads, open(sys.argv[1])):
        print(json.dumps({"id": row["id"], "score": len(row["caption"])}), file=file)
"""


def write_rows(folder: Path, images: list[ToyImage]) -> None:
    """Write a repository of the hub with a row for each caption."""
    rows = [
        {"picture": {"bytes": image.data, "path": None}, "name": image.image_id, "part": image.split, "said": said}
        for image in images
        for said in image.captions
    ]
    (folder / "data").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / "data" / "all.parquet")


def write_listed(folder: Path, pictures: Path, images: list[ToyImage]) -> None:
    """Write images as files, and Parquet files of their names and captions."""
    pictures.mkdir()
    folder.mkdir()
    for split in TOY["images"]:
        here = [image for image in images if image.split == split]
        rows = [{"file": f"{image.image_id}.png", "said": image.captions} for image in here]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{split}.parquet")
        for image in here:
            (pictures / f"{image.image_id}.png").write_bytes(image.data)


def write_tars(folder: Path, images: list[ToyImage]) -> None:
    """Write a tar for each split, in which images have numbers."""
    folder.mkdir()
    for split in TOY["images"]:
        with tarfile.open(folder / f"{split}.tar", "w") as tar:
            for number, image in enumerate(image for image in images if image.split == split):
                said = json.dumps({"said": image.captions}).encode()
                for name, content in ((f"{number}.png", image.data), (f"{number}.json", said)):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))


def write_data(folder: Path) -> None:
    """Write all files that the config names."""
    images = list(render(TOY["domain"], TOY["seed"], TOY["images"]))
    write_rows(folder / "hub" / "somebody" / "pictures" / "0a1b2c", images)
    write_listed(folder / "listed", folder / "pictures", images)
    write_tars(folder / "tars", images)
    texts = [said for image in images for said in image.captions]
    write_models(folder / "other", texts)
    for name, write in (("siglip", write_siglip), ("blip", write_blip_matcher)):
        (folder / name).mkdir()
        write(folder / name)
    dual_encoder("clip", folder / "dual")
    hub_model("smolvlm", folder / "models")
    write_detector(folder / "detector.pt")
    write_amber(folder, images)
    write_arpa(train([text.lower().split() for text in texts]), folder / "given.arpa")
    (folder / "count.py").write_text(COUNT)
    (folder / "own.yaml").write_text(yaml.safe_dump({**CHOICE, "metrics": [{"metric": "CIDEr"}]}))
    write_questions(folder, images)
    halves = [f"{image.image_id},{'first' if place % 2 else 'second'}\n" for place, image in enumerate(images)]
    (folder / "halves.csv").write_text("".join(["image_id,half\n", *halves]), encoding="utf-8")
    with open(folder / "given.csv", "w", encoding="utf-8", newline="") as file:
        rows = [(image.image_id, image.captions[-1]) for image in images if image.split == "test"]
        csv.writer(file).writerows([("image_id", "caption"), *rows])


def write_questions(folder: Path, images: list[ToyImage]) -> None:
    """Write a question about each image, as JSON lines and in the form of CaptionQA."""
    asked = {image.image_id: image.objects[0] for image in images}
    colours = ["red", "green", "blue", "white"]
    lines, records = [], []
    for image, (label, _, (colour, _)) in asked.items():
        question = {"question": f"what colour is the {label}?", "answer": colour}
        options = [colour, *(other for other in colours if other != colour)]
        lines.append({"image_id": image, **question, "options": options, "kind": "colour"})
        records.append(
            {"id": image, "questions": [{**question, "choices": options, "category": ["Attribute", "colour"]}]}
        )
    for name, rows in (("questions", lines), ("captionqa", records)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def write_amber(folder: Path, images: list[ToyImage]) -> None:
    """Write the objects of images as AMBER's annotations, and a spaCy model in which two of them are similar."""
    drawn = {image.image_id: sorted({label for label, _, _ in image.objects}) for image in images}
    labels = sorted({label for of_image in drawn.values() for label in of_image})
    entries = [
        {"id": name, "type": "generative", "truth": there, "hallu": [one for one in labels if one not in there][:3]}
        for name, there in drawn.items()
    ]
    (folder / "amber.json").write_text(json.dumps(entries))
    (folder / "relation.json").write_text(json.dumps({label: [] for label in labels}))
    (folder / "safe.txt").write_text(labels[0])
    install(folder / "site", "toy_vectors", {labels[1]: [1, 0], labels[2]: [1, 0.1]})


def config(folder: Path) -> dict:
    """Return the config, with its data in a folder."""
    metrics = {"words": {"command": f"{sys.executable} count.py"}}
    return {**CONFIG, "data": str(folder), "metrics": metrics}


def targets() -> list[str]:
    """Return files that need a job of every kind that the config asks for."""
    generated = ("made", "made-in-shards", "drawn", "drawn-in-shards")
    return [
        *(paths.corpus("captions", corpus) for corpus in READ),
        paths.corpus("images", "shares"),
        trained("encoders", "siglip"),
        *(trained("captioners", name) for name in ("blip", "blip-8", "of-tags", "of-hub", "vinvl")),
        *(paths.captions(name, part) for part in generated for name in CONFIG["evaluations"][part]["captioners"]),
        *(paths.captions(name, "main") for name in ("constructed", "constructed-8")),
        *(paths.evaluation(table, "given", "main") for table in ("questions", "sacrebleu", "spice")),
        *(paths.scores(table, "simulated", "simulated") for table in JUDGED),
        paths.language("measures", "given", "main"),
        paths.ablation("chosen"),
        *(paths.table(name) for name in TABLES),
        paths.table("slices.csv"),  # without rows, as no slice of so few images is shown
    ]


def trained(section: str, name: str) -> str:
    """Return the weights of a model of a section."""
    return paths.model("model.safetensors", section, name)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """The folder of a finished run, in which Maven Central could not be reached."""
    folder = tmp_path_factory.mktemp("every")
    write_data(folder)
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    places = {"M2_REPO": str(folder / "maven"), "XDG_CACHE_HOME": str(folder / "cache")}
    environment = {**os.environ, **nowhere, **places, "NO_PROXY": "", "no_proxy": ""}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    log = folder / "log"
    process = start(folder / "run", config(folder), "--cores", "2", *targets(), output=log, environment=environment)
    assert process.wait() == 0, log.read_text()[-6000:]
    return folder / "run"


def splits_of_shares(run: Path) -> Counter[str]:
    """Return how many images each split has of the folder that is cut into shares."""
    return Counter(read_table(run / paths.corpus("images", "shares"), IMAGES)["split"].to_pylist())


@pytest.mark.parametrize("corpus", READ)
def test_each_reader_finds_the_captions_of_the_same_images(run, corpus):
    def captions(name: str) -> list[list[str]]:
        rows = read_table(run / paths.corpus("captions", name), CAPTIONS).to_pylist()
        return sorted([row["image_id"], row["caption_index"], row["caption"]] for row in rows)

    found, wanted = captions(corpus), captions("coco")
    if corpus == "tars":  # numbers in place of names
        assert {image_id.partition("/")[0] for image_id, *_ in found} == {*TOY["images"]}
        found, wanted = ([row[1:] for row in sorted(rows, key=lambda row: row[2])] for rows in (found, wanted))
        found, wanted = sorted(found), sorted(wanted)
    assert found == wanted
    splits = read_table(run / paths.corpus("images", corpus), IMAGES)["split"].to_pylist()
    assert {split: splits.count(split) for split in splits} == TOY["images"]


def test_a_folder_is_cut_into_shares(run):
    splits = splits_of_shares(run)
    assert splits.total() == sum(TOY["images"].values())
    assert splits.keys() == {"train", "test"}


def test_each_seed_makes_another_model(run):
    first, second = (load_file(run / trained("captioners", name)) for name in ("blip", "blip-8"))
    assert first.keys() == second.keys()
    assert any(not first[key].equal(second[key]) for key in first)


@pytest.mark.parametrize("name", REUSED)
def test_a_captioner_of_another_run_is_taken_over(run, name):
    theirs = load_file(run.parent / REUSED[name]["run"] / "model.safetensors")
    ours = load_file(run / trained("captioners", name))
    assert ours.keys() == theirs.keys()
    assert all(ours[key].equal(theirs[key]) for key in theirs)


# tests/generation/test_captions_in_shards.py has all families, searches and numbers of shards; these are the rules.
@pytest.mark.parametrize("captioner", CONFIG["evaluations"]["made"]["captioners"])
def test_shards_have_the_captions_of_one_job_in_its_order(run, captioner):
    tables = [read_table(run / paths.captions(captioner, part), GENERATED) for part in ("made", "made-in-shards")]
    rounded = ["log_prob", "confidence"]  # by the batch that an image is in
    whole, shards = (table.drop_columns(rounded).to_pylist() for table in tables)
    assert len(whole) == splits_of_shares(run)["test"]
    assert any(row["caption"] for row in whole)
    assert shards == whole
    for column in rounded:
        one, two = (table[column].to_pylist() for table in tables)
        assert two == pytest.approx(one, abs=1e-4)


def test_samples_differ_between_numbers_of_shards(run):
    one, two = (
        read_table(run / paths.captions("fc", evaluation), GENERATED) for evaluation in ("drawn", "drawn-in-shards")
    )
    assert one["image_id"].to_pylist() == two["image_id"].to_pylist()
    assert one["caption"].to_pylist() != two["caption"].to_pylist()


def test_constructed_captions_differ_by_their_seed(run):
    first, second = (
        read_table(run / paths.captions(name, "main"), GENERATED)["caption"].to_pylist()
        for name in ("constructed", "constructed-8")
    )
    assert first
    assert first != second


def test_every_metric_scores_every_judged_caption(run):
    numbers = {table: pq.read_table(run / paths.scores(table, "simulated", "simulated")).num_rows for table in JUDGED}
    scorers = 6
    assert numbers["alignment"] == scorers * numbers["nlg"]
    assert numbers["clipscore"] == 2 * numbers["nlg"], "CLIPScore and PAC-S"
    assert numbers["command-words"] == numbers["nlg"] >= 6


def test_scorers_of_another_run_and_their_copy_agree(run):
    rows = pq.read_table(run / paths.evaluation("alignment", "simulated", "simulated")).to_pylist()
    scores = {
        name: [row["score"] for row in rows if row["scorer"] == name]
        for name in ("uniter", "uniter-again", "blip", "vqa", "likely")
    }
    assert scores["uniter"] == scores["uniter-again"]
    assert all(0 < score < 2.0 for name in ("blip", "vqa") for score in scores[name])
    assert all(score < 0 for score in scores["likely"])


def test_scenes_are_the_most_frequent_nouns_of_captions(run):
    rows = read_table(run / paths.ablation("chosen"), CHOSEN).to_pylist()
    assert [row["rank"] for row in rows] == [1, 2, 3]


def test_tables_are_there_and_trainings_were_watched(run):
    for name in TABLES:
        assert len((run / paths.table(name)).read_text().splitlines()) > 1
    assert [*(run / paths.tracking("pretrain_captioner", "blip")).rglob("events*")]


def test_where_parser_models_cannot_be_fetched_there_is_no_spice(run):
    assert pq.read_table(run / paths.evaluation("spice", "given", "main")).num_rows == 0
    assert "unavailable" in json.loads((run / paths.SPICE_MODELS / "status.json").read_text())


def test_no_interval_lies_outside_of_the_range_of_its_measure(run):
    found, intervals = intervals_outside(run / "results")
    assert found == []
    assert intervals > 20
