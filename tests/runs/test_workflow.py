"""The real DAG on the smallest config: it runs, and afterwards only what a change touches runs again."""

import csv
import json
import os
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from support.claim_links import differing, followed
from support.interval_ranges import intervals_outside
from support.latex_papers import NEEDS_LATEX, PAPERS, compiled
from support.linked_numbers import follow
from support.outputs_page import files
from support.records import python_path

from captionlab.commands.main import main
from captionlab.jobs.provenance import written
from captionlab.storage import paths
from captionlab.storage.tables import read_metadata, read_schema_name, read_table
from captionlab.study.schemas import ACCURACY, STIMULI

sys.path.append(str(Path(__file__).parents[1] / "browser"))
from support.chromium import Page, browser, program

ROOT = Path(__file__).parents[2]
PARTS = ("CITATION.cff", "Snakefile", "config", "envs", "profiles", "resources", "src", "workflow")

READ = {"generate_captions", "tokenize_captions", "retrieve_images"}
STUDY = {"measure_language", "score_alignment"}
# Keys of the study that name files, which lie beside the config; and an address that nobody listens at.
EXCLUDED, POST = "test-000003", "http://127.0.0.1:9/answers"
OF_STUDY = f"  exclude: excluded.txt\n  consent: agreed.txt\n  post: {POST}\n"
FINETUNED = {"finetune_captioner", "measure_rewards"}
OF_CAPTIONERS = READ | STUDY | FINETUNED | {"pretrain_captioner", "take_snapshot"}

pytestmark = pytest.mark.slow


@dataclass
class Checkout:
    """A copy of the workflow with a finished run of the smallest config beside it."""

    root: Path
    config: Path
    run: Path
    cpu_seconds: float = 0.0

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(self.run)]
        command += ["--snakefile", str(self.root / "Snakefile"), "--configfile", str(self.config), *arguments]
        environment = {**os.environ, "PYTHONPATH": python_path(self.root / "src")}
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=self.root, check=False)

    def pending(self) -> set[tuple[str, str]]:
        """(rule, captioner) of every job that would run now; the captioner is empty for rules that have none."""
        result = self.snakemake("--summary")
        assert result.returncode == 0, result.stdout + result.stderr
        header, *lines = [line.split("\t") for line in result.stdout.splitlines() if "\t" in line]
        rows = [dict(zip(header, line, strict=True)) for line in lines]
        assert len(rows) > 100
        return {
            (row["rule"], row["output_file"].split("/")[2] if row["rule"] in OF_CAPTIONERS else "")
            for row in rows
            if row["plan"] != "no update"
        }

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        text = path.read_text()
        assert old in text, f"{name} has no {old!r} any more; this test must follow it"
        path.write_text(text.replace(old, new, 1))


