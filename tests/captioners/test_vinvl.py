"""VinVL's captioner: its layout, what attends to what, and its generation against computing everything again."""

import runpy
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.decodings import decoding_of
from torch import Tensor

from captionlab.captioners.vinvl.captioner import Vinvl
from captionlab.generation.decoding import decode
from captionlab.regions.tagged_regions import TaggedRegions, padded
from captionlab.training.objectives.mlm.objective import (
    MaskedBatch,
    MaskedBatches,
    MaskedLanguageModelling,
    divergences,
    mask_tokens,
)

END, START, MASK = 2, 1, 3
SIZES = {
    "vocabulary": 60,
    "positions": 40,
    "width": 16,
    "layers": 3,
    "heads": 2,
    "feed_forward": 24,
    "region_size": 9,
    "tag_position": 12,
    "start": START,
    "mask": MASK,
}


class Vocabulary:
    end = END


@pytest.fixture(scope="module")
def captioner() -> Vinvl:
    """In double precision, so that differences of the way of computing are far below those of what is computed."""
    captioner = Vinvl(**SIZES).double().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in captioner.named_parameters():
            norm = name.endswith("LayerNorm.weight")
            # Attention counts, so that what is read matters and captions are not one word again and again.
            std = 1.6 if ".attention." in name and parameter.ndim == 2 else 0.8 if "position" in name else 0.4
            parameter.copy_(norm + std * torch.randn(parameter.shape, generator=generator))
        captioner.cls.predictions.bias[END] += 6.0
    return captioner


def images(tags: list[int], regions: list[int], seed: int = 0) -> TaggedRegions:
    """Images with so many word pieces of tags and so many regions."""
    generator = torch.Generator().manual_seed(seed)
    ids = [torch.randint(4, 60, (length,), generator=generator) for length in tags]
    features = [torch.randn(count, 9, generator=generator, dtype=torch.float64) for count in regions]
    return TaggedRegions(*padded(ids, 40), *padded(features, 40))


@pytest.fixture(scope="module")
def visual() -> TaggedRegions:
    return images([5, 2, 8, 1], [4, 7, 1, 3])


def captions(rows: int, length: int, seed: int = 0) -> Tensor:
    """Captions that start with [CLS]."""
    ids = torch.randint(4, 60, (rows, length), generator=torch.Generator().manual_seed(seed))
    ids[:, 0] = START
    return ids


class Again:
    """The same captioner without any memory: the whole sequence goes through all layers at every step."""

    generates = False

    def __init__(self, captioner: Vinvl):
        self.captioner = captioner

    def start(self, visual: TaggedRegions, max_tokens: int):
        return self.read(visual, visual.tags.new_full((len(visual), 1), START))

    def step(self, tokens: Tensor, state):
        visual, words = state
        return self.read(visual, torch.cat([words, tokens[:, None]], dim=1))

    def reorder(self, state, index: Tensor):
        visual, words = state
        return visual[index], words[index]

    def read(self, visual: TaggedRegions, words: Tensor):
        ids = torch.cat([words, torch.full_like(words[:, :1], MASK)], dim=1)
        states = self.captioner.states(visual, ids)
        return self.captioner.cls.predictions(states[:, words.shape[1]]), (visual, words)


def test_number_of_parameters():
    """Of the published model: 209 tensors; the output matrix is that of the word embeddings."""
    with torch.device("meta"):
        captioner = Vinvl(30522, 512, 768, 12, 12, 3072, 2054)
    assert sum(parameter.numel() for parameter in captioner.parameters()) == 111_684_666
    names = set(captioner.state_dict())
    assert len(names) == 209
    assert {"bert.LayerNorm.bias", "bert.img_embedding.weight", "bert.encoder.layer.11.output.LayerNorm.weight"} < names
    assert {"cls.predictions.bias", "cls.predictions.decoder.weight", "bert.pooler.dense.bias"} < names
    assert captioner.cls.predictions.decoder.weight is captioner.bert.embeddings.word_embeddings.weight


