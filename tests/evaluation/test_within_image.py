import math
import random
from collections import Counter

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu

from captionlab.evaluation.bleu import corpus_bleu
from captionlab.evaluation.within_image import mutual_bleu, mutual_bleu_counts, self_cider

WORDS = ["a", "man", "dog", "rides", "horse", "on", "the", "red", "beach", "near", "water"]
SENTENCE = "a man rides a horse on the beach"


@pytest.fixture(scope="module")
def images():
    """Captions of images, two to five of each, some of which share many words or are the same, or empty."""
    generator = random.Random(0)
    found = []
    for _ in range(30):
        first = generator.choices(WORDS, k=generator.randint(4, 10))
        captions = [first]
        for _ in range(generator.randint(1, 4)):
            kept = first[: generator.randint(0, len(first))]
            captions.append([*kept, *generator.choices(WORDS, k=generator.randint(0, 4))])
        found.append([" ".join(words) for words in captions])
    return found


@pytest.fixture(scope="module")
def references():
    generator = random.Random(1)
    return {str(image): [" ".join(generator.choices(WORDS, k=8)) for _ in range(3)] for image in range(12)}


def ngrams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def bleu_4_by_hand(caption, others):
    """Papineni et al. 2002, with the constants that pycocoevalcap adds so that nothing is divided by 0."""
    words, texts = caption.split(), [other.split() for other in others]
    value = 1.0
    for n in range(1, 5):
        most = Counter()
        for text in texts:
            most |= ngrams(text, n)
        matched = (ngrams(words, n) & most).total()
        value *= ((matched + 1e-15) / (ngrams(words, n).total() + 1e-9)) ** (1 / 4)
    closest = min((len(text) for text in texts), key=lambda length: (abs(length - len(words)), length))
    ratio = (len(words) + 1e-15) / (closest + 1e-9)
    return value * math.exp(min(0, 1 - 1 / ratio))


def cider_by_hand(one, other, references):
    """Vedantam et al. 2015, equations 1 to 3, of two texts; idf by image."""
    cosines = []
    for n in range(1, 5):
        vectors = []
        for text in (one, other):
            vector = {}
            for gram, count in ngrams(text.split(), n).items():
                images = sum(any(gram in ngrams(r.split(), n) for r in texts) for texts in references.values())
                vector[gram] = count * math.log(len(references) / max(1, images))
            vectors.append(vector)
        lengths = [math.sqrt(sum(weight**2 for weight in vector.values())) for vector in vectors]
        product = sum(weight * vectors[1].get(gram, 0) for gram, weight in vectors[0].items())
        cosines.append(product / math.prod(lengths) if math.prod(lengths) else 0.0)
    return sum(cosines) / 4


def by_rank(images):
    """Sums over images (11 K,) for `mutual_bleu`: the counts of the k-th captions, and how many of these there are."""
    counts = iter(mutual_bleu_counts(images))
    sums = np.zeros((max(map(len, images)), 11))
    for captions in images:
        for rank, _ in enumerate(captions):
            sums[rank] += [*next(counts), 1]
    return sums.ravel()


def test_counts_of_each_caption_against_the_others(images):
    expected = [
        bleu_4_by_hand(caption, [other for at, other in enumerate(captions) if at != index])
        for captions in images
        for index, caption in enumerate(captions)
    ]
    assert 20 < sum(value > 0.05 for value in expected) < len(expected)
    found = [corpus_bleu(np.array(counts, dtype=float), 1, 4) for counts in mutual_bleu_counts(images)]
    assert found == pytest.approx(expected, abs=1e-9)


def test_mutual_bleu_is_the_mean_of_the_corpus_bleu_of_the_kth_captions(images):
    """As pycocoevalcap scores the k-th captions of all images, with the other captions of an image as references."""
    four = [captions[:4] for captions in images if len(captions) >= 4]
    assert len(four) > 10
    expected = []
    for k in range(4):
        candidates = {image: [captions[k]] for image, captions in enumerate(four)}
        others = {image: captions[:k] + captions[k + 1 :] for image, captions in enumerate(four)}
        expected.append(Bleu(4).compute_score(others, candidates, verbose=0)[0][3])
    assert mutual_bleu(by_rank(four), len(four)) == pytest.approx(np.mean(expected), rel=1e-12)
    # Other than the mean of the values of single captions, which is far below.
    alone = [corpus_bleu(np.array(counts, dtype=float), 1, 4) for counts in mutual_bleu_counts(four)]
    assert np.mean(expected) > np.mean(alone) + 0.02


def test_a_rank_that_few_images_have_counts_as_often_as_it_has_captions(images):
    numbers = [sum(len(captions) > k for captions in images) for k in range(max(map(len, images)))]
    assert len({*numbers}) > 1
    expected = []
    for k in range(len(numbers)):
        having = [captions for captions in images if len(captions) > k]
        candidates = {image: [captions[k]] for image, captions in enumerate(having)}
        others = {image: captions[:k] + captions[k + 1 :] for image, captions in enumerate(having)}
        expected.append(Bleu(4).compute_score(others, candidates, verbose=0)[0][3])
    assert mutual_bleu(by_rank(images), sum(numbers)) == pytest.approx(np.average(expected, weights=numbers), rel=1e-12)


def test_captions_that_are_the_same_have_a_mutual_bleu_of_1_and_empty_ones_of_0():
    assert mutual_bleu(by_rank([[SENTENCE] * 3]), 3) == pytest.approx(1)
    assert mutual_bleu(by_rank([["", SENTENCE], ["", ""]]), 4) == pytest.approx(0, abs=1e-6)
    assert mutual_bleu_counts([]) == []


def test_self_cider_is_of_the_eigenvalues_of_the_matrix_of_cider(images, references):
    expected = []
    for captions in images:
        kernel = [[cider_by_hand(one, other, references) for other in captions] for one in captions]
        roots = np.sqrt(np.maximum(np.linalg.eigvalsh(np.array(kernel)), 0))
        expected.append(-math.log(max(roots) / sum(roots), len(captions)))
    assert max(expected) - min(expected) > 0.3
    assert self_cider(images, references) == pytest.approx(expected, abs=1e-6)


def test_self_cider_by_hand():
    """Two captions that are the same and one that shares nothing with them: eigenvalues 2, 1 and 0."""
    references = {"1": ["a b c d e f g h"], "2": ["x"]}
    same, other, none = "a b c d", "e f g h", "x y z"
    by_hand = math.log((math.sqrt(2) + 1) / math.sqrt(2), 3)
    found = self_cider([[same, same, other], [same, other], [same, same], ["", ""], ["", same]], references)
    assert found == pytest.approx([by_hand, 1, 0, 0, 0], abs=1e-12)
    # It counts neither which of both comes first nor a factor, but how many orders of n-grams a caption has.
    orders = math.sqrt(3 / 4)
    assert self_cider([[none, same]], references) == pytest.approx([math.log(1 + orders, 2)], abs=1e-12)
