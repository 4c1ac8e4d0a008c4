"""`lab try` on forty photographs; pictures of the toy world stand in for photographs."""

import csv
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from support.plans import plan

from captionlab.commands import photographs as written
from captionlab.commands import try_command
from captionlab.commands.main import main
from captionlab.corpora.toyworld.render import render

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def photographs(tmp_path_factory) -> Path:
    """Forty pictures in a folder with a space in its name, and beside it their captions."""
    folder = tmp_path_factory.mktemp("try") / "My Holiday"
    folder.mkdir()
    with open(folder.with_name("captions.csv"), "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "caption"])
        for image in render("coco", 1, {"test": 40}):
            (folder / f"{image.image_id}.png").write_bytes(image.data)
            rows.writerows([f"{image.image_id}.png", caption] for caption in image.captions)
    return folder


def config_of(photographs: Path, captions: Path | None, data: Path) -> tuple[dict, str]:
    text, said = written.written_config(photographs, captions, data)
    assert f"# {said}" in text
    return yaml.safe_load(text), said


def test_names_of_models_are_those_of_the_configs():
    for name, section in (("paper", written.PUBLISHED), ("config", written.TOY)):
        config = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text())
        assert all({*names} <= {*config[kind]} for kind, names in section.items())


def test_published_weights_come_before_models_of_the_toy_world(photographs, tmp_path):
    captions, data = photographs.with_name("captions.csv"), tmp_path / "data"
    config, said = config_of(photographs, None, data)
    assert "drawings only" in said
    assert {*config["captioners"]} == {"toy-clipcap-coco", "toy-clipcap-concap"}
    assert {*config["encoders"]} == {"toy-clip-a", "toy-clip-b"}
    for weights in ("clip-vit-b-32-openai.safetensors", "clipcap_coco_weights.pt", "gpt2/tokenizer.json"):
        (data / "weights" / weights).parent.mkdir(parents=True, exist_ok=True)
        (data / "weights" / weights).touch()
    config, said = config_of(photographs, captions, data)
    assert "Published weights" in said
    assert {*config["captioners"]} == {"clipcap-coco", "human"}
    assert config["evaluations"]["photographs"]["candidates"] == 10


def test_the_config_can_be_edited_without_knowing_aliases_of_yaml(photographs, tmp_path):
    text, _ = written.written_config(photographs, None, tmp_path / "data")
    assert not {"&", "*"} & {*text}


def test_captions_that_name_no_image_of_the_split_test(photographs, tmp_path, answers):
    captions = tmp_path / "trained.csv"
    rows = "".join(f"{path.name},one,train\n" for path in sorted(photographs.iterdir()))
    captions.write_text(f"file,caption,split\n{rows}")
    with pytest.raises(written.TryError) as raised:
        written.written_config(photographs, captions, tmp_path / "data")
    answers.hold("no photograph of the split test", raised.value, "0 of the 40 photographs")


def test_what_cannot_be_tried_is_a_sentence(photographs, tmp_path, answers, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "wrong.csv").write_text("image,text\na.jpg,one\n")
    nowhere = ["--data", str(tmp_path / "none"), "--directory", str(tmp_path / "run")]
    cases = [
        ("an empty folder", [tmp_path / "empty"], "at least two"),
        ("no such folder", [tmp_path / "away"], "there is no folder"),
        ("no such file of captions", [photographs, tmp_path / "away.csv"], "there is no file"),
        ("captions without a column file", [photographs, tmp_path / "wrong.csv"], "no column 'file'"),
    ]
    for given, arguments, names in cases:
        assert main(["try", *map(str, arguments), *nowhere]) == 1
        answers.hold(given, capsys.readouterr().err, names)
    assert not (tmp_path / "run").exists()


@pytest.fixture
def commands(monkeypatch) -> list[list[str]]:
    """The commands that are run; nothing is."""
    ran: list[list[str]] = []

    monkeypatch.setattr(try_command, "run_snakemake", lambda arguments: ran.append(arguments) or 0)
    return ran


def test_captions_may_come_after_the_photographs(photographs, tmp_path, commands):
    """The two commands of the first page, one after the other, and the first one again."""
    config = tmp_path / "run" / "config.yaml"
    options = ["--data", str(tmp_path / "none"), "--directory", str(config.parent)]
    captions = str(photographs.with_name("captions.csv"))
    for described in (False, True, False):
        assert main(["try", str(photographs), *[captions] * described, *options]) == 0
        assert ("captions" in yaml.safe_load(config.read_text())["corpora"]["photographs"]) == described
    assert len(commands) == 3


def test_a_config_that_somebody_changed_is_kept(photographs, tmp_path, commands, answers, capsys):
    config = tmp_path / "run" / "config.yaml"
    options = [str(photographs), "--data", str(tmp_path / "none"), "--directory", str(config.parent)]
    assert main(["try", *options]) == 0
    changed = config.read_text().replace("seed: 1", "seed: 2")
    config.write_text(changed)
    capsys.readouterr()
    assert main(["try", *options]) == 1
    assert config.read_text() == changed
    message, command = capsys.readouterr().err.rstrip().split("\n")
    answers.hold("a config of `./lab try` that somebody changed", message, "was changed")
    lab, *arguments = shlex.split(command)
    assert lab == str(ROOT / "lab")
    assert arguments == ["tables", *commands[0][commands[0].index("--configfile") :]]


def test_a_config_of_another_folder_of_the_same_name_is_kept(photographs, tmp_path, commands, answers, capsys):
    config = tmp_path / "run" / "config.yaml"
    first, other = (shutil.copytree(photographs, tmp_path / name / "photos") for name in ("a", "b"))
    options = ["--data", str(tmp_path / "none"), "--directory", str(config.parent)]
    assert main(["try", str(first), *options]) == 0
    before = config.read_text()
    assert main(["try", str(other), *options]) == 1
    assert config.read_text() == before
    answers.hold("another folder of photographs of the same name", capsys.readouterr().err, "--directory")


@pytest.mark.parametrize("dry", [["--dry-run"], ["-n"], ["--", "--dry-run"], ["--", "-n"], ["--", "-np"]])
def test_nothing_is_said_of_tables_that_were_not_made(photographs, tmp_path, commands, capsys, dry):
    options = [str(photographs), "--data", str(tmp_path / "none"), "--directory", str(tmp_path / "run")]
    assert main(["try", *options, *dry]) == 0
    assert "tables are in" not in capsys.readouterr().out
    assert {"--dry-run", "-n", "-np"} & {*commands[0]}
    assert main(["try", *options]) == 0
    assert f"Open {tmp_path}/run/results/index.html; tables are in" in capsys.readouterr().out


def test_photographs_that_nobody_described_are_captioned_and_searched_for(photographs, tmp_path):
    """Planned here; tests/runs/test_tutorial.py runs the command with captions."""
    config, _ = config_of(photographs, None, tmp_path / "data")
    planned = plan(config, tmp_path / "plan", stand_ins=False).rules()
    assert {"read_corpus", "generate_captions", "retrieve_images", "score_captions", "collect_tables"} <= planned
    assert "score_nlg" not in planned
