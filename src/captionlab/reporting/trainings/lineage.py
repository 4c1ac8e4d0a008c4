"""The line from published weights to each model, as a tree of blocks of the config."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from captionlab.reporting.runs.values import Row

# A block: its section and its name.
Key = tuple[str, str]


@dataclass
class Node:
    """A block in the tree: its trainings (several, if it has `seeds`), their snapshots, and the blocks made from it."""

    section: str
    name: str
    models: list[Row] = field(default_factory=list)
    snapshots: list[Row] = field(default_factory=list)
    children: list["Node"] = field(default_factory=list)

    @property
    def model(self) -> Row:
        """The description of the first training."""
        return self.models[0]

    @property
    def way(self) -> str:
        """How the model comes about: imported, pretrained, finetuned, trained and the like."""
        return str(self.model["line"][0]["way"])

    @property
    def parent(self) -> str | None:
        """The model that the first training starts from; None for a model without a parent."""
        return next((one["name"] for one in self.model["line"][1:]), None)

    @property
    def trained(self) -> bool:
        """Return whether this run trains the model."""
        return self.model["job"] is not None

    @property
    def seeds(self) -> list[Any]:
        """Return the seed of each training."""
        return [model["seed"] for model in self.models]


def tree_of(models: Sequence[Row]) -> list[Node]:
    """Return the blocks that start from no other block, each with the blocks that start from it, at any depth.

    `models` are descriptions (captionlab.graph.documents). Trainings of a block with `seeds` share a node, and
    snapshots are in the node of their training.
    """
    nodes: dict[Key, Node] = {}
    owners: dict[Key, Node] = {}
    for model in sorted(models, key=lambda model: model["snapshot_of"] is not None):
        section, name = model["section"], model["name"]
        training = owners.get((section, model["snapshot_of"]))
        if training is not None:
            training.snapshots.append(model)
            owners[section, name] = training
        else:
            key = (section, next(iter(model["trainings"]), name))
            owners[section, name] = nodes.setdefault(key, Node(*key))
            nodes[key].models.append(model)
    roots: list[Node] = []
    for node in nodes.values():
        node.models.sort(key=lambda model: model["name"] != node.name)
        parent = owners.get((node.section, node.parent or ""))
        (parent.children if parent is not None else roots).append(node)
    return roots


def walked(roots: Sequence[Node]) -> Iterator[Node]:
    """Yield the nodes of trees, each before the nodes that start from it."""
    for node in roots:
        yield node
        yield from walked(node.children)
