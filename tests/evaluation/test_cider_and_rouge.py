"""CIDEr and ROUGE-L are pycocoevalcap's to the last digit."""

import random

import pytest
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.cider.cider_scorer import CiderScorer
from pycocoevalcap.rouge.rouge import Rouge

from captionlab.evaluation.cider import cider
from captionlab.evaluation.rouge import rouge_l

IMAGES = [str(image) for image in range(300)]


def texts(seed: int, number: int) -> dict[str, list[str]]:
    """Texts of 0 to 14 of 40 words for each image."""
    generator, words = random.Random(seed), [f"w{n}" for n in range(40)]
    weights = [1 / rank for rank in range(1, 41)]

    def text() -> str:
        return " ".join(generator.choices(words, weights, k=generator.randint(0, 14)))

    return {image: [text() for _ in range(number)] for image in IMAGES}


CAPTIONS = {image: of_image[0] for image, of_image in texts(1, 1).items()}
REFERENCES = texts(2, 4)


def test_cider():
    expected = Cider().compute_score(REFERENCES, {image: [text] for image, text in CAPTIONS.items()})[1]
    assert cider([*CAPTIONS.items()], REFERENCES, dict.fromkeys(IMAGES, 1)) == expected.tolist()


def test_cider_of_several_documents_of_an_image():
    """As if the caption of an image were there as often as its references are a document."""
    scorer, first, times = CiderScorer(), [], {image: 1 + int(image) % 3 for image in IMAGES}
    for image, text in CAPTIONS.items():
        first.append(scorer.size())
        for _ in range(times[image]):
            scorer += (text, REFERENCES[image])
    expected = scorer.compute_score()[1]
    assert cider([*CAPTIONS.items()], REFERENCES, times) == [float(expected[place]) for place in first]


def test_rouge():
    scorer = Rouge()
    expected = [scorer.calc_score([text], REFERENCES[image]) for image, text in CAPTIONS.items()]
    assert [rouge_l(text, REFERENCES[image]) for image, text in CAPTIONS.items()] == expected


@pytest.mark.parametrize(("caption", "references"), [("", ["a b"]), ("a a a", ["a", "a a"]), ("b", ["a  b"])])
def test_rouge_of_odd_texts(caption, references):
    assert rouge_l(caption, references) == Rouge().calc_score([caption], references)
