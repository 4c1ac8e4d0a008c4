"""Captions of a model behind a scripted server."""

import pytest
from PIL import Image
from support.chat_server import chat, chat_server, images_of, refusal, texts_of

from captionlab.config.captioners import ServedCaptioner
from captionlab.config.evaluations import read_decoding
from captionlab.generation.served import request_captions
from captionlab.served.client import ServerError
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import write_table

GREEDY = {"kind": "greedy", "max_tokens": 30}
PLACE = {"offset": None, "length": None, "data": None, "image_set": None, "width": 8, "height": 6}


@pytest.fixture
def corpora(tmp_path, monkeypatch):
    """Two corpora with two images each; the red channel of an image is its number."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = {}
    for corpus, numbers in {"one": (10, 20), "two": (30, 40)}.items():
        rows = []
        for place, number in enumerate(numbers):
            Image.new("RGB", (8, 6), (number, 0, 0)).save(tmp_path / f"{number}.png")
            row = {"image_id": f"{number}", "position": place, "split": "test", "path": str(tmp_path / f"{number}.png")}
            rows.append({**row, **PLACE})
        write_table(tmp_path / f"{corpus}.parquet", IMAGES, rows)
        found[corpus] = ([str(number) for number in numbers], str(tmp_path / f"{corpus}.parquet"))
    return found


def served(server, corpora, decoding=GREEDY, seed=0, **keys):
    block = {"family": "endpoint", "url": server.url, "model": "m", "prompt": "Describe.", "retries": 0, **keys}
    return request_captions(ServedCaptioner.model_validate(block), "mine", corpora, read_decoding(decoding), seed)


def number_of(body):
    return images_of(body)[0].getpixel((0, 0))[0]


def test_captions_are_in_the_order_of_the_images(corpora):
    with chat_server(lambda body: chat(f" A  dog\n{number_of(body)}. ")) as server:
        result = served(server, corpora, system="Be brief.", image_size=4)
    assert [(row["corpus"], row["image_id"], row["caption_index"], row["caption"]) for row in result.captions] == [
        ("one", "10", 0, "A dog 10."), ("one", "20", 0, "A dog 20."),
        ("two", "30", 0, "A dog 30."), ("two", "40", 0, "A dog 40."),
    ]  # fmt: skip
    assert result.failures == []
    assert texts_of(server.bodies[0]) == [("system", "Be brief."), ("user", "Describe.")]
    assert {images_of(body)[0].size for body in server.bodies} == {(4, 3)}
    assert {body["temperature"] for body in server.bodies} == {0.0}
    assert {body["max_tokens"] for body in server.bodies} == {30}
    assert not any("seed" in body or "authorization" in headers.values() for body, headers in zip(
        server.bodies, server.headers, strict=True
    ))  # fmt: skip


def test_samples_are_requests_with_seeds_of_their_own(corpora):
    decoding = {"kind": "sample", "max_tokens": 9, "samples": 3, "temperature": 0.7, "top_p": 0.9, "top_k": 5}
    with chat_server(lambda body: chat(f"seed {body['seed']}")) as server:
        result = served(server, corpora, decoding, seed=100)
        again = served(server, corpora, decoding, seed=100)
    assert [row["caption"] for row in result.captions] == ["seed 100", "seed 101", "seed 102"] * 4
    assert [row["caption_index"] for row in result.captions] == [0, 1, 2] * 4
    assert again == result
    assert len(server.bodies) == 12
    asked = {key: server.bodies[0][key] for key in ("temperature", "top_p", "top_k", "max_tokens")}
    assert asked == {"temperature": 0.7, "top_p": 0.9, "top_k": 5, "max_tokens": 9}


@pytest.mark.parametrize(
    ("keys", "decoding", "expected"),
    [
        ({}, {}, "A dog. It runs! Fast"),
        ({"answer": {"first_sentence": True}}, {}, "A dog."),
        ({"answer": {"max_words": 3}}, {}, "A dog. It"),
        ({}, {"stop": "!"}, "A dog. It runs!"),
    ],
)
def test_part_of_an_answer_that_is_the_caption(corpora, keys, decoding, expected):
    with chat_server("A dog. It runs! Fast") as server:
        result = served(server, corpora, {**GREEDY, **decoding}, **keys)
    assert {row["caption"] for row in result.captions} == {expected}
    assert not any("stop" in body for body in server.bodies)


def test_parameters_of_the_config_are_added_and_taken_out(corpora):
    more = {"chat_template_kwargs": {"enable_thinking": False}, "max_tokens": None, "max_completion_tokens": 60}
    with chat_server("a dog") as server:
        served(server, corpora, parameters=more)
    assert server.bodies[0]["chat_template_kwargs"] == {"enable_thinking": False}
    assert (server.bodies[0].get("max_tokens"), server.bodies[0]["max_completion_tokens"]) == (None, 60)


def test_a_request_that_fails_is_an_empty_caption_with_its_reason(corpora):
    def script(body):
        return refusal(400, "too many pixels") if number_of(body) in refused else "a dog"

    refused = [20]
    with chat_server(script) as server:
        result = served(server, corpora, max_failed=0.2)
        assert [row["caption"] for row in result.captions] == ["a dog", "", "a dog", "a dog"]
        (failure,) = result.failures
        assert {key: failure[key] for key in ("corpus", "image_id", "caption_index")} == {
            "corpus": "one", "image_id": "20", "caption_index": 0,
        }  # fmt: skip
        assert "HTTP 400" in failure["reason"]
        assert "too many pixels" in failure["reason"]
        refused.append(40)
        with pytest.raises(ServerError, match=r"captioners\.mine: 2 of 4 requests failed, more than max_failed"):
            served(server, corpora, max_failed=0.2, prompt="Describe it.")