def test_published_names_and_sizes(captioner):
    """Pre-training's second head is left out, and old names of layer norms are understood."""
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in captioner.state_dict().items()
    }
    old |= {"cls.seq_relationship.weight": torch.zeros(3, 16), "cls.seq_relationship.bias": torch.zeros(3)}
    again, weights = Vinvl.from_published(old, heads=2, tag_position=12, start=START, mask=MASK)
    assert again.architecture == captioner.architecture
    again.double().load_state_dict(weights)
    assert all(torch.equal(value, captioner.state_dict()[name]) for name, value in again.state_dict().items())


@torch.no_grad()
@pytest.mark.parametrize("rules", ["oscar", "transformers"])
@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_generation_is_that_of_the_plain_loop(captioner, visual, kind, rules):
    visual = images([5, 2, 8, 1] * 5, [4, 7, 1, 3] * 5)
    decoding = decoding_of(kind, 10, rules=rules)
    ours, plain = (decode(model, visual, decoding, Vocabulary()) for model in (captioner, Again(captioner)))
    assert ours.tokens.tolist() == plain.tokens.tolist()
    assert len({*ours.lengths.tolist()}) > 2
    torch.testing.assert_close(ours.log_prob, plain.log_prob, rtol=0, atol=1e-5)
    torch.testing.assert_close(ours.confidence, plain.confidence, rtol=0, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("index", [[0, 0, 1, 1, 3, 3], [3, 0], [2, 2, 2, 0], [1, 2, 1, 2], [0, 1, 2, 3]])
def test_any_rows_of_a_state(captioner, visual, index):
    """Equal and unequal shares of the images, images left out, and images in another order."""
    index = torch.tensor(index)
    rows = torch.tensor([7, 9, 11, 20])
    logits = []
    for model in (captioner, Again(captioner)):
        _, state = model.start(visual, 6)
        _, state = model.step(rows, state)
        _, state = model.step(rows[index], model.reorder(state, index))
        again = torch.arange(len(index)).flip(0)
        logits.append(model.step(rows[index][again], model.reorder(state, again))[0])
    torch.testing.assert_close(*logits, rtol=0, atol=1e-10)


@torch.no_grad()
def test_log_probs_are_those_of_generation(captioner, visual):
    decoded = decode(captioner, visual, decoding_of("greedy", 8), Vocabulary())
    log_probs = captioner.log_probs(visual, decoded.tokens, decoded.mask)
    assert (log_probs[~decoded.mask] == 0).all()
    torch.testing.assert_close(log_probs.sum(1), decoded.log_prob, rtol=0, atol=1e-5)


@torch.no_grad()
def test_log_probs_of_any_tokens(captioner, visual):
    tokens = captions(4, 6, seed=5)
    log_probs = captioner.log_probs(visual, tokens, torch.ones_like(tokens))
    words = torch.full((4, 1), START)
    for place in range(6):
        logits, _ = Again(captioner).read(visual, words)
        expected = logits.float().log_softmax(1)[torch.arange(4), tokens[:, place]]
        torch.testing.assert_close(log_probs[:, place], expected, rtol=0, atol=1e-5)
        words = torch.cat([words, tokens[:, place : place + 1]], dim=1)


@torch.no_grad()
@pytest.mark.parametrize("layer", [1, 2, 3])
def test_blocks_of_the_image_do_not_depend_on_the_caption(captioner, visual, layer):
    """Not at all, whatever the caption and its length: so they need one pass per image."""
    short, other, long = (captions(4, length, seed) for length, seed in ((3, 1), (3, 2), (9, 3)))
    blocks = [captioner.attention(visual, ids, layer)[:, :, ids.shape[1] :, ids.shape[1] :] for ids in (short, other)]
    assert torch.equal(*blocks)
    from_image = captioner.attention(visual, long, layer)[:, :, 9:]
    assert (from_image[..., :9] == 0).all()
    torch.testing.assert_close(from_image[..., 9:], blocks[0], rtol=0, atol=1e-12)
    # The caption does attend to the image, differently for different captions.
    shares = [captioner.attention(visual, ids, layer)[:, :, :3, 3:] for ids in (short, other)]
    assert (shares[0] > 0).any(-1).all()
    assert (shares[0] - shares[1]).abs().max() > 1e-3
    assert torch.equal(captioner.states(visual, short)[:, 3:], captioner.states(visual, other)[:, 3:])


@torch.no_grad()
def test_padding_changes_nothing(captioner):
    together = images([5, 2, 8], [4, 7, 1])
    decoded = decode(captioner, together, decoding_of("beam", 8, rules="oscar"), Vocabulary())
    for row in range(3):
        tags, regions = (together.tag_mask[row].sum(), together.region_mask[row].sum())
        alone = TaggedRegions(
            together.tags[row : row + 1, :tags],
            together.tag_mask[row : row + 1, :tags],
            together.regions[row : row + 1, :regions],
            together.region_mask[row : row + 1, :regions],
        )
        by_itself = decode(captioner, alone, decoding_of("beam", 8, rules="oscar"), Vocabulary())
        length = int(by_itself.lengths)
        assert decoded.tokens[row, :length].tolist() == by_itself.tokens[0].tolist()
        assert abs(decoded.confidence[row] - by_itself.confidence) < 1e-5


@torch.no_grad()
def test_masked_regions_are_as_good_as_none(captioner):
    whole = images([5], [4])
    closed = replace(whole, region_mask=torch.tensor([[True, False, True, True]]))
    left = replace(whole, regions=whole.regions[:, [0, 2, 3]], region_mask=torch.ones(1, 3, dtype=torch.bool))
    ids = captions(1, 5)
    torch.testing.assert_close(captioner.states(closed, ids)[:, :5], captioner.states(left, ids)[:, :5])


def test_gradients_reach_everything_that_is_used(captioner):
    visual = images([5, 2], [4, 7])
    for loss in (
        -captioner.log_probs(visual, captions(2, 5), torch.ones(2, 5)).sum(),
        captioner.masked_logits(visual, captions(2, 5), torch.ones(2, 5, dtype=torch.bool)).logsumexp(1).sum(),
    ):
        captioner.zero_grad()
        loss.backward()
        without = {name for name, parameter in captioner.named_parameters() if parameter.grad is None}
        assert without == {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}


def test_dropout_is_active_in_training(captioner, visual):
    captioner.train()
    with torch.no_grad():
        first, second = (captioner.start(visual, 4)[0] for _ in range(2))
    captioner.eval()
    assert not torch.equal(first, second)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda model: model.start(images([5], [4]), 40), "41 positions are asked for and there are 40"),
        (lambda model: model.start(images([30], [4]), 5), "42 positions are asked for"),
        (
            lambda model: model.start(replace(images([5], [4]), regions=torch.zeros(1, 4, 7)), 5),
            "7 numbers, the box included, and this captioner reads 9",
        ),
        (lambda model: model.attention(images([5], [4]), captions(1, 3), 0), "no layer 0, but 1 to 3"),
    ],
)
def test_what_does_not_fit_is_refused(captioner, ask, message):
    with pytest.raises(ValueError, match=message):
        ask(captioner)