def cpu_seconds_of_children() -> float:
    """Of all processes that were started here and have ended, with theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Checkout:
    """The workflow copied, and its smallest config run to the end, once."""
    root = tmp_path_factory.mktemp("checkout")
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, root / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, root / part)
    (root / "excluded.txt").write_text(f"{EXCLUDED}\n")
    (root / "agreed.txt").write_text("I agree.\n\nI am of age.\n")
    text = Path(__file__).with_name("config.yaml").read_text()
    assert text.count("\nstudy:\n") == 1
    config = root / "smallest.yaml"
    config.write_text(text.replace("\nstudy:\n", f"\nstudy:\n{OF_STUDY}"))
    checkout = Checkout(root, config, root / "runs" / "smallest")
    before = cpu_seconds_of_children()
    result = checkout.snakemake()
    checkout.cpu_seconds = cpu_seconds_of_children() - before
    assert result.returncode == 0, (result.stdout + result.stderr)[-6000:]
    return checkout


@pytest.fixture
def checkout(finished) -> Checkout:
    """The finished run, with every edited file put back after the test."""
    files = [p for part in PARTS for p in [finished.root / part, *(finished.root / part).rglob("*")] if p.is_file()]
    before = {path: path.read_bytes() for path in [*files, finished.config]}
    yield finished
    for path, content in before.items():
        if path.read_bytes() != content:
            path.write_bytes(content)


def test_it_runs_and_is_quick(finished):
    """In imports of torch, as machines differ: half of the jobs import it with the libraries that build on it."""
    before = cpu_seconds_of_children()
    for _ in range(3):
        subprocess.run([sys.executable, "-c", "import torch"], check=True)
    imports = finished.cpu_seconds / ((cpu_seconds_of_children() - before) / 3)
    print(f"{finished.cpu_seconds:.0f} CPU seconds, {imports:.0f} imports of torch")
    assert imports < 300


def test_every_table_between_rules_has_the_schema_that_its_rule_names(finished):
    made = [path.relative_to(finished.run).as_posix() for path in finished.run.glob("results/**/*.parquet")]
    schemas = {path: {file.schema.name for file in files() if file.matches(path)} for path in made}
    schemas = {path: names for path, names in schemas.items() if names}  # no rule names costs and what is in folders
    assert len(schemas) > 50
    assert {path: names for path, names in schemas.items() if names != {read_schema_name(finished.run / path)}} == {}


def test_every_table_is_there_and_not_empty(finished):
    tables = finished.run / "results" / "tables"
    names = {path.name for path in tables.iterdir()}
    for name in ("discritune_table1_retrieval", "discritune_table2_in_domain", "discritune_table3_cross_domain"):
        assert {f"{name}.{ending}" for ending in ("csv", "md", "tex", "html")} <= names
        assert len((tables / f"{name}.csv").read_text().splitlines()) > 1
    assert {"evaluation.csv", "claims.csv", "validity.csv", "rewards.html", "index.html"} <= names
    with open(tables / "evaluation.csv", encoding="utf-8", newline="") as file:
        assert all(row["device"] and row["commit"] and row["n"] for row in csv.DictReader(file))


def test_no_interval_lies_outside_of_the_range_of_its_measure(finished):
    """Captioners of a few updates say the same of every image, so shares of 0 and 1 abound."""
    found, intervals = intervals_outside(finished.run / "results", {"clip": (0.0, 250.0)})
    assert found == []
    assert intervals > 100


def test_figures_are_drawn(finished):
    figures = finished.run / "results" / "figures"
    names = [
        "discritune_retrieval",
        "discritune_finetuning",
        "discritune_figure2_simulated",
        "discritune_figure3_screen",
    ]
    endings = (".png", ".pdf", ".svg", "_column.pdf", ".html")
    assert {path.name for path in figures.iterdir()} == {name + ending for name in names for ending in endings}
    for path in figures.iterdir():
        assert b"plot_discritune" in path.read_bytes() or path.suffix == ".pdf"  # which says so in UTF-16


@NEEDS_LATEX
@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_of_the_run_fits_a_paper_and_two_pages(finished, tmp_path, paper):
    tables = shutil.copytree(finished.run / "results" / "tables", tmp_path / "tables")
    names = sorted(path.stem for path in tables.glob("*.tex"))
    assert len(names) > 5
    wrong, pages = compiled(tables, names, paper)
    assert wrong == []
    assert max(pages.values()) <= 2


@pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
def test_the_index_of_the_run_leads_to_pages_that_fit_a_screen(finished, tmp_path):
    index = finished.run / "results" / "tables" / "index.html"
    links = "[...document.querySelectorAll('a[href], img[src]')].map((one) => one.href || one.src)"
    wide = "[...document.querySelectorAll('.scroll')].some((one) => one.scrollWidth > one.clientWidth)"
    with browser(tmp_path / "profile", tmp_path) as page:
        page.size(1400, 900, False)
        page.open(index.as_uri())
        places = {Path(unquote(urlsplit(link).path)) for link in page.run(links)}
        assert [path for path in places if not path.is_file()] == []
        assert {finished.run / "results" / "study" / "review.html", index.with_name("claims.html")} <= places
        for path in sorted(path for path in places if path.parent == index.parent and path.suffix == ".html"):
            page.open(path.as_uri())
            assert not page.run(wide) or page.run("document.querySelector('.switches') !== null"), path.name
        assert page.errors == []


def test_every_link_of_a_claim_of_the_run_leads_to_a_cell_with_its_number(finished):
    tables = finished.run / "results" / "tables"
    links = followed(tables / "claims.html", tables)
    assert [link for link in links if link.number != link.shown] == []
    checked, other = differing(links)
    assert other == []
    assert checked > 10


@pytest.fixture(scope="module")
def report(finished) -> Path:
    """Snakemake's report of the finished run."""
    result = finished.snakemake("--report", "report.html")
    assert result.returncode == 0, result.stdout + result.stderr
    return finished.run / "report.html"


