"""Models made in another run, and the config.json beside their weights, which is read before the graph is built.

If a block has the key `run`, the folder of a model, it becomes the block of an imported model: its files are the files
in this folder, and its family is the family in config.json. If a config.json lies beside the `weights` of a block, the
family and the sizes are taken from this file.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.config.blocks import Block, located, without
from captionlab.config.families import captioners, encoders
from captionlab.config.names import hint
from captionlab.installation import start_of
from captionlab.plugins import facts
from captionlab.userfiles.model_config import BESIDE, NAME, WEIGHTS, made_here, refuse_other

# Settings of a scorer that the plan of a run depends on.
_SCORED = ("scale", "score")


class Reused:
    """The models of a config that were made in other runs; `root` is the folder of the Snakefile.

    The config may have mistakes of any kind.
    """

    def __init__(self, config: Block, root: Path):
        self.config, self.root, self.mistakes = config, root, list[str]()
        self.data = start_of(root) / str(config.get("data", "."))
        # The content of config.json by section and name; empty if there is no such file.
        self.described: dict[tuple[str, str], Block] = {}
        for section, name, block in self._blocks():
            key = "run" if "run" in block else "weights"
            try:
                self.described[section, name] = self._read(section, block)
            except ValueError as error:
                self.mistakes.append(f"{section}.{name}.{key}: {error}")

    def with_families(self) -> Block:
        """Return the config with the family of each block that has a `run`, if its config.json tells the family."""
        return self._changed(self.config, self._with_family)

    def as_files(self, filled: Block) -> Block:
        """Return the checked config with these models as files: weights, tokens or vocabulary, and config.json.

        The key `config` names the config.json beside the weights, if there is one. Sizes that config.json gives have no
        defaults, and a scorer has the scale and the kind of score that config.json gives.
        """
        return self._changed(filled, self._as_files)

    def complete(self) -> bool:
        """Return whether the config.json of every `run` exists and could be read.

        Otherwise families are missing, and the config cannot be checked further.
        """
        return not self.mistakes and all(
            self.described[section, name] for section, name, b in self._blocks() if "run" in b
        )

    def width_mistakes(self, filled: Block) -> Iterator[str]:
        """Yield a sentence for each captioner whose encoder gives embeddings of another size than it was trained on.

        A captioner is checked if both sizes are known.
        """
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
        """Return the size of the embeddings of an encoder, from its config.json or its block; None if neither tells."""
        found: Any = self.described.get(("encoders", encoder)) or block
        for key in encoders()[block["family"]].size:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, int) else None

    def _blocks(self) -> Iterator[tuple[str, str, Block]]:
        """Yield the section, the name and the block of each model that names a run or a file of weights."""
        for section in BESIDE:
            blocks = self.config.get(section)
            for name, block in blocks.items() if isinstance(blocks, dict) else ():
                # Weights with the name of a model are a tag.
                named = block.get("run", block.get("weights")) if isinstance(block, dict) else None
                if isinstance(named, str) and "model" not in block:
                    yield section, name, block

    def _read(self, section: str, block: Block) -> Block:
        """Return the content of the config.json of a model.

        Raises ValueError if the file is of another section or family, or does not fit the block.
        """
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
        """Return a config in which `change` has replaced the block of each reused model."""
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
            scored = {key: found["matching"][key] for key in _SCORED if key in found.get("matching", {})}
            block = {**scored, **given, "family": found["family"]}
        if found and "run" in block:
            in_folder = section == "scorers" and facts(section)[found["family"]].folder
            files = {"weights": WEIGHTS, **(BESIDE["captioners"] if in_folder else BESIDE[section])}
            block |= {key: str(Path(block["run"]) / file) for key, file in files.items()}
        there = "run" in block or self._located(block).is_file()
        return {**block, "config": str(_beside(block))} if there else block

    def _located(self, block: Block) -> Path:
        return located(_beside(block), self.data, self.root)


def _beside(block: Block) -> Path:
    """Return the path of the config.json in the folder of a run, or beside weights."""
    return Path(block["run"]) / NAME if "run" in block else Path(block["weights"]).with_name(NAME)
