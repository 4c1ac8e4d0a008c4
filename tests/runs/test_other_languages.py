"""A run on captions in Chinese, Arabic, German and English, in the forms of data sets; captions are invented."""

import csv
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image
from pycocoevalcap.cider.cider import Cider
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh
from support.small import start

from captionlab.storage import paths

pytestmark = pytest.mark.slow

NUMBERS = (42, 77, 101)
ZH = (("一只狗在海边跑。", "狗跑过沙滩"), ("两个人骑马", "有人在骑马。"), ("桌上有一只杯子", "一只红色的杯子"))
AR = (("كلب يركض", "كلب على الشاطئ"), ("رجلان على الخيل", "الخيل في الغابة"), ("كوب على الطاولة", "كوب أحمر"))
DE = (("Ein Hund läuft.", "Hund am Meer"), ("Zwei Reiter.", "Männer auf Pferden"), ("Eine Tasse.", "Tasse auf Tisch"))
EN = (("A dog runs.", "dog at the sea"), ("Two riders.", "men on horses"), ("A cup.", "cup on a table"))
CAPTIONS = {
    "zh": ("一只狗在沙滩上跑", "两个人骑着马", "红色的杯子"),
    "ar": ("كلب على الشاطئ", "رجلان يركبان الخيل", "كوب على الطاولة"),
    "de": ("Ein Hund am Meer.", "Zwei Männer reiten.", "Tasse auf einem Tisch"),
    "de-letters": ("Ein Hund am Meer.", "Zwei Männer reiten.", "Tasse auf einem Tisch"),
    "en": ("A dog at the sea.", "Two men ride.", "cup on a table"),
}
MULTI30K = {"reader": "multi30k", "lists": {"test": "list.txt"}, "images": {"test": "images"}}
CORPORA = {
    "zh": {
        "reader": "coco-cn",
        "annotations": "imageid.human-written-caption.txt",
        "splits": {"test": "coco-cn_test.txt"},
        "images": "coco",
    },
    "ar": {"reader": "xm3600", "language": "ar", "annotations": "captions.jsonl", "images": "images"},
    "de": {**MULTI30K, "language": "de", "annotations": {"test": ["test.1.de", "test.2.de"]}},
    "de-letters": {
        **MULTI30K,
        "language": "de",
        "annotations": {"test": ["test.1.de", "test.2.de"]},
        "tokenizer": "char",
    },
    "en": {**MULTI30K, "language": "en", "annotations": {"test": ["test.1.en", "test.2.en"]}},
}


def name_of(corpus: str, number: int) -> str:
    """The id of an image in a corpus."""
    return str(number) if corpus == "zh" else f"{number:04d}"


