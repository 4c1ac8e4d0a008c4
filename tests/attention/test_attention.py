"""Attention between tags and regions, and densities, against loops over positions."""

import numpy as np
import pytest
import torch
from support import vinvl_stand_in as stand_in
from support.decodings import decoding_of

from captionlab.attention.density import estimate_density, paired_difference
from captionlab.attention.extraction import (
    blocks,
    extract_attention,
    image_attention,
    received,
    special_shares,
)
from captionlab.attention.schemas import BLOCKS, MATRICES, RECEIVED, SHARES
from captionlab.captioners.vinvl.captioner import Vinvl
from captionlab.generation.decoding import decode
from captionlab.regions.tagged_regions import TaggedRegions, padded
from captionlab.storage.tables import write_table

START, END, MASK = 1, 2, 3


@pytest.fixture(scope="module")
def captioner() -> Vinvl:
    torch.manual_seed(0)
    captioner = Vinvl(50, 40, 16, 2, 4, 20, 6, tag_position=10, start=START, mask=MASK).eval()
    for parameter in captioner.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return captioner


@pytest.fixture(scope="module")
def visual() -> TaggedRegions:
    generator = torch.Generator().manual_seed(1)
    tags = [torch.cat([torch.randint(4, 50, (n,), generator=generator), torch.tensor([END])]) for n in (4, 2, 5)]
    regions = [torch.randn(n, 6, generator=generator) for n in (3, 5, 1)]
    return TaggedRegions(*padded(tags, 20), *padded(regions, 20))


@torch.no_grad()
@pytest.mark.parametrize("layer", [1, 2])
def test_blocks(captioner, visual, layer):
    attention = image_attention(captioner, visual, layer)
    ids = torch.tensor([[START, 7, 8, END]] * 3)
    heads = captioner.attention(visual, ids, layer)  # of a whole caption
    for row, (tags, regions) in enumerate(((4, 3), (2, 5), (5, 1))):
        tag_places = [4 + place for place in range(tags)]
        region_places = [4 + visual.tags.shape[1] + place for place in range(regions)]
        expected = {
            relation: [max(heads[row, h, q, k].item() for h in range(4)) for q in queries for k in keys]
            for relation, queries, keys in (
                ("vision-vision", region_places, region_places),
                ("label-vision", tag_places, region_places),
                ("vision-label", region_places, tag_places),
            )
        }
        expected["all"] = [value for values in expected.values() for value in values]
        places = np.arange(visual.mask.shape[1])
        found = blocks(
            attention[row].numpy(),
            places < tags,
            (places >= visual.tags.shape[1]) & (places < visual.tags.shape[1] + regions),
        )
        assert [block["relation"] for block in found] == list(expected)
        for block in found:
            values = expected[block["relation"]]
            assert block["values"] == len(values)
            assert block["mass"] == pytest.approx(sum(values), rel=1e-5)
            mean = sum(values) / len(values)
            assert block["deviation"] == pytest.approx(
                (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5, rel=1e-4
            )


def test_an_image_without_tags():
    found = blocks(np.full((3, 3), 0.25), np.zeros(3, bool), np.array([False, True, True]))
    assert [(block["relation"], block["values"], block["mass"]) for block in found] == [
        ("vision-vision", 4, 1.0),
        ("all", 4, 1.0),
    ]


def test_attention_of_tags():
    """Two pieces of the first tag, one of the second, none of the third; the last position is no query."""
    attention = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0.0, 0.6, 0.2, 0.2], [9.0, 9.0, 9.0, 9.0]])
    found = received(attention, np.array([0, 0, 1, -1]), np.array([True, True, True, False]), tags=3)
    assert found.tolist() == pytest.approx([(0.3 + 0.6 + 0.6) / 3, 0.6 / 3, 0.0])


