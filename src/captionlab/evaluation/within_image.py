"""Similarity of the captions of an image: mBLEU (Shetty et al. 2017) and self-CIDEr (Wang and Chan 2019)."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack
from scipy.sparse.linalg import norm

from captionlab.evaluation.bleu import BLEU_COUNTS, bleu_counts, corpus_bleu
from captionlab.texts.counting import first_of_groups, ngram_counts

ORDERS = 4  # BLEU and CIDEr use n-grams up to this order


def mutual_bleu_counts(images: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return the ten counts of `bleu_counts` for each caption, with the other captions of its image as references.

    images: two or more captions of each image, as tokens joined by spaces. The counts follow the order of images and
    captions.
    """
    every = ((captions, index) for captions in images for index in range(len(captions)))
    return bleu_counts((captions[index], [*captions[:index], *captions[index + 1 :]]) for captions, index in every)[1]


def mutual_bleu(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Return mBLEU-4 (...), 0 to 1, from sums (..., 11 K) over images, as Shetty et al. 2017 compute it.

    K is the largest number of captions of an image. For each rank k the sums have the ten sums of `mutual_bleu_counts`
    over the k-th captions of all images, and the number of k-th captions. mBLEU-4 is the mean over k of the corpus
    BLEU-4 of the k-th captions, weighted by the number of k-th captions.
    """
    of_ranks = sums.reshape(*sums.shape[:-1], -1, BLEU_COUNTS + 1)
    numbers = of_ranks[..., BLEU_COUNTS]
    return np.asarray((corpus_bleu(of_ranks, numbers, ORDERS) * numbers).sum(axis=-1) / numbers.sum(axis=-1))


def self_cider(images: Sequence[Sequence[str]], references: Mapping[str, Sequence[str]]) -> list[float]:
    """Return the diversity of the captions of each image, 0 (all alike) to 1 (no two share an informative n-gram).

    images: two or more captions of each image; references: references of all images of the corpus, from which the idf
    is computed. Both are tokens joined by spaces.

    Wang and Chan 2019: from the matrix of CIDEr between captions, take the square roots of the eigenvalues, divide
    their sum by the largest, and take the logarithm to the base of the number of captions. A caption without an n-gram
    of idf above 0 adds nothing. If no caption of an image has such an n-gram, the diversity is 0.
    """
    vectors = _cider_vectors([caption for captions in images for caption in captions], references)
    ends = np.cumsum([len(captions) for captions in images])
    return [_spread(vectors[end - len(captions) : end]) for captions, end in zip(images, ends, strict=True)]


def _spread(vectors: csr_array) -> float:
    """Return the diversity of captions from their vectors (captions, n-grams) of `_cider_vectors`."""
    grams, columns = np.unique(vectors.indices, return_inverse=True)
    dense = np.zeros((vectors.shape[0], len(grams)))
    dense[np.repeat(np.arange(len(dense)), np.diff(vectors.indptr)), columns] = vectors.data
    # The singular values are the roots of the eigenvalues of the products, without the rounding errors of the products.
    roots = np.linalg.svd(dense, compute_uv=False)
    return float(np.log(roots.sum() / roots.max()) / np.log(len(dense))) if roots.any() else 0.0


def _cider_vectors(captions: Sequence[str], references: Mapping[str, Sequence[str]]) -> csr_array:
    """Return vectors (captions, n-grams) whose products are CIDEr, 0 to 1 (Vedantam et al. 2015, equations 1 to 3).

    CIDEr here is the mean over n = 1 to 4 of the cosine of tf-idf vectors. The length penalty and the clipping of
    CIDEr-D are left out, because they make the measure asymmetric.
    """
    described = [text.split() for of_image in references.values() for text in of_image]
    image = np.repeat(np.arange(len(references)), [len(of_image) for of_image in references.values()])
    texts, of_order = [*(caption.split() for caption in captions), *described], []
    for n in range(1, ORDERS + 1):
        counts = ngram_counts(texts, n)
        _, grams = first_of_groups(counts[len(captions) :], image)
        documents = np.bincount(grams, minlength=counts.shape[1])
        idf = np.log(len(references)) - np.log(np.maximum(1, documents))
        weighted = counts[: len(captions)] @ diags_array(idf)
        lengths = norm(weighted, axis=1)
        of_order.append(diags_array(1 / np.where(lengths > 0, lengths, 1)) @ weighted)
    return hstack(of_order, format="csr") / np.sqrt(ORDERS)