def write_data(folder: Path) -> None:
    """Write images, the files of each data set, and the captions of the captioner."""

    def write(name: str, lines: list[str]) -> None:
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    names = [f"COCO_val2014_{number:012d}" for number in NUMBERS]
    for place, (name, number) in enumerate(zip(names, NUMBERS, strict=True)):
        for file in (folder / "coco" / "val2014" / f"{name}.jpg", folder / "images" / f"{number:04d}.jpg"):
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (60 * place, 0, 0)).save(file)
    write("coco-cn_test.txt", names)
    said = [f"{name}#{n}\t{text}" for name, of in zip(names, ZH, strict=True) for n, text in enumerate(of)]
    write("imageid.human-written-caption.txt", said)
    records = zip(NUMBERS, AR, strict=True)
    write("captions.jsonl", [json.dumps({"image/key": f"{n:04d}", "ar": {"caption": [*of]}}) for n, of in records])
    write("list.txt", [f"{number:04d}.jpg" for number in NUMBERS])
    for language, references in (("de", DE), ("en", EN)):
        for place in (0, 1):
            write(f"test.{place + 1}.{language}", [of[place] for of in references])
    for corpus, texts in CAPTIONS.items():
        with open(folder / f"{corpus}.csv", "w", encoding="utf-8", newline="") as file:
            rows = zip((name_of(corpus, number) for number in NUMBERS), texts, strict=True)
            csv.writer(file).writerows([("image_id", "caption"), *rows])


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A finished run of a captioner whose captions are files."""
    folder = tmp_path_factory.mktemp("languages")
    (folder / "data").mkdir()
    write_data(folder / "data")
    config = {
        "seed": 1,
        "spice": "off",
        "data": str(folder / "data"),
        "corpora": CORPORA,
        "captioners": {"mine": {"family": "file", "captions": {name: f"{name}.csv" for name in CORPORA}}},
        "evaluations": {
            "others": {"captioners": ["mine"], "corpora": ["zh", "ar", "de-letters"], "sacrebleu": True, "chrf": True},
            "mixed": {"captioners": ["mine"], "corpora": ["en", "de"]},
        },
    }
    wanted = ["results/tables/evaluation.csv", "results/tables/evaluation.html", "results/tables/evaluation.md"]
    process = start(folder / "run", config, "--cores", "2", *wanted, "results/browser", output=folder / "log")
    assert process.wait() == 0, (folder / "log").read_text()[-3000:]
    return folder / "run"


@pytest.fixture(scope="module")
def values(run) -> dict[tuple[str, str], float]:
    """The values of metrics, by corpus and metric."""
    with open(run / "results/tables/evaluation.csv", encoding="utf-8", newline="") as file:
        return {(row["corpus"], row["metric"]): float(row["value"]) for row in csv.DictReader(file)}


def test_cider_of_chinese_is_pycocoevalcap_s_on_tokens(values):
    def tokens(text: str) -> str:
        return TokenizerZh()(text).replace("。", "").strip()

    references = {number: [tokens(text) for text in of] for number, of in zip(NUMBERS, ZH, strict=True)}
    captions = {number: [tokens(text)] for number, text in zip(NUMBERS, CAPTIONS["zh"], strict=True)}
    assert values["zh", "CIDEr"] == pytest.approx(100 * Cider().compute_score(references, captions)[0], rel=1e-12)


def test_metrics_for_english_are_there_for_english_alone(values):
    metrics = {name: {metric for corpus, metric in values if corpus == name} for name in CORPORA}
    ngrams = {f"BLEU@{n}" for n in range(1, 5)} | {"ROUGE-L", "CIDEr"}
    assert metrics["en"] == ngrams | {"METEOR"}
    assert metrics["de"] == ngrams
    assert metrics["zh"] == metrics["ar"] == metrics["de-letters"] == ngrams | {"SacreBLEU", "chrF"}
    assert values["de", "CIDEr"] != values["de-letters", "CIDEr"]


def test_meteor_is_missing_where_captions_are_not_in_english(run):
    meteor = pq.read_table(run / paths.nlg("mixed"), columns=["corpus", "meteor"]).to_pylist()
    assert {row["corpus"] for row in meteor if row["meteor"] is None} == {"de"}


def test_notes_name_each_tokeniser(run):
    page = (run / "results/tables/evaluation.html").read_text(encoding="utf-8")
    notes = re.sub("<[^>]*>", "", page)
    assert "on ar and de, sacrebleu's tokeniser intl" in notes.replace("&#39;", "'")
    for tokenizer in ("zh", "char", "13a"):
        assert f"tokeniser {tokenizer}" in notes
    assert "Penn treebank" in notes
    assert "cannot be compared with each other" in notes
    assert "METEOR and SPICE are computed for English alone" in notes
    assert 'dir="auto"' in page


def test_the_browser_knows_the_language_of_each_corpus(run):
    scripts = {name: (run / f"results/browser/data/{name}.js").read_text(encoding="ascii") for name in CORPORA}
    languages = {name: re.search('"language":"([^"]*)"', text)[1] for name, text in scripts.items()}
    assert languages == {"zh": "zh", "ar": "ar", "de": "de", "de-letters": "de", "en": "en"}
