"""Metrics that are commands: what is asked of a config, and what their jobs read and depend on."""

import copy
from types import SimpleNamespace

import pytest
from test_config import CONFIG, ROOT

from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph

FREE = {"command": "judge --fast", "references": False, "scale": 1, "time_limit": 5, "gpu": 1}


def config(**metrics):
    found = copy.deepcopy(CONFIG)
    found["metrics"] = metrics
    found["evaluations"]["main"]["metrics"] = list(metrics)
    return found


@pytest.mark.parametrize(
    ("block", "names"),
    [
        ({}, "metrics.polos lacks the key command"),
        ({"command": " "}, "metrics.polos.command is ' '"),
        ({"command": "python 'score.py"}, 'metrics.polos.command is "python \'score.py"'),
        ({"command": "judge", "conda": "a.yaml", "venv": "b"}, "metrics.polos has both conda and venv"),
        ({"command": "judge", "timelimit": 3}, "metrics.polos has no key 'timelimit'; did you mean 'time_limit'?"),
        ({"command": "judge", "gpu": 2}, "metrics.polos.gpu is 2"),
    ],
)
def test_a_mistake_is_a_sentence(block, names, answers):
    with pytest.raises(ConfigError) as raised:
        checked(config(polos=block), ROOT)
    answers.hold(f"metrics.polos: `{block}`", raised.value, names)


@pytest.mark.parametrize("name", ["length", "distinct-1"])
def test_the_name_of_a_metric_of_ours_is_taken(name, answers):
    with pytest.raises(ConfigError) as raised:
        checked(config(**{name: FREE}), ROOT)
    answers.hold(f"metrics: `{name}`", raised.value, f"metrics.{name} is called as a metric of captionlab")


def test_an_evaluation_names_metrics(answers):
    asking = config(polos=FREE)
    asking["evaluations"]["main"]["metrics"] = ["polo"]
    with pytest.raises(ConfigError) as raised:
        checked(asking, ROOT)
    answers.hold("evaluations.main.metrics: `[polo]`", raised.value, "did you mean 'polos'?")


def test_environments_must_be_there(tmp_path, answers):
    made = {"command": "judge", "conda": "env.yaml"}
    lab = Graph({**config(made=made, old={"command": "judge", "venv": "old"}), "data": str(tmp_path)}, ROOT)
    with pytest.raises(ConfigError) as raised:
        lab.check_files()
    answers.hold("metrics.made.conda: no such file", raised.value, "metrics.made.conda")
    answers.hold("metrics.old.venv: a folder that is no virtual environment", raised.value, "old/pyvenv.cfg")
    for file in ("env.yaml", "old/pyvenv.cfg"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    with pytest.raises(ConfigError) as raised:
        lab.check_files()
    assert "metrics" not in str(raised.value)


def test_each_metric_has_a_table_and_human_captions_where_it_reads_no_references():
    lab = Graph(config(free=FREE, held={"command": "judge"}), ROOT)
    tables = lab.score_tables()["command"]
    place = "results/evaluation/{}/main/command-{}.parquet"
    assert sorted(tables) == sorted(
        [*(place.format(name, "free") for name in ("base", "child", "people")), place.format("base", "held"),
         place.format("child", "held")]
    )  # fmt: skip
    assert set(lab.scored_captions()) >= {f"results/captions/{name}/main.parquet" for name in ("base", "people")}
    assert lab.commands.factors() == {"metrics.free": 1.0, "metrics.held": 100.0}
    assert "command" not in Graph(CONFIG, ROOT).score_tables()


def test_what_a_job_reads_and_depends_on(tmp_path):
    (tmp_path / "tools").mkdir()
    for file in ("tools/score.py", "weights.pt", "env.yaml"):
        (tmp_path / file).touch()
    blocks = {
        "made": {"command": "python tools/score.py 'weights.pt' tools none.py", "conda": "env.yaml", "version": "2"},
        "old": {**FREE, "command": f"python {tmp_path}/tools/score.py", "venv": "old"},
        "here": FREE,
    }
    lab = Graph({**config(**blocks), "data": str(tmp_path)}, ROOT)
    made, old, here = (SimpleNamespace(metric=name, evaluation="main", captioner="base") for name in blocks)
    # Folders, and words that are no files, are no inputs.
    assert lab.commands.words(made) == ["tools/score.py", "weights.pt"]
    assert [*map(str, lab.commands.files(made))] == [f"{tmp_path}/tools/score.py", f"{tmp_path}/weights.pt"]
    assert [*map(str, lab.commands.files(old))] == [f"{tmp_path}/tools/score.py"]
    assert lab.commands.files(here) == []
    assert [*map(str, lab.commands.environment(made))] == [f"{tmp_path}/env.yaml"]
    assert [*map(str, lab.commands.environment(old))] == [f"{tmp_path}/old/pyvenv.cfg"]
    assert lab.commands.environment(here) == []
    assert lab.commands.references(made) == ["results/corpora/world/captions.parquet"]
    assert lab.commands.references(here) == []
    # What is printed and how long it may take are no part of a score.
    assert lab.commands.settings(here) == {"command": "judge --fast", "version": "1", "references": False}
    assert lab.commands.settings(made)["version"] == "2"


def test_a_changed_command_is_its_own_alone():
    """Parameters of the jobs of one metric; those of the others, and of other rules, do not have them."""
    before, after = (
        Graph(config(a={"command": command}, b={"command": "judge"}), ROOT) for command in ("one", "two")
    )
    a, b = (SimpleNamespace(metric=name) for name in "ab")
    assert before.commands.settings(a) != after.commands.settings(a)
    assert before.commands.settings(b) == after.commands.settings(b)
    of_one, of_other = (lab.software("summarise_evaluation", loads=lab.score_modules()) for lab in (before, after))
    assert {name: of(a) for name, of in of_one.items()} == {name: of(a) for name, of in of_other.items()}


def test_scripts_must_be_there(tmp_path, answers):
    commands = {
        "mistyped": "python tools/scor.py",
        "program": "tools/judge.sh --fast",
        "there": "python tools/score.py --with=none.py",
        "elsewhere": "judge.pl /opt/judge/score.R",
    }
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/score.py").touch()
    blocks = {name: {"command": command} for name, command in commands.items()}
    with pytest.raises(ConfigError) as raised:
        Graph({**config(**blocks), "data": str(tmp_path)}, ROOT).check_files()
    answers.hold(f"metrics.mistyped.command: `{commands['mistyped']}`", raised.value, "metrics.mistyped.command")
    answers.hold(f"metrics.program.command: `{commands['program']}`", raised.value, "metrics.program.command")
    assert "metrics.there" not in str(raised.value)
    assert "metrics.elsewhere" not in str(raised.value)
