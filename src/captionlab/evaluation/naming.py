"""Shares of captions that name an object of their image, and numbers of different captions."""

import re
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from captionlab.corpora.toyworld.lexicon import NOUNS
from captionlab.statistics.intervals import Ends, bootstrap_share_interval, resampled_sums
from captionlab.texts.plurals import regular_plural

# A caption: the id of its image, and its text.
Caption = tuple[str, str]


def words(text: str) -> list[str]:
    """Return the runs of letters and digits in a text, in lower case."""
    return re.findall(r"[^\W_]+", text.lower())


def names_of(label: str, toyworld: bool) -> frozenset[str]:
    """Return the names of an object of a class, singular and plural: all its nouns in the toy world, else its label.

    The plural of a label is the regular plural of its last word. Raises ValueError if the toy world does not have the
    class.
    """
    if not toyworld:
        return frozenset((label.lower(), regular_plural(label.lower())))
    if label not in NOUNS:
        raise ValueError(f"the toy world has no nouns for the label {label!r}; there are {', '.join(NOUNS)}")
    return frozenset(name for noun in NOUNS[label] for name in (noun.singular, noun.plural))


def names_any(caption: str, names: Collection[str]) -> bool:
    """Return whether a caption contains one of the names as whole words. Case is ignored."""
    text = f" {' '.join(words(caption))} "
    return any(f" {' '.join(words(name))} " in text for name in names)


def relative_naming(
    captions: Iterable[Caption], references: Iterable[Caption], names: Mapping[str, Collection[str]], seed: int
) -> tuple[float, Ends, int] | None:
    """Return how often captions name an object of their image, relative to references of the same images.

    Both frequencies are shares of all captions. `names` has the names of the objects of each image; captions of an
    image without objects count as naming none. Returns the quotient of the shares, its 95 % interval over images, and
    the number of images. Returns None if no reference names an object.
    """
    counts: dict[str, np.ndarray] = {}
    for image, caption in captions:
        counts.setdefault(image, np.zeros(4))[:2] += names_any(caption, names.get(image, ())), 1
    for image, caption in references:
        if image in counts:
            counts[image][2:] += names_any(caption, names.get(image, ())), 1
    values = np.array(list(counts.values()))
    if not counts or not values[:, 2].any():
        return None
    quotient = float(_quotients(values.sum(axis=0, keepdims=True))[0])
    sums = resampled_sums(values, seed)
    ends = (0.0, float(values[:, 3].sum() / values[:, 2].sum()))  # no caption of an image names an object, or each does
    resampled = _quotients(sums[sums[:, 2] > 0])
    return quotient, bootstrap_share_interval(quotient, resampled, len(values), ends), len(values)


def _quotients(sums: np.ndarray) -> np.ndarray:
    """Return the share of captions that name an object over the same share for references, from sums (resamples, 4)."""
    named, captions, named_by_people, references = sums.T
    return np.asarray(named / captions / (named_by_people / references))


def different(captions: Iterable[str]) -> int:
    """Return how many captions differ in their words."""
    return len({tuple(words(caption)) for caption in captions})
