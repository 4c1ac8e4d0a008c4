import contextlib
import fcntl
import random
import subprocess
import threading
from collections import Counter

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
from support.java_path import java_on_path

from captionlab.evaluation.bleu import corpus_bleu
from captionlab.evaluation.java import JavaError
from captionlab.evaluation.metrics.nlg import metric as nlg
from captionlab.evaluation.metrics.nlg.metric import (
    NLG,
    corpus_meteor,
    meteor_process,
    of_captions,
    read_scores,
    score_corpus,
)
from captionlab.storage.tables import conform, write_table

WORDS = ["a", "the", "man", "dog", "dogs", "is", "was", "riding", "rides", "horse", "on", "in", "red", "beach", "near"]


def sentence(generator, length):
    return " ".join(generator.choices(WORDS, k=length))


def made_up_corpus(images=40, seed=0):
    """Captions that share words with their references, one to four of these for each image."""
    generator = random.Random(seed)
    references, captions = {}, {}
    for image in range(images):
        first = sentence(generator, generator.randint(4, 12))
        more = [sentence(generator, generator.randint(3, 14)) for _ in range(generator.randint(0, 3))]
        references[f"image{image}"] = [first, *more]
        words = first.split()
        kept = words[: generator.randint(1, len(words))]
        if image % 8 == 0:
            kept = words  # some captions are a reference, or begin with one
        captions[f"image{image}", 0] = " ".join([*kept, *generator.choices(WORDS, k=generator.randint(0, 4))])
    return captions, references


def texts_of(captions, references):
    return [*captions.values(), *(text for of_image in references.values() for text in of_image)]