def test_images_are_split_picked_and_repeated_like_a_tensor(visual):
    assert len(visual) == 4
    parts = visual.tensor_split(3)
    assert [len(part) for part in parts] == [2, 1, 1]
    assert torch.equal(parts[1].regions, visual.regions[2:3])
    picked = visual[torch.tensor([3, 0])]
    assert torch.equal(picked.tags, visual.tags[[3, 0]])
    assert torch.equal(picked.mask[0], torch.cat([visual.tag_mask[3], visual.region_mask[3]]))
    repeated = visual.repeat_interleave(3, dim=0)
    assert torch.equal(repeated.regions, visual.regions.repeat_interleave(3, dim=0))
    assert torch.equal(repeated.mask, visual.mask.repeat_interleave(3, dim=0))


def test_masking():
    """One to three tokens of a caption, never [CLS]: 80 % masked, 10 % replaced, 10 % kept; chosen evenly."""
    lengths = np.array([2, 5, 10, 11, 17, 30])
    rows = np.repeat(np.arange(6), 4000)
    ids = np.where(np.arange(30) < lengths[rows][:, None], 7, 0)
    masked, chosen = mask_tokens(ids, lengths[rows], MASK, 60, np.random.default_rng(0))
    # Python's own round: 1.65 is 2, 2.55 is 3, 1.5 is 2, 0.75 is 1.
    assert [*chosen.sum(1)[::4000]] == [1, 1, 2, 2, 3, 3]
    assert all(len({*chosen[rows == row].sum(1)}) == 1 for row in range(6))
    assert not chosen[:, 0].any()
    assert not chosen[ids == 0].any()
    assert (masked[~chosen] == ids[~chosen]).all()
    fates = Counter(np.select([masked[chosen] == MASK, masked[chosen] == 7], ["mask", "kept"], "other").tolist())
    total = chosen.sum()
    assert abs(fates["mask"] / total - 0.8) < 0.01
    assert abs(fates["other"] / total - 0.1) < 0.01
    shares = chosen[rows == 5].mean(0)[1:]
    assert abs(shares - 3 / 29).max() < 0.02
    assert set(np.unique(masked[chosen])) >= {MASK, 7, 59}


