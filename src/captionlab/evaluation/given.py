"""What a metric is computed from: the captions of a captioner for an evaluation, and what its declaration `reads`.

Everything is read when it is asked for; captions, references and objects are by corpus, in the order of the config.
Encoders and lists of categories are not among it: the one metric that wants them opens them, so that a change of their
code scores by no other metric anew.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from captionlab.evaluation.references import read_references
from captionlab.schemas import CAPTIONS, GENERATED, IMAGES, OBJECTS, TAGGED, TOKENS
from captionlab.tables import TableSchema, read_table

Row = dict[str, Any]
# A caption: its image, and its index among the captions of that image.
Key = tuple[str, int]


class Given:
    """The inputs and parameters of a job of rule `score_<table>`, as a metric wants them."""

    def __init__(self, inputs: Mapping[str, Any], params: Mapping[str, Any]):
        self.inputs, self.params = inputs, params
        self.settings: Mapping[str, Any] = params["settings"]  # what the evaluation has under the declared keys
        self.corpora: Sequence[str] = params["corpora"]
        self.people: bool = params["people"]  # the captions are references themselves

    @cached_property
    def captions(self) -> dict[str, list[Row]]:
        """Rows of GENERATED of each corpus."""
        return self._by_corpus(self.inputs["captions"], GENERATED)

    @cached_property
    def tokens(self) -> dict[str, dict[Key, str]]:
        """Tokens of each caption, joined by spaces ("tokens")."""
        rows = self._by_corpus(self.inputs["tokens"], TOKENS)
        return {name: {(row["image_id"], row["caption_index"]): row["tokens"] for row in rows[name]} for name in rows}

    @cached_property
    def tags(self) -> dict[str, list[Row]]:
        """Rows of TAGGED of each corpus: words, lemmas and parts of speech of the captions ("tags")."""
        return self._by_corpus(self.inputs["tags"], TAGGED)

    @cached_property
    def reference_tags(self) -> dict[str, list[Row]]:
        """The same of the references of the evaluated split ("reference_tags")."""
        number, tables = self.params["references_per_image"], self._of_corpora("reference_tags")
        rows = {name: read_table(path, TAGGED).to_pylist() for name, path in tables}
        return {name: [row for row in rows[name] if number is None or row["caption_index"] < number] for name in rows}

    @cached_property
    def references(self) -> dict[str, dict[str, list[str]]]:
        """Tokens of the references of each image of the evaluated split, joined by spaces ("references")."""
        number = self.params["references_per_image"]
        return {name: read_references(path, number) for name, path in self._of_corpora("references")}

    @cached_property
    def texts(self) -> dict[str, dict[str, list[str]]]:
        """The same as they were written ("texts")."""
        images, captions = (dict(self._of_corpora(f"{name}_of_corpora")) for name in ("images", "captions"))
        splits = dict(zip(self.corpora, self.params["splits"], strict=True))
        number = self.params["references_per_image"]
        return {name: _written(images[name], captions[name], splits[name], number) for name in self.corpora}

    @cached_property
    def objects(self) -> dict[str, list[Row]]:
        """Rows of OBJECTS of each corpus, of all splits; none where nobody annotated any ("objects")."""
        return {name: read_table(path, OBJECTS).to_pylist() for name, path in self._of_corpora("objects")}

    @cached_property
    def training(self) -> list[str]:
        """Captions, as written, of the splits train that the captioner and its ancestors learnt from ("training").

        None of a captioner that was trained elsewhere, or descends from one.
        """
        tables = zip(self.inputs["training_images"], self.inputs["training_captions"], strict=True)
        return [text for paths_of in tables for texts in _written(*paths_of, "train").values() for text in texts]

    def _of_corpora(self, name: str) -> list[tuple[str, str]]:
        """Each corpus with its table among the inputs of this name."""
        return list(zip(self.corpora, self.inputs[name], strict=True))

    def _by_corpus(self, path: str, kind: TableSchema) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {name: [] for name in self.corpora}
        for row in read_table(path, kind).to_pylist():
            found[row["corpus"]].append(row)
        return found


def _written(images: str, captions: str, split: str, number: int | None = None) -> dict[str, list[str]]:
    """Captions of the images of a split, the first so many, in the order of the annotation file."""
    table = read_table(images, IMAGES, ["image_id", "position", "split"]).sort_by("position")
    here = [row["image_id"] for row in table.to_pylist() if row["split"] == split]
    found: dict[str, list[str]] = defaultdict(list, {image: [] for image in here})
    for row in read_table(captions, CAPTIONS).sort_by("caption_index").to_pylist():
        if row["image_id"] in found and (number is None or row["caption_index"] < number):
            found[row["image_id"]].append(row["caption"])
    return dict(found)
