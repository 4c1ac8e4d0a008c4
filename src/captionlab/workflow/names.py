"""Names in a config: whether they lead to something, and to what."""

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from captionlab.workflow.blocks import GIVEN, Block, captioner_kind, root_of
from captionlab.workflow.families import encoders


def known(config: Block, section: str, name: str, where: str) -> Iterator[str]:
    """A sentence if a section of the config does not have the name that stands at `where`."""
    names = config.get(section, {})
    if name not in names:
        yield f"{where} is {name!r}, which is not among the {section}; {hint(name, names)}"


def names_of(config: Block, section: str) -> str:
    """The names in a section, for a sentence."""
    return ", ".join(config.get(section, {})) or "none"


def hint(name: str, names: Any) -> str:
    """What may have been meant by a name that is not among the names."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names) or 'none'}"


def files_mistakes(config: Block, where: str, block: Block, corpus: str, who: str = "the scorer") -> Iterator[str]:
    """Regions and tags that a scorer or captioner reads from files are there for the corpora that are named."""
    for section in ("regions", "tags"):
        files = config.get(section, {}).get(block.get(section, ""), {}).get("files")
        if files is not None and corpus not in files:
            yield f"{where}: {who} reads {section}.{block[section]}, which has no files of {corpus!r}; add them"


def retriever_mistakes(config: Block, name: str, where: str) -> Iterator[str]:
    """A retriever is an encoder that reads text."""
    yield from known(config, "encoders", name, where)
    encoder = config.get("encoders", {}).get(name, {})
    if encoder and not (encoder.get("family") and encoders()[encoder["family"]].texts):
        what = "a grid" if "patches_of" in encoder else f"a {encoder['family']}"
        able = a_family(name for name, family in encoders().items() if family.texts)
        yield f"{where} is {name!r}, {what}, which has no text side; name {able}"


def a_family(names: Iterable[str]) -> str:
    """One of these families, for a sentence."""
    return " or ".join(f"a {name}" for name in names)


def family_of(config: Block, captioner: str) -> str | None:
    """The family of a captioner; None where it is unknown or the line of its parents is broken."""
    block = config["captioners"].get(captioner, {})
    if "parent" in block:
        block = {} if broken_line(config, captioner) else config["captioners"][root_of(config, captioner)]
    return block.get("family")


def broken_line(config: Block, captioner: str) -> bool:
    """Whether the line of parents does not lead to a captioner without one, which is a mistake of its own."""
    return any(True for _ in parent_mistakes(config, captioner))


def size_mistakes(config: Block, where: str, corpus: str, split: str, needed: int, what: str) -> Iterator[str]:
    """Too few images, where the config says how many there are."""
    block = config["corpora"].get(corpus, {})
    if block.get("reader") == "toyworld" and block["images"].get(split, 0) < needed:
        there = block["images"].get(split, 0)
        yield f"{where}: {what} needs {needed} images of the split {split!r}, and corpora.{corpus}.images has {there}"


def parent_mistakes(config: Block, name: str) -> Iterator[str]:
    """The line of parents of a captioner leads to one without a parent that can be trained."""
    captioners, seen = config["captioners"], [name]
    while "parent" in captioners[seen[-1]]:
        parent = captioners[seen[-1]]["parent"]
        if parent not in captioners:
            if len(seen) == 1:
                yield from known(config, "captioners", parent, f"captioners.{name}.parent")
            return
        if parent in seen:
            line = " -> ".join([*seen, parent])
            yield f"captioners.{name} is its own ancestor ({line}); one of them needs a family instead of a parent"
            return
        seen.append(parent)
    if captioner_kind(captioners[seen[-1]]) in GIVEN:
        family = captioners[seen[-1]]["family"]
        yield f"captioners.{name} cannot be finetuned: {seen[-1]!r} is a {family} captioner and has no weights"
