"""Captioners behind servers: what is asked of a config, and what their jobs read and depend on."""

import copy

import pytest
from support.plans import plan
from test_config import CONFIG, ROOT

from captionlab.config.whole import ConfigError, checked

SERVED = {"family": "endpoint", "url": "http://localhost:8000/v1", "model": "tiny", "prompt": "Describe."}
SECRET = "sk-5ecre7"


def config(block, **decoding):
    found = copy.deepcopy(CONFIG)
    found["captioners"]["served"] = block
    found["decodings"]["of-server"] = {"kind": "greedy", "max_tokens": 20, **decoding}
    evaluation = {**found["evaluations"]["main"], "captioners": ["served"], "decoding": "of-server"}
    found["evaluations"]["of-server"] = evaluation
    return found


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ({"url": "localhost:8000"}, "captioners.served.url is no address such as http://localhost:8000/v1"),
        ({"url": f"https://me:{SECRET}@host/v1"}, "captioners.served.url has a user, a password or a query in it"),
        ({"url": f"https://host/v1?key={SECRET}"}, "captioners.served.url has a user, a password or a query in it"),
        (
            {"api_key_variable": SECRET},
            "captioners.served.api_key_variable must be the name of an environment variable",
        ),
        ({"api_key": SECRET}, "captioners.served has no key 'api_key'; did you mean 'api_key_variable'?"),
        ({"budget": 5}, "captioners.served.budget needs a price"),
        ({"parameters": {"n": 3}}, "captioners.served.parameters.n is set by captionlab; drop it"),
        ({"price": {"input": 1}}, "captioners.served.price lacks the key output"),
        ({"max_failed": 5}, "captioners.served.max_failed is 5; it must be at most 1"),
        ({"weights": "a"}, "captioners.served"),
    ],
)
def test_a_mistake_is_a_sentence_without_a_secret(keys, names, answers):
    with pytest.raises(ConfigError) as raised:
        checked(config({**SERVED, **keys}), ROOT)
    answers.hold(f"captioners.served: `{keys}`", raised.value, names)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("decoding", "names"),
    [
        ({"kind": "beam", "beams": 3}, "evaluations.of-server: decodings.of-server is a beam search, which the server"),
        ({"rules": "camel"}, "evaluations.of-server: decodings.of-server.rules is 'camel', and a server writes"),
    ],
)
def test_decodings_that_servers_do_not_have(decoding, names, answers):
    with pytest.raises(ConfigError) as raised:
        checked(config(SERVED, **decoding), ROOT)
    answers.hold(f"decodings of a server: `{decoding}`", raised.value, names)


def test_it_needs_a_decoding_and_cannot_be_finetuned():
    found = config(SERVED)
    del found["evaluations"]["of-server"]["decoding"]
    with pytest.raises(
        ConfigError, match=r"evaluations\.of-server has captioners that generate, so it needs a decoding"
    ):
        checked(found, ROOT)
    found = config(SERVED)
    tuned = next(block for block in found["captioners"].values() if "parent" in block)
    found["captioners"]["further"] = {**tuned, "parent": "served"}
    with pytest.raises(ConfigError, match="'served' is of the family endpoint and has no weights"):
        checked(found, ROOT)


def toy(**keys):
    return {
        "seed": 1,
        "corpora": {"toy": {"reader": "toyworld", "domain": "coco", "seed": 1, "images": {"test": 8}}},
        "captioners": {"served": {**SERVED, **keys}},
        "decodings": {"greedy": {"kind": "greedy", "max_tokens": 20}},
        "evaluations": {"main": {"captioners": ["served"], "corpora": ["toy"], "decoding": "greedy"}},
    }


@pytest.fixture
def job(tmp_path):
    """Return the job that asks a server, by keys of the captioner."""
    return lambda **keys: plan(toy(**keys), tmp_path).job("request_captions")


def test_another_address_key_price_or_limit_asks_nothing_again(job):
    others = {"url": "http://other/v1", "api_key_variable": "MY_KEY", "price": {"input": 1, "output": 2}, "budget": 9}
    others |= {"concurrency": 1, "timeout": 5, "retries": 0, "max_failed": 0.5}
    assert job(**others).params == job().params


@pytest.mark.parametrize(
    "keys",
    [
        {"model": "other"},
        {"prompt": "Describe it."},
        {"system": "Be brief."},
        {"image_size": 512},
        {"parameters": {"top_k": 3}},
        {"answer": {"first_sentence": True}},
    ],
)
def test_another_model_prompt_or_image_asks_again(job, keys):
    assert job(**keys).params != job().params


def test_it_reads_images_only(job):
    job = job()
    assert job.inputs == {"images": ["results/corpora/toy/images.parquet"], "described": [], "checks": []}
    assert job.outputs["captions"] == "results/captions/served/main.parquet"
    assert job.outputs["failures"] == "results/failed_requests/served/main.parquet"