def test_divergence_is_torchs():
    logits = torch.randn(5, 9, generator=torch.Generator().manual_seed(0))
    targets = torch.tensor([0, 3, 8, 8, 1])
    smooth = torch.full((5, 9), 0.1 / 8).scatter(1, targets[:, None], 0.9)
    expected = torch.nn.functional.kl_div(logits.log_softmax(1), smooth, reduction="none").sum(1)
    torch.testing.assert_close(divergences(logits, targets, 0.1), expected)
    plain = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
    torch.testing.assert_close(divergences(logits, targets, 0.0), plain)


@torch.no_grad()
def test_the_worst_tokens_are_dropped_late(captioner):
    chosen = torch.zeros(4, 6, dtype=torch.bool)
    chosen[:, 2:5] = True
    batch = MaskedBatch(images([5, 2, 8, 1], [4, 7, 1, 3]), captions(4, 6), chosen, torch.arange(4, 16))
    objective, whole = MaskedLanguageModelling(drop_worst=0.2, drop_after=2), MaskedLanguageModelling()
    losses = []
    for _ in range(3):
        losses.append(objective.loss(captioner, batch)[0].item())
        objective.end_batch()
    full = whole.loss(captioner, batch)[0].item()
    assert losses[:2] == [full, full]
    each = divergences(captioner.masked_logits(batch.visual, batch.ids, chosen), batch.targets, 0.0)
    assert losses[2] == pytest.approx(each.sort().values[:9].mean().item(), rel=1e-5)  # int(12 * 0.8)
    resumed = MaskedLanguageModelling(drop_worst=0.2, drop_after=2)
    resumed.load_state_dict(objective.state_dict())
    assert resumed.loss(captioner, batch)[0].item() == pytest.approx(losses[2])


@torch.no_grad()
def test_of_a_single_token_nothing_is_dropped(captioner):
    chosen = torch.zeros(1, 6, dtype=torch.bool)
    chosen[0, 2] = True
    batch = MaskedBatch(images([5], [4]), captions(1, 6), chosen, torch.tensor([7]))
    assert (
        MaskedLanguageModelling(drop_worst=0.2).loss(captioner, batch)[0]
        == MaskedLanguageModelling().loss(captioner, batch)[0]
    )


