"""The inputs of a metric: the captions of a captioner in an evaluation, and the tables that its declaration `reads`.

Tables are read on first use. Captions, references and objects are grouped by corpus, in the order of the config.
Encoders and lists of categories are not included. The metric that needs them loads them itself, so a change of their
code does not rerun the other metrics.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from captionlab.config.languages import Tokenizer
from captionlab.evaluation.references import read_references
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES, OBJECTS, TAGGED, TOKENS
from captionlab.storage.tables import TableSchema, read_table

Row = dict[str, Any]
# The key of a caption: its image, and its index among the captions of the image.
Key = tuple[str, int]


class MetricInputs:
    """The inputs and parameters of a job of the rule `score_captions`."""

    def __init__(self, inputs: Mapping[str, Any], params: Mapping[str, Any]):
        self.inputs, self.params = inputs, params
        self.settings: Mapping[str, Any] = params["settings"]  # values of the declared keys in the evaluation
        self.corpora: Sequence[str] = params["corpora"]
        self.people: bool = params["people"]  # the captions are references themselves

    @cached_property
    def captions(self) -> dict[str, list[Row]]:
        """Return the rows of GENERATED, by corpus."""
        return self._by_corpus(self.inputs["captions"], GENERATED)

    @cached_property
    def tokens(self) -> dict[str, dict[Key, str]]:
        """Return the tokens of each caption, joined by spaces, by corpus and caption ("tokens")."""
        rows = self._by_corpus(self.inputs["tokens"], TOKENS)
        return {name: {(row["image_id"], row["caption_index"]): row["tokens"] for row in rows[name]} for name in rows}

    @cached_property
    def tags(self) -> dict[str, list[Row]]:
        """Return the rows of TAGGED of the captions, by corpus: words, lemmas and parts of speech ("tags")."""
        return self._by_corpus(self.inputs["tags"], TAGGED)

    @cached_property
    def reference_tags(self) -> dict[str, list[Row]]:
        """Return the rows of TAGGED of the references of the evaluated split, by corpus ("reference_tags")."""
        number, tables = self.params["references_per_image"], self._of_corpora("reference_tags")
        rows = {name: read_table(path, TAGGED).to_pylist() for name, path in tables}
        return {name: [row for row in rows[name] if number is None or row["caption_index"] < number] for name in rows}

    @cached_property
    def references(self) -> dict[str, dict[str, list[str]]]:
        """Return the tokens of the references in the evaluated split, by corpus and image ("references").

        The tokens of a reference are joined by spaces.
        """
        number = self.params["references_per_image"]
        return {name: read_references(path, number) for name, path in self._of_corpora("references")}

    @cached_property
    def texts(self) -> dict[str, dict[str, list[str]]]:
        """Return the references of the evaluated split as they were written, by corpus and image ("texts")."""
        images, captions = (dict(self._of_corpora(f"{name}_of_corpora")) for name in ("images", "captions"))
        splits = dict(zip(self.corpora, self.params["splits"], strict=True))
        number = self.params["references_per_image"]
        return {name: _written(images[name], captions[name], splits[name], number) for name in self.corpora}

    @property
    def languages(self) -> Mapping[str, str]:
        """Return the languages of corpora that are not in English, by corpus ("languages")."""
        found: Mapping[str, str] = self.params["languages"]
        return found

    @property
    def tokenizers(self) -> Mapping[str, Tokenizer]:
        """Return the tokenisers of corpora that have another one than English, by corpus ("tokenizers")."""
        found: Mapping[str, Tokenizer] = self.params["tokenizers"]
        return found

    @cached_property
    def objects(self) -> dict[str, list[Row]]:
        """Return the rows of OBJECTS of all splits, by corpus ("objects").

        A corpus without annotated objects has no rows.
        """
        return {name: read_table(path, OBJECTS).to_pylist() for name, path in self._of_corpora("objects")}

    @cached_property
    def training(self) -> list[str]:
        """Return the train captions, as written, that the captioner and its ancestors learnt from ("training").

        The list is empty if the captioner was trained elsewhere or descends from a captioner that was.
        """
        tables = zip(self.inputs["training_images"], self.inputs["training_captions"], strict=True)
        return [text for paths_of in tables for texts in _written(*paths_of, "train").values() for text in texts]

    def _of_corpora(self, name: str) -> list[tuple[str, str]]:
        """Return each corpus with its table among the inputs of this name."""
        return list(zip(self.corpora, self.inputs[name], strict=True))

    def _by_corpus(self, path: str, kind: TableSchema) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {name: [] for name in self.corpora}
        for row in read_table(path, kind).to_pylist():
            found[row["corpus"]].append(row)
        return found


def _written(images: str, captions: str, split: str, number: int | None = None) -> dict[str, list[str]]:
    """Return the captions of a split by image, in annotation order; only the first `number` per image if it is set."""
    table = read_table(images, IMAGES, ["image_id", "position", "split"]).sort_by("position")
    here = [row["image_id"] for row in table.to_pylist() if row["split"] == split]
    found: dict[str, list[str]] = defaultdict(list, {image: [] for image in here})
    for row in read_table(captions, CAPTIONS).sort_by("caption_index").to_pylist():
        if row["image_id"] in found and (number is None or row["caption_index"] < number):
            found[row["image_id"]].append(row["caption"])
    return dict(found)
