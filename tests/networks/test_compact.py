"""Weights that come with captionlab: what is written of them, and what an import reads."""

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from captionlab.networks.checkpoints import CheckpointError, read_checkpoint, write_model
from captionlab.networks.compact import SIZES, write_compact

WORDS, KEPT = "words.weight", [40, 7, 40, 0]


def weights():
    generator = torch.Generator().manual_seed(1)
    return {
        WORDS: torch.randn(50, 8, generator=generator),
        "layer.weight": torch.randn(3, 8, generator=generator),
        "batches": torch.tensor(1234567),
        "seen": torch.tensor([True, False]),
    }


def test_kept_rows_come_back_in_half_precision_and_others_as_zeros(tmp_path):
    given, path = weights(), tmp_path / "model.safetensors"
    write_compact(path, given, {WORDS: KEPT})
    found = read_checkpoint(path)
    assert found.keys() == given.keys()
    assert found[WORDS].shape == given[WORDS].shape
    kept = sorted(set(KEPT))
    assert torch.equal(found[WORDS][kept], given[WORDS][kept].half())
    others = [row for row in range(50) if row not in kept]
    assert not found[WORDS][others].any()
    assert torch.equal(found["layer.weight"], given["layer.weight"].half())
    assert torch.equal(found["batches"], given["batches"])
    assert torch.equal(found["seen"], given["seen"])


def test_a_file_has_the_kept_rows_alone(tmp_path):
    path = tmp_path / "model.safetensors"
    write_compact(path, {WORDS: torch.ones(49408, 64)}, {WORDS: KEPT})
    assert path.stat().st_size < 1000
    with safe_open(path, "pt") as file:
        assert sorted(file.keys()) == [WORDS, f"{WORDS}.kept"]


def test_what_is_read_is_as_it_was_without_kept_rows(tmp_path):
    write_compact(tmp_path / "model.safetensors", weights(), {})
    assert read_checkpoint(tmp_path / "model.safetensors")[WORDS].dtype == torch.half
    write_model(tmp_path / "plain", {}, weights())
    assert torch.equal(read_checkpoint(tmp_path / "plain" / "model.safetensors")[WORDS], weights()[WORDS])


def test_numbers_that_half_precision_does_not_have(tmp_path):
    with pytest.raises(ValueError, match=r"layer\.weight"):
        write_compact(tmp_path / "model.safetensors", {"layer.weight": torch.tensor([1e5])}, {})
    write_compact(tmp_path / "model.safetensors", {"mask": torch.tensor([-torch.inf, 0.0])}, {})
    assert read_checkpoint(tmp_path / "model.safetensors")["mask"].tolist() == [-torch.inf, 0.0]


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"half a download")
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        read_checkpoint(path)


def test_a_file_without_the_rows_that_it_announces_is_named(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file({WORDS: torch.ones(2, 3)}, path, {SIZES: f'{{"{WORDS}": 50}}'})
    with pytest.raises(CheckpointError, match=rf"model\.safetensors .*{WORDS}\.kept is missing"):
        read_checkpoint(path)


def test_metadata_of_others_are_no_matter(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file({WORDS: torch.ones(2, 3)}, path, {"rows": "two"})
    assert read_checkpoint(path)[WORDS].shape == (2, 3)
