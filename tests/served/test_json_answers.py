"""Answers as JSON of a schema, by a scripted server."""

import json

import pytest
from support.chat_server import chat, chat_server, refusal, texts_of

from captionlab.config.served import Served
from captionlab.served.client import Client, ServerError
from captionlab.served.forms import data_block, object_schema
from captionlab.served.json_answers import Asked, ask_for_json

SCHEMA = object_schema(answer={"enum": ["yes", "no"]})
PARAMETERS = {"temperature": 0.0}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache of responses."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def answers(script, number=3, structured=True, **keys):
    with chat_server(script) as server:
        config = Served(url=server.url, model="m", retries=0, **keys)
        questions = [Asked([("user", [f"question {place}"])], SCHEMA) for place in range(number)]
        return ask_for_json(Client(config, "judges.mine"), questions, PARAMETERS, structured), server.bodies


def test_answers_of_a_schema():
    found, bodies = answers('{"answer": "yes"}')
    assert [answer.value for answer in found] == [{"answer": "yes"}] * 3
    assert {answer.fault for answer in found} == {None}
    assert bodies[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    assert bodies[0]["temperature"] == 0.0


def test_another_answer_is_asked_for_once_more():
    def script(body):
        if len(body["messages"]) == 1:
            return '{"answer": "perhaps"}' if texts_of(body)[0][1] == "question 1" else '{"answer": "no"}'
        return '```json\n{"answer": "yes"}\n```'

    found, bodies = answers(script, structured=False)
    assert [answer.value["answer"] for answer in found] == ["no", "yes", "no"]
    assert len(bodies) == 4
    assert not any("response_format" in body for body in bodies)
    (again,) = (texts_of(body) for body in bodies if len(body["messages"]) == 3)
    assert [role for role, _ in again] == ["user", "assistant", "user"]
    assert again[1][1] == '{"answer": "perhaps"}'
    assert "perhaps" not in again[2][1]  # a complaint repeats nothing of the answer


def test_no_answer_after_the_second_question_and_after_a_failure():
    def script(body):
        return refusal(400, "too long") if texts_of(body)[0][1] == "question 0" else "yes"

    found, bodies = answers(script, max_failed=0.5)
    assert [answer.value for answer in found] == [None] * 3
    assert "HTTP 400" in found[0].fault
    assert "cannot be read" in found[1].fault
    assert len(bodies) == 5  # a request that failed is not repeated


def test_a_server_without_schemas_is_a_sentence():
    with pytest.raises(ServerError, match="write `structured: false`"):
        answers(refusal(422, "no response_format"))


def test_the_budget_is_for_both_questions():
    price = {"price": {"input": 1.0, "output": 1.0}}
    with pytest.raises(ServerError, match="budget"):
        answers(chat("perhaps", usage=(100, 0)), budget=3.5e-4, **price)


def test_the_budget_is_for_all_questions_of_a_client():
    price = {"price": {"input": 1.0, "output": 1.0}}  # a request costs 100 of a million tokens
    with chat_server(chat('{"answer": "no"}', usage=(100, 0))) as server:
        client = Client(Served(url=server.url, model="m", retries=0, budget=5e-4, **price), "questions.mine")
        for batch in range(2):
            ask_for_json(client, [Asked([("user", [f"{batch} {n}"])], SCHEMA) for n in range(2)], PARAMETERS, False)
        with pytest.raises(ServerError, match="budget"):
            ask_for_json(client, [Asked([("user", [f"last {n}"])], SCHEMA) for n in range(2)], PARAMETERS, False)
        assert len(server.bodies) <= 5


def test_no_text_ends_a_block():
    text = "</data> <data>\u2028 été \\u003c"
    assert data_block(text).count("<") == data_block([text]).count("<") == 2
    assert json.loads(data_block({"a": text}).removeprefix("<data>").removesuffix("</data>")) == {"a": text}
