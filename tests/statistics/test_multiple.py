"""Corrections for the number of comparisons."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from captionlab.statistics.multiple import holm


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_holm_as_statsmodels_does(count):
    generator = np.random.default_rng(count)
    p_values = np.where(generator.random(count) < 0.3, 0.01, generator.random(count) ** 2)  # with ties
    assert holm(p_values.tolist()) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


def test_missing_p_values_do_not_count():
    assert holm([0.04, None, 0.01]) == [0.04, None, 0.02]
    assert holm([]) == []
