"""The memory that a job asks for grows with its inputs and with its attempts."""

import pytest

from captionlab.workflow.resources import memory


def test_memory(tmp_path):
    for name, size in (("a", 3_000_000), ("b", 5_000_000), ("c", 7_000_000)):
        (tmp_path / name).write_bytes(bytes(size))
    a, b, c = (str(tmp_path / name) for name in "abc")
    mem_mb = memory(100, features=2, images=0.5)
    assert mem_mb(None, {"features": [a, b], "images": c, "config": "none"}, 1) == 100 + 2 * 8 + 3
    assert mem_mb(None, {"features": [a, b], "images": c}, 3) == 3 * 119
    assert mem_mb(None, {"features": [a], "images": a}, 1) == 101
    with pytest.raises(FileNotFoundError) as missing:
        mem_mb(None, {"features": ["none"], "images": a}, 1)
    assert missing.value.filename == "none"
