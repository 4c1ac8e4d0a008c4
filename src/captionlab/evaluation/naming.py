"""Whether captions say what is in their images: how many name an object of it, and how many are different."""

import re
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from captionlab.corpora.toyworld.lexicon import NOUNS
from captionlab.intervals import Ends, bootstrap_share_interval, resampled_sums
from captionlab.texts.plurals import regular_plural

# A caption: its image, and its text.
Caption = tuple[str, str]


def words(text: str) -> list[str]:
    """The runs of letters and digits of a text, in lower case."""
    return re.findall(r"[^\W_]+", text.lower())


def names_of(label: str, toyworld: bool) -> frozenset[str]:
    """What an object of a class is called: in the toy world all its nouns, else the label; and plurals.

    The plural of a label is the regular one, of its last word. ValueError for a class that the toy world does not have.
    """
    if not toyworld:
        return frozenset((label.lower(), regular_plural(label.lower())))
    if label not in NOUNS:
        raise ValueError(f"the toy world has no nouns for the label {label!r}; there are {', '.join(NOUNS)}")
    return frozenset(name for noun in NOUNS[label] for name in (noun.singular, noun.plural))


def names_any(caption: str, names: Collection[str]) -> bool:
    """Whether one of these names, each of one or several whole words, is in a caption, whatever its case."""
    text = f" {' '.join(words(caption))} "
    return any(f" {' '.join(words(name))} " in text for name in names)


def relative_naming(
    captions: Iterable[Caption], references: Iterable[Caption], names: Mapping[str, Collection[str]], seed: int
) -> tuple[float, Ends, int] | None:
    """How often captions name an object of their image, relative to how often references of the same images do.

    Both are shares of all captions; `names` has those of the objects of each image, and an image without objects has no
    caption that names one. The quotient, its 95 % interval over images, and the number of images. None where no
    reference names an object: nothing can be held against that.
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
    """The share of captions that name an object over that of references, from sums (resamples, 4)."""
    named, captions, named_by_people, references = sums.T
    return np.asarray(named / captions / (named_by_people / references))


def different(captions: Iterable[str]) -> int:
    """How many captions have different words."""
    return len({tuple(words(caption)) for caption in captions})
