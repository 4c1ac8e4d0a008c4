"""The four scorers against the numbers of the authors' code (see config.json beside the tensors)."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from captionlab.regions.batches import RegionBatch
from captionlab.scorers.scorer import padding_mask
from captionlab.scorers.store import import_scorer, load_scorer

FOLDER = Path(__file__).parent
TOLERANCE = 1e-5
# What cannot be read off the weights, as the config of a user would give it.
CONFIG = {
    "uniter": {"heads": 4},
    "rosita": {"heads": 4},
    "vilbert": {"heads": 4, "visual_heads": 4, "joint_heads": 4},
    "lxmert": {"heads": 4},
}
FAMILIES = list(CONFIG)
# The names of the authors' tensors.
NAMES = {
    "uniter": {"features": "img_feat", "ids": "input_ids", "logits": "itm_logits", "pooled": "pooled"},
    "rosita": {"features": "imgfeat", "ids": "text_ids", "logits": "itm_logits", "pooled": "pooled"},
    "vilbert": {"features": "region_features", "ids": "input_ids", "logits": "bi_seq_relationship"},
    "lxmert": {"features": "visual_feats", "ids": "input_ids", "logits": "seq_relationship", "pooled": "pooled"},
}


def lengths(family: str, io: dict[str, torch.Tensor]) -> tuple[list[int], list[int]]:
    """Number of tokens and of regions of each row."""
    if family == "uniter":
        return io["in.txt_lens"].tolist(), io["in.num_bbs"].tolist()
    if family == "rosita":
        return io["in.text_mask"].sum(1).int().tolist(), io["in.imgfeat_mask"].sum(1).int().tolist()
    tokens = io["in.input_mask"].sum(1).tolist()
    return tokens, io["in.num_regions"].tolist() if family == "vilbert" else [io["in.visual_feats"].shape[1]] * 3


def checkpoint(family: str, folder: Path) -> Path:
    """The weights in a file as the authors publish them."""
    if family != "rosita":
        return FOLDER / family / "weights.safetensors"
    nested: dict = {"epoch": 3, "net_optim": {"state": {}, "param_groups": [{"lr": 1e-5}]}}
    for name, value in load_file(FOLDER / family / "weights_nested.safetensors").items():
        module, inner = name.split("/")
        nested.setdefault(module, {})[inner] = value
    torch.save(nested, folder / "rosita-base.pkl")
    return folder / "rosita-base.pkl"


@pytest.fixture(scope="module", params=FAMILIES)
def golden(request, tmp_path_factory):
    """A family's scorer, imported from the published layout and loaded again, with inputs and outputs."""
    family, folder = request.param, tmp_path_factory.mktemp(request.param)
    io = load_file(FOLDER / family / "io.safetensors")
    size = json.loads((FOLDER / family / "config.json").read_text())["sizes"]["vocab_size"]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"piece{number}" for number in range(4, size))]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    config = {"family": family, "max_tokens": 10, **CONFIG[family]}
    import_scorer(config, checkpoint(family, folder), folder / "vocab.txt", folder / "scorer")
    texts, counts = lengths(family, io)
    names = {
        name: f"in.{theirs}" if f"in.{theirs}" in io else f"out.{theirs}" for name, theirs in NAMES[family].items()
    }
    regions = RegionBatch(io[names["features"]], io["in.boxes_xyxy_pixels"], io["in.image_wh"].float(), counts)
    return SimpleNamespace(
        family=family,
        io=io,
        names=names,
        scorer=load_scorer(folder / "scorer"),
        regions=regions,
        ids=io[names["ids"]],
        lengths=texts,
        counts=counts,
    )


def close(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=TOLERANCE, rtol=0)


def test_logits_and_probabilities(golden):
    visual = golden.scorer.encode_image(golden.regions)
    tokens = [row[:length].tolist() for row, length in zip(golden.ids, golden.lengths, strict=True)]
    logits = golden.scorer.logits(visual, tokens)
    close(logits, golden.io[golden.names["logits"]])
    close(golden.scorer.matching.score(logits), golden.io["out.match_prob"])
    if golden.family == "uniter":  # the only one whose loss was recorded: a match is its label 1
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor([1, 0, 1]), reduction="none")
        close(loss, golden.io["out.itm_loss_targets_1_0_1"])


