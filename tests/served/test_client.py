"""The client of models behind servers against a scripted server, good and bad."""

import re
import threading

import pytest
from support.asking import ask
from support.chat_server import HTML, WITHOUT_CHOICES, Hang, Reply, chat, chat_server, refusal, texts_of

from captionlab.config.served import Served
from captionlab.jobs import usage as usage_of_job
from captionlab.jobs.usage import Usage
from captionlab.served import client
from captionlab.served.client import FIRST, ServerError
from captionlab.served.requests import Request
from captionlab.served.responses import Failure, Response

KEY = "sk-very-secret-0123456789"
ASKER = "captioners.one"


@pytest.fixture(autouse=True)
def own_cache_and_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def usage(monkeypatch):
    """Return the usage of a job of its own."""
    fresh = Usage()
    monkeypatch.setattr(usage_of_job, "usage", fresh)
    monkeypatch.setattr(client, "usage", fresh)
    return fresh


def request(text, **parameters):
    return Request([("user", [text])], parameters)


def requests(number, start=0):
    return [request(f"question {index}") for index in range(start, start + number)]


def served(server, **keys):
    return Served(url=server.url, **{"model": "tiny", **keys})


def question(body):
    return texts_of(body)[-1][1]


def echo(body):
    return f"answer to {question(body)}"


def first_time(faults):
    """Return a script that answers each question with its fault, and well from the second time on."""
    left = dict(faults)
    return lambda body: left.pop(question(body), echo(body))


def texts(answers):
    """Return the texts of responses; a Failure fails the test."""
    assert not [answer for answer in answers if isinstance(answer, Failure)]
    return [answer.text for answer in answers]


def reason(answer):
    assert isinstance(answer, Failure), answer
    return answer.reason


def error_of(server, asked, match, **keys):
    with pytest.raises(ServerError, match=match) as caught:
        ask(served(server, **keys), asked, ASKER)
    return str(caught.value)


def test_answers_are_in_the_order_of_requests():
    with chat_server(echo) as server:
        assert texts(ask(served(server), requests(50), ASKER)) == [f"answer to question {n}" for n in range(50)]


# Requests that are sent again


def test_retry_after_is_honoured():
    with chat_server([refusal(429, "slow down", retry_after="1.2"), "a dog"]) as server:
        assert texts(ask(served(server), [request("?")], ASKER)) == ["a dog"]
    first, second = server.times
    assert second - first >= 1.2  # without the header it is half a second at most


def test_requests_are_sent_again_after_passing_faults():
    faults = {
        "408": refusal(408, retry_after_ms="1"),
        "429 without a time": refusal(429),
        "500": refusal(500, retry_after_ms="1"),
        "503 of a proxy": Reply(b"<html>no backend</html>", 503),
        "a cut response": chat("a cat", cut=True),
    }
    with chat_server(first_time(faults)) as server:
        answers = ask(served(server), [request(name) for name in faults], ASKER)
    assert texts(answers) == [f"answer to {name}" for name in faults]
    assert [*server.counts().values()] == [2] * len(faults)


def test_a_request_that_hangs_is_sent_again():
    with chat_server(first_time({"?": Hang()})) as server:
        assert texts(ask(served(server, timeout=2), [request("?")], ASKER)) == ["answer to ?"]
        assert len(server.bodies) >= 2


def test_requests_are_sent_again_as_often_as_stated():
    with chat_server(refusal(500, "out of memory", retry_after_ms="1")) as server:
        (answer,) = ask(served(server, retries=3, max_failed=1), [request("?")], ASKER)
    assert re.match("HTTP 500: .*out of memory", reason(answer))
    assert len(server.bodies) == 4


# Requests that fail for good

UNANSWERED = {
    "400": (refusal(400, "image too large"), "HTTP 400: .*image too large"),
    "422": (refusal(422, "unexpected field top_k"), "HTTP 422: .*top_k"),
    "HTML": (HTML, "not JSON, but '<html><body>Please log in"),
    "bytes": (Reply(b"\xff\xfe\x00"), "not JSON, but"),
    "without choices": (WITHOUT_CHOICES, "JSON without choices.*stand-in"),
    "no choice": (Reply(b'{"choices": []}'), "JSON without choices"),
    "a list": (Reply(b"[]"), "JSON without choices"),
    "null": (chat(None, finish_reason="length"), r"an answer without content \(finish_reason: length\)"),
    "blank": (chat(" \n", finish_reason="length"), r"an answer without content \(finish_reason: length\)"),
}


def test_a_blank_answer_that_the_model_ended_is_an_answer(caplog):
    with (
        chat_server(lambda body: chat(" ") if question(body) == "question 3" else echo(body)) as server,
        caplog.at_level("INFO"),
    ):
        assert texts(ask(served(server), requests(10), ASKER))[3] == " "
    assert f"{ASKER}: 1 of 10 responses are blank" in caplog.text