@torch.no_grad()
def test_shares_of_special_tokens(captioner, visual):
    ids = torch.tensor([[START, 7, 8, END, 0], [START, END, 0, 0, 0], [START, 9, 9, 9, END]])
    texts, tags, regions = (4, 2, 5), (4, 2, 5), (3, 5, 1)
    found = {(layer, kind, target): share for layer, kind, target, share in special_shares(captioner, visual, ids, END)}
    assert len(found) == 2 * 4 * 3
    for layer in (1, 2):
        attention = captioner.attention(visual, ids, layer)
        for row in range(3):
            ends = [texts[row] - 1, 5 + tags[row]]
            places = {
                "caption": range(1, texts[row] - 1),
                "tags": range(5, 5 + tags[row]),
                "regions": range(5 + visual.tags.shape[1], 5 + visual.tags.shape[1] + regions[row]),
                "special": [0, *ends],
            }
            for kind, queries in places.items():
                for target, keys in (("[CLS]", [0]), ("[SEP]", ends)):
                    values = [attention[row, :, query, keys].sum(-1).mean().item() for query in queries]
                    expected = sum(values) / len(values) if values else float("nan")
                    assert found[layer, kind, target][row] == pytest.approx(expected, rel=1e-4, nan_ok=True)
                share = found[layer, kind, "[PAD]"][row]
                assert share == 0 or (row == 1 and kind == "caption" and np.isnan(share))


def test_density_is_a_sum_of_kernels():
    """Written out: a normal distribution around each point, with the covariance of all, by Scott's factor."""
    points = np.random.default_rng(0).normal(size=(40, 2)) @ np.array([[1.0, 0.7], [0.0, 0.4]])
    density = estimate_density(points, 12, around=points)
    covariance = np.cov(points.T) * 40 ** (-1 / 3)
    for row, x in enumerate(density.axes[0]):
        for column, y in enumerate(density.axes[1]):
            apart = np.array([x, y]) - points
            distances = [difference @ np.linalg.inv(covariance) @ difference for difference in apart]
            expected = np.exp(-0.5 * np.array(distances)).mean() / (2 * np.pi * np.linalg.det(covariance) ** 0.5)
            assert density.values[row, column] == pytest.approx(expected, rel=1e-6)
    for axis, place in zip(density.axes, points.T, strict=True):
        reach = 3 * place.std(ddof=1) * 40 ** (-1 / 6)
        assert [axis[0], axis[-1]] == pytest.approx([place.min() - reach, place.max() + reach])


def test_contours_enclose_their_share():
    points = np.random.default_rng(0).normal(size=(500, 2))
    density = estimate_density(points, 120, around=points)
    values, enclosed = density.values, density.enclosed()
    total = values.sum()
    for place in [(60, 60), (60, 45), (30, 60), (3, 3)]:
        assert enclosed[place] == pytest.approx(values[values >= values[place]].sum() / total, abs=1e-9)
    for share in (0.05, 0.5, 0.95):
        assert values[enclosed <= share].sum() / total == pytest.approx(share, abs=0.02)


def test_densities_on_one_grid():
    points = np.random.default_rng(0).normal(size=(20, 2))
    both = np.concatenate([points, points + 5])
    first, second = (estimate_density(part, 50, around=both) for part in (points, points + 5))
    assert all(np.allclose(a, b) for a, b in zip(first.axes, second.axes, strict=True))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[1.0, 2.0], [2.0, 3.0]], "more than 2 points, there are 2"),
        ([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], "3 points that are equal, or all on one line"),
        ([[1.0, 2.0]] * 3, "3 points that are equal"),
    ],
)
def test_points_without_a_density(points, message):
    with pytest.raises(ValueError, match=message):
        estimate_density(np.array(points), 100, around=np.array(points))


def test_a_difference_of_nothing_has_an_interval_without_width():
    nothing = dict.fromkeys(map(str, range(30)), 0.0)
    found = paired_difference(nothing, nothing, seed=1)
    assert (found.ci_low, found.ci_high) == (0.0, 0.0)


