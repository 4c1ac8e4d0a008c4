"""Decodings in short."""

from typing import Any

from captionlab.config.evaluations import read_decoding


def decoding_of(kind: str, max_tokens: int, stop: str | None = None, beams: int = 5, **keys: Any) -> Any:
    """Return a decoding; `beams` is for beam search only."""
    block = {"kind": kind, "max_tokens": max_tokens, **keys}
    block |= {"beams": beams} if kind == "beam" else {}
    return read_decoding(block if stop is None else {**block, "stop": stop})
