"""Published accuracies of GPT-4V on SugarCrepe, recomputed from the answers in the repository of SugarCrepe.

The answers are the folder `gpt-4v-results` of github.com/RAIVNLab/sugar-crepe. They are no part of this repository:
SUGARCREPE_ANSWERS names a copy of the folder, without which the test is skipped.
"""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

from captionlab.judgements.foil_measures import Scored, pair_measures

ROOT = Path(__file__).parents[2]
FOLDERS = {"GPT-4V, caption first": "positive-first", "GPT-4V, negative first": "negative-first"}


def test_published_accuracies():
    if not (path := os.environ.get("SUGARCREPE_ANSWERS")):
        pytest.skip("SUGARCREPE_ANSWERS names no copy of the answers of GPT-4V")
    with open(ROOT / "src/captionlab/papers/valse/published.csv", newline="") as file:
        printed = {(row["row"], row["metric"]): row["value"] for row in csv.DictReader(file)}
    found = {}
    for model, folder in FOLDERS.items():
        for file in sorted((Path(path) / folder).glob("gpt4v-*.json")):
            entries = json.loads(file.read_text(encoding="utf-8")).values()
            chosen = [(entry["answer"]["multiple_choice_answer"], entry) for entry in entries]
            captions = np.array([text == entry["caption"] for text, entry in chosen], dtype=float)
            foils = np.array([text == entry["negative_caption"] for text, entry in chosen], dtype=float)
            unit = np.arange(len(chosen))
            scored = Scored(captions, foils, unit, np.full(len(unit), -1))
            value = pair_measures(scored, np.ones((1, len(unit))), None)["acc_r"][0]
            found[model, file.stem.removeprefix("gpt4v-").replace("_", " ")] = f"{100 * value:.2f}"
    published = {place: value for place, value in printed.items() if place[0] in FOLDERS}
    assert {place: value for place, value in found.items() if place in published} == published