def test_the_report_has_every_table_and_figure_and_needs_no_network(finished, report):
    page = report.read_text()
    results = finished.run / "results"
    shown = [path for ending in ("csv", "html") for path in (results / "tables").glob(f"*.{ending}")]
    shown = [path for path in shown if path.stem != "index"] + list((results / "figures").glob("*.png"))
    assert len(shown) > 20
    assert [path.name for path in shown if f'"{path.relative_to(finished.run)}"' not in page] == []
    assert "results/tables/index.html" not in page
    index = (results / "tables" / "index.md").read_text().splitlines()
    assert re.search(r"\[(\d+ of \d+ conditions of validity are met\.)\]", index[2])[1] in page
    assert not re.search(r"""<(?:script|img|iframe)[^>]* src=["']https?:|<link[^>]* href=["']https?:""", page)


@pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
def test_the_report_shows_figures_and_tables_in_a_browser(report, tmp_path):
    with browser(tmp_path / "profile", tmp_path) as page:
        page.open(report.as_uri())
        show(page, "finetuning", "discritune", "figures")
        page.wait("[...document.images].some((image) => image.src.startsWith('data:image/png') && image.naturalWidth)")
        show(page, "table 1, retrieval", "discritune", "tables")
        page.wait("document.querySelector('iframe')?.clientHeight > 300")
        page.open(page.run("document.querySelector('iframe').src"))
        rows = page.run("[...document.querySelectorAll('tbody tr')].map((row) => row.innerText)")
        assert [row.split("\t")[0] for row in rows] == ["ClipCap-COCO", "DiscriTune-COCO", "Human captions"]
        assert page.run("document.querySelectorAll('a').length") == 0  # what they lead to is not in the report
        assert page.errors == []


def show(page: Page, result: str, *categories: str) -> None:
    """Go down the categories of a report, one after the other, and press the eye beside a result."""
    links = [f"[...document.querySelectorAll('a')].find((a) => a.textContent === {json.dumps(c)})" for c in categories]
    row = f"[...document.querySelectorAll('tr')].find((row) => row.innerText.trim() === {json.dumps(result)})"
    for element in (*links, f"{row}?.querySelector('a')"):
        page.wait(element)
        page.run(f"{element}.click()")


def test_a_table_is_traced_back_to_its_images(finished):
    command = [sys.executable, "-m", "captionlab.jobs.tracing", "results/tables/claims.csv"]
    # Files that lie in the checkout are found from its own library.
    environment = {**os.environ, "PYTHONPATH": python_path(finished.root / "src")}
    result = subprocess.run(command, capture_output=True, text=True, cwd=finished.run, env=environment, check=True)
    traced = {line.split(":")[0].strip(): line for line in result.stdout.splitlines()}
    for name, rule in {
        "results/reporting/claims.csv": "check_claims",
        "results/captioners/tuned/model.safetensors": "finetune_captioner",
        "results/encoders/clip-b/model.safetensors": "train_encoder",
        "results/corpora/flickr/images.parquet": "render_toyworld",
    }.items():
        assert f": by {rule}, " in traced[name]
    assert not [line for line in traced.values() if "changed" in line]


def test_a_papers_table_comes_from_what_it_shows_alone(finished):
    made_from = {
        "discritune_table1_retrieval": {"summary.parquet", "published.csv"},
        "discritune_table14_nouns": {"associations.parquet", "statistics.parquet", "published.csv"},
        "language_unigrams": {"unigrams.parquet"},
    }
    said = {output: job for job in written(finished.run) for output in job["outputs"]}
    for table, names in made_from.items():
        path = next(output for output in said if Path(output).name == f"{table}.md")
        job = said[path]
        assert {Path(source).name for source in job["sources"][path]} == names, table
        assert len(job["sources"][path]) < len(job["inputs"])
        footer = (finished.run / path).read_text().split("Made from")[-1]
        assert all(source in footer for source in job["sources"][path][:1])


