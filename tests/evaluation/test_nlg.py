import contextlib
import gzip
import random
import subprocess
import threading
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from captionlab.evaluation import ngrams
from captionlab.evaluation.java import JavaError
from captionlab.evaluation.metrics import nlg
from captionlab.evaluation.metrics.nlg import (
    NLG,
    corpus_bleu,
    corpus_meteor,
    kinds_of_meteor,
    meteor_process,
    score_corpus,
)
from captionlab.tables import conform

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


@pytest.fixture(scope="module", params=["found", "bundled"])
def meteor(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA", "bundled" if request.param == "bundled" else "")
        with meteor_process() as process:
            yield process


@pytest.fixture(scope="module")
def scored(meteor):
    captions, references = made_up_corpus()
    return captions, references, score_corpus("toy", captions, references, meteor)


def as_pycocoevalcap(captions, references):
    return {key: references[key[0]] for key in captions}, {key: [text] for key, text in captions.items()}


def test_scores_and_corpus_values_are_those_of_pycocoevalcap(scored, meteor):
    captions, references, rows = scored
    given = as_pycocoevalcap(captions, references)
    bleu, bleus = Bleu(4).compute_score(*given, verbose=0)
    counts = np.array(rows["bleu_counts"], dtype=float)
    for order in range(1, 5):
        np.testing.assert_allclose(rows[f"bleu_{order}"], bleus[order - 1])
        assert corpus_bleu(counts.sum(axis=0), len(captions), order) == pytest.approx(bleu[order - 1], rel=1e-12)
        np.testing.assert_allclose(corpus_bleu(counts, np.ones(len(counts)), order), bleus[order - 1], atol=1e-12)
    value, values = meteor.compute_score(*given)
    statistics = np.array(rows["meteor_statistics"])
    np.testing.assert_allclose(rows["meteor"], values)
    assert corpus_meteor(statistics.sum(axis=0), len(captions)) == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(corpus_meteor(statistics, np.ones(len(statistics))), values, atol=1e-12)
    assert 0.1 < value < 0.9
    rouge, rouges = Rouge().compute_score(*given)
    np.testing.assert_array_equal(rows["rouge_l"], rouges)
    cider, ciders = Cider().compute_score(*given)
    np.testing.assert_array_equal(rows["cider"], ciders)
    assert [np.mean(rows["rouge_l"]), np.mean(rows["cider"])] == pytest.approx([rouge, cider], rel=1e-12)


def test_summed_statistics_give_the_corpus_values_of_any_resample(scored, meteor):
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
            meteor.compute_score(*given)[0], abs=1e-9
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
    rows = score_corpus("toy", captions, references, meteor)
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
    rows = score_corpus("toy", captions, references, meteor)
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
        "toy", {("a", 0): "犬", ("b", 0): "ein hund", ("c", 0): "señor ñ"}, {i: ["a dog"] for i in "abc"}, meteor
    )
    assert "other than Latin" not in caplog.text
    score_corpus("toy", captions, {image: ["a dog"] for image in "abcd"}, meteor)
    assert "toy: 2 of 4 captions are mostly" not in caplog.text
    score_corpus("toy", {**captions, ("b", 0): "собака на пляже"}, {image: ["a dog"] for image in "abcd"}, meteor)
    assert "toy: 3 of 4 captions are mostly in letters other than Latin" in caplog.text


def test_references_without_tokens_are_left_out(meteor, caplog):
    captions = {("a", 0): "one dog", ("b", 0): "", ("c", 0): "two dogs"}
    rows = score_corpus("toy", captions, {"a": ["", "one dog"], "b": [""], "c": ["two dogs"]}, meteor)
    assert rows["image_id"] == ["a", "c"]
    assert rows["meteor"] == [1, 1]
    assert "2 references have no token" in caplog.text
    assert "1 images have no reference left and are not scored: ['b']" in caplog.text
    with pytest.raises(ValueError, match="'toy': no image of the evaluated split has a reference"):
        score_corpus("toy", captions, {"b": [""]}, meteor)