@pytest.fixture(scope="module", params=["found", "bundled"])
def meteor(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA", "bundled" if request.param == "bundled" else "")
        with meteor_process(texts_of(*made_up_corpus())) as process:
            yield process


@pytest.fixture(scope="module")
def theirs():
    """METEOR as pycocoevalcap starts and asks it."""
    with java_on_path():
        return Meteor()


@pytest.fixture(scope="module")
def scored(meteor):
    captions, references = made_up_corpus()
    return captions, references, score_corpus("base", "toy", captions, references, meteor)


def as_pycocoevalcap(captions, references):
    return {key: references[key[0]] for key in captions}, {key: [text] for key, text in captions.items()}


def test_scores_and_corpus_values_are_those_of_pycocoevalcap(scored, theirs):
    captions, references, rows = scored
    given = as_pycocoevalcap(captions, references)
    bleu, bleus = Bleu(4).compute_score(*given, verbose=0)
    counts = np.array(rows["bleu_counts"], dtype=float)
    for order in range(1, 5):
        assert rows[f"bleu_{order}"] == bleus[order - 1]
        assert corpus_bleu(counts.sum(axis=0), len(captions), order) == pytest.approx(bleu[order - 1], rel=1e-12)
        np.testing.assert_allclose(corpus_bleu(counts, np.ones(len(counts)), order), bleus[order - 1], atol=1e-12)
    value, values = theirs.compute_score(*given)
    statistics = np.array(rows["meteor_statistics"])
    assert rows["meteor"] == values
    assert corpus_meteor(statistics.sum(axis=0), len(captions)) == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(corpus_meteor(statistics, np.ones(len(statistics))), values, atol=1e-12)
    assert 0.1 < value < 0.9
    rouge, rouges = Rouge().compute_score(*given)
    np.testing.assert_array_equal(rows["rouge_l"], rouges)
    cider, ciders = Cider().compute_score(*given)
    np.testing.assert_allclose(rows["cider"], ciders, rtol=0, atol=1e-12)
    assert [np.mean(rows["rouge_l"]), np.mean(rows["cider"])] == pytest.approx([rouge, cider], rel=1e-12)


def test_every_judgement_is_a_document_of_ciders_idf(meteor):
    captions = {("a", 0): "a dog runs", ("b", 0): "a cat"}
    references = {"a": ["a dog"], "b": ["a cat"]}

    def cider(judgements=None):
        return score_corpus("base", "toy", captions, references, meteor, judgements)["cider"][0]

    def by_hand(known, unknown):
        # Of "a dog runs" the words "dog" and "a dog" are in the reference, "runs" and "dog runs" are in none; "a" is in
        # all and counts nothing. Two of four orders of n-grams match, and the caption is a word longer.
        return 10 * np.exp(-1 / 72) * 2 / 4 * known / np.hypot(known, unknown)

    # The image was judged twice, and another one once: "dog" is in two of three documents.
    assert cider({("a", 0): 2, ("b", 0): 1}) == pytest.approx(by_hand(np.log(3 / 2), np.log(3)), rel=1e-12)
    # Where nobody judged, every image is a document: "dog" is in one of two.
    assert cider() == pytest.approx(by_hand(np.log(2), np.log(2)), rel=1e-12)


def test_judged_captions_have_the_cider_of_pycocoevalcap(meteor):
    captions, references = made_up_corpus()
    captions |= {(image, 1): f"the {text}" for (image, _), text in captions.items() if len(text) > 20}
    judgements = {key: 1 + place % 3 for place, key in enumerate(captions)}
    rows = [key for key, times in judgements.items() for _ in range(times)]
    given = (
        {place: references[image] for place, (image, _) in enumerate(rows)},
        {place: [captions[key]] for place, key in enumerate(rows)},
    )
    expected = dict(zip(rows, Cider().compute_score(*given)[1], strict=True))
    found = score_corpus("base", "toy", captions, references, meteor, judgements)["cider"]
    assert dict(zip(captions, found, strict=True)) == pytest.approx(expected, abs=1e-12)


def test_summed_statistics_give_the_corpus_values_of_any_resample(scored, theirs):
    captions, references, rows = scored
    texts = list(captions.values())
    statistics, counts = np.array(rows["meteor_statistics"]), np.array(rows["bleu_counts"])
    whole = (statistics[:, 20] == 0) & (statistics[:, 21] > 0)
    assert 0 < whole.sum() < len(texts), "the test needs captions that are a reference, where METEOR counts no chunk"
    generator = np.random.default_rng(0)
    for _ in range(10):
        drawn = generator.integers(0, len(texts), generator.integers(1, 60))
        given = (
            {place: references[f"image{image}"] for place, image in enumerate(drawn)},
            {place: [texts[image]] for place, image in enumerate(drawn)},
        )
        assert corpus_meteor(statistics[drawn].sum(axis=0), len(drawn)) == pytest.approx(
            theirs.compute_score(*given)[0], abs=1e-9
        )
        for order, value in enumerate(Bleu(4).compute_score(*given, verbose=0)[0], 1):
            assert corpus_bleu(counts[drawn].sum(axis=0), len(drawn), order) == pytest.approx(value, rel=1e-12)


def test_bleu_counts_equal_counting_by_hand(scored):
    captions, references, rows = scored
    for (image, _), counts in zip(captions, rows["bleu_counts"], strict=True):
        words = captions[image, 0].split()
        lengths = [len(reference.split()) for reference in references[image]]
        assert counts[:2] == [len(words), min(lengths, key=lambda other: (abs(other - len(words)), other))]
        for order in range(1, 5):

            def ngrams(tokens, order=order):
                return Counter(tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1))

            most = Counter()
            for reference in references[image]:
                most |= ngrams(reference.split())
            assert counts[1 + order] == max(0, len(words) - order + 1)
            assert counts[5 + order] == sum((ngrams(words) & most).values())


def test_strange_captions_score_0_and_never_nan(meteor, caplog):
    strange = ["", "   ", "123 ||| 456", "رجل", "x" * 500, "word " * 2000, "\\ \" ' {}", "日本語", "q|||z"]
    references = {f"image{i}": [f"a man on a horse{i}", "the dog"] for i in range(len(strange) + 1)}
    captions = {(f"image{i}", 0): text for i, text in enumerate([*strange, f"a man on a horse{len(strange)}"])}
    rows = score_corpus("base", "toy", captions, references, meteor)
    table = conform(rows, NLG, "table")
    scores = np.array([table[name].to_pylist() for name in NLG.columns if name.startswith(("bleu_1", "bleu_4"))])
    for name in ("meteor", "rouge_l", "cider"):
        scores = np.vstack([scores, table[name].to_pylist()])
    assert np.isfinite(scores).all()
    assert np.abs(scores[:, :-1]).max() < 1e-5
    assert scores[:2, -1] == pytest.approx(1)
    assert scores[2:4, -1] == pytest.approx(1)
    assert scores[4, -1] > 1
    assert "2 captions have no token and score 0, first that of image0" in caplog.text


