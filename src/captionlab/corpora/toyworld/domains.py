"""The domains of the toy world: what each stands for, as data. Nothing heavy is imported here."""

from collections.abc import Mapping
from dataclasses import dataclass

# How common each scene is: even, or as skewed as the scenes of everyday photographs, where a few are rare.
EVEN: Mapping[str, float] = {
    scene: 1.0 for scene in ("beach", "kitchen", "road", "station", "restaurant", "room", "field", "resort")
}
SKEWED: Mapping[str, float] = {**EVEN, "station": 0.7, "restaurant": 0.15, "room": 0.15, "field": 0.6, "resort": 0.4}


@dataclass(frozen=True)
class Domain:
    """How the pictures of a domain look, what they show, and how people wrote about them.

    `pictures` names the random stream of the pictures: two domains that share it (and the probabilities below it)
    show the same images for the same seed. Probabilities are per image (`novel_first`: the first object is of a class
    that the coco domain never shows; `looks`: drawn evenly; `close_ups`: a thing from near, with its name for a
    caption), per further object (`novel_other`) or per caption (`scene_mention`: a human caption names the scene).
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
    # The same kind of image with one alt text from the web, often not about what is seen.
    "concap": Domain("concap", "alt-text", 1),
    # Another photo site: hazier, noisier, and people write whole sentences.
    "flickr": Domain("flickr", "sentences", 5, looks=("hazy",)),
    # Object classes that the coco domain never shows: some of them, and almost nothing else.
    "nocaps-near": Domain("nocaps-near", "human", 10, novel_first=1.0, novel_other=0.2),
    "nocaps-out": Domain("nocaps-out", "human", 10, novel_first=1.0, novel_other=0.85),
    # The same images with what a reader who cannot see needs, and with what the article says.
    "concadia-descriptions": Domain("concadia", "description", 1, looks=("clear", "faded")),
    "concadia-captions": Domain("concadia", "context", 1, looks=("clear", "faded")),
    # Sets of ten images that differ in few details; the caption tells an image from the other nine.
    "lookalike": Domain("lookalike", "distinction", 1),
    # Everything a contrastive model sees: all looks, all styles, all classes, very detailed captions, and single things
    # from near as shops show them, from which it learns what words mean long before it could from crowded scenes.
    "web": Domain("web", "mixture", 6, ("clear", "clear", "hazy", "faded", "dusk"), 0.2, 0.2, close_ups=0.5),
    # Object captions that seldom name the scene, beside scene captions that do; some scenes are rare.
    "scenes": Domain("scenes", "human", 5, scenes=SKEWED, scene_mention=0.08),
    # The same images with these scene captions in the place of the object captions.
    "scene-captions": Domain("scenes", "scene", 3, scenes=SKEWED, scene_mention=0.08),
}