def test_an_image_without_a_caption_is_an_error_and_a_caption_without_references_is_not(meteor, caplog):
    with pytest.raises(ValueError, match=r"'toy': 1 of 2 images with references have no caption, the first is 'b'"):
        score_corpus("toy", {("a", 0): "dog"}, {"a": ["dog"], "b": ["cat"]}, meteor)
    rows = score_corpus("toy", {("a", 0): "dog", ("x", 0): "cat"}, {"a": ["dog"]}, meteor)
    assert rows["image_id"] == ["a"]
    assert "the captions of 1 images are not scored" in caplog.text


def test_several_captions_of_an_image_are_scored_each(meteor):
    captions, references = made_up_corpus(6)
    doubled = {(image, index): text for (image, _), text in captions.items() for index in (0, 1)}
    once = score_corpus("toy", captions, references, meteor)
    twice = score_corpus("toy", doubled, references, meteor)
    assert twice["caption_index"] == [0, 1] * 6
    for name in ("bleu_2", "meteor", "rouge_l", "cider"):
        np.testing.assert_allclose(twice[name], np.repeat(once[name], 2), rtol=1e-12)


def test_cider_of_a_single_image_is_0_with_a_warning(meteor, caplog):
    rows = score_corpus("toy", {("a", 0): "one dog"}, {"a": ["one dog"]}, meteor)
    assert list(rows["cider"]) == [0]
    assert "CIDEr is 0" in caplog.text


def test_nothing_is_printed(meteor, capsys):
    score_corpus("toy", *made_up_corpus(3), meteor)
    assert capsys.readouterr().out == ""


class Killed:
    """The pipes of METEOR's process, which is killed after so many answers, or before it is asked to add up."""

    def __init__(self, process, answers):
        self.process, self.answers, self.pipes = process, answers, (process.stdin, process.stdout)
        process.stdin = process.stdout = self

    def __getattr__(self, name):
        return getattr(self.pipes[0], name)

    def write(self, text):
        if text.startswith(b"EVAL"):
            self.kill()
        return self.pipes[0].write(text)

    def read1(self, size):
        if not self.answers:
            self.kill()
            return b""
        self.answers -= 1
        return self.pipes[1].readline()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        for pipe in self.pipes:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("answers", "place"), [(35, "at image 'image35'"), (None, "to add up the scores")])
