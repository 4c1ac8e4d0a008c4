"""The language model against SRILM's own output, a hand computation, a plain re-implementation, and KenLM."""

import json
import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from captionlab.texts.arpa import ArpaError, read_arpa, write_arpa
from captionlab.texts.ngram import LOG_ZERO, NgramModel, perplexity, score, train

HAND = [["a", "b"], ["a", "b"], ["a", "c"]]


def random_captions(number: int, words: int, seed: int = 0) -> list[list[str]]:
    """Captions whose words depend on the word before, so that n-grams repeat as they do in text."""
    generator = random.Random(seed)
    captions = []
    for _ in range(number):
        word, caption = 0, []
        for _ in range(generator.randint(1, 12)):
            word = (word * 7 + min(int(generator.expovariate(0.5)), words - 1)) % words
            caption.append(f"w{word}")
        captions.append(caption)
    return captions


class PlainModel:
    """Katz back-off with SRILM's defaults, one n-gram at a time, as its manual describes it."""

    def __init__(self, sentences: list[list[str]]):
        self.counts = [Counter(), Counter(), Counter()]
        for sentence in sentences:
            words = ["<s>", *sentence, "</s>"]
            for n in (1, 2, 3):
                for i in range(len(words) - n + 1):
                    if n > 1 or words[i] != "<s>":
                        self.counts[n - 1][tuple(words[i : i + n])] += 1
        self.vocabulary = [gram[0] for gram in self.counts[0]]
        self.ratios = [{}, self.good_turing(self.counts[1]), self.good_turing(self.counts[2])]
        self.explicit: dict[tuple[str, ...], float] = {}
        total = sum(self.counts[0].values())
        for gram, count in self.counts[0].items():
            self.explicit[gram] = count / total
        for n, minimum in ((2, 1), (3, 2)):
            followers: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
            for gram in self.counts[n - 1]:
                followers.setdefault(gram[:-1], []).append(gram)
            for grams in followers.values():
                total = sum(self.counts[n - 1][gram] for gram in grams)
                while True:
                    probs = {
                        gram: self.ratios[n - 1].get(count, 1) * count / total
                        for gram in grams
                        if (count := self.counts[n - 1][gram]) >= minimum
                    }
                    if len(grams) == len(self.vocabulary) or sum(probs.values()) <= 1 - 3e-6:
                        break
                    total += 1
                self.explicit.update(probs)

    @staticmethod
    def good_turing(counts: Counter) -> dict[int, float]:
        number = Counter(counts.values())
        highest = 7
        while highest and not number[highest + 1]:
            highest -= 1
        ratios = {}
        for r in range(1, highest + 1):
            if number[r]:
                plain = (r + 1) * number[r + 1] / (r * number[r])
                common = (highest + 1) * number[highest + 1] / number[1]
                ratio = (plain - common) / (1 - common)
                ratios[r] = ratio if ratio > 3e-6 and plain <= 1 else 1
        return ratios

    def prob(self, history: tuple[str, ...], word: str) -> float:
        if (*history, word) in self.explicit:
            return self.explicit[(*history, word)]
        if not history:
            return 0
        seen = [w for w in self.vocabulary if (*history, w) in self.explicit]
        left = 1 - sum(self.explicit[(*history, w)] for w in seen)
        free = 1 - sum(self.prob(history[1:], w) for w in seen)
        return left / free * self.prob(history[1:], word)

    def log_prob(self, sentence: list[str]) -> float:
        words = ["<s>", *sentence, "</s>"]
        known = {"<s>", *self.vocabulary}
        total = 0.0
        for i in range(1, len(words)):
            history = []
            for word in words[max(i - 2, 0) : i]:
                history = [*history, word] if word in known else []
            if words[i] in known:
                total += math.log10(self.prob(tuple(history), words[i]))
        return total


def test_same_as_srilm():
    # Output of SRILM 1.7.2's ngram-count -order 2 and ngram -ppl -debug 2 on these lines, as its users publish it.
    model = train([line.split() for line in ("tôi đi học", "tôi rất vui", "tôi đi chơi")], order=2)
    test = [line.split() for line in ("học mà chơi", "học rất vui", "tôi chơi rất vui")]
    found = score(model, test)
    assert found.log_probs == pytest.approx([-2.936513, -3.413635, -3.538573], abs=2e-6)
    assert found.words.tolist() == [3, 3, 4]
    assert found.unknown.tolist() == [1, 0, 0]
    each = [
        perplexity(log_prob, words, unknown, 1)
        for log_prob, words, unknown in zip(found.log_probs, found.words, found.unknown, strict=True)
    ]
    assert each == pytest.approx([9.524403, 7.135241, 5.101697], rel=1e-6)
    total = found.log_probs.sum()
    assert perplexity(total, 10, 1, 3) == pytest.approx(6.66899, rel=1e-6)
    assert perplexity(total, 10, 1, 0) == pytest.approx(12.55298, rel=1e-6)


