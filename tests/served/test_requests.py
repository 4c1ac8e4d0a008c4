"""Requests of models behind servers: images as data URLs, digests of requests, and decodings as parameters."""

import hashlib

import numpy as np
import pytest
from PIL import Image
from PIL.ExifTags import Base
from support.chat_server import images_of, texts_of
from support.decodings import decoding_of
from support.upright import as_stored

from captionlab.images.pixels import open_image
from captionlab.served.requests import Picture, Request, decoding_parameters


def row_of(path):
    return {"image_id": path.stem, "path": str(path), "offset": None, "length": None, "data": None}


@pytest.fixture
def photograph(tmp_path):
    """Return the row of a JPEG of 60 x 40 pixels that lies on its side."""
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    image, exif = Image.fromarray(as_stored(pixels, 6)), Image.Exif()
    exif[Base.Orientation] = 6
    image.save(tmp_path / "photograph.jpg", exif=exif)
    return row_of(tmp_path / "photograph.jpg")


def sent(*contents):
    return Request([("user", contents)]).body("tiny")


def test_images_are_sent_upright_and_without_loss(photograph):
    body = sent(Picture(photograph, 60), "describe it")
    (image,) = images_of(body)
    assert image.format == "PNG"
    assert image.size == (60, 40)
    np.testing.assert_array_equal(image, open_image(photograph))
    assert not image.getexif()
    assert body["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert [part["type"] for part in body["messages"][0]["content"]] == ["image_url", "text"]


@pytest.mark.parametrize(("longest", "size"), [(100, (60, 40)), (59, (59, 39)), (30, (30, 20)), (1, (1, 1))])
def test_larger_images_are_made_smaller_and_others_stay(photograph, longest, size):
    (image,) = images_of(sent(Picture(photograph, longest)))
    assert image.size == size


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "CMYK", "I;16"])
def test_images_of_other_modes_are_sent_as_rgb(mode, tmp_path):
    Image.new(mode, (8, 5)).save(tmp_path / "image.tiff")
    row = row_of(tmp_path / "image.tiff")
    (image,) = images_of(sent(Picture(row, 8)))
    assert image.mode == "RGB"
    np.testing.assert_array_equal(image, open_image(row))


def test_parts_of_containers_and_bytes_are_images_too(photograph, tmp_path):
    with open(photograph["path"], "rb") as file:
        content = file.read()
    (tmp_path / "container").write_bytes(b"before" + content + b"behind")
    part = row_of(tmp_path / "container") | {"offset": 6, "length": len(content)}
    inner = photograph | {"path": None, "data": content}
    requests = [Request([("user", [Picture(row, 60)])]) for row in (photograph, part, inner)]
    assert len({str(request.body("tiny")) for request in requests}) == 1
    assert len({request.key("tiny") for request in requests}) == 1  # the place of an image is nothing to its answer


def test_key_depends_on_everything_that_a_response_depends_on(photograph, tmp_path):
    other = tmp_path / "other.png"
    open_image(photograph).save(other)
    picture = Picture(photograph, 60)
    messages = [("system", ["be brief"]), ("user", [picture, "describe it"])]
    changed = [
        [("user", [picture, "describe it"])],
        [("system", ["be brief"]), ("user", [picture, "describe it."])],
        [("system", ["be brief"]), ("user", ["describe it", picture])],
        [("system", ["be brief"]), ("user", [Picture(photograph, 59), "describe it"])],
        [("system", ["be brief"]), ("user", [Picture(row_of(other), 60), "describe it"])],
        [("user", ["be brief"]), ("user", [picture, "describe it"])],
    ]
    keys = [Request(each, {"max_tokens": 5}).key("tiny") for each in [messages, *changed]]
    keys += [Request(messages, {"max_tokens": 5}).key("tiny-2"), Request(messages, {"max_tokens": 6}).key("tiny")]
    keys += [Request(messages, {"max_tokens": 5, "seed": 1}).key("tiny")]
    assert len(set(keys)) == len(keys)
    again = Request([("system", ("be brief",)), ("user", (picture, "describe it"))], {"max_tokens": 5})
    assert again.key("tiny") == keys[0]
    with open(photograph["path"], "rb") as file:
        assert picture.digest() == hashlib.blake2b(file.read(), digest_size=16).hexdigest()


def test_texts_alone_are_sent_as_a_text():
    body = sent("one", "two")
    assert body["messages"] == [{"role": "user", "content": "one\ntwo"}]
    assert texts_of(body) == [("user", "one\ntwo")]


DECODINGS = {
    "greedy": ({"kind": "greedy", "max_tokens": 7}, {"max_tokens": 7, "temperature": 0.0}),
    "greedy with a penalty": (
        {"kind": "greedy", "max_tokens": 7, "repetition_penalty": 1.5},
        {"max_tokens": 7, "temperature": 0.0, "repetition_penalty": 1.5},
    ),
    "sample": (
        {"kind": "sample", "max_tokens": 7, "temperature": 0.7, "top_p": 0.9, "top_k": 5},
        {"max_tokens": 7, "temperature": 0.7, "top_p": 0.9, "top_k": 5, "seed": 3},
    ),
}


@pytest.mark.parametrize(("block", "parameters"), DECODINGS.values(), ids=DECODINGS)
def test_decodings_are_parameters(block, parameters):
    assert decoding_parameters(decoding_of(**block), 3) == parameters


def test_beam_search_is_refused():
    with pytest.raises(ValueError, match="servers have no beam search"):
        decoding_parameters(decoding_of("beam", 7), 0)