@pytest.mark.parametrize(("bad", "match"), UNANSWERED.values(), ids=UNANSWERED)
def test_request_that_fails_has_a_reason_and_others_are_answered(bad, match):
    with chat_server(lambda body: bad if question(body) == "question 3" else echo(body)) as server:
        answers = ask(served(server, max_failed=0.1), requests(10), ASKER)
        assert re.match(match, reason(answers.pop(3)))
        assert len(texts(answers)) == 9
        assert len(server.bodies) == 10  # none is sent twice
        ask(served(server, max_failed=0.1), requests(10), ASKER)
        assert len(server.bodies) == 11  # a failure is not kept


def test_too_many_failures_stop_the_job_and_are_counted():
    with chat_server(lambda body: refusal(400, "too large") if int(question(body)[9:]) >= 20 else echo(body)) as server:
        message = error_of(server, requests(100), "3 of 100 requests failed", max_failed=0.02, concurrency=1)
        asked = len(server.bodies)
        assert 23 <= asked <= 24  # the next request may be under way
        assert "max_failed (0.02)" in message
        assert "too large" in message
        server.script = echo
        assert len(ask(served(server), requests(100), ASKER)) == 100
        assert 80 <= len(server.bodies) - asked <= 81  # what was answered before is kept


# Servers that cannot be asked


def test_unknown_model_stops_at_once():
    with chat_server(refusal(404, "The model `tiny` does not exist")) as server:
        message = error_of(server, requests(100), "does not know the model 'tiny'", concurrency=1)
        assert len(server.bodies) <= 2
    assert "/v1" in message
    assert "does not exist" in message


def test_address_without_its_end_is_named():
    with chat_server() as server, pytest.raises(ServerError, match="the address lacks its end, such as /v1"):
        ask(Served(url=server.url.removesuffix("/v1"), model="tiny"), [request("?")], ASKER)


@pytest.mark.parametrize("status", [401, 403])
def test_refused_key_is_named_by_its_variable(status, monkeypatch):
    monkeypatch.setenv("THE_KEY", KEY)
    with chat_server(refusal(status, f"Incorrect API key provided: {KEY}")) as server:
        error_of(server, requests(5), f"refuses the key in THE_KEY .HTTP {status}", api_key_variable="THE_KEY")
        error_of(server, requests(5), "refuses requests without a key; set api_key_variable")
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_key_that_is_not_set_is_named():
    with chat_server() as server:
        error_of(server, requests(1), "THE_KEY, the key, is not set", api_key_variable="THE_KEY")
    assert not server.bodies


@pytest.mark.parametrize("key", [f"{KEY}\nsecond", f"Bearer {KEY}", f"{KEY}\u00fc"])
def test_key_that_cannot_be_sent_is_named_by_its_variable(key, monkeypatch):
    monkeypatch.setenv("THE_KEY", key)
    with chat_server() as server:
        message = error_of(server, requests(1), "THE_KEY has letters that no key has", api_key_variable="THE_KEY")
    assert KEY not in message
    assert not server.bodies