def test_same_as_by_hand():
    # Of three sentences "a b", "a b", "a c": 9 events. Bigrams: two occur once, two twice, one three times, so counts
    # up to 2 are discounted; the ratio of 1 is out of range, that of 2 is (3/4 - 3/2) / (1 - 3/2) = 3/2, and
    # denominators grow until mass is left: p(a|<s>) = 3/4, p(b|a) = 3/5, p(c|a) = 1/5, p(</s>|b) = 3/4 and
    # p(</s>|c) = 1/2. Trigrams that occur twice: p(b|<s> a) = 2/3, p(</s>|a b) = 2/3.
    model = train(HAND)
    found = score(model, [["a", "b"], ["a", "c"], ["b"], []])
    weight_start, weight_start_a = (1 / 4) / (2 / 3), (1 / 3) / (2 / 5)
    by_hand = [
        3 / 4 * 2 / 3 * 2 / 3,
        3 / 4 * (weight_start_a * 1 / 5) * 1 / 2,
        (weight_start * 2 / 9) * 3 / 4,
        weight_start * 1 / 3,
    ]
    assert 10**found.log_probs == pytest.approx(by_hand, rel=1e-12)
    assert perplexity(found.log_probs[1], 2, 0, 1) == pytest.approx(16 ** (1 / 3))


@pytest.mark.parametrize("seed", range(4))
def test_same_as_plain_implementation(seed: int):
    captions = random_captions(300, 40, seed)
    test = [*random_captions(30, 45, seed + 100), []]
    plain = PlainModel(captions)
    assert score(train(captions), test).log_probs == pytest.approx([plain.log_prob(caption) for caption in test])


@pytest.mark.parametrize("captions", [HAND, random_captions(400, 30)], ids=["tiny", "random"])
def test_probabilities_sum_to_one(captions: list[list[str]]):
    model = train(captions)
    words = [word for word in model.words if word not in ("<s>", "</s>")]
    seen = random.Random(1).sample(captions, min(len(captions), 12))
    for history in [[], *(caption[:2] for caption in seen), [words[0], words[0]], ["never", "seen"], [words[-1]]]:
        # p(w | history) for every word, from the difference that one more word makes; </s> from the whole.
        ended = score(model, [history]).log_probs[0]
        longer = score(model, [[*history, word] for word in words]).log_probs
        ends = np.array([_end(model, [*history, word]) for word in words])
        before = ended - _end(model, history)
        total = (10 ** (longer - ends - before)).sum() + 10 ** _end(model, history)
        assert total == pytest.approx(1, abs=1e-9), history


def _end(model: NgramModel, sentence: list[str]) -> float:
    """log10 p(</s> | sentence), by the definition of back-off."""
    tables = [dict(zip(keys.tolist(), range(len(keys)), strict=True)) for keys in model.keys]
    ids = [model.words.index(word) if word in model.words else -1 for word in ["<s>", *sentence, "</s>"]]

    def index(gram: list[int]) -> int:
        place = gram[0]
        for n, word in enumerate(gram[1:], 2):
            place = tables[n - 1].get(place * len(model.words) + word, -1) if place >= 0 and word >= 0 else -1
        return place

    total = 0.0
    for start in range(max(len(ids) - model.order, 0), len(ids)):
        gram = ids[start:]
        if (place := index(gram)) >= 0:
            return total + model.log_probs[len(gram) - 1][place]
        if (context := index(gram[:-1])) >= 0:
            total += model.log_backoffs[len(gram) - 2][context]
    raise AssertionError("</s> has no probability")


