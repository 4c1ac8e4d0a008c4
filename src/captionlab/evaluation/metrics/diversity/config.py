"""Config of diversity."""

from pydantic import Field

from captionlab.config.metrics import Definition, MetricFacts
from captionlab.config.model import Model

FACTS = MetricFacts(
    place=7,
    metrics={
        **{
            f"distinct-{order}": Definition(
                f"Number of different {what} of all captions, divided by the number of all {what} (Li et al. 2016).",
                "%",
                "distinct",
            )
            for order, what in ((1, "words"), (2, "pairs of adjacent words"))
        },
        "vocabulary": Definition("Number of different words of all captions.", "words", "distinct"),
        "length": Definition("Number of words of a caption, averaged over captions.", "words", "mean"),
        "novelty": Definition(
            "Share of the captions that have other letters and digits than every caption of the training.", "%", "share"
        ),
        "mBLEU-4": Definition(
            "BLEU-4 of the captions of an image against the other captions of the image (Shetty et al. 2017).",
            "points, 0 to 100",
            "corpus",
        ),
        "self-CIDEr": Definition(
            "How far the captions of an image differ by CIDEr (Wang and Chan 2019), averaged over images.",
            "points, 0 to 100",
            "corpus",
        ),
        **{
            f"distinct-{order} in an image": Definition(
                f"Number of different {what} of the captions of an image, divided by the number of all {what}, "
                "averaged over images.",
                "%",
                "corpus",
            )
            for order, what in ((1, "words"), (2, "pairs of adjacent words"))
        },
    },
    taken=("distinct-1", "distinct-2", "vocabulary", "length", "novelty"),
    asks=("diversity",),
    reads=("tokens", "references", "training"),
    libraries=("numpy", "pycocoevalcap", "scipy"),
)


class Keys(Model):
    """Keys of an evaluation that ask for diversity."""

    diversity: bool = Field(
        False,
        description="whether to measure how different captions are, of different images and of one image, and how many "
        "are new",
    )
