"""Whether a caption finds its image among the candidates."""

from captionlab.declarations import RewardKind
from captionlab.training.rewards.retrieval import build_retrieval

DECLARATION = RewardKind(
    keys={
        "candidates": {"type": "integer", "minimum": 2, "description": "images among which it looks"},
        "hard_negatives": {
            "type": "integer",
            "minimum": 1,
            "description": "of the candidates, nearest neighbours by the retriever",
        },
        "scale": {
            "enum": ["logit-scale", "none"],
            "default": "logit-scale",
            "description": "of the cosines: the retriever's own, which it learned, or none",
        },
    },
    required=("candidates",),
    asks="retriever",
    references=False,
    of=False,
    libraries=(),
)

build = build_retrieval
