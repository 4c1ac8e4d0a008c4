"""CIDEr-D from tables of n-grams against pycocoevalcap's, which counts dictionaries."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from pycocoevalcap.cider.cider import Cider

from captionlab.evaluation.cider import CiderD

WORDS = ["a", "dog", "red", "on", "the", "grass", "two", "cats", "with", "ball", "runs", "sofa"]


def sentences(count, seed, words=WORDS):
    draw = random.Random(seed)
    return [[draw.choice(words) for _ in range(draw.randint(1, 12))] for _ in range(count)]


@pytest.fixture(scope="module")
def references():
    flat = iter(sentences(400, seed=1))
    return [[next(flat) for _ in range(1 + image % 5)] for image in range(120)]


def theirs(references, captions):
    """pycocoevalcap's score of one caption of each image."""
    joined = {image: [" ".join(words) for words in of_image] for image, of_image in enumerate(references)}
    _, scores = Cider().compute_score(joined, {image: [" ".join(words)] for image, words in enumerate(captions)})
    return scores


@pytest.mark.parametrize("words", [WORDS, [*WORDS[:4], "unknown", "words"]])
def test_numbers_of_pycocoevalcap(references, words):
    captions = sentences(len(references), seed=2, words=words)
    captions[3], captions[4], captions[5] = references[3][0], ["unknown"], references[5][0] * 3
    ours = CiderD(references).score(range(len(references)), captions)
    np.testing.assert_allclose(ours, theirs(references, captions), rtol=0, atol=1e-12)
    assert ours.max() > 1


def test_several_captions_of_an_image_in_any_order(references):
    cider = CiderD(references)
    captions = [sentences(len(references), seed=seed) for seed in (3, 4)]
    expected = [theirs(references, of_seed) for of_seed in captions]
    images = [17, 2, 17, 2, 90]
    chosen = [captions[number % 2][image] for number, image in enumerate(images)]
    ours = cider.score(images, chosen)
    np.testing.assert_allclose(ours, [expected[number % 2][image] for number, image in enumerate(images)], atol=1e-12)
    np.testing.assert_allclose(cider.score([2], [chosen[1]]), ours[1:2])


def test_nothing_to_compare_is_zero(references):
    cider = CiderD([*references, []])
    assert cider.score([0, len(references)], [[], ["a", "dog"]]).tolist() == [0, 0]
    assert cider.score([], []).tolist() == []


def test_cider_of_a_captioner_is_the_evaluation_s(references):
    """Captions decoded, tokenised word by word, and scored: as a whole through the Java tokeniser and pycocoevalcap."""
    import torch
    from support.decodings import decoding_of

    from captionlab.captioners.newfc.captioner import NewFC
    from captionlab.evaluation.ptb import tokenize
    from captionlab.generation.decoding import decode
    from captionlab.networks.words import learn_words
    from captionlab.training.captioners import CiderOfCaptions

    torch.set_num_threads(1)
    texts = [
        [" ".join(words).capitalize() + (", cannot!" if image % 2 else ".") for words in of_image]
        for image, of_image in enumerate(references[:20])
    ]
    tokenizer = learn_words([text for of_image in texts for text in of_image], 1)
    torch.manual_seed(0)
    captioner = NewFC(3, 8, 8, tokenizer.size).eval()
    captioner.logit.bias.data[tokenizer.encode(["cannot"])[0]] += 0.7
    visual, decoding = 3 * torch.randn(20, 3), decoding_of("greedy", 9)
    ours = CiderOfCaptions(visual, texts, tokenizer, decoding, batch=7)(captioner)
    captions = tokenizer.decode(decode(captioner, visual, decoding, tokenizer).tokens.tolist())
    assert any("cannot" in caption for caption in captions)  # which the tokeniser cuts in two
    tokenized = [[text.split() for text in tokenize(of_image)] for of_image in texts]
    whole = [text.split() for text in tokenize(captions)]
    assert ours == pytest.approx(float(np.mean(theirs(tokenized, whole))), abs=1e-9)
    assert ours > 0


def test_cider_of_captions_in_the_words_of_the_references(references, monkeypatch):
    """Words of all references, whatever the last of them says."""
    import torch
    from support.decodings import decoding_of

    from captionlab.networks.words import learn_words
    from captionlab.training import captioners

    texts = [[" ".join(words) for words in of_image] for of_image in references[:20]]
    texts[-1] = ["sofa"]
    tokenizer = learn_words([text for of_image in texts for text in of_image], 1)
    said = [of_image[0] for of_image in texts]
    tokens = tokenizer.encode(said)
    longest = max(map(len, tokens))
    padded = torch.tensor([[*ids, *[tokenizer.end] * (longest - len(ids))] for ids in tokens])
    monkeypatch.setattr(captioners, "decode", lambda *_: SimpleNamespace(tokens=padded))
    cider = captioners.CiderOfCaptions(torch.zeros(20, 3), texts, tokenizer, decoding_of("greedy", 9), batch=20)
    expected = theirs([[text.split() for text in of_image] for of_image in texts], [text.split() for text in said])
    assert cider(None) == pytest.approx(float(np.mean(expected)), abs=1e-9)
    assert cider(None) > 3
