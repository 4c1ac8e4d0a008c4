"""A metric is declared in one place: a column is an entry, a table of its own a folder beside its rule and script."""

import json
import re
import subprocess
from pathlib import Path

from support.plans import plan_in
from support.running import run_python
from support.templates import install

ROOT = Path(__file__).parents[2]
SCORE = """
import sys
from captionlab.evaluation.metrics.nlg.metric import NLG, meteor_process, results, score_corpus
from captionlab.evaluation.summary import Job, summary_columns
from captionlab.storage.tables import write_table

captions = {("1", 0): "a b c", ("2", 0): "a"}
with meteor_process(["a b c", "b"]) as meteor:
    write_table(sys.argv[1], NLG, score_corpus("me", "world", captions, {"1": ["a b"], "2": ["b"]}, meteor))
found = summary_columns(results(Job("me", "main", "greedy", {"world": "test"}), sys.argv[1], 0), {})
print(dict(zip(found["metric"], found["value"])))
"""
FACTS = """
from captionlab.config.metrics import MetricFacts

FACTS = MetricFacts(place=5, asks=("scorers",))
"""
TABLE = """
def results(job, path, seed):
    raise NotImplementedError
"""
CONFIG = {
    "seed": 1,
    "corpora": {"world": {"reader": "toyworld", "domain": "coco", "seed": 1, "images": {"train": 8, "test": 8}}},
    "encoders": {"clip": {"family": "clip", "weights": "clip.pt"}},
    "scorers": {"clip": {"family": "clip", "encoder": "clip"}},
    "captioners": {
        "plain": {"family": "clipcap", "encoder": "clip", "weights": "c.pt", "tokenizer": "t.json"},
        "people": {"family": "human"},
    },
    "decodings": {"greedy": {"kind": "greedy", "max_tokens": 5}},
    "evaluations": {"main": {"captioners": ["plain", "people"], "corpora": ["world"], "decoding": "greedy"}},
}
PLAN = """
import json, sys
from pathlib import Path
from captionlab.graph.graph import Graph

graph = Graph(json.loads(sys.argv[2]), Path(sys.argv[1]))
tables = graph.score_tables()
modules = dict.fromkeys(graph.modules("evaluation.metrics", *tables), ())
software = graph.software("summarise_evaluation", loads=modules)
print(json.dumps([tables, {name: of(None) for name, of in software.items()}]))
"""


def plan(checkout, **evaluation):
    config = {**CONFIG, "evaluations": {"main": {**CONFIG["evaluations"]["main"], **evaluation}}}
    return json.loads(run_python(checkout, PLAN, checkout, json.dumps(config)))


def apply_documented_diff(checkout):
    (diff,) = re.findall(r"```diff\n(.*?)```", (ROOT / "docs" / "extending.md").read_text(), re.DOTALL)
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], input=diff, text=True, cwd=checkout, check=True)


def test_a_value_of_stored_scores_is_one_entry(checkout):
    """The example of the documentation: 4 tokens of captions by 3 of the references closest in length."""
    apply_documented_diff(checkout)
    found = run_python(checkout, SCORE, checkout / "nlg.parquet")
    assert "'length ratio': 133.3333333" in found
    assert "'CIDEr': " in found


def rerun(before, after):
    """Return the rule, the captioner and the table of each job of a plan that another plan does not have."""
    keys = [(job.rule, job.wildcards.get("captioner"), job.wildcards.get("table")) for job in after.jobs]
    return {key for key, job in zip(keys, after.jobs, strict=True) if job not in before.jobs}


def test_a_value_of_stored_scores_scores_no_caption_again(checkout, tmp_path):
    before = plan_in(checkout, CONFIG, tmp_path / "plan")
    apply_documented_diff(checkout)
    again = {rule for rule, _, _ in rerun(before, plan_in(checkout, CONFIG, tmp_path / "plan"))}
    assert "summarise_evaluation" in again
    assert all(re.match("(summarise|collect|tabulate|plot|build|make_table)_", rule) for rule in again), again


def test_a_metric_with_its_own_table_scores_each_captioner_by_this_metric_alone(checkout, tmp_path):
    install(checkout, "evaluation/metrics/repetition")
    before = plan_in(checkout, CONFIG, tmp_path / "plan")
    main = {**CONFIG["evaluations"]["main"], "repetition": True}
    after = plan_in(checkout, {**CONFIG, "evaluations": {"main": main}}, tmp_path / "plan")
    again = rerun(before, after)
    scored = {("score_captions", captioner, "repetition") for captioner in ("plain", "people")}
    assert scored <= again
    of_people = {
        (rule, "people", None) for rule in ("import_captions", "tokenize_captions")
    }  # no other metric reads them
    rules = {rule for rule, _, _ in again - scored - of_people}
    assert all(re.match("(summarise|collect|tabulate|plot|build|make_table)_", rule) for rule in rules), again


def test_a_table_is_a_folder_that_only_those_notice_who_ask_for_it(checkout):
    asked = {"scorers": ["clip"]}
    without, with_scorer = plan(checkout), plan(checkout, **asked)
    folder = checkout / "src" / "captionlab" / "evaluation" / "metrics" / "beauty"
    folder.mkdir()
    (folder / "config.py").write_text(FACTS)
    (folder / "metric.py").write_text(TABLE)
    assert plan(checkout) == without
    tables, code = plan(checkout, **asked)
    assert tables.pop("beauty") == [f"results/evaluation/{name}/main/beauty.parquet" for name in ("people", "plain")]
    assert tables == with_scorer[0]
    assert code != with_scorer[1]


def test_tables_are_those_that_an_evaluation_asks_for(checkout):
    tables, _ = plan(checkout, retrievers=["clip"], candidates=4)
    assert {name: [path.split("/")[2] for path in files] for name, files in tables.items()} == {
        "nlg": ["nlg"], "retrieval": ["people", "plain"], "spice": ["plain"],
    }  # fmt: skip