def test_parts_of_a_batch_make_up_the_whole(captioner):
    chosen = torch.zeros(4, 6, dtype=torch.bool)
    chosen[:, 2] = chosen[0, 3] = chosen[2, 4] = True
    batch = MaskedBatch(images([5, 2, 8, 1], [4, 7, 1, 3]), captions(4, 6), chosen, torch.arange(4, 10))
    parts = batch.split(3)
    loss = sum(part.weight * MaskedLanguageModelling().loss(captioner, part)[0] for part in parts) / batch.weight
    torch.testing.assert_close(loss, MaskedLanguageModelling().loss(captioner, batch)[0])


def test_batches_of_references():
    """Every reference once in an epoch, with its image; what is masked depends on seed and step alone."""
    visual = images([5, 2, 8, 1], [4, 7, 1, 3])
    captions = [[[10, 11, END], [12, END]], [[13, 14, 15, 16, END]], [[17, END]], [[18, END], [19, END], [20, 21, END]]]
    settings = {"start": START, "mask": MASK, "vocabulary": 60}
    batches = MaskedBatches(visual, captions, 3, 5, **settings)
    assert len(batches) == 2  # seven references, the tail is left out
    seen = Counter()
    for step in range(400):
        batch = batches[step]
        whole = batch.ids.masked_scatter(batch.chosen, batch.targets)
        assert (whole[:, 0] == START).all()
        for row, ids in enumerate(whole.tolist()):
            caption = tuple(ids[1 : ids.index(END) + 1])
            image = next(image for image, found in enumerate(captions) if list(caption) in found)
            assert torch.equal(batch.visual.tags[row], visual.tags[image])
            seen[caption] += 1
    assert len(seen) == 7
    assert min(seen.values()) > 140  # of 200 epochs of which each leaves one reference out
    epoch = [batches[2 * 7], batches[2 * 7 + 1]]
    assert (
        len({tuple(ids) for part in epoch for ids in part.ids.masked_scatter(part.chosen, part.targets).tolist()}) == 6
    )
    again = MaskedBatches(visual, captions, 3, 5, **settings)[14]
    assert torch.equal(again.ids, epoch[0].ids)
    assert torch.equal(again.chosen, epoch[0].chosen)


@torch.no_grad()
def test_the_benchmark_compares_the_same_captions(monkeypatch):
    """At a tiny size; and its counts of operations are torch's."""
    from torch.utils.flop_counter import FlopCounterMode

    folder = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.syspath_prepend(folder)
    benchmark = runpy.run_path(str(folder / "vinvl_generation.py"))
    sizes = {**SIZES, "vocabulary": 300}
    captioner = benchmark["random_captioner"](sizes)
    visual = benchmark["random_images"](2, sizes, tags=4, regions=6)
    decoding = decoding_of("beam", 8, rules="oscar", beams=3)
    ways = benchmark["ways_of"](captioner, 3)
    seconds = benchmark["compare"](ways, visual, decoding, {"ours": 2, "cached": 2, "plain": 1})
    assert seconds.keys() == ways.keys()
    assert min(min(of_way) for of_way in seconds.values()) > 0
    for way in ways.values():
        count = way.operations
        with FlopCounterMode(display=False) as counter:
            decode(way, visual, decoding, Vocabulary())
        assert counter.get_total_flops() == 2 * count

    class Unordered(benchmark["CachedPath"]):
        """As Oscar has it: what was read stays where it was when beams change places."""

        def reorder(self, state, index):
            return super().reorder(state, index if state[2] > 1 else index.sort().values // 3 * 3)

    with pytest.raises(SystemExit, match="the captions of cached are not ours"):
        benchmark["compare"](ways | {"cached": Unordered(captioner, 3)}, visual, decoding, dict.fromkeys(ways, 1))
