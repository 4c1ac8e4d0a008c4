"""Files of people that are compressed, and paths that no rule can read."""

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import pytest

from captionlab.userfiles.reading import GivenError, absent, read_json, read_text, unusual

TEXT = b'{"images": []}'


def zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.json", content)
    return stream.getvalue()


COMPRESSED = {
    "gunzip": gzip.compress(TEXT),
    "unzip": zipped(TEXT),
    "bunzip2": bz2.compress(TEXT),
    "unxz": lzma.compress(TEXT),
    "unzstd": b"\x28\xb5\x2f\xfd\x04\x00",
}


@pytest.mark.parametrize("program", COMPRESSED)
@pytest.mark.parametrize("read", [read_json, read_text])
def test_compressed_files(tmp_path, program, read):
    path = tmp_path / "a.json"
    path.write_bytes(COMPRESSED[program])
    with pytest.raises(GivenError, match=rf"a\.json is compressed; unpack it, with {program} "):
        read(path)


def test_texts_that_only_begin_alike(tmp_path):
    for number, text in enumerate(("PK", "BZ", "", "BZhoo,caption")):
        path = tmp_path / f"{number}.txt"
        path.write_text(text)
        assert read_text(path) == text


@pytest.mark.parametrize(
    ("name", "refused"),
    [("trip {2024}", True), ("{a,b}", True), ("{ x }", True), ("trip 2024", False), ("{}", False), ("a{b", False)],
)
def test_names_in_braces(tmp_path, name, refused):
    folder = tmp_path / name
    folder.mkdir()
    sentence = f"{folder} has {name[name.find('{') :]} in its name" if refused else ""
    assert unusual(folder).startswith(sentence)
    assert bool(unusual(folder)) is bool(absent(folder, "folder")) is refused
    assert absent(Path(folder / "none"), "file").startswith("no such file")
