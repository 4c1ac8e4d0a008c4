"""Captioners with adapters in the graph: whoever reads one reads its parent too, down to whole weights."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from records import python_path
from snakemake.api import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings, SnakemakeApi
from snakemake.settings.enums import Quietness

from captionlab import paths
from captionlab.config.whole import ConfigError
from captionlab.graph.graph import Graph

ROOT = Path(__file__).parents[2]
EVERY = yaml.safe_load((Path(__file__).parent / "every_kind.yaml").read_text(encoding="utf-8"))
FILES = ("config.json", "model.safetensors", "tokenizer.json")
# Rules of which the script loads captioners; others only say something of their files.
READERS = {path.stem for path in (ROOT / "workflow" / "scripts").glob("*.py") if "load_captioner" in path.read_text()}


def toy_config():
    """What of the config of every kind needs no file, with adapters of adapters that are evaluated and analysed."""
    every = EVERY["captioners"]
    optimizer = every["own-vinvl"]["optimizer"]
    scened = {**every["scened"], "lora": {}}
    adapted = {"parent": "own-clipcap", "corpus": "toy", "objective": {"kind": "cross-entropy"}, "optimizer": optimizer}
    rewarded = {"kind": "self-critical", "decoding": "greedy", "reward": {"kind": "cider"}}
    return {
        "seed": 1,
        "spice": "off",
        "corpora": {name: EVERY["corpora"][name] for name in ("toy", "scenes")},
        "encoders": {"trained": EVERY["encoders"]["trained"]},
        "regions": {"boxes": EVERY["regions"]["boxes"]},
        "tags": EVERY["tags"],
        "captioners": {
            **{name: every[name] for name in ("own-vinvl", "own-clipcap")},
            "scened": scened,
            "scened-again": {**scened, "parent": "scened"},
            "adapted": {**adapted, "lora": {}},
            "adapted-again": {**adapted, "parent": "adapted", "lora": {}},
            "whole": {**adapted, "parent": "adapted-again"},
            "rewarded": {**adapted, "parent": "adapted-again", "lora": {}, "objective": rewarded},
            "people": every["people"],
        },
        "decodings": {"greedy": EVERY["decodings"]["greedy"]},
        "evaluations": {
            "main": {
                "captioners": ["adapted-again", "whole", "rewarded", "people"],
                "corpora": ["toy"],
                "decoding": "greedy",
                "retrievers": ["trained"],
                "candidates": 8,
            }
        },
        "validity": {"corpus": "toy"},
        "scene_analysis": {**EVERY["scene_analysis"], "pretrained": "scened", "finetuned": "scened-again"},
    }


def files(*captioners):
    return {paths.captioner(file, name) for name in captioners for file in FILES}


def test_the_line_down_to_whole_weights():
    lab = Graph(EVERY, ROOT)
    of = {name: set(lab.ancestor_files(name)) for name in lab.captioners}
    assert of["adapted-again"] == files("adapted", "own-clipcap")
    assert of["adapted"] == files("own-clipcap")
    assert {name for name, found in of.items() if found} == {"adapted", "adapted-again"}
    jobs = {name: SimpleNamespace(captioner=name) for name in ("tuned", "merged", "adapted")}
    assert set(lab.parent_ancestors(jobs["merged"])) == files("adapted", "own-clipcap")
    assert lab.parent_ancestors(jobs["adapted"]) == lab.parent_ancestors(jobs["tuned"]) == []
    assert {
        name: "peft" in dict(lab.captioner_family(job).items()).get("captionlab.captioners.adapters", ())
        for name, job in jobs.items()
    } == {"tuned": False, "merged": True, "adapted": True}


def test_whoever_reads_a_captioner_reads_its_parent(tmp_path, monkeypatch):
    """In a plan, whatever the rule: the weights of adapters are never an input without those of all ancestors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", python_path(ROOT / "src"))
    config = toy_config()
    lab = Graph(config, ROOT)
    (tmp_path / "given.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        workflow = api.workflow(
            resource_settings=ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=[tmp_path / "given.yaml"]),
            snakefile=ROOT / "Snakefile",
            workdir=tmp_path,
        )
        targets = {"all", paths.export("adapted-again"), *lab.scene_analysis.results()}
        workflow.dag(DAGSettings(targets=targets)).execute_workflow(executor="dryrun")
        read = {(job.rule.name, *job.wildcards): set(map(str, job.input)) for job in workflow._workflow_store.dag.jobs}
    held = set()
    for (rule, *_), inputs in read.items():
        for name in config["captioners"] if rule in READERS else ():
            if paths.captioner("model.safetensors", name) in inputs and (line := set(lab.ancestor_files(name))):
                assert line <= inputs, (rule, name)
                held.add(rule)
    assert held == READERS


@pytest.mark.parametrize(
    ("lora", "names"),
    [
        ({"rank": 0}, "captioners.adapted.lora.rank"),
        ({"targets": []}, "captioners.adapted.lora.targets"),
        ({"ranks": 4}, "captioners.adapted.lora"),
    ],
)
def test_what_is_no_lora(lora, names, answers):
    config = {
        **EVERY,
        "captioners": {**EVERY["captioners"], "adapted": {**EVERY["captioners"]["adapted"], "lora": lora}},
    }
    with pytest.raises(ConfigError) as caught:
        Graph(config, ROOT)
    answers.hold(f"`lora: {lora}`", caught.value, names)
