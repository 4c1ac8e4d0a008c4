"""Mined neighbours against a naive search, and as a table."""

import numpy as np
import pytest
import torch

from captionlab.encoders import neighbours as module
from captionlab.encoders.neighbours import NEIGHBOURS, nearest, neighbour_columns, read_neighbours
from captionlab.storage.tables import TableError, write_table


@pytest.mark.parametrize("scores", [16, 64_000_000])
def test_same_as_a_naive_search(monkeypatch, scores):
    monkeypatch.setattr(module, "SCORES", scores)
    embeddings = torch.randn(11, 5, generator=torch.Generator().manual_seed(0)) * 3
    rows, similarities = nearest(embeddings, 4)
    for image in range(11):
        cosines = {
            other: float(torch.nn.functional.cosine_similarity(embeddings[image], embeddings[other], dim=0))
            for other in range(11)
            if other != image
        }
        expected = sorted(cosines, key=lambda other: -cosines[other])[:4]
        assert rows[image].tolist() == expected
        np.testing.assert_allclose(similarities[image], [cosines[other] for other in expected], atol=1e-6)


def test_a_copy_is_a_neighbour_and_the_image_itself_is_not():
    embeddings = torch.randn(6, 3)
    embeddings[4] = 2 * embeddings[1]
    rows, similarities = nearest(embeddings, 1)
    assert (rows[1].item(), rows[4].item()) == (4, 1)
    assert similarities[1].item() == pytest.approx(1.0)


def test_too_few_images_are_a_sentence():
    with pytest.raises(ValueError, match=r"5 neighbours are wanted and there are 5 images; lower"):
        nearest(torch.randn(5, 3), 5)


def test_table(tmp_path):
    ids = [f"image {n}" for n in range(7)]
    rows, similarities = nearest(torch.randn(7, 3), 3)
    path = tmp_path / "neighbours.parquet"
    write_table(path, NEIGHBOURS, neighbour_columns(ids, rows, similarities))
    assert torch.equal(read_neighbours(path, ids, 3), rows)
    order = [3, 0, 6, 1, 5, 2, 4]
    place = torch.tensor([order.index(row) for row in range(7)])
    assert torch.equal(read_neighbours(path, [ids[row] for row in order], 2), place[rows[order][:, :2]])
    with pytest.raises(TableError, match=r"image 'image 0' has fewer than 4 neighbours; mine again"):
        read_neighbours(path, ids, 4)
    with pytest.raises(TableError, match=r"image 'other' is in one of table and split only"):
        read_neighbours(path, [*ids, "other"], 1)
