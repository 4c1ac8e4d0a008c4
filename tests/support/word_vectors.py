"""A spaCy model with word vectors, as an installed package."""

from pathlib import Path

MODULE = """
import numpy as np
import spacy

VECTORS = {vectors}


def load(**options):
    model = spacy.blank("en")
    for word, vector in VECTORS.items():
        model.vocab.set_vector(word, np.array(vector, dtype="float32"))
    return model
"""


def install(folder: Path, name: str, vectors: dict[str, list[float]]) -> None:
    """Write a package, below a folder of the search path, that spaCy takes for an installed model of this name."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(MODULE.format(vectors=vectors), encoding="utf-8")
    (folder / f"{name}-1.0.dist-info").mkdir()
    (folder / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