def test_paired_difference():
    generator = np.random.default_rng(0)
    first = {str(image): value for image, value in enumerate(generator.normal(1.0, 0.5, 60))}
    second = {image: value - 0.1 + generator.normal(0, 0.05) for image, value in reversed(first.items())}
    found = paired_difference(first, second, seed=1)
    differences = np.array([second[image] - first[image] for image in first])
    assert found.difference == pytest.approx(differences.mean())
    error = differences.std() / 60**0.5
    assert found.ci_low == pytest.approx(found.difference - 1.96 * error, abs=0.3 * error)
    assert found.ci_high == pytest.approx(found.difference + 1.96 * error, abs=0.3 * error)
    assert (found.p_value, found.n) == (pytest.approx(2 / 2001), 60)
    with pytest.raises(ValueError, match=r"not measured on the same images \(60 and 59\)"):
        paired_difference(first, dict(list(second.items())[1:]), seed=1)


def test_extraction(tmp_path):
    """Of all images, a sample and an example, against each image by itself; the rows are those of the tables."""
    captioner, tokenizer, images = stand_in.captioner(), stand_in.tokenizer(), stand_in.images(tmp_path)
    decoding = decoding_of("greedy", 6)
    found = extract_attention(captioner, tokenizer, images, ["1", "2", "3", "4"], ["4", "2", "3"], ["2"], 2, decoding)
    for name, kind in (("blocks", BLOCKS), ("received", RECEIVED), ("shares", SHARES), ("matrices", MATRICES)):
        rows = found[name]
        write_table(
            tmp_path / f"{name}.parquet", kind, {column: [row[column] for row in rows] for column in kind.columns}
        )
    for name in ("blocks", "shares"):
        assert {row["image_id"] for row in found[name]} == {"2", "3", "4"}
    assert {row["image_id"] for row in found["received"]} == {"1", "2", "4"}  # the third has no tag
    visual = images.rows(["2"])
    attention = image_attention(captioner, visual, 2)[0].numpy()
    # Pieces: car, wine, glass, boat, end; then four regions.
    queries = [0, 1, 2, 3, 5, 6, 7, 8]
    inbound = attention[queries].mean(0)
    expected = {"car": inbound[0], "wine glass": inbound[1] + inbound[2], "boat": inbound[3]}
    assert {row["label"]: row["attention"] for row in found["received"] if row["image_id"] == "2"} == pytest.approx(
        expected
    )
    assert [matrix["layer"] for matrix in found["matrices"]] == [1, 2]  # halfway up is the first
    for matrix in found["matrices"]:
        own = decode(captioner.eval(), visual, decoding, tokenizer).tokens.tolist()
        assert [matrix["caption"]] == tokenizer.decode(own)
        assert matrix["positions"] == ["car", "wine", "glass", "boat", "[SEP]", "0", "1", "2", "3"]
        of_layer = image_attention(captioner, visual, matrix["layer"])[0].numpy()
        assert matrix["attention"] == pytest.approx(of_layer.ravel().tolist(), abs=1e-6)
    masses = {row["relation"]: row["mass"] for row in found["blocks"] if row["image_id"] == "2"}
    assert masses["vision-label"] == pytest.approx(attention[5:, :4].sum(), rel=1e-5)
    tokens = decode(captioner, visual, decoding, tokenizer).tokens
    ids = torch.cat([torch.tensor([[captioner.start_id]]), tokens, torch.tensor([[tokenizer.end]])], dim=1)
    shares = {(layer, kind, target): value for layer, kind, target, value in special_shares(captioner, visual, ids, 3)}
    for row in found["shares"]:
        if row["image_id"] == "2":
            value = shares[row["layer"], row["attending"], row["target"]][0]
            assert row["share"] == pytest.approx(value, abs=1e-6) or (row["share"] is None and np.isnan(value))
    assert {row["relation"] for row in found["blocks"] if row["image_id"] == "3"} == {"vision-vision", "all"}