def test_a_corpus_of_empty_captions_is_0(meteor):
    captions, references = {("a", 0): "", ("b", 0): ""}, {"a": ["one dog"], "b": ["two dogs run"]}
    rows = score_corpus("base", "toy", captions, references, meteor)
    assert corpus_meteor(np.sum(rows["meteor_statistics"], axis=0), 2) == 0
    assert corpus_bleu(np.sum(rows["bleu_counts"], axis=0), 2, 4) == 0
    assert rows["meteor"] == [0, 0]
    assert list(rows["cider"]) == [0, 0]
    assert list(rows["rouge_l"]) == [0, 0]


def test_captions_in_another_script_are_warned_of(meteor, caplog):
    captions = {
        ("a", 0): "一只 狗 在 海滩 上",
        ("b", 0): "собака på stranden",
        ("c", 0): "un café à la plage",
        ("d", 0): "犬",
    }
    score_corpus(
        "base",
        "toy",
        {("a", 0): "犬", ("b", 0): "ein hund", ("c", 0): "señor ñ"},
        {i: ["a dog"] for i in "abc"},
        meteor,
    )
    assert "other than Latin" not in caplog.text
    score_corpus("base", "toy", captions, {image: ["a dog"] for image in "abcd"}, meteor)
    assert "toy: 2 of 4 captions are mostly" not in caplog.text
    score_corpus(
        "base", "toy", {**captions, ("b", 0): "собака на пляже"}, {image: ["a dog"] for image in "abcd"}, meteor
    )
    assert "toy: 3 of 4 captions are mostly in letters other than Latin" in caplog.text


def test_references_without_tokens_are_left_out(meteor, caplog):
    captions = {("a", 0): "one dog", ("b", 0): "", ("c", 0): "two dogs"}
    rows = score_corpus("base", "toy", captions, {"a": ["", "one dog"], "b": [""], "c": ["two dogs"]}, meteor)
    assert rows["image_id"] == ["a", "c"]
    assert rows["meteor"] == [1, 1]
    assert "2 references have no token" in caplog.text
    assert "1 images have no reference left and are not scored: ['b']" in caplog.text
    with pytest.raises(ValueError, match="base on toy: no image of the evaluated split has a reference"):
        score_corpus("base", "toy", captions, {"b": [""]}, meteor)


def test_an_image_without_a_caption_is_an_error_and_a_caption_without_references_is_not(meteor, caplog):
    with pytest.raises(
        ValueError, match=r"base on toy: 1 of 2 images with references have no caption, the first is 'b'"
    ):
        score_corpus("base", "toy", {("a", 0): "dog"}, {"a": ["dog"], "b": ["cat"]}, meteor)
    rows = score_corpus("base", "toy", {("a", 0): "dog", ("x", 0): "cat"}, {"a": ["dog"]}, meteor)
    assert rows["image_id"] == ["a"]
    assert "the captions of 1 images are not scored" in caplog.text


def test_several_captions_of_an_image_are_scored_each(meteor):
    captions, references = made_up_corpus(6)
    doubled = {(image, index): text for (image, _), text in captions.items() for index in (0, 1)}
    once = score_corpus("base", "toy", captions, references, meteor)
    twice = score_corpus("base", "toy", doubled, references, meteor)
    assert twice["caption_index"] == [0, 1] * 6
    for name in ("bleu_2", "meteor", "rouge_l", "cider"):
        np.testing.assert_allclose(twice[name], np.repeat(once[name], 2), rtol=1e-12)


def test_cider_of_a_single_image_is_0_with_a_warning(meteor, caplog):
    rows = score_corpus("base", "toy", {("a", 0): "one dog"}, {"a": ["one dog"]}, meteor)
    assert list(rows["cider"]) == [0]
    assert "CIDEr is 0" in caplog.text


