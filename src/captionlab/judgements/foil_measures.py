"""Measures of how well scores tell captions from foils, on all images and on bootstrap samples of the images.

VALSE (Parcalabescu et al. 2022, section 5.1): the share of pairs whose caption scores higher than the foil (acc_r); for
scores that are probabilities of a match, the share of captions above 1/2 (p_c), the share of foils that are not above
1/2 (p_f) and the mean of both (acc); the area under the ROC curve (AUROC). Winoground (Thrush et al. 2022, section 4.1)
has two images and two captions: each image must prefer its caption (text score), each caption must prefer its image
(image score), or both (group score).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

PAIRWISE, ACCURACY, OF_CAPTIONS, OF_FOILS, AUROC = "acc_r", "acc", "p_c", "p_f", "AUROC"
TEXT, IMAGE, GROUP = "text score", "image score", "group score"
OF_PAIRS, OF_TIED = (PAIRWISE, ACCURACY, OF_CAPTIONS, OF_FOILS, AUROC), (TEXT, IMAGE, GROUP)
# Measures that count texts above and below a probability.
THRESHOLDED = (ACCURACY, OF_CAPTIONS, OF_FOILS)


@dataclass(frozen=True)
class Scored:
    """Scores of captions and foils, both (n,); `unit` (n,) is the position of the unit that is resampled.

    `tie` (n,) is the number that the pairs of two images with the same captions share, -1 for an untied pair.
    """

    captions: np.ndarray
    foils: np.ndarray
    unit: np.ndarray
    tie: np.ndarray

    def restricted(self, kept: np.ndarray) -> "Scored":
        """Return the pairs where `kept` (n,) is true."""
        return Scored(self.captions[kept], self.foils[kept], self.unit[kept], self.tie[kept])


def pair_measures(scored: Scored, weights: np.ndarray, threshold: float | None) -> dict[str, np.ndarray]:
    """Return measures of OF_PAIRS, each (m,), where units count as often as in weights (m, units).

    `threshold` is the score of the probability 1/2, or None if the score is no probability: then only acc_r and AUROC
    are defined. A tie of caption and foil is wrong, as in the code of VALSE.
    """
    unit = scored.unit
    found = {PAIRWISE: _share(weights, unit, scored.captions > scored.foils)}
    if threshold is not None:
        found[OF_CAPTIONS] = _share(weights, unit, scored.captions > threshold)
        found[OF_FOILS] = _share(weights, unit, scored.foils <= threshold)
        found[ACCURACY] = (found[OF_CAPTIONS] + found[OF_FOILS]) / 2
    found[AUROC] = _auroc(scored, weights)
    return found


def tied_measures(scored: Scored, weights: np.ndarray) -> tuple[dict[str, np.ndarray], int]:
    """Return measures of OF_TIED, each (m,), and the number of pairs of images; pairs that lack one side are left out.

    The foil of each image is the caption of the other image.
    """
    sides: dict[int, list[int]] = {}
    for row, tie in enumerate(scored.tie.tolist()):
        if tie >= 0:
            sides.setdefault(tie, []).append(row)
    both = np.array([rows for rows in sides.values() if len(rows) == 2], dtype=int).reshape(-1, 2)
    captions, foils = scored.captions[both], scored.foils[both]  # (pairs, 2): by image
    text = (captions > foils).all(axis=1)
    # The caption of an image is the foil of the other image.
    image = (captions > foils[:, ::-1]).all(axis=1)
    rights: Mapping[str, np.ndarray] = {TEXT: text, IMAGE: image, GROUP: text & image}
    return {name: _share(weights, scored.unit[both[:, 0]], right) for name, right in rights.items()}, len(both)


def _share(weights: np.ndarray, unit: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the share (m,) of rows that are right; NaN where no row counts."""
    size = weights.shape[1]
    hits, rows = (weights @ np.bincount(unit, counted, size) for counted in (right, np.ones(len(right))))
    return np.divide(hits, rows, out=np.full(len(rows), np.nan), where=rows > 0)


def _auroc(scored: Scored, weights: np.ndarray) -> np.ndarray:
    """Return the probability (m,) that a caption scores higher than a foil of any pair; a tie counts half.

    All pairs of images are counted once, and copies of an image multiply these counts. So memory grows with the square
    of the number of images.
    """
    present, unit = np.unique(scored.unit, return_inverse=True)
    ranks = np.unique(np.concatenate([scored.captions, scored.foils]), return_inverse=True)[1]
    captions, foils = ranks[: len(unit)], ranks[len(unit) :]
    higher = (1 + np.sign(captions[:, None] - foils[None, :])) / 2
    if len(present) < len(unit):
        rows = np.zeros((len(present), len(unit)))
        np.add.at(rows, unit, higher)
        higher = np.zeros((len(present), len(present)))
        np.add.at(higher.T, unit, rows.T)
    else:
        order = np.argsort(unit)
        higher = higher[np.ix_(order, order)]
    here = weights[:, present]
    pairs = (here @ np.bincount(unit)) ** 2
    wins = ((here @ higher) * here).sum(axis=1)
    return np.divide(wins, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
