"""Captioners of the family `constructed`: what the job reads that constructs their captions, and their mistakes."""

from collections.abc import Iterator

from captionlab import paths
from captionlab.workflow.basis import Basis, Wildcards
from captionlab.workflow.blocks import Block, captioner_kind, normalise
from captionlab.workflow.names import known


class Construction:
    """The constructed captions of a config."""

    def __init__(self, basis: Basis):
        self.basis = basis

    def captions(self, wildcards: Wildcards) -> str:
        """Captions that others are constructed of."""
        return paths.captions(self._block(wildcards)["captions_of"], wildcards.evaluation)

    def tags(self, wildcards: Wildcards) -> str:
        """The same, tagged."""
        return paths.language("tags", self._block(wildcards)["captions_of"], wildcards.evaluation)

    def mined_models(self, wildcards: Wildcards) -> list[str]:
        """Names of the templates that are found in captions."""
        return sorted(self._block(wildcards).get("mined_from", {}))

    def mined_tags(self, wildcards: Wildcards) -> list[str]:
        """Tagged captions that these are found in, one table for each."""
        captioners = self._block(wildcards).get("mined_from", {})
        return [paths.language("tags", captioners[m], wildcards.evaluation) for m in self.mined_models(wildcards)]

    def block(self, wildcards: Wildcards) -> Block:
        """What constructed captions depend on, the captioners aside."""
        block, kept = self._block(wildcards), ("replacements", "templates", "nouns")
        return normalise({name: block[name] for name in kept if name in block})

    def _block(self, wildcards: Wildcards) -> Block:
        return dict(self.basis.captioners[wildcards.captioner])


def construction_mistakes(config: Block) -> Iterator[str]:
    """One sentence for each thing that cannot be followed; the config must fit the schema."""
    for name, block in config["captioners"].items():
        if captioner_kind(block) == "constructed":
            yield from _mistakes(config, name, block)


def _mistakes(config: Block, name: str, block: Block) -> Iterator[str]:
    where = f"captioners.{name}"
    if ("mined" in block.get("templates", [])) != ("mined_from" in block):
        yield (
            f"{where}: mined templates are found in the captions of captioners; give both `templates: [mined]` and "
            "`mined_from: {name of the template: captioner}`, or neither"
        )
    if "nouns" in block and "templates" not in block:
        yield f"{where}.nouns asks for so many nouns in a template; add `templates: [published]`"
    sources = {"captions_of": block["captions_of"]}
    sources |= {f"mined_from.{model}": of for model, of in block.get("mined_from", {}).items()}
    for key, of in sources.items():
        yield from known(config, "captioners", of, f"{where}.{key}")
        if config["captioners"].get(of, {}).get("family") == "constructed":
            yield f"{where}.{key} is {of!r}, which is constructed itself; name a captioner that sees the images"
        for evaluation, content in config["evaluations"].items():
            if name in content["captioners"] and of not in content["captioners"]:
                yield f"evaluations.{evaluation} has {name!r}, so it needs its {key}; add {of!r} to its captioners"