@pytest.mark.parametrize("name", ["model.arpa", "model.arpa.gz"])
def test_arpa_round_trip(tmp_path: Path, name: str):
    model = train([*random_captions(200, 30), ['"', "l'été", "1\u00a01/2"]])
    write_arpa(model, tmp_path / name)
    again = read_arpa(tmp_path / name)
    assert again.words == model.words
    for field in ("keys", "log_probs", "log_backoffs"):
        for ours, theirs in zip(getattr(model, field), getattr(again, field), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    first = (tmp_path / name).read_bytes()
    write_arpa(model, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_kenlms_scores_with_our_file():
    # What KenLM's reader (its Python package, version in the file) gave for model.arpa, which this wrote.
    golden = Path(__file__).parents[1] / "golden" / "kenlm"
    theirs = json.loads((golden / "scores.json").read_text())
    captions = [caption.split() for caption in theirs["captions"]]
    for model in (train(random_captions(200, 30)), read_arpa(golden / "model.arpa")):
        assert score(model, captions).log_probs == pytest.approx(theirs["log10_probabilities"], rel=1e-5)


def read_strictly(path: Path) -> dict[tuple[str, ...], tuple[float, float | None]]:
    """Log-probability and back-off of each n-gram; as SRILM does, without n-grams whose context has no back-off."""
    found: dict[tuple[str, ...], tuple[float, float | None]] = {}
    order = 0
    for line in path.read_text().splitlines():
        if line.endswith("-grams:"):
            order = int(line[1])
        elif order and line and not line.startswith("\\"):
            log_prob, gram, *backoff = line.split("\t")
            words = tuple(gram.split(" "))
            if order == 1 or found.get(words[:-1], (0.0, None))[1] is not None:
                found[words] = float(log_prob), float(backoff[0]) if backoff else None
    return found


def backed_off(found: dict[tuple[str, ...], tuple[float, float | None]], history: tuple[str, ...], word: str) -> float:
    """log10 p(word | history) by the definition of back-off; -inf for an unknown word."""
    if (*history, word) in found:
        return found[*history, word][0]
    return (found.get(history, (0.0, None))[1] or 0.0) + backed_off(found, history[1:], word) if history else -math.inf


@pytest.mark.parametrize(("words", "zeros"), [(2, True), (5, True), (30, False)])
def test_srilm_drops_nothing_of_our_file(tmp_path: Path, words: int, zeros: bool):
    """A file over few words has contexts that all words follow, so that their back-off is 0."""
    sentences = random_captions(300, words)
    model = train(sentences)
    write_arpa(model, tmp_path / "model.arpa")
    found = read_strictly(tmp_path / "model.arpa")
    assert len(found) == sum(len(keys) for keys in model.keys)
    naive = [
        sum(backed_off(found, padded[max(end - 2, 0) : end], padded[end]) for end in range(1, len(padded)))
        for padded in (("<s>", *sentence, "</s>") for sentence in sentences)
    ]
    assert score(model, sentences).log_probs == pytest.approx(naive, abs=1e-9)
    # The test can fail: without these zeros n-grams would be gone.
    lines = (tmp_path / "model.arpa").read_text().splitlines(keepends=True)
    (tmp_path / "model.arpa").write_text("".join(line.replace("\t0.0\n", "\n") for line in lines))
    assert (len(read_strictly(tmp_path / "model.arpa")) < len(found)) == zeros


def test_unknown_words_have_the_probability_of_unk(tmp_path: Path):
    """As SRILM: in the place of an unknown word stands <unk>, also in contexts; one of probability 0 is left out."""
    arpa = (
        "\\data\\\nngram 1=4\nngram 2=3\nngram 3=1\n\n\\1-grams:\n{}\t<unk>\t-0.25\n-99\t<s>\t-0.5\n-0.4\tcat\t-0.125\n"
        "-0.3\t</s>\n\n\\2-grams:\n-0.2\tcat </s>\n-0.1\t<s> cat\t-0.0625\n-0.6\tcat <unk>\t-0.03125\n"
        "\n\\3-grams:\n-0.7\tcat <unk> cat\n\n\\end\\\n"
    )
    sentences = [["dog"], ["cat", "dog", "cat"], ["cat", "<unk>", "bird"]]
    (tmp_path / "open.arpa").write_text(arpa.format("-1.5"))
    found, known = score(read_arpa(tmp_path / "open.arpa"), sentences), read_strictly(tmp_path / "open.arpa")
    assert found.unknown.tolist() == found.zero.tolist() == [0, 0, 0]
    for sentence, log_prob in zip(sentences, found.log_probs, strict=True):
        padded = ["<s>", *(word if word == "cat" else "<unk>" for word in sentence), "</s>"]
        terms = [backed_off(known, tuple(padded[max(end - 2, 0) : end]), padded[end]) for end in range(1, len(padded))]
        assert log_prob == pytest.approx(sum(terms))
    assert found.log_probs[0] == pytest.approx((-0.5 - 1.5) + (-0.25 - 0.3))
    (tmp_path / "closed.arpa").write_text(arpa.format("-99"))
    closed = score(read_arpa(tmp_path / "closed.arpa"), sentences)
    assert closed.unknown.tolist() == [1, 0, 1]  # "cat <unk>" has a probability in this file, <unk> alone has none
    assert closed.log_probs[0] == pytest.approx(-0.25 - 0.3)


def test_file_of_another_program(tmp_path: Path):
    # As KenLM writes it: an unknown word, and n-grams in another order than ours.
    (tmp_path / "kenlm.arpa").write_text(
        "\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-1\t<unk>\t0\n-99\t<s>\t-0.5\n-0.4\tcat\t-0.25\n-0.3\t</s>\t0\n"
        "\n\\2-grams:\n-0.2\tcat </s>\n-0.1\t<s> cat\n\n\\end\\\n"
    )
    found = score(read_arpa(tmp_path / "kenlm.arpa"), [["cat"], ["dog", "cat"], ["cat", "cat"]])
    # The unknown word has a probability, and what follows it has no context.
    assert found.log_probs == pytest.approx([-0.1 - 0.2, -0.5 - 1 - 0.4 - 0.2, -0.1 - 0.25 - 0.4 - 0.2])
    assert found.unknown.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "announces no n-grams"),
        ("hello\n", "announces no n-grams"),
        ("\\data\\\nngram 1=2\n\\1-grams:\n-1 <s>\n-1 café\n", "line 5: not UTF-8"),
        ("\\data\\\nngram 1=2\n\\1-grams:\n-1 <s>\n-1 </s>\n", r"\\end\\, is missing"),
        ("\\data\\\nngram 1=3\n\\1-grams:\n-1 <s>\n-1 </s>\n\\end\\\n", "announces 3 n-grams and has 2"),
        ("\\data\\\nngram 1=2\n\\1-grams:\n-1 <s>\n-1 a\n\\end\\\n", "no unigram '</s>'"),
        ("\\data\\\nngram 1=2\n\\1-grams:\n-1 <s>\nx </s>\n\\end\\\n", "no number"),
        ("\\data\\\nngram 1=2\n\\1-grams:\n-1 <s>\n</s>\n\\end\\\n", "line 5"),
        ("\\data\\\nngram 1=2\n\\2-grams:\n", "line 3: section"),
        (
            "\\data\\\nngram 1=3\nngram 2=1\nngram 3=1\n\\1-grams:\n-1 <s>\n-1 a\n-1 </s>\n\\2-grams:\n-1 <s> a\n"
            "\\3-grams:\n-1 a a a\n\\end\\\n",
            "line 12: the 3-gram .* no context of 2 words",
        ),
    ],
)
def test_broken_file_is_named(tmp_path: Path, content: str, message: str, answers):
    (tmp_path / "broken.arpa").write_text(content, encoding="cp1252")
    with pytest.raises(ArpaError, match=message) as caught:
        read_arpa(tmp_path / "broken.arpa")
    answers.hold(f"a language model `{content}`".replace("\n", "⏎"), caught.value, "broken.arpa")


