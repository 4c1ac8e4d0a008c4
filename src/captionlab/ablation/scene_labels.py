"""Scenes that images depict, from the nouns of their captions (Cafagna et al. 2022, §5 and appendix B)."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from captionlab.texts.tagging import NOUNS

# The paper adds this word to spaCy's stop words, because captions often start with "the picture is taken".
ALSO_STOPPED = frozenset({"picture"})


def stop_words() -> frozenset[str]:
    """Return spaCy's English stop words and the paper's additional stop words."""
    from spacy.lang.en.stop_words import STOP_WORDS

    return frozenset(STOP_WORDS) | ALSO_STOPPED


def scene_nouns(
    words: Sequence[str], lemmas: Sequence[str], tags: Sequence[str], stopped: Collection[str]
) -> list[str]:
    """Return the lemmas, in lower case, of the nouns of a tagged caption, without stop words."""
    tagged = zip(words, lemmas, tags, strict=True)
    nouns = ((word.lower(), lemma.lower()) for word, lemma, tag in tagged if tag in NOUNS)
    return [lemma for word, lemma in nouns if word not in stopped and lemma not in stopped and lemma.isalpha()]


def label_scenes(captions: Iterable[tuple[str, Sequence[str]]]) -> dict[str, Counter[str]]:
    """Return for each image its scene labels, each with the number of captions that have it.

    `captions` are pairs of an image and the nouns of a caption. An image without a noun has no label.
    """
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    for image, nouns in captions:
        labels[image].update({*nouns})
    return dict(labels)


def frequent_scenes(labels: Mapping[str, Mapping[str, int]], number: int, min_count: int = 1) -> list[str]:
    """Return the `number` scene labels with the most images, the most frequent first, equal counts by name.

    An image counts for a label if at least `min_count` of its captions have the label.
    """
    count = Counter(scene for found in labels.values() for scene, captions in found.items() if captions >= min_count)
    return sorted(count, key=lambda scene: (-count[scene], scene))[:number]


def images_of_scenes(
    labels: Mapping[str, Mapping[str, int]], scenes: Sequence[str], min_count: int = 1
) -> dict[str, list[str]]:
    """Return the images that depict each of the `scenes`: at least `min_count` of their captions name the scene.

    Raises ValueError for a scene without images.
    """
    found = {scene: [image for image, of in labels.items() if of.get(scene, 0) >= min_count] for scene in scenes}
    if empty := [scene for scene, images in found.items() if not images]:
        raise ValueError(f"no image has the scene {empty[0]!r} in {min_count} of its captions; take it off the list")
    return found


def one_scene(labels: Mapping[str, Mapping[str, int]], scenes: Sequence[str], min_count: int = 1) -> dict[str, str]:
    """Return for each image the scene, among `scenes`, that most of its captions name.

    Images are left out if fewer than `min_count` captions name the scene, or if two scenes are named equally often.
    """
    chosen = {}
    for image, found in labels.items():
        ranked = sorted(((found.get(scene, 0), scene) for scene in scenes), reverse=True)
        if ranked[0][0] >= min_count and (len(ranked) == 1 or ranked[0][0] > ranked[1][0]):
            chosen[image] = ranked[0][1]
    return chosen
