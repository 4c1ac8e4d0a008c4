"""Models made in another run: what config.json beside their weights says of them, read before the graph is built.

A block that has only the folder of such a model as its `run` becomes one of files that are imported, of the family that
its config.json says; so does one whose `weights` lie beside such a file, and then the sizes are those of the file.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.config.blocks import Block, located, without
from captionlab.config.families import captioners, encoders
from captionlab.config.names import hint
from captionlab.plugins import facts
from captionlab.userfiles.model_config import BESIDE, NAME, WEIGHTS, made_here, refuse_other


class Reused:
    """The models of a config that were made in other runs; `root` is the folder of the Snakefile.

    The config need not be right in any way.
    """

    def __init__(self, config: Block, root: Path):
        self.config, self.root, self.mistakes = config, root, list[str]()
        self.data = root / str(config.get("data", "."))
        # By section and name what config.json says, nothing for one that is not there.
        self.described: dict[tuple[str, str], Block] = {}
        for section, name, block in self._blocks():
            key = "run" if "run" in block else "weights"
            try:
                self.described[section, name] = self._read(section, block)
            except ValueError as error:
                self.mistakes.append(f"{section}.{name}.{key}: {error}")

    def with_families(self) -> Block:
        """The config in which every `run` has its family, where that can be told."""
        return self._changed(self.config, self._with_family)

    def as_files(self, filled: Block) -> Block:
        """The checked config with defaults, in which these models are files: weights and what belongs to them.

        `config` is the config.json beside the weights, where there is one. Defaults of sizes are left out where it says
        them, and a scorer is on its scale.
        """
        return self._changed(filled, self._as_files)

    def complete(self) -> bool:
        """Whether all of them are there and can be read: else families are missing, and no more can be said."""
        return not self.mistakes and all(
            self.described[section, name] for section, name, b in self._blocks() if "run" in b
        )

    def width_mistakes(self, filled: Block) -> Iterator[str]:
        """A captioner reads embeddings as large as those that it was trained on, where both files say how large."""
        for (section, name), found in self.described.items():
            if section != "captioners" or not found or captioners()[found["family"]].reads != "vector":
                continue
            encoder = filled[section][name].get("encoder")
            if encoder is None:  # the check of the section names it
                continue
            reads = found.get("architecture", {}).get(captioners()[found["family"]].size)
            gives = self._embedding_size(encoder, filled["encoders"][encoder])
            if None not in (reads, gives) and reads != gives:
                yield (
                    f"captioners.{name} reads embeddings of {reads} numbers, and encoders.{encoder} gives {gives}; "
                    "name the encoder that it was trained with, which is in the results of the same run"
                )

    def _embedding_size(self, encoder: str, block: Block) -> int | None:
        """How many numbers an embedding by an encoder has, where its config.json or its block says it."""
        found: Any = self.described.get(("encoders", encoder)) or block
        for key in encoders()[block["family"]].size:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, int) else None

    def _blocks(self) -> Iterator[tuple[str, str, Block]]:
        """The blocks that name a run, or files of weights, by section and name."""
        for section in BESIDE:
            blocks = self.config.get(section)
            for name, block in blocks.items() if isinstance(blocks, dict) else ():
                # Weights with the name of a model are a tag.
                named = block.get("run", block.get("weights")) if isinstance(block, dict) else None
                if isinstance(named, str) and "model" not in block:
                    yield section, name, block

    def _read(self, section: str, block: Block) -> Block:
        """What config.json says of a model of a section; ValueError where it is of another one, or says too little."""
        path, known = self._located(block), facts(section)
        found = made_here(path, section, block.get("family"))
        if "run" in block and path.is_file() and not found:
            raise ValueError(f"{path} names no family, so no run made it; name a folder of results/{section}")
        if found and found["family"] not in known:
            raise ValueError(
                f"{path} is of a {found['family']}, and no {section} are of that family; {hint('', known)}"
            )
        if section != "encoders":  # whose families have names of their own for sizes, which the import compares
            # A vocabulary is a file here and a number there.
            refuse_other(path, without(block, "vocabulary"), found.get("architecture", {}))
        return found

    def _changed(self, config: Block, change: Callable[[str, str, Block], Block]) -> Block:
        """A config in which the blocks of these models are changed."""
        changed = dict(config)
        for section, name in self.described:
            changed[section] = {**changed[section], name: change(section, name, changed[section][name])}
        return changed

    def _with_family(self, section: str, name: str, block: Block) -> Block:
        found = self.described[section, name]
        return {**block, "family": found["family"]} if "run" in block and found else block

    def _as_files(self, section: str, name: str, block: Block) -> Block:
        given, found = self.config[section][name], self.described[section, name]
        if found:
            scale = {"scale": found["matching"]["scale"]} if section == "scorers" else {}
            block = {**scale, **given, "family": found["family"]}
        if found and "run" in block:
            files = {"weights": WEIGHTS, **BESIDE[section]}
            block |= {key: str(Path(block["run"]) / file) for key, file in files.items()}
        there = "run" in block or self._located(block).is_file()
        return {**block, "config": str(_beside(block))} if there else block

    def _located(self, block: Block) -> Path:
        return located(_beside(block), self.data, self.root)


def _beside(block: Block) -> Path:
    """The config.json of a run, or beside weights."""
    return Path(block["run"]) / NAME if "run" in block else Path(block["weights"]).with_name(NAME)
