"""The config, checked before the DAG is built: each mistake is one sentence that says where and what to write."""

from pathlib import Path
from typing import Self

from captionlab.declarations import DeclarationError
from captionlab.papers import paper_class
from captionlab.workflow.blocks import Block
from captionlab.workflow.references import reference_mistakes
from captionlab.workflow.reuse import Reused
from captionlab.workflow.schema import Schema


class ConfigError(ValueError):
    """The config asks for something that cannot be done."""

    @classmethod
    def listing(cls, what: str, mistakes: list[str]) -> Self:
        """An error that lists mistakes, a line each."""
        return cls(f"{what}:\n" + "\n".join(f"  - {mistake}" for mistake in mistakes))


def checked(config: Block, schema: Path) -> Block:
    """The config with all defaults; a ConfigError lists every mistake, one sentence each.

    What parts of a config say of each other is looked at where each of them fits its schema, and all names lead
    somewhere.
    """
    try:
        language = Schema(schema)
    except DeclarationError as error:
        raise ConfigError(str(error)) from error
    # The schema lies in workflow/schemas below the folder of the Snakefile.
    reused = Reused(config, schema.resolve().parents[2] / str(config.get("data", ".")))
    known = reused.with_families()
    mistakes, followed = language.mistakes(known)
    mistakes += reused.mistakes
    filled = reused.as_files(language.filled(known)) if followed else config
    if followed and reused.complete():
        mistakes += [*reference_mistakes(filled, config), *reused.width_mistakes(filled)]
        for name, block in filled["papers"].items():
            mistakes += paper_class(name).mistakes(filled, f"papers.{name}", block)
    if mistakes:
        raise ConfigError.listing("the config cannot be run", mistakes)
    return filled
