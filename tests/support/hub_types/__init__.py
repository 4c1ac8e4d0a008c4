"""Tiny random models of every image-text-to-text type of transformers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from support.hub_types import native, others, patches

_MODULES = (patches, native, others)
MAKERS: Mapping[str, Callable[[], tuple[Any, Any]]] = {
    kind: maker for module in _MODULES for kind, maker in module.MAKERS.items()
}
# Keys of the config of types that have no chat.
BLOCKS: Mapping[str, Mapping[str, Any]] = {kind: block for module in _MODULES for kind, block in module.BLOCKS.items()}
# Types of which `generate` of transformers writes a single caption of an image, without beams, with the reason.
ONE_CAPTION: Mapping[str, str] = patches.ONE_CAPTION
# Types whose log-probabilities change with the words behind a word or with padding, with the reason.
LENGTH_MATTERS: Mapping[str, str] = {
    "mistral_large4": "It attends in blocks of words, so a log-probability changes with the length of a batch.",
    "nemotron_h_omni": "Its state-space layers read padding, so a log-probability changes by some thousandths with it.",
}
# Types whose adapters peft 0.21 does not read back as it wrote them, with the reason.
_RENAMED = "peft reads adapters of layers that transformers renames on loading under other names than it writes"
WITHOUT_PEFT: Mapping[str, str] = {
    **dict.fromkeys(("deepseek_ocr2", "unlimited_ocr", "mistral_large4", "inkling2"), _RENAMED),
    "glm4v_moe": "peft takes the dense feed-forward layers for layers of experts, and leaves them out",
}
# Types that transformers cannot build or run from a small config, with the reason.
LEFT_OUT: Mapping[str, str] = {kind: reason for module in _MODULES for kind, reason in module.LEFT_OUT.items()}
# Types whose features of images can be a table (encoder family image-side).
TABLES = (
    "llava", "paligemma", "smolvlm", "vipllava", "idefics3", "gemma3", "got_ocr2", "pp_chart2table",
    "fast_vlm", "perception_lm", "deepseek_vl", "git", "janus",
)  # fmt: skip
# Settings with which images of all shapes become the same number of vectors.
_WHOLE = {"processor": {"do_image_splitting": False}}
TABLE_OPTIONS: Mapping[str, Mapping[str, Any]] = {"smolvlm": _WHOLE, "idefics3": _WHOLE}


def types_table() -> str:
    """Return the table of the types in Markdown: written and trained as `generate` and the model's loss say."""
    rows = ["| `model_type` | by a table of features | notes |", "| --- | --- | --- |"]
    for kind in sorted(MAKERS):
        name, _, variant = kind.partition(" with ")
        name = "vision-encoder-decoder" if name == "trocr" else name
        notes = [f"with {variant.upper()}"] if variant else ["TrOCR"] if kind == "trocr" else []
        notes += ["a single caption of an image, without beams"] if kind in ONE_CAPTION else []
        notes += ["log-probabilities change a little with padding"] if kind in LENGTH_MATTERS else []
        notes += ["exported adapters are not read back by peft; use `merge: true`"] if kind in WITHOUT_PEFT else []
        options = TABLE_OPTIONS.get(kind, {}).get("processor", {})
        needs = ", ".join(f"`processor: {{{key}: {str(value).lower()}}}`" for key, value in options.items())
        table = f"yes, with {needs}" if needs else "yes" if kind in TABLES else "no"
        rows.append(f"| `{name}` | {table} | {'; '.join(notes)} |")
    left_out = [f"| `{kind}` | | not a captioner here: {reason} |" for kind, reason in sorted(LEFT_OUT.items())]
    return "\n".join([*rows, *left_out]) + "\n"


def hub_type(kind: str, folder: Path) -> Path:
    """Write a model of a type, and its processor, into a folder of the name of the type."""
    torch.manual_seed(0)
    model, processor = MAKERS[kind]()
    if model.generation_config.eos_token_id is None:
        model.generation_config.eos_token_id = processor.tokenizer.eos_token_id
    if model.generation_config.pad_token_id is None:
        model.generation_config.pad_token_id = processor.tokenizer.pad_token_id
    model.eval().save_pretrained(folder / kind)
    processor.save_pretrained(folder / kind)
    return folder / kind
