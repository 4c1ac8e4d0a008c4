"""What captions are compared with: all references of an image, or the first few."""

from pathlib import Path

from captionlab.evaluation.references import read_references
from captionlab.storage.schemas import TOKENS
from captionlab.storage.tables import write_table


def test_the_first_references_of_an_image(tmp_path: Path):
    rows = [("a", 1, "second"), ("a", 0, "first"), ("b", 0, "only"), ("a", 2, "third")]
    images, indices, texts = map(list, zip(*rows, strict=True))
    columns = {"corpus": ["toy"] * 4, "image_id": images, "caption_index": indices, "tokens": texts}
    write_table(tmp_path / "references.parquet", TOKENS, columns)
    assert read_references(tmp_path / "references.parquet") == {"a": ["first", "second", "third"], "b": ["only"]}
    assert read_references(tmp_path / "references.parquet", 2) == {"a": ["first", "second"], "b": ["only"]}
