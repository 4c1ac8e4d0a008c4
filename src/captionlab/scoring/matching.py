"""The captions of images that have references, and what people get wrong about their ids."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence

from captionlab.scoring.texts import Texts
from captionlab.userfiles.ids import known_id

logger = logging.getLogger(__name__)
# The key of a caption: its image, and its index among the captions of the image.
Key = tuple[str, int]
# What could be done to ids that fit no reference, and how it would be said.
_MENDS: Mapping[str, Callable[[str], str]] = {
    "without zeros at the beginning": lambda name: name.lstrip("0") or "0",
    "without the folders of their paths": lambda name: name.rpartition("/")[2].partition(".")[0],
    "without what stands before the last underscore": lambda name: name.rpartition("_")[2].lstrip("0"),
}


class MatchingError(ValueError):
    """Captions and references are not about the same images. The message names both and some ids."""


def matched(captions: Texts, references: Mapping[str, Sequence[str]], of: str) -> dict[Key, str]:
    """Return captions by the image ids of references, in the order of the references, and by their index.

    `of` names the references in messages. An id of a caption may be the name of an image file (known_id). Raises
    MatchingError if an image has several captions that are not numbered, if an image has no references, or if two ids
    of captions are the same image.
    """
    if captions.repeated:
        raise MatchingError(
            f"{captions.name}: {_some(captions.repeated)} have more than one caption; keep one, or number the captions "
            "of an image in a field caption_index. Are these the references? They come last"
        )
    ids = {name: known_id(name, references) for name in captions.of_images}
    unknown = [name for name, image in ids.items() if image is None]
    if unknown:
        raise MatchingError(
            f"{captions.name}: {_some(unknown)} of {len(ids)} have no references in {of}, whose ids are like "
            f"{next(iter(references), '')!r}{_mend(unknown, references)}"
        )
    texts: dict[str, list[str]] = {}
    for name, image in ids.items():
        if image in texts:
            raise MatchingError(f"{captions.name}: two ids stand for the image {image!r} of {of}; keep one")
        texts[str(image)] = captions.of_images[name]
    return {(image, index): text for image in references for index, text in enumerate(texts.get(image, ()))}


def check_complete(captions: Texts, keys: Collection[Key], references: Mapping[str, Sequence[str]], of: str) -> None:
    """Raise MatchingError if images with references have no caption."""
    described = {image for image, _ in keys}
    if missing := [image for image, texts in references.items() if texts and image not in described]:
        raise MatchingError(
            f"{captions.name}: {_some(missing)} of {len(references)} in {of} have no caption; add them, or score only "
            "the images that have captions (--captioned-only)"
        )


def warn_of_order(captions: Texts, keys: Collection[Key], references: Mapping[str, Sequence[str]], of: str) -> None:
    """Log a warning if there are more captions than references, as when the two files change places."""
    number = sum(map(len, references.values()))
    if len(keys) > number:
        message = "%s has %d captions, more than the %d references in %s; references come last: are the files in order?"
        logger.warning(message, captions.name, len(keys), number, of)


def _mend(unknown: Sequence[str], references: Collection[str]) -> str:
    """Return what could be done to the ids, for the end of a sentence."""
    for what, change in _MENDS.items():
        if all(change(name) in references for name in unknown):
            return f"; {what} they would fit, so write them so"
    return "; are both files of one data set?"


def _some(images: Sequence[str]) -> str:
    shown = ", ".join(map(repr, images[:3]))
    return f"{len(images)} image ids ({shown}{', ...' if len(images) > 3 else ''})"
