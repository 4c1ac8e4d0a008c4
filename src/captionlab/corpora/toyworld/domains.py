"""The domains of the toy world as data. This module imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import dataclass

# Weights of the scenes: even, or skewed like the scenes of everyday photographs, with a few rare scenes.
EVEN: Mapping[str, float] = {
    scene: 1.0 for scene in ("beach", "kitchen", "road", "station", "restaurant", "room", "field", "resort")
}
SKEWED: Mapping[str, float] = {**EVEN, "station": 0.7, "restaurant": 0.15, "room": 0.15, "field": 0.6, "resort": 0.4}


@dataclass(frozen=True)
class Domain:
    """A domain: the look and content of its pictures and the style of its captions.

    `pictures` names the random stream of the pictures. Two domains with the same stream and the same probabilities show
    the same images for the same seed. `captions` is the number of captions of an image. `looks` are drawn with equal
    probability. `scenes` are weights of the scenes, equal if None.

    Probabilities per image are `novel_first` (the first object is of a class that the coco domain never shows) and
    `close_ups` (the image shows a single thing from near, and the caption is its name). `novel_other` is the
    probability of a novel class per further object. `scene_mention` is the probability that a human caption names the
    scene.
    """

    pictures: str
    style: str
    captions: int
    looks: tuple[str, ...] = ("clear",)
    novel_first: float = 0.0
    novel_other: float = 0.0
    scenes: Mapping[str, float] | None = None
    scene_mention: float = 0.55
    close_ups: float = 0.0


DOMAINS: Mapping[str, Domain] = {
    # Everyday photographs, five human captions each.
    "coco": Domain("coco", "human", 5),
    # The same kind of image with one alt text from the web, sometimes not about the image.
    "concap": Domain("concap", "alt-text", 1),
    # Another photo site: images are hazier and noisier, and people write whole sentences.
    "flickr": Domain("flickr", "sentences", 5, looks=("hazy",)),
    # Object classes that the coco domain never shows: in some objects, and in almost all objects.
    "nocaps-near": Domain("nocaps-near", "human", 10, novel_first=1.0, novel_other=0.2),
    "nocaps-out": Domain("nocaps-out", "human", 10, novel_first=1.0, novel_other=0.85),
    # The same images with descriptions for readers who cannot see, and with captions from the article.
    "concadia-descriptions": Domain("concadia", "description", 1, looks=("clear", "faded")),
    "concadia-captions": Domain("concadia", "context", 1, looks=("clear", "faded")),
    # Sets of ten images that differ in few details. The caption tells an image from the other nine.
    "lookalike": Domain("lookalike", "distinction", 1),
    # Training data of the contrastive model: all looks, styles and classes, very detailed captions, and close-ups of
    # single things as in shops. The model learns the meaning of words from close-ups long before it could from crowded
    # scenes.
    "web": Domain("web", "mixture", 6, ("clear", "clear", "hazy", "faded", "dusk"), 0.2, 0.2, close_ups=0.5),
    # Object captions that seldom name the scene, and scene captions that do. Some scenes are rare.
    "scenes": Domain("scenes", "human", 5, scenes=SKEWED, scene_mention=0.08),
    # The same images with their scene captions in place of the object captions.
    "scene-captions": Domain("scenes", "scene", 3, scenes=SKEWED, scene_mention=0.08),
    # The images of coco with captions that state everything they show, as a language model would join the references
    # and a description of the image (Gaur et al. 2024).
    "coco-detailed": Domain("coco", "full", 5),
}
