"""Metrics that are commands: what is asked of a config, and what their jobs read and depend on."""

import copy

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


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"metrics": ["bertscore"]}, "declared in the section `metrics` by its `command`"),
        ({"metrics": ["CIDEr"]}, "BLEU, METEOR, ROUGE-L and CIDEr are computed"),
        ({"metrics": ["spice"]}, "the key `spice` at the top level"),
        ({"metrics": ["clip-score"]}, "'clipscore' is a key of the evaluation"),
        ({"cider": True}, "BLEU, METEOR, ROUGE-L and CIDEr are computed"),
        ({"BLEU@4": True}, "BLEU, METEOR, ROUGE-L and CIDEr are computed"),
        ({"spice": True}, "the key `spice` at the top level"),
        ({"bertscore": True}, "declared in the section `metrics` by its `command`"),
        ({"sacreblue": True}, "did you mean 'sacrebleu'?"),
    ],
)
def test_a_metric_that_is_asked_for_in_another_way(asked, names, answers):
    asking = config()
    asking["evaluations"]["main"] |= asked
    with pytest.raises(ConfigError) as raised:
        checked(asking, ROOT)
    answers.hold(f"evaluations.main: `{asked}`", raised.value, names)


def test_environments_must_be_there(tmp_path, answers):
    made = {"command": "judge", "conda": "env.yaml"}
    graph = Graph({**config(made=made, old={"command": "judge", "venv": "old"}), "data": str(tmp_path)}, ROOT)
    with pytest.raises(ConfigError) as raised:
        graph.check_files()
    answers.hold("metrics.made.conda: no such file", raised.value, "metrics.made.conda")
    answers.hold("metrics.old.venv: a folder that is no virtual environment", raised.value, "old/pyvenv.cfg")
    for file in ("env.yaml", "old/pyvenv.cfg"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    with pytest.raises(ConfigError) as raised:
        graph.check_files()
    assert "metrics" not in str(raised.value)


def test_each_metric_has_a_table_and_human_captions_where_it_reads_no_references(planned):
    plan = planned(config(free=FREE, held={"command": "judge"}))
    job = plan.job("summarise_evaluation")
    place = "results/evaluation/{}/main/command-{}.parquet"
    of_free = [place.format(name, "free") for name in ("base", "child", "people")]
    of_held = [place.format(name, "held") for name in ("base", "child")]
    assert sorted(job.inputs["command"]) == sorted([*of_free, *of_held])
    assert {*job.inputs["captions"]} >= {f"results/captions/{name}/main.parquet" for name in ("base", "people")}
    factors = {name: factor for name, factor in job.params["factors"].items() if name.startswith("metrics.")}
    assert factors == {"metrics.free": 1.0, "metrics.held": 100.0}
    assert "command" not in Graph(copy.deepcopy(CONFIG), ROOT).score_tables()


def test_what_a_job_reads_and_depends_on(tmp_path, planned):
    (tmp_path / "tools").mkdir()
    for file in ("tools/score.py", "weights.pt", "env.yaml"):
        (tmp_path / file).touch()
    blocks = {
        "made": {"command": "python tools/score.py 'weights.pt' tools none.txt", "conda": "env.yaml", "version": "2"},
        "old": {**FREE, "command": f"python {tmp_path}/tools/score.py", "venv": "old"},
        "here": FREE,
    }
    graph = Graph({**config(**blocks), "data": str(tmp_path)}, ROOT)
    made, old, here = (graph.command(name) for name in blocks)
    # Folders, and words that are no files, are no inputs.
    assert made.words == ["tools/score.py", "weights.pt"]
    assert made.files == [f"{tmp_path}/tools/score.py", f"{tmp_path}/weights.pt"]
    assert old.files == [f"{tmp_path}/tools/score.py"]
    assert here.files == []
    assert made.environment == [f"{tmp_path}/env.yaml"]
    assert old.environment == [f"{tmp_path}/old/pyvenv.cfg"]
    assert here.environment == []
    plan = planned(config(**blocks))
    made, here = (plan.job("score_by_command", metric=name, captioner="base") for name in ("made", "here"))
    assert made.inputs["captions_of_corpora"] == ["results/corpora/world/captions.parquet"]
    assert here.inputs["captions_of_corpora"] == []
    # What is printed and how long it may take are no part of a score.
    assert here.params["settings"] == {"command": "judge --fast", "version": "1", "references": False}
    assert made.params["settings"]["version"] == "2"


def test_a_changed_command_is_its_own_alone(planned):
    """Parameters of the jobs of one metric; those of the others, and of other rules, do not have them."""
    before, after = (planned(config(a={"command": command}, b={"command": "judge"})) for command in ("one", "two"))
    first, second = (
        {
            (job.rule, *job.wildcards.values()): ({**job.params, "data": None}, job.wildcards.get("metric"))
            for job in plan.jobs
        }
        for plan in (before, after)
    )
    assert first.keys() == second.keys()
    assert {(name[0], first[name][1]) for name in first if first[name] != second[name]} == {("score_by_command", "a")}


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
