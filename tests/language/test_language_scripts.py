"""The scripts of the language stage, one after the other, on ordinary and odd captions."""

from pathlib import Path

import pytest
from support.running import run_script

from captionlab.evaluation.ptb import tokenize
from captionlab.language.following import pattern_rows, read_patterns
from captionlab.language.frequencies import frequency_rows
from captionlab.language.schemas import ASSOCIATIONS, MEASURES, NGRAMS, PATTERNS, STATISTICS
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES, TAGGED, TOKENS
from captionlab.storage.tables import read_table, write_table
from captionlab.texts.arpa import ArpaError, read_arpa, write_arpa
from captionlab.texts.ngram import train

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "config" / "published" / "probing_patterns.csv"
TRAINING = ["A man rides a horse.", "A dog on the beach", "Two dogs play on a red sofa .", "A man on a horse"]
ODD = ["", "...", "dog", 'a "dog"\non a beach', "猫がいる", "dog " * 10_000, "very nice and slow"]
PLAIN = ["a man on a horse", "a dog on a red sofa", "two dogs on the beach", "a man rides a green horse"]


def measure_language(folder: Path, model: Path, output: Path) -> None:
    """Measure the captions of a folder."""
    tables = {name: folder / f"{name}.parquet" for name in ("captions", "tokens")}
    outputs = {name: output / f"{name}.parquet" for name in ("tags", "measures", "statistics", "patterns", "unigrams")}
    tagger = ROOT / "resources" / "en_ewt_sm"
    run_script("measure_language", {**tables, "model": model, "published": PUBLISHED}, outputs, tagger=tagger)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every script of the stage ran."""
    folder = tmp_path_factory.mktemp("language")
    number = len(TRAINING) + 1
    write_table(
        folder / "images.parquet",
        IMAGES,
        {
            "image_id": [str(i) for i in range(number)],
            "position": range(number),
            "split": ["train"] * len(TRAINING) + ["test"],
            "path": ["x"] * number,
            "offset": [None] * number,
            "length": [None] * number,
            "data": [None] * number,
            "width": [1] * number,
            "height": [1] * number,
            "image_set": [None] * number,
        },
    )
    write_table(
        folder / "captions.parquet",
        CAPTIONS,
        {
            "image_id": [str(i) for i in range(number)],
            "caption_index": [0] * number,
            "caption": [*TRAINING, "a unicorn"],
        },
    )
    model = folder / "model.arpa.gz"
    corpus = {"images": folder / "images.parquet", "captions": folder / "captions.parquet"}
    run_script("train_language_model", corpus, [model], splits=["train"], tokenizer="ptb")
    with pytest.raises(ValueError, match="no caption belongs to an image of the splits restval"):
        run_script("train_language_model", corpus, [folder / "none"], splits=["restval"], tokenizer="ptb")
    for captioner, captions in (("odd", ODD), ("plain", PLAIN)):
        here = folder / captioner
        rows = {
            "corpus": ["a"] * len(captions) + ["b"] * len(captions),
            "image_id": [str(i) for i in range(len(captions))] * 2,
            "caption_index": [0] * 2 * len(captions),
        }
        texts = [*captions, *reversed(captions)]
        nothing = [None] * len(texts)
        write_table(
            here / "captions.parquet", GENERATED, {**rows, "caption": texts, "log_prob": nothing, "confidence": nothing}
        )
        write_table(here / "tokens.parquet", TOKENS, {**rows, "tokens": tokenize(texts)})
        measure_language(here, model, here)
    run_script(
        "associate_lemmas",
        {"tags": [folder / name / "tags.parquet" for name in ("odd", "plain")]},
        [folder / "associations.parquet"],
        types=["Odd", "Plain"],
    )
    return folder


def test_language_model(run: Path):
    model = read_arpa(run / "model.arpa.gz")
    assert {"man", "beach", "</s>"} <= {*model.words}
    assert "unicorn" not in model.words


def test_unk_is_not_counted():
    rows = frequency_rows("a", [["a", "unk", "a", "dog"]], [["DET", "X", "DET", "NOUN"]])
    shares = {row["ngram"]: row["share"] for row in rows if row["unit"] == "word"}
    assert shares == {"a": pytest.approx(2 / 3), "dog": pytest.approx(1 / 3)}


def test_a_language_model_that_is_given_must_be_a_trigram_model(run: Path, tmp_path: Path):
    bigrams, broken = tmp_path / "bigrams.arpa", tmp_path / "broken.arpa"
    write_arpa(train([["a", "dog"]], order=2), bigrams)
    write_arpa(train([["a", "dog"]]), broken)
    broken.write_text(broken.read_text().replace("\\end\\", ""))
    for model, message in ((bigrams, r"n-grams of up to 2 words.* train one of order 3"), (broken, "is missing")):
        with pytest.raises(ArpaError, match=message) as caught:
            measure_language(run / "plain", model, tmp_path)
        assert str(model) in str(caught.value)
    assert sorted(tmp_path.iterdir()) == [bigrams, broken]


@pytest.mark.parametrize("captioner", ["odd", "plain"])
def test_each_caption_is_measured(run: Path, captioner: str):
    captions = ODD if captioner == "odd" else PLAIN
    measures = read_table(run / captioner / "measures.parquet", MEASURES).to_pylist()
    assert len(measures) == 2 * len(captions)
    assert len(read_table(run / captioner / "tags.parquet", TAGGED)) == 2 * len(captions)
    for row in measures:
        assert (row["perplexity"] is None) == (row["words"] == 0)
        assert row["perplexity"] is None or row["perplexity"] > 1
    by_image = {row["image_id"]: row for row in measures if row["corpus"] == "a"}
    if captioner == "odd":
        assert [by_image[str(i)]["words"] for i in (0, 1, 2, 5)] == [0, 0, 1, 10_000]
        assert by_image["5"]["nouns"] == 10_000
        assert by_image["5"]["distinct_nouns"] == 1
        assert by_image["6"]["nouns"] == 0
    else:
        assert [by_image[str(i)]["nouns"] for i in range(4)] == [2, 2, 2, 2]
        assert by_image["3"]["unknown"] == 1


def test_statistics(run: Path):
    rows = read_table(run / "plain" / "statistics.parquet", STATISTICS).to_pylist()
    of_a, of_b = ({r["statistic"]: r["value"] for r in rows if r["corpus"] == corpus} for corpus in "ab")
    assert of_a == pytest.approx(of_b)
    assert of_a["mean_length"] == 5.5
    assert of_a["types"] == 13
    assert of_a["perplexity"] > 1
    for row in read_table(run / "odd" / "statistics.parquet", STATISTICS).to_pylist():
        assert (row["value"] is None) == (row["note"] is not None)


def test_ngrams(run: Path):
    rows = read_table(run / "plain" / "unigrams.parquet", NGRAMS).to_pylist()
    words = [row for row in rows if (row["corpus"], row["unit"]) == ("a", "word")]
    assert (words[0]["ngram"], words[0]["rank"], words[0]["count"]) == ("a", 1, 6)
    assert words[0]["share"] == pytest.approx(6 / 22)
    assert {row["n"] for row in rows if row["unit"] == "tag"} == {1, 2, 3, 4, 5}
    [pair] = [row for row in rows if (row["corpus"], row["unit"], row["ngram"]) == ("a", "tag", "DET NOUN")]
    assert pair["count"] == 5


def test_patterns(run: Path):
    rows = read_table(run / "plain" / "patterns.parquet", PATTERNS).to_pylist()
    published = [row for row in rows if (row["corpus"], row["source"]) == ("a", "published")]
    assert len(published) == 11
    lxmert = [row for row in published if row["model"] == "LXMERT"]
    assert [(row["role"], row["start"], row["whole"]) for row in lxmert] == [("prefix", 1, 0), ("sentence", 1, 1)]
    assert lxmert[1]["examples"] == PLAIN[:3]
    mined = [row for row in rows if (row["corpus"], row["source"], row["role"]) == ("a", "mined", "sentence")]
    assert mined[0]["whole"] >= 0.5
    assert all(row["n"] == 4 for row in rows)
    odd = read_table(run / "odd" / "patterns.parquet", PATTERNS).to_pylist()
    assert all(0 <= row["start"] <= 1 for row in odd)


def test_a_later_prefix_has_only_captions_without_an_earlier_one():
    """ROSITA's second prefix, a noun phrase and "that is", would have all captions of its first, "a image that is"."""
    captions = ["a image that is red", "a image image that is", "a dog that is red", "a dog on a sofa"]
    tags = {"a": "DET", "image": "NOUN", "dog": "NOUN", "sofa": "NOUN", "that": "PRON", "is": "AUX", "red": "ADJ"}
    said = [[(word, tags.get(word, "ADP")) for word in caption.split()] for caption in captions]
    rows = pattern_rows("toy", said, read_patterns(PUBLISHED))
    rosita = [row for row in rows if (row["model"], row["role"]) == ("ROSITA", "prefix")]
    assert [(row["rank"], row["start"]) for row in rosita] == [(1, 0.5), (2, 0.25)]
    assert rosita[1]["examples"] == ["a dog that is red"]


def test_associations(run: Path):
    rows = read_table(run / "associations.parquet", ASSOCIATIONS).to_pylist()
    assert {row["caption_type"] for row in rows} == {"Odd", "Plain"}
    plain = [row for row in rows if (row["corpus"], row["caption_type"], row["tag"]) == ("a", "Plain", "NOUN")]
    assert [row["rank"] for row in plain] == list(range(1, len(plain) + 1))
    assert {row["lemma"] for row in plain[:2]} == {"horse", "man"}
    assert plain[-1]["lemma"] == "dog"
    assert plain[-1]["association"] < 0