def test_pooled(golden):
    visual = golden.scorer.encode_image(golden.regions)
    mask = padding_mask(golden.lengths, golden.ids.shape[1], golden.ids.device)
    pooled = golden.scorer.network.pooled(visual, golden.ids, mask)
    if golden.family == "vilbert":
        close(pooled[0], golden.io["out.pooled_t"])
        close(pooled[1], golden.io["out.pooled_v"])
    else:
        close(pooled, golden.io["out.pooled"])


def test_sequences(golden):
    """At all positions that are no padding."""
    visual = golden.scorer.encode_image(golden.regions)
    mask = padding_mask(golden.lengths, golden.ids.shape[1], golden.ids.device)
    states, tokens = golden.scorer.network.states(visual, golden.ids, mask), golden.ids.shape[1]
    # One stream has text and regions after each other.
    text, image = (states[:, :tokens], states[:, tokens:]) if isinstance(states, torch.Tensor) else states
    for row, (length, count) in enumerate(zip(golden.lengths, golden.counts, strict=True)):
        if golden.family == "uniter":  # their rows have text and regions without a gap
            ours = torch.cat([text[row, :length], image[row, :count]])
            close(ours, golden.io["out.sequence_output"][row, : length + count])
            continue
        names = {
            "rosita": ("text_output", "imgfeat_output", count),
            "vilbert": ("sequence_output_t", "sequence_output_v", count + 1),
            "lxmert": ("lang_output", "visn_output", count),
        }
        text_name, image_name, positions = names[golden.family]
        close(text[row, :length], golden.io[f"out.{text_name}"][row, :length])
        close(image[row, :positions], golden.io[f"out.{image_name}"][row, :positions])


# The authors' boxes, and the module that is given ours; ViLBERT's have the whole image in front.
BOXES = {
    "uniter": ("img_pos_feat", "img_embeddings", 0),
    "rosita": ("imgfeat_bbox", "img_embeddings", 0),
    "vilbert": ("spatials", "v_embeddings", 1),
    "lxmert": ("visual_pos", "lxmert.encoder.visn_fc", 0),
}


def test_boxes(golden):
    (name, reader, first), given = BOXES[golden.family], []
    module = golden.scorer.network.get_submodule(reader)
    hook = module.register_forward_pre_hook(lambda _, inputs: given.append(inputs[1]))
    golden.scorer.encode_image(golden.regions)
    hook.remove()
    for row, count in enumerate(golden.counts):
        kept = slice(first, first + count)
        torch.testing.assert_close(given[0][row, kept], golden.io[f"in.{name}"][row, kept], atol=1e-6, rtol=0)


@pytest.mark.parametrize(("family", "prefix"), [("lxmert", "module."), ("vilbert", "module."), ("uniter", "bert.")])
def test_prefixes(family, prefix, tmp_path):
    """The same weights behind a prefix make the same scorer."""
    weights = load_file(FOLDER / family / "weights.safetensors")
    (tmp_path / "vocab.txt").write_text("\n".join(["[UNK]", "[CLS]", "[SEP]", *map(str, range(97))]))
    save_file({f"{prefix}{name}": value for name, value in weights.items()}, tmp_path / "prefixed.safetensors")
    config = {"family": family, "max_tokens": 10, **CONFIG[family]}
    import_scorer(config, FOLDER / family / "weights.safetensors", tmp_path / "vocab.txt", tmp_path / "plain")
    import_scorer(config, tmp_path / "prefixed.safetensors", tmp_path / "vocab.txt", tmp_path / "prefixed")
    plain, prefixed = (load_file(tmp_path / name / "model.safetensors") for name in ("plain", "prefixed"))
    assert plain.keys() == prefixed.keys()
    assert all(torch.equal(value, prefixed[name]) for name, value in plain.items())