def test_a_snapshot_is_a_captioner_as_any_other(finished):
    captioners = finished.run / "results" / "captioners"
    for name, after in (("camel", "epoch 1"), ("critical", "update 1")):
        folder, own = captioners / f"{name}@1", captioners / name / "snapshots" / "1"
        assert all((folder / path.name).read_bytes() == path.read_bytes() for path in own.glob("[a-z]*"))
        assert f"the training of [{name}](../{name}/README.md) after {after};" in (folder / "README.md").read_text()
    ends = {(captioners / name / "model.safetensors").read_bytes() for name in ("critical", "critical@1")}
    assert len(ends) == 2
    assert not any((captioners / "base" / "snapshots").glob("[0-9]*"))
    with open(finished.run / "results" / "tables" / "evaluation.csv", encoding="utf-8", newline="") as file:
        assert {"camel@1", "critical@1", "critical"} <= {row["captioner"] for row in csv.DictReader(file)}


def test_one_snapshot_more_trains_its_captioner_again(checkout):
    optimizer = "optimizer: {kind: adam, lr: 1.0e-3, batch: 8, steps: 3, betas: [0.9, 0.98]}"
    checkout.edit("smallest.yaml", optimizer, f"{optimizer}\n    snapshots: [1, 2]")
    jobs = checkout.pending()
    assert ("pretrain_captioner", "base") in jobs
    assert not [job for job in jobs if job[0] == "take_snapshot"]  # nothing names these two


