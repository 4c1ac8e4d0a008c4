"""The choice of image sets, controls and blocks, against the rules of Dessì et al. 2023, appendix A."""

from collections import Counter

import numpy as np
import pytest
from support.study_stand_in import TYPES, study_screens

from captionlab.study.stimuli import (
    IMAGES_OF_SCREEN,
    StudyError,
    choose_controls,
    choose_sets,
    read_exclusions,
    study_name,
)


def directions(rows: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(rows, 3))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def test_sets_are_the_nearest_free_neighbours_below_the_limit():
    images, limit = directions(120), 0.95
    free = np.ones(120, dtype=bool)
    free[7] = False
    sets = choose_sets(images, range(120), free, 4, limit)
    used: set[int] = {7}
    for target, *neighbours in sets:
        # A naive search: all images by similarity, those too near or shown before left out.
        ranked = sorted(range(120), key=lambda i: -float(images[i] @ images[target]))
        wanted = [i for i in ranked if i != target and i not in used and images[i] @ images[target] <= limit][:9]
        assert neighbours == wanted
        used |= {target, *neighbours}
    assert len(used) == 41
    assert free.sum() == 120 - len(used)


def test_duplicates_of_a_target_are_not_shown_with_it():
    images = np.concatenate([directions(40), directions(40)])
    [members] = choose_sets(images, [0], np.ones(80, dtype=bool), 1, 0.999)
    assert 40 not in members


def test_too_few_images_are_a_sentence():
    with pytest.raises(StudyError, match=r"30 images give \d sets of 10 .* 4 are wanted; lower study.sets"):
        choose_sets(directions(30), range(30), np.ones(30, dtype=bool), 4, 1.0)


def test_controls_are_easy_and_share_no_image():
    free = np.ones(200, dtype=bool)
    free[:50] = False
    controls = choose_controls(
        range(60, 200), free, 5, lambda sets: [s[0] % 2 == 0 for s in sets], np.random.default_rng(0)
    )
    assert [members[0] % 2 for members in controls] == [0] * 5
    images = [image for members in controls for image in members]
    assert len(images) == len(set(images)) == 5 * IMAGES_OF_SCREEN
    assert min(images) >= 50
    assert not free[images].any()


def test_controls_that_nobody_can_solve_are_refused():
    with pytest.raises(StudyError, match="only 0 of 3 controls are easy"):
        choose_controls(range(200), np.ones(200, dtype=bool), 3, lambda s: [False] * len(s), np.random.default_rng(0))
    with pytest.raises(StudyError, match="20 images are left for 3 controls"):
        choose_controls(range(20), np.ones(20, dtype=bool), 3, lambda s: [True] * len(s), np.random.default_rng(0))


def test_blocks():
    screens = study_screens(sets=12, controls=2, block=6)
    *rest, example = screens
    assert (example["block"], example["question"], example["role"]) == (0, 0, "example")
    questions = [screen for screen in rest if screen["role"] == "question"]
    # Every set with every type, each combination once, and no set twice in a block.
    assert Counter((s["stimulus"], s["caption_type"]) for s in questions) == {
        (f"set-{n:04d}", name): 1 for n in range(1, 13) for name in TYPES
    }
    assert len({(s["block"], s["stimulus"]) for s in questions}) == len(questions)
    for block in range(1, 7):
        here = [screen for screen in rest if screen["block"] == block]
        assert sorted(s["question"] for s in here) == list(range(1, 9))
        assert Counter(s["caption_type"] for s in here if s["role"] == "question") == dict.fromkeys(TYPES, 2)
        assert [s["caption_type"] for s in here if s["role"] == "control"] == ["people"] * 2
    assert all(s["images"][s["position"] - 1] == s["target"] for s in screens)
    # No image is in two sets; controls and the example are sets of their own.
    of_set = {}
    for screen in screens:
        assert of_set.setdefault(screen["stimulus"], set(screen["images"])) == set(screen["images"])
    assert sum(map(len, of_set.values())) == len(set.union(*of_set.values()))


def test_controls_and_targets_are_at_random_places():
    screens = [s for seed in range(30) for s in study_screens(controls=2, seed=seed)]
    assert len({s["question"] for s in screens if s["role"] == "control"}) == 8
    assert {s["position"] for s in screens} == set(range(1, 11))


def test_a_study_is_named_by_its_screens():
    screens = study_screens()
    assert study_name(screens) == study_name(study_screens())
    assert study_name(screens) != study_name(study_screens(seed=1))
    assert study_name(screens).startswith("study-")  # PsychoPy would read digits with an e among them as a number


def test_exclusion_list(tmp_path, answers):
    path = tmp_path / "exclude.txt"
    path.write_text("# disturbing\n a b \n\nc\n")
    assert read_exclusions(path, ["a b", "c", "d"]) == {"a b", "c"}
    with pytest.raises(StudyError) as error:
        read_exclusions(path, ["c"])
    answers.hold(
        "`study.exclude`: a file with a line `a b`", error.value, "exclude.txt: 'a b' is no image of the corpus (1"
    )
