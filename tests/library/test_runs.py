"""Results of a run as pandas tables."""

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from support.tiny_run import CAPTIONER, CORPUS, DECODINGS, ENCODER, EVALUATION, OTHER, TEST_IMAGES

from captionlab.evaluation.metrics.nlg.metric import NLG
from captionlab.library.runs import RunError, open_run
from captionlab.storage import paths
from captionlab.storage.tables import write_table


@pytest.fixture(scope="module")
def run(tiny_run):
    return open_run(tiny_run)


def test_a_run_lists_what_is_there(run):
    assert run.captioners == [CAPTIONER, "human"]
    assert run.evaluations == [EVALUATION, OTHER]
    assert run.corpora == [CORPUS]
    assert run.tables == ["evaluation"]


def test_a_run_is_its_folder_or_its_results(run, tiny_run):
    assert open_run(str(tiny_run / "results")) == run


def test_captions_are_the_rows_of_their_table(run, tiny_run):
    found = run.captions(CAPTIONER, CORPUS, EVALUATION)
    rows = pq.read_table(tiny_run / paths.captions(CAPTIONER, EVALUATION)).to_pandas()
    pd.testing.assert_frame_equal(found.drop(columns="evaluation"), rows)
    assert set(found["evaluation"]) == {EVALUATION}
    assert len(found) == TEST_IMAGES


def test_the_only_evaluation_needs_no_name(run):
    assert set(run.captions("human")["evaluation"]) == {EVALUATION}


def test_references_have_their_split(run):
    references = run.references(CORPUS)
    assert list(references) == ["image_id", "split", "caption_index", "caption"]
    assert references.groupby("split")["image_id"].nunique().to_dict() == {"test": TEST_IMAGES, "train": 4}


def test_scores_of_single_captions(run):
    found = run.scores(CAPTIONER, EVALUATION, "retrieval")
    assert set(found["retriever"]) == {ENCODER}
    assert len(found) == 2 * TEST_IMAGES  # among drawn candidates, and among all


def test_scores_of_an_evaluation_are_cut_to_the_captioner(tiny_run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(tiny_run, folder)
    (folder / paths.nlg(EVALUATION)).parent.mkdir(parents=True)
    row = {name: 0 for name in NLG.columns} | {"corpus": CORPUS, "image_id": "a"}
    row |= {name: [0] * NLG.columns[name].type.list_size for name in ("bleu_counts", "meteor_statistics")}
    rows = [{**row, "captioner": name, "cider": value} for name, value in ((CAPTIONER, 1.5), ("human", 2.5))]
    write_table(folder / paths.nlg(EVALUATION), NLG, rows)
    found = open_run(folder).scores("human", EVALUATION, "nlg")
    assert found["cider"].tolist() == [2.5]
    assert "captioner" not in found


def test_summary_comparisons_and_tables(run):
    values = run.evaluation().set_index(["captioner", "metric", "candidates"])["value"]
    ranks = run.scores(CAPTIONER, EVALUATION, "retrieval").query("protocol == 'full'")["rank"]
    assert values[CAPTIONER, "P@1", "full"] == pytest.approx(100 * (ranks == 1).mean())
    assert set(run.comparisons()["against"]) == {"human"}
    table = run.table("evaluation")
    values = table[table["against"].isna()]["value"]
    assert values.tolist() == pytest.approx(run.evaluation()["value"].tolist())
    differences = table[table["against"].notna()]["value"]
    assert differences.tolist() == pytest.approx(run.comparisons()["difference"].tolist())


def test_decodings(run):
    assert run.decoding(CAPTIONER, OTHER).items() >= DECODINGS[OTHER].items()
    assert run.decoding("human", EVALUATION) == {}


def test_models_and_the_encoder_of_a_captioner(run):
    assert run.model("captioners", CAPTIONER) == run.folder / "results/captioners/clipcap"
    assert run.encoder_of(CAPTIONER) == run.model("encoders", ENCODER)
    assert run.encoder_of("human") is None


def test_an_image_of_a_corpus(run, tiny_run):
    image = run.image(CORPUS, run.captions("human")["image_id"][0])
    assert (image.mode, image.size) == ("RGB", (64, 64))


@pytest.mark.parametrize(
    ("given", "ask", "part"),
    [
        ("captions of a captioner that is not there", lambda run: run.captions("clipcup"), "clipcap, human"),
        ("captions of one of several evaluations", lambda run: run.captions(CAPTIONER), "main, sampled"),
        ("such captions of a corpus", lambda run: run.captions(CAPTIONER, CORPUS), "main, sampled"),
        ("captions of another corpus", lambda run: run.captions("human", "coco"), CORPUS),
        ("captions that are not made", lambda run: run.captions("human", evaluation=OTHER), "human/sampled.parquet"),
        ("captions for an unknown evaluation", lambda run: run.captions("human", evaluation="other"), "for main"),
        ("references of another corpus", lambda run: run.references("coco"), CORPUS),
        ("scores that are not made", lambda run: run.scores("human", EVALUATION, "chair"), "human/main/chair.parquet"),
        ("a table that is not there", lambda run: run.table("probing"), "evaluation"),
        ("an encoder that is not there", lambda run: run.model("encoders", "clop"), ENCODER),
        ("an image that is not there", lambda run: run.image(CORPUS, "zebra"), "zebra"),
        ("a folder without results", lambda run: open_run(run.folder / "results" / "corpora"), "no run"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(tiny_run, tmp_path, answers, given, ask, part):
    (tmp_path / "run").symlink_to(tiny_run)
    with pytest.raises(RunError) as failure:
        ask(open_run(tmp_path / "run"))
    answers.hold(given, failure.value, part)


def test_a_summary_that_is_not_made_names_its_target(tiny_run, tmp_path):
    shutil.copytree(tiny_run / "results" / "captions", tmp_path / "results" / "captions")
    with pytest.raises(RunError, match=r"snakemake .*results/reporting/summary\.parquet"):
        open_run(tmp_path).evaluation()


@pytest.mark.parametrize("folder", ["", "nowhere"])
def test_a_folder_without_results_is_no_run(tmp_path, folder):
    with pytest.raises(RunError, match="results"):
        open_run(tmp_path / folder)


def test_what_the_base_installation_has_is_enough_without_models(tiny_run):
    """Packages of the extra `workflow` cannot be imported."""
    code = (
        "import sys; sys.modules |= dict.fromkeys(['torch', 'transformers', 'psutil', 'snakemake', 'pillow_heif']); "
        "import captionlab, numpy; from captionlab.commands.main import main; run = captionlab.open_run(sys.argv[1]); "
        "run.captions('human'); run.evaluation(); run.encoder_of('clipcap'); captionlab.intervals([1, 2]); "
        "captionlab.retrieve(numpy.eye(2), numpy.eye(2)); "
        "print(main(['export', sys.argv[1], '--captioner', 'human', '--evaluation', 'main']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tiny_run)],
        capture_output=True, text=True, cwd=Path(__file__).parents[2] / "src", check=True,
    )  # fmt: skip
    assert done.stdout.startswith('[{"image_id": "test-000000"')
    assert done.stdout.endswith("\n0\n")