@pytest.mark.parametrize("captions", [80, 3000])
def test_a_killed_java_is_an_error_not_a_wait(answers, place, captions):
    """Also where more is asked than a pipe holds."""
    with meteor_process() as meteor:
        killed = Killed(meteor.meteor_p, answers or captions)
        with pytest.raises(JavaError, match=rf"METEOR failed {place} of 'toy' \(was it killed"):
            score_corpus("toy", *made_up_corpus(captions), meteor)
        killed.process.stdin, killed.process.stdout = killed.pipes
    assert meteor.meteor_p.returncode is not None


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("program", "fault"),
    [
        ("echo nonsense; exec sleep 100", "at image 'image0' of 'toy'.*'nonsense'"),
        ("read question; echo nonsense; exec sleep 100", "at image 'image0' of 'toy'.*'nonsense'"),
        (f"read question; exec yes {'1 ' * 23}", "answers too many"),
        ("read question", "ended 3000 answers too early"),
    ],
)
def test_a_process_that_answers_otherwise_is_an_error_not_a_wait(program, fault):
    """While more is written to it than a pipe holds."""
    pipe = subprocess.PIPE
    with subprocess.Popen(["sh", "-c", f"exec 2>&-; {program}"], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        with pytest.raises(JavaError, match=f"METEOR failed.*{fault}"):
            score_corpus("toy", *made_up_corpus(3000), SimpleNamespace(meteor_p=process))
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()


@pytest.mark.timeout(300)
def test_processes_share_the_captions(scored, meteor):
    captions, references, rows = scored
    with meteor_process() as other:
        shared = score_corpus("toy", captions, references, meteor, other)
    assert {name: list(rows[name]) for name in NLG.columns} == {name: list(shared[name]) for name in NLG.columns}
    one = {"image0": references["image0"]}
    with meteor_process() as other:
        alone = score_corpus("toy", {("image0", 0): captions["image0", 0]}, one, meteor, other)
    assert alone["meteor"] == rows["meteor"][:1]


@pytest.mark.timeout(300)
def test_bare_texts_have_the_same_values_without_rules_of_punctuation(tmp_path, monkeypatch):
    captions, references = made_up_corpus(60, seed=5)
    odd = {1: "a t-shirt", 2: "the dog 's ball", 3: "", 4: "no. 4 , it isn't", 5: "a  b", 6: "un café", 7: "&amp; 1.5"}
    captions |= {(f"image{place}", 0): text for place, text in odd.items()}
    captions |= {("image9", 0): "2 dogs in 3d", ("image10", 0): "1 000 men 10th no 5"}
    references["image8"][0] = "a man-made pond"
    plain = {key: text for key, text in captions.items() if int(key[0][5:]) not in (*odd, 8)}
    (tmp_path / "none.gz").write_bytes(gzip.compress(b""))
    asked, ask = {}, nlg._meteor_of
    monkeypatch.setattr(nlg, "_meteor_of", lambda *call: asked.update(dict.fromkeys(call[2], call[1])) or ask(*call))
    with meteor_process(tmp_path / "none.gz") as usual, meteor_process(tmp_path / "none.gz", bare=True) as bare:
        expected = score_corpus("toy", captions, references, usual)
        assert {*asked.values()} == {usual}
        found = score_corpus("toy", captions, references, bare, usual)
        assert {key for key, meteor in asked.items() if meteor is bare} == plain.keys()
        of_plain = {image: references[image] for image, _ in plain}
        alone = score_corpus("toy", plain, of_plain, bare)
        with pytest.raises(ValueError, match="the texts of 'image1' are not bare"):
            score_corpus("toy", captions, references, bare)
    for column in ("meteor", "meteor_statistics"):
        assert found[column] == expected[column]
        assert alone[column] == [value for key, value in zip(captions, found[column], strict=True) if key in plain]


def test_few_bare_captions_are_worth_no_process_of_their_own(monkeypatch):
    monkeypatch.setattr(nlg, "WORTH_A_START", 3)
    bare, odd = ["a dog", "2 dogs"], ["a dog", "a dog 's ball"]
    assert kinds_of_meteor([bare]) == [True]
    assert kinds_of_meteor([bare, bare, odd]) == [False]
    assert kinds_of_meteor([bare, bare, odd, bare]) == [True, False]
    assert kinds_of_meteor([odd]) == [False]


def test_every_bit_is_that_of_pycocoevalcap():
    captions, references = made_up_corpus(300, seed=3)
    captions |= {("image1", 0): "", ("image2", 0): "a " * 50, ("image3", 0): references["image3"][-1]}
    given = as_pycocoevalcap(captions, references)
    corpus = ngrams.Corpus([*captions.values()], [*references.values()], range(len(captions)))
    assert ngrams.cider(corpus) == Cider().compute_score(*given)[1].tolist()
    assert ngrams.bleu(ngrams.bleu_counts(corpus)) == Bleu(4).compute_score(*given, verbose=0)[1]
    apart = ngrams.Corpus(["a b"], [["c d", "d e"]], [0])
    assert ngrams.cider(apart) == Cider().compute_score({0: ["c d", "d e"]}, {0: ["a b"]})[1].tolist() == [0]
    pairs = zip(captions.values(), references.values(), strict=True)
    assert [ngrams.rouge_l(*pair) for pair in pairs] == Rouge().compute_score(*given)[1].tolist()


@pytest.mark.timeout(300)
def test_two_at_once_do_not_disturb_each_other_and_end():
    corpora = [made_up_corpus(10, seed=1), made_up_corpus(10, seed=2)]
    with meteor_process() as first, meteor_process() as second:
        together = [None, None]

        def score(place, meteor):
            together[place] = score_corpus("toy", *corpora[place], meteor)["meteor"]

        threads = [threading.Thread(target=score, args=pair) for pair in enumerate((first, second))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        alone = [score_corpus("toy", *corpus, first)["meteor"] for corpus in corpora]
    assert together == alone
    for meteor in (first, second):
        assert meteor.meteor_p.poll() is not None
        assert meteor.meteor_p.stdout.closed
