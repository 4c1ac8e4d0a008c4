"""Conversations about an image: the turns of the model are captions, the turns of people are questions."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator

logger = logging.getLogger(__name__)

# Speakers whose turns are captions: LLaVA's (from, value), and the chat format of OpenAI (role, content).
MODELS = frozenset({"gpt", "assistant"})
# The field with the speaker of a turn, by the field with its text.
SPEAKERS = {"value": "from", "content": "role"}
# Stands for the image in the text of a turn.
IMAGE = "<image>"


class ModelTurns:
    """The turns of the model in conversations, and the counts of what is left out."""

    def __init__(self) -> None:
        """Start with nothing left out."""
        self._left_out = Counter[str]()

    def texts(self, turns: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Yield the text of each turn of the model without `<image>`; `turns` are pairs of a speaker and a text."""
        for speaker, text in turns:
            if speaker not in MODELS:
                self._left_out[f"turns of {speaker}"] += 1
                continue
            if IMAGE in text:
                self._left_out[f"{IMAGE} in turns of {speaker}"] += text.count(IMAGE)
                text = text.replace(IMAGE, "").strip()
            yield text

    def log(self, file: object) -> None:
        """Log the number of turns of each speaker that were left out of a file or folder."""
        if self._left_out:
            counts = ", ".join(f"{number} {what}" for what, number in sorted(self._left_out.items()))
            logger.warning("%s: left out %s; captions are the turns of %s", file, counts, " and ".join(sorted(MODELS)))
