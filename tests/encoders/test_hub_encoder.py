"""What is said of folders of the hub that are not of an encoder."""

import pytest
from support.answers import Answers
from support.hub_models import hub_model

from captionlab.encoders.store import import_encoder
from captionlab.networks.checkpoints import CheckpointError


def refused(folder, **options):
    with pytest.raises(CheckpointError) as raised:
        import_encoder({"family": "image-side", **options}, folder)
    return raised.value


def test_a_folder_that_is_not_of_an_encoder(tmp_path, answers: Answers):
    (tmp_path / "empty").mkdir()
    answers.hold("a folder without a model of the hub", refused(tmp_path / "empty"), "…/empty is no folder of a model")
    qwen = hub_model("qwen2_5_vl", tmp_path)
    answers.hold("a Qwen2.5-VL as encoder", refused(qwen), "…/qwen2_5_vl is a qwen2_5_vl")
    git = hub_model("git", tmp_path)
    answers.hold("`processor: {sice: 8}` of a GIT", refused(git, processor={"sice": 8}), "has no 'sice'")