@pytest.mark.parametrize("address", [f"http://user:{KEY}@localhost/v1", f"http://localhost/v1?key={KEY}", KEY])
def test_address_of_the_environment_has_no_secret(address, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(ServerError, match=r"the environment variable OPENAI_BASE_URL (has a|is no)") as caught:
        ask(Served(model="tiny"), [request("?")], ASKER)
    assert KEY not in str(caught.value)


def test_key_of_another_server_is_not_sent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with chat_server() as server:
        ask(served(server), requests(1), ASKER)
    assert KEY not in str(server.headers)


def test_no_server_has_a_hint():
    with chat_server() as server:
        pass
    error_of(server, requests(3), f"nothing answers at {server.url}: no connection, 1 times.*start a server", retries=0)


def test_server_that_always_hangs_has_a_hint():
    with chat_server(Hang()) as server:
        error_of(server, requests(3), "no response in 0.1 s, 1 times; .*hangs", retries=0, timeout=0.1)


def test_address_of_the_environment(monkeypatch):
    with pytest.raises(ServerError, match=r"captioners\.one has no url, and the environment variable OPENAI_BASE_URL"):
        ask(Served(model="tiny"), [request("?")], ASKER)
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert texts(ask(Served(model="tiny"), [request("?")], ASKER)) == ["a dog"]


# Many requests at the same time


def test_as_many_requests_at_the_same_time_as_stated():
    together = threading.Barrier(32)
    left = [True] * 32

    def script(body):
        if left:
            left.pop()
            together.wait(60)  # the first 32 are answered when all of them are there
        return echo(body)

    with chat_server(script) as server:
        assert len(texts(ask(served(server, concurrency=32), requests(1000), ASKER))) == 1000
    assert server.most_at_once == 32
    assert [*server.counts().values()] == [1] * 1000


def test_equal_requests_are_asked_once():
    with chat_server(lambda body: chat(echo(body), delay=0.01)) as server:
        assert texts(ask(served(server), [request("same")] * 10, ASKER)) == ["answer to same"] * 10
        assert len(server.bodies) == 1


# The cache


def test_same_requests_are_asked_once_and_other_requests_again(usage):
    price = {"input": 1, "output": 1}
    with chat_server(echo) as server, chat_server(echo) as other:
        ask(served(server), requests(10), ASKER)
        assert usage == Usage(10, 0, 100, 50, 0)
        same = [
            served(other),
            served(server, price=price, budget=1, concurrency=2, timeout=3, retries=1, max_failed=0.5),
        ]
        for settings in same:
            answers = ask(settings, requests(10), "another captioner")
            assert all(answer.cached for answer in answers)
            assert texts(answers) == [f"answer to question {n}" for n in range(10)]
        assert usage == Usage(30, 20, 300, 150, pytest.approx(0.00015))
        assert (len(server.bodies), len(other.bodies)) == (10, 0)
        ask(served(server, model="another"), requests(10), ASKER)
        assert len(server.bodies) == 20
        for changed in [request("question 0", temperature=0.5), request("question 0", seed=1), request("question 0 ")]:
            ask(served(server), [changed], ASKER)
        ask(served(server), [Request([("system", ["be brief"]), ("user", ["question 0"])])], ASKER)
        assert len(server.bodies) == 24


def test_damaged_response_of_the_cache_is_asked_again(tmp_path):
    with chat_server() as server:
        ask(served(server), [request("?")], ASKER)
        (file,) = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
        file.write_bytes(file.read_bytes()[:30])
        assert texts(ask(served(server), [request("?")], ASKER)) == ["a dog"]
        assert len(server.bodies) == 2
        assert ask(served(server), [request("?")], ASKER)[0].cached


def test_cache_that_cannot_be_written_keeps_no_answer_away(tmp_path, caplog):
    (tmp_path / "cache").write_text("a file")
    with chat_server(echo) as server:
        assert len(texts(ask(served(server), requests(3), ASKER))) == 3
    assert "A response is not kept for other runs" in caplog.text


# Price and budget

PRICE = {"input": 1e5, "output": 2e5}
# Of a response with the 10 and 5 tokens of the scripted server.
EACH = 2.0


def test_price_is_estimated_by_the_first_requests_and_counted(usage, caplog):
    caplog.set_level("INFO")
    with chat_server(echo) as server:
        ask(served(server, price=PRICE), requests(20), ASKER)
    assert f"20 requests will cost about 40, by the first {FIRST}" in caplog.text
    assert usage == Usage(20, 0, 200, 100, 20 * EACH)


def test_estimate_above_the_budget_stops_after_the_first_requests():
    with chat_server(echo) as server:
        error_of(server, requests(100), "would cost about 200, by the first 8, .* is 199", price=PRICE, budget=199)
        assert len(server.bodies) == FIRST
        assert len(ask(served(server, price=PRICE, budget=200), requests(100), ASKER)) == 100
        assert len(server.bodies) == 100


@pytest.mark.parametrize("concurrency", [1, 4, 32])
def test_budget_that_is_spent_in_the_middle_is_never_exceeded(concurrency, usage):
    """Later answers are ten times as long, which the first requests do not show."""

    def script(body):
        return chat(echo(body), usage=(10, 5 if int(question(body)[9:]) < FIRST else 50), delay=0.001)

    with chat_server(script) as server:
        keys = {"price": PRICE, "concurrency": concurrency}
        message = error_of(server, requests(100), "requests cost .* budget of 250; .* are kept", budget=250, **keys)
        assert usage.price > 0
        assert usage.price <= 250 + concurrency * 11  # of those under way, which were thought to be cheaper
        asked = len(server.bodies)
        assert f"{asked} of 100 requests cost {usage.price:.4g}" in message
        ask(served(server, budget=2000, **keys), requests(100), ASKER)
        assert len(server.bodies) == 100  # those of the first job are not asked again, nor those that were under way
        assert usage.requests - usage.cached_requests == 100


def test_budget_that_is_just_enough_is_enough():
    with chat_server(echo) as server:
        assert len(ask(served(server, price=PRICE, budget=80, concurrency=32), requests(40), ASKER)) == 40


def test_budget_needs_a_server_that_counts_tokens():
    with chat_server(chat("a dog", usage=None)) as server:
        error_of(server, requests(20), "does not state the tokens .* remove budget", price=PRICE, budget=10)
        assert len(ask(served(server, price=PRICE), requests(20), ASKER)) == 20


# Responses


def test_log_names_models_and_cut_answers(caplog):
    caplog.set_level("INFO")
    with chat_server(chat("a dog on", finish_reason="length", model="tiny-2", fingerprint="fp_7")) as server:
        (answer,) = ask(served(server), [request("?")], ASKER)
    assert answer.model == "tiny-2 fp_7"
    assert answer.is_cut
    assert "1 responses of tiny-2 fp_7" in caplog.text
    assert "1 of 1 responses end at max_tokens" in caplog.text


def test_log_probabilities_of_the_likeliest_tokens():
    likeliest = [{"7": -0.25, "8": -1.5}, {"5": -0.125}]
    with chat_server(chat("75", logprobs=likeliest)) as server:
        first, kept = (ask(served(server), [request("?")], ASKER)[0] for _ in range(2))
    assert first.top_log_probs() == kept.top_log_probs() == likeliest
    assert isinstance(kept, Response)
    assert kept.cached