def test_captions_are_scored_in_parts_with_the_same_scores(scored, meteor, monkeypatch):
    captions, references, rows = scored
    monkeypatch.setattr(nlg, "ASKED", 7)
    monkeypatch.setattr(nlg, "TOGETHER", 7)
    again = score_corpus("base", "toy", captions, references, meteor)
    assert (again["meteor"], again["meteor_statistics"]) == (rows["meteor"], rows["meteor_statistics"])
    np.testing.assert_allclose(again["cider"], rows["cider"], rtol=1e-12)


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="the size of a pipe can be set on Linux alone")
@pytest.mark.timeout(120)
def test_the_smallest_pipes_hold_what_meteor_is_asked_and_answers():
    captions, references = made_up_corpus(60)
    longer = {image: [text * 20 for text in of_image] for image, of_image in references.items()}
    with meteor_process(texts_of(captions, longer)) as process:
        for pipe in (process.stdin, process.stdout):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
        found = score_corpus("base", "toy", captions, longer, process)
    assert min(found["meteor"]) > 0


def test_nothing_is_printed(meteor, capsys):
    score_corpus("base", "toy", *made_up_corpus(3), meteor)
    assert capsys.readouterr().out == ""


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("dies_at", "place"),
    [(2, "at one of the images from 'image50' to 'image74'"), (4, "to add up the scores")],
)
def test_a_killed_java_is_an_error_not_a_wait(dies_at, place, monkeypatch):
    asked = []

    def write(meteor, line):
        if len(asked) == dies_at:
            meteor.kill()
            meteor.wait()
        asked.append(line)
        ask(meteor, line)

    ask = nlg._write
    monkeypatch.setattr(nlg, "_write", write)
    killed = rf"METEOR failed {place} of 'toy': it ended with signal 9 \(Killed\); memory may have run out"
    asked_of = made_up_corpus(80)
    with meteor_process(texts_of(*asked_of)) as meteor, pytest.raises(JavaError, match=killed):
        score_corpus("base", "toy", *asked_of, meteor)
    assert meteor.returncode is not None


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("program", "fault"),
    [
        ("echo nonsense; exec sleep 100", "it answered 'nonsense' and not 23 numbers; Java wrote nothing"),
        ("read question", "it ended with exit status 0; Java wrote nothing"),
        ("read question; echo 'no heap' >&2; exit 1", "it ended with exit status 1; Java wrote: no heap"),
        ("exec 1>&-; exec sleep 100", "it ended too early; Java wrote nothing"),
    ],
)
def test_a_process_that_answers_otherwise_is_an_error_not_a_wait(program, fault):
    pipe = subprocess.PIPE
    with subprocess.Popen(["sh", "-c", program], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        with pytest.raises(JavaError, match=f"METEOR failed at image 'image0' of 'toy'.*{fault}"):
            score_corpus("base", "toy", *made_up_corpus(3), process)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()


def test_several_captioners_share_a_table(scored, meteor, tmp_path):
    captions, references, rows = scored
    others = {key: "a dog" for key in captions}
    of_other = score_corpus("other", "toy", others, references, meteor)
    both = {name: [*rows[name], *of_other[name]] for name in NLG.columns}
    write_table(tmp_path / "main.parquet", NLG, both)
    assert read_scores(tmp_path / "main.parquet", "other")["meteor"].to_pylist() == of_other["meteor"]
    found = {(one.captioner, one.metric): one for one in of_captions(str(tmp_path / "main.parquet"), {})}
    assert len(found) == 14
    for captioner, expected in (("base", rows), ("other", of_other)):
        assert found[captioner, "CIDEr"].values.tolist() == expected["cider"]
        assert found[captioner, "CIDEr"].keys == [("toy", *key) for key in captions]


@pytest.mark.timeout(300)
def test_two_at_once_do_not_disturb_each_other_and_end():
    corpora = [made_up_corpus(10, seed=1), made_up_corpus(10, seed=2)]
    texts = [text for corpus in corpora for text in texts_of(*corpus)]
    with meteor_process(texts) as first, meteor_process(texts) as second:
        together = [None, None]

        def score(place, meteor):
            together[place] = score_corpus("base", "toy", *corpora[place], meteor)["meteor"]

        threads = [threading.Thread(target=score, args=pair) for pair in enumerate((first, second))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        alone = [score_corpus("base", "toy", *corpus, first)["meteor"] for corpus in corpora]
    assert together == alone
    for meteor in (first, second):
        assert meteor.poll() is not None
        assert meteor.stdout.closed
