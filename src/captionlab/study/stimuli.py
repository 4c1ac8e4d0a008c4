"""Screens of the study: sets of similar images, with captions of all types.

Dessì et al. 2023, section 4.2.4 and appendix A.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

IMAGES_OF_SCREEN = 10  # images of a screen: two rows of five (appendix A, figure 3)
EXAMPLE = "example"


class StudyError(ValueError):
    """Raised if the study cannot be made, or its responses cannot be read, from the input."""


def choose_sets(
    images: np.ndarray, order: Iterable[int], free: np.ndarray, count: int, max_similarity: float
) -> list[list[int]]:
    """Return `count` sets of a target and its nine nearest neighbours, as rows of `images`, the target first.

    `images` (n, d) are normalised. Targets are taken in `order`. Neighbours are the most similar images (cosine) that
    are in no set yet and not more similar than `max_similarity`, which excludes near duplicates. `free` (n,) says which
    images may be used; the images of the sets are set to not free. Raises StudyError if there are too few images.
    """
    chosen: list[list[int]] = []
    for target in order:
        if len(chosen) == count or not free[target]:
            continue
        similarity = images @ images[target]
        candidates = np.flatnonzero(free & (similarity <= max_similarity))
        candidates = candidates[candidates != target]
        nearest = candidates[np.argsort(-similarity[candidates], kind="stable")[: IMAGES_OF_SCREEN - 1]]
        members = [int(target), *map(int, nearest)]
        if len(members) == IMAGES_OF_SCREEN:
            free[members] = False
            chosen.append(members)
    if len(chosen) < count:
        raise StudyError(
            f"{len(images)} images give {len(chosen)} sets of {IMAGES_OF_SCREEN} with similarities up to "
            f"{max_similarity}, {count} are wanted; lower study.sets, raise study.max_similarity or take more images"
        )
    return chosen


def choose_controls(
    targets: Sequence[int],
    free: np.ndarray,
    count: int,
    found: Callable[[Sequence[Sequence[int]]], Sequence[bool]],
    generator: np.random.Generator,
) -> list[list[int]]:
    """Return `count` sets of a target and nine random images, as rows of images, the target first.

    Controls must be easy, which the authors ensured by hand. Here the function `found` takes sets and says for each set
    whether a retriever finds the target; other sets are not used. `free` (n,) says which images may be used; the images
    of the sets are set to not free. Raises StudyError if there are too few images or too few easy sets.
    """
    others = IMAGES_OF_SCREEN - 1
    spare = max(0, int(free.sum()) - count * others)
    candidates = [target for target in targets if free[target]][:spare]
    pool = generator.permutation(np.setdiff1d(np.flatnonzero(free), candidates))
    if len(candidates) < count:
        raise StudyError(
            f"{int(free.sum())} images are left for {count} controls and the example, which need "
            f"{count * IMAGES_OF_SCREEN}; lower study.sets or take a larger corpus"
        )
    chosen: list[list[int]] = []
    while len(chosen) < count and candidates:
        needed = count - len(chosen)
        now, candidates = candidates[:needed], candidates[needed:]
        # The images of a set that is not easy go back into the pool.
        sets = [[target, *map(int, pool[i * others : (i + 1) * others])] for i, target in enumerate(now)]
        easy = [members for members, good in zip(sets, found(sets), strict=True) if good]
        chosen += easy
        taken = [image for members in easy for image in members]
        free[taken] = False
        pool = generator.permutation(np.setdiff1d(pool, taken))
    if len(chosen) < count:
        raise StudyError(
            f"only {len(chosen)} of {count} controls are easy: the retriever does not find the others by their human "
            "captions; take a better study.encoder or a larger corpus"
        )
    return chosen


def arrange(
    sets: Sequence[Sequence[int]],
    controls: Sequence[Sequence[int]],
    block_size: int,
    types: Sequence[str],
    control_type: str,
    generator: np.random.Generator,
) -> list[dict[str, Any]]:
    """Return the screens of all blocks, then the example, as dictionaries.

    Their keys are block, question, role, stimulus, caption_type, members and position. `members` are the images in the
    order of the screen, `position` is the target's place, from 1.

    Sets are divided into groups of `block_size`, and a group gives a block for each of the `types`. A block shows each
    set of its group once, and each type equally often if `block_size` is a multiple of the number of types. The blocks
    of a group together show each set with captions of each type. `controls` are distributed evenly over the blocks, at
    random places; the last control is the example, and controls that do not fill all blocks are not used. Raises
    StudyError if the number of sets is no multiple of `block_size`.
    """
    if len(sets) % block_size:
        raise StudyError(f"study.sets is {len(sets)}, which is no multiple of study.block, {block_size}")
    groups = [sets[start : start + block_size] for start in range(0, len(sets), block_size)]
    blocks = len(groups) * len(types)
    *dealt, example = controls
    per_block = len(dealt) // blocks
    screens: list[dict[str, Any]] = []
    for group, members_of_group in enumerate(groups):
        first = generator.permutation(np.arange(block_size) % len(types)).tolist()
        for turn in range(len(types)):
            block = group * len(types) + turn + 1
            shown = [
                ("question", f"set-{group * block_size + i + 1:04d}", types[(first[i] + turn) % len(types)], members)
                for i, members in enumerate(members_of_group)
            ]
            shown += [
                ("control", f"control-{number + 1:03d}", control_type, dealt[number])
                for number in range((block - 1) * per_block, block * per_block)
            ]
            for question, index in enumerate(generator.permutation(len(shown)), 1):
                screens.append({"block": block, "question": question, **_screen(generator, *shown[index])})
    screens.append({"block": 0, "question": 0, **_screen(generator, EXAMPLE, EXAMPLE, control_type, example)})
    return screens


def _screen(
    generator: np.random.Generator, role: str, stimulus: str, caption_type: str, members: Sequence[int]
) -> dict[str, Any]:
    """Return a screen with its images in random order; `members` has the target first."""
    order = generator.permutation(len(members)).tolist()
    screen = {"role": role, "stimulus": stimulus, "caption_type": caption_type}
    return {**screen, "members": [members[place] for place in order], "position": order.index(0) + 1}


def study_name(screens: Iterable[Mapping[str, Any]]) -> str:
    """Return a name that identifies the rows of STIMULI.

    Responses carry the name, so that they are never read with the screens of another study.
    """
    content = [[row["block"], row["question"], row["caption"], list(row["images"])] for row in screens]
    return "study-" + hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]


def read_exclusions(path: str | os.PathLike[str], known: Iterable[str]) -> set[str]:
    """Return the ids of images that must not be shown: an id per line, without empty lines and comments (#).

    Raises StudyError for a line that is no id of the `known` images.
    """
    lines = [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines()]
    excluded = {line for line in lines if line and not line.startswith("#")}
    if unknown := sorted(excluded - {*known}):  # a mistyped line would let a disturbing image through
        raise StudyError(f"{path}: {unknown[0]!r} is no image of the corpus ({len(unknown)} such lines)")
    return excluded
