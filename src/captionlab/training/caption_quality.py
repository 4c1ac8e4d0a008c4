"""How good a captioner's captions are while it is trained: CIDEr on images that it does not learn from."""

from collections.abc import Sequence
from typing import Any

import torch

from captionlab.evaluation.ptb import tokenize
from captionlab.generation.contract import Decoding
from captionlab.generation.decoding import decode
from captionlab.networks.tokenizer import Tokenizer
from captionlab.training.rewards.cider import CiderD


class CiderOfCaptions:
    """CIDEr of a captioner's captions of some images: pycocoevalcap's, as the evaluation has it.

    The references are tokenised as in the Penn treebank once, and counted once. A caption is tokenised word by word,
    each word once: those of the captioner's vocabulary together with the references, others when they first come up.
    (As a whole, a caption could only differ by an abbreviation before a full stop.)
    """

    def __init__(
        self,
        visual: torch.Tensor,
        references: Sequence[Sequence[str]],
        tokenizer: Tokenizer,
        decoding: Decoding,
        batch: int = 250,
    ):
        """Caption `visual` (images, ...), `batch` images at a time; `references` are texts of each of these images."""
        self.visual, self.tokenizer, self.decoding, self.batch = visual, tokenizer, decoding, batch
        texts = [text for of_image in references for text in of_image]
        vocabulary = tokenizer.decode([[token] for token in range(tokenizer.size)])
        words = sorted({word for text in vocabulary for word in text.split()})
        tokenized = iter(tokenize([*texts, *words]))
        kept = [[tokens for _ in of_image if (tokens := next(tokenized).split())] for of_image in references]
        self.cider = CiderD(kept)
        self.tokens = {word: next(tokenized).split() for word in words}

    def __call__(self, captioner: Any) -> float:
        """The mean over the images, 0 to 10."""
        captions: list[str] = []
        for visual in self.visual.split(self.batch):
            decoded = decode(captioner, visual, self.decoding, self.tokenizer)
            captions += self.tokenizer.decode(decoded.tokens.tolist())
        words = [caption.split() for caption in captions]
        if new := sorted({word for caption in words for word in caption} - self.tokens.keys()):
            self.tokens |= {word: tokens.split() for word, tokens in zip(new, tokenize(new), strict=True)}
        tokens = [[token for word in caption for token in self.tokens[word]] for caption in words]
        return float(self.cider.score(range(len(captions)), tokens).mean())