def test_every_rule_has_its_cost(finished):
    with open(finished.run / "results" / "tables" / "cost.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    counted = {row["rule"] for row in rows}
    # Figures and the study's files may be made after the tables.
    assert counted >= READ | STUDY | {"render_toyworld", "train_encoder", "finetune_captioner", "collect_evaluation"}
    assert all(float(row["seconds"]) > 0 for row in rows)
    assert {row["stage"] for row in rows} >= {"corpora", "features", "captioners", "evaluation", "reporting"}


def test_nothing_half_written_is_left(finished):
    results = finished.run / "results"
    assert [path for path in results.rglob("*") if "partial" in path.name] == []
    assert [path for path in (results / "state").rglob("*") if path.is_file()] == []


def test_every_job_has_a_log_and_its_cost(finished):
    results = finished.run / "results"
    logs = {p.relative_to(results / "logs").with_suffix("") for p in (results / "logs").rglob("*.log")}
    costs = {p.relative_to(results / "cost").with_suffix("") for p in (results / "cost").rglob("*.parquet")}
    assert logs
    assert logs == costs


def reversed_keys(value):
    """Return a value of a config with the keys of its blocks in the opposite order."""
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return value


def test_what_changes_no_result_runs_nothing(checkout):
    """All at once, as a plan takes seconds: new times, a comment in a module that everything imports, other orders."""
    for path in (checkout.root / "workflow" / "scripts").glob("*.py"):
        path.touch()
    (checkout.root / "src/captionlab/training/loop/trainer.py").touch()
    large = checkout.root / "resources/en_ewt_sm/tok2vec/model"
    assert large.stat().st_size > 1_000_000  # above this, Snakemake by itself goes by the time stamp
    large.touch()
    path = checkout.root / "src/captionlab/storage/tables.py"
    path.write_text("# a new comment\n" + path.read_text().replace('"""', '"""Another docstring. ', 1))
    config = yaml.safe_load(checkout.config.read_text())
    kept = {key: config[key] for key in ("papers", "evaluations")}  # their order is the order of rows and jobs
    checkout.config.write_text(yaml.safe_dump({**reversed_keys(config), **kept}, sort_keys=False))
    assert checkout.pending() == set()


def finetuned(captioner: str) -> set[tuple[str, str]]:
    """The finetuning of a captioner by a reward, and what measures that reward."""
    return {(rule, captioner) for rule in FINETUNED}


def after_the_captioner(*captioners: str) -> set[tuple[str, str]]:
    """What reads a captioner of the evaluation `main`, whose captions are scored and whose language is studied."""
    found = {(rule, name) for name in captioners for rule in READ | STUDY}
    return {("score_nlg", ""), *found}  # one job for all captioners of an evaluation


def split_off_reporting(jobs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The jobs without those of the study and of the reporting stage, of which there must be some."""
    several = ("collect_", "tabulate_", "plot_", "check_", "summarise_", "associate_", "sample_", "build_", "simulate_")
    several += ("analyse_", "make_table_page", "measure_validity", "write_")
    reporting = {(rule, name) for rule, name in jobs if rule.startswith(several)}
    assert ("summarise_evaluation", "") in reporting
    return jobs - reporting


def test_a_learning_rate_runs_that_captioner_and_what_reads_it(checkout):
    checkout.edit("smallest.yaml", "lr: 1.0e-4, batch: 16, steps: 2", "lr: 2.0e-4, batch: 16, steps: 2")
    jobs = split_off_reporting(checkout.pending())
    assert jobs == {*finetuned("tuned"), *after_the_captioner("tuned")}


def test_a_parents_learning_rate_runs_its_children_too(checkout):
    checkout.edit("smallest.yaml", "lr: 1.0e-3, batch: 8, steps: 3", "lr: 2.0e-3, batch: 8, steps: 3")
    jobs = split_off_reporting(checkout.pending())
    assert jobs == {("pretrain_captioner", "base"), *finetuned("tuned"), *after_the_captioner("base", "tuned")}


def test_more_seeds_run_what_is_new_and_leave_the_study(checkout):
    optimizer = "lr: 1.0e-4, batch: 16, steps: 2}"
    checkout.edit("smallest.yaml", optimizer, f"{optimizer}\n    seeds: [7, 8]")
    jobs = checkout.pending()
    assert not {rule for rule, _ in jobs} & {"sample_stimuli", "build_study", "simulate_responses"}
    assert split_off_reporting(jobs) == {*finetuned("tuned-8"), *after_the_captioner("tuned-8")}


def test_metric_code_runs_evaluation_and_tables_only(checkout):
    path = checkout.root / "src/captionlab/evaluation/metrics/nlg/metric.py"
    text = path.read_text()
    function = text.index("def score_corpus")
    first_return = text.index("    return ", function)
    path.write_text(f"{text[:first_return]}    assert True\n{text[first_return:]}")
    jobs = split_off_reporting(checkout.pending())
    assert {rule for rule, _ in jobs} == {"score_nlg"}


def test_the_study_has_its_consent_and_address_and_not_what_is_excluded(finished):
    page = (finished.run / paths.study("web") / "index.html").read_text()
    assert POST in page
    assert "I am of age." in page
    screens = read_table(finished.run / paths.study("stimuli.parquet"), STIMULI).to_pylist()
    shown = {image for screen in screens for image in screen["images"]}
    assert len(shown) > 40
    assert EXCLUDED not in shown


def test_answers_of_people_are_analysed(finished):
    stimuli = finished.run / paths.study("stimuli.parquet")
    study = read_metadata(stimuli)["study"]
    screens = [screen for screen in read_table(stimuli, STIMULI).to_pylist() if screen["block"]]
    rows = [f"{study},P{s['block']},{s['block']},{s['question']},{s['position']}" for s in screens]
    (finished.root / "answers.csv").write_text("\n".join(["study,participant,block,question,chosen", *rows]) + "\n")
    people = finished.root / "people.yaml"
    people.write_text("study: {responses: [answers.csv]}\n")
    done = finished.snakemake(str(people), "--", paths.answers("accuracy", "people"))
    assert done.returncode == 0, done.stdout + done.stderr
    accuracy = read_table(finished.run / paths.answers("accuracy", "people"), ACCURACY).to_pylist()
    assert {row["caption_type"] for row in accuracy} == {"human", "base", "tuned"}
    assert {row["value"] for row in accuracy} == {100.0}, "they always chose the target"


@pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
def test_every_linked_number_of_the_run_is_at_the_other_end(finished, tmp_path, capsys):
    with browser(tmp_path / "profile", tmp_path) as page:
        numbers = [*follow(finished.run / "results", page)]
    assert len(numbers) > 200
    assert [one for one in numbers if one.shown != one.printed or one.printed.split(" ")[0] not in one.text] == []
    assert all({"Definition", "Unit", "Images", "Interval, 95 %", "Computed from"} <= {*one.terms} for one in numbers)
    assert [one for one in numbers if len(one.commands) != 1] == []
    for one in random.Random(0).sample(numbers, 10):
        name, *words = shlex.split(one.commands[0])
        assert (name, main(words)) == ("captionlab", 0)  # the stored number is the computed one
        again = float(re.search(r"^(?:value|difference) +(\S+)", capsys.readouterr().out, re.MULTILINE)[1])
        printed = one.printed.split(" ")[0]
        assert f"{again:.{len(printed.partition('.')[2])}f}" == printed.lstrip("+")