def test_missing_or_foreign_file(tmp_path: Path):
    with pytest.raises(ArpaError, match="cannot be read"):
        read_arpa(tmp_path / "none.arpa")
    write_arpa(train([["a"]]), tmp_path / "whole.arpa.gz")
    whole = (tmp_path / "whole.arpa.gz").read_bytes()
    for damaged in (b"not compressed", whole[:-20], whole[:20] + b"?" * 20 + whole[40:]):
        (tmp_path / "model.arpa.gz").write_bytes(damaged)
        with pytest.raises(ArpaError, match=r"model\.arpa\.gz cannot be read"):
            read_arpa(tmp_path / "model.arpa.gz")


def test_odd_sentences():
    with pytest.raises(ValueError, match="at least one sentence"):
        train([[], ["<s>"]])
    model = train([["猫", "が", "いる"], ["猫", "が", "いる"], ["a"], [], ["</s>", "<unk>"]])
    found = score(model, [["猫", "が", "いる"], ["<s>", "</s>", "<unk>"], ["x"] * 10_000, []])
    assert found.unknown.tolist() == [0, 3, 10_000, 0]
    assert (found.log_probs > LOG_ZERO).all()
    assert perplexity(found.log_probs[2], 10_000, 10_000, 1) == pytest.approx(10 ** -found.log_probs[2])
    assert perplexity(0, 3, 3, 0) is None
