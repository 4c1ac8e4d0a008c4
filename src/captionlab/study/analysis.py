"""Analysis of the answers: accuracy by caption type, differences between types, and agreement of participants.

Participants and sets of images are both samples, so intervals resample both, crossed: the weight of an answer is how
often its participant was drawn times how often its set was drawn (Owen 2007, "The pigeonhole bootstrap", section 3),
which is conservative. Agreement beyond chance is the kappa of Brennan and Prediger (1981). Its chance agreement is the
agreement of random choices, because each screen has its own images, so choices on other screens carry no information.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from captionlab.statistics.intervals import (
    NOTHING,
    RESAMPLES,
    bootstrap_p_value,
    bootstrap_share_interval,
    share_interval,
)
from captionlab.study.stimuli import IMAGES_OF_SCREEN

Answer = Mapping[str, Any]
ALL_TYPES = "all"
MEASURES = ("pairs", "kappa")


class Accuracies:
    """Accuracy of each caption type, on all answers that count and on crossed bootstrap samples of the answers."""

    def __init__(self, answers: Sequence[Answer], seed: int):
        self.answers, self.types = _counted(answers)
        people, person = np.unique([answer["participant"] for answer in self.answers], return_inverse=True)
        sets, of_set = np.unique([answer["stimulus"] for answer in self.answers], return_inverse=True)
        generator = np.random.default_rng(seed)
        weights_of_people, weights_of_sets = (_draws(generator, len(units)) for units in (people, sets))
        # The number of independent units: of participants or sets, whichever are fewer.
        self.units = min(len(people), len(sets))
        self.resampled: dict[str, np.ndarray] = {}
        self.value: dict[str, float] = {}
        correct = np.array([float(answer["correct"]) for answer in self.answers])
        for name in self.types:
            chosen = np.array([answer["caption_type"] == name for answer in self.answers])
            right, all_ = (np.zeros((len(people), len(sets))) for _ in range(2))
            np.add.at(right, (person[chosen], of_set[chosen]), correct[chosen])
            np.add.at(all_, (person[chosen], of_set[chosen]), 1.0)
            self.value[name] = 100 * right.sum() / all_.sum()
            hits = np.einsum("rp,ps,rs->r", weights_of_people, right, weights_of_sets, optimize=True)
            counts = np.einsum("rp,ps,rs->r", weights_of_people, all_, weights_of_sets, optimize=True)
            with np.errstate(invalid="ignore"):
                # With few participants, a sample may have no answer of this type; its accuracy is undefined.
                self.resampled[name] = np.where(counts > 0, 100 * hits / counts, np.nan)

    def table(self) -> list[dict[str, Any]]:
        """Return the rows of the ACCURACY table."""
        rows = []
        for name in self.types:
            own = [answer for answer in self.answers if answer["caption_type"] == name]
            variance = float(np.var(_finite(self.resampled[name]) / 100))
            low, high = share_interval(self.value[name] / 100, variance, self.units, len(own))
            value = {"caption_type": name, "value": self.value[name], "ci_low": 100 * low, "ci_high": 100 * high}
            people, sets = ({answer[unit] for answer in own} for unit in ("participant", "stimulus"))
            rows.append({**value, "answers": len(own), "participants": len(people), "stimuli": len(sets)})
        return rows

    def pairwise(self) -> list[dict[str, Any]]:
        """Return the rows of the PAIRWISE table: differences between each two caption types.

        Interval and p-value come from the same bootstrap samples, and neither is corrected for the number of pairs.
        """
        rows: list[dict[str, Any]] = []
        for name, other in combinations(self.types, 2):
            resampled = _finite(self.resampled[name] - self.resampled[other])
            difference = self.value[name] - self.value[other]
            low, high = bootstrap_share_interval(difference, resampled, self.units, (-100.0, 100.0))
            value = {"difference": difference, "ci_low": low, "ci_high": high}
            rows.append({"caption_type": name, "against": other, **value, "p_value": self._p_value(resampled)})
        return rows

    def _p_value(self, differences: np.ndarray) -> float:
        """Return the two-sided p-value of a difference from its bootstrap samples.

        If all samples are equal, it is the p-value of a sign test of `units` units.
        """
        if np.ptp(differences) > NOTHING:
            return bootstrap_p_value(differences)
        return min(1.0, 2 * 0.5**self.units) if differences[0] else 1.0


def agreement(answers: Sequence[Answer], seed: int) -> list[dict[str, Any]]:
    """Return the rows of the AGREEMENT table, by caption type and for all types together."""
    counted, types = _counted(answers)
    rows = []
    for name in [*types, ALL_TYPES]:
        screens: dict[tuple[int, int], list[str]] = {}
        for answer in counted:
            if name in (answer["caption_type"], ALL_TYPES):
                screens.setdefault((answer["block"], answer["question"]), []).append(answer["chosen"])
        pairs = np.array([_pairs(choices) for choices in screens.values() if len(choices) > 1]).reshape(-1, 2)
        drawn = _draws(np.random.default_rng(seed), len(pairs)) if len(pairs) else None
        for measure in MEASURES:
            value, low, high = None, None, None
            if drawn is not None:
                value = float(_measure(measure, pairs.sum(axis=0)))
                none, every = (float(_measure(measure, np.array([agreeing, 1.0]))) for agreeing in (0.0, 1.0))
                low, high = bootstrap_share_interval(value, _measure(measure, drawn @ pairs), len(pairs), (none, every))
            row = {"caption_type": name, "measure": measure, "value": value, "ci_low": low, "ci_high": high}
            rows.append({**row, "screens": len(pairs)})
    return rows


def _counted(answers: Sequence[Answer]) -> tuple[list[Answer], list[str]]:
    """Return the answers that count, and their caption types."""
    counted = [answer for answer in answers if answer["role"] == "question" and not answer["excluded"]]
    return counted, sorted({answer["caption_type"] for answer in counted})


def _pairs(choices: Sequence[str]) -> tuple[float, float]:
    """Return the number of pairs of answers to a screen that agree, and the number of all pairs."""
    counts = np.unique(choices, return_counts=True)[1]
    return float((counts * (counts - 1)).sum() / 2), len(choices) * (len(choices) - 1) / 2


def _measure(measure: str, pairs: np.ndarray) -> np.ndarray:
    """Return a measure (...) from the numbers of agreeing pairs and all pairs (..., 2)."""
    observed = pairs[..., 0] / pairs[..., 1]
    if measure == "pairs":
        return observed
    chance = 1 / IMAGES_OF_SCREEN
    return (observed - chance) / (1 - chance)


def _draws(generator: np.random.Generator, units: int) -> np.ndarray:
    """Return how often each unit is drawn in each sample with replacement, (resamples, units)."""
    return generator.multinomial(units, np.full(units, 1 / units), size=RESAMPLES).astype(np.float64)


def _finite(resampled: np.ndarray) -> np.ndarray:
    return resampled[np.isfinite(resampled)]
