"""Scorers beyond the golden numbers: text processing, batching, settings, files, and real region features."""

import json
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from support.scorer_stand_in import build_scorer

from captionlab.config.plugins import plugin_models
from captionlab.networks.checkpoints import CheckpointError
from captionlab.networks.wordpiece import WordPieces
from captionlab.regions.batches import RegionBatch, RegionTable
from captionlab.regions.readers import read_regions
from captionlab.regions.tables import write_regions
from captionlab.scorers.scorer import Matching, NetworkScorer, Visual
from captionlab.scorers.store import family_class, import_scorer, load_scorer, new_scorer, save_scorer
from captionlab.userfiles.ids import coco_number

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.,'!-A", "##s", "##ing", "##nd"]
PIECES += ["cat", "dog", "run", "sit", "on", "the", "grass", "a", "two", "cafe", "Cat", "and", "##g", "##s.", "##un"]
PIECES = list(dict.fromkeys(PIECES))
CAPTIONS = ["a cat", "two dogs running on the grass, and a cat", "a dog.", "two cats", "the dog sits on a cat"]
SIZES = {"positions": 24, "width": 32, "heads": 4, "layers": 2, "feed_forward": 48}
ARCHITECTURES = {
    "uniter": SIZES,
    "rosita": SIZES,
    "vilbert": {
        **SIZES,
        "layers": 4,
        "visual_width": 48,
        "visual_layers": 3,
        "visual_heads": 4,
        "visual_feed_forward": 40,
        "connections": 2,
        "joint_width": 24,
        "joint_heads": 2,
    },
    "lxmert": {**SIZES, "visual_layers": 1, "cross_layers": 2},
}
FAMILIES = list(ARCHITECTURES)


@pytest.fixture(autouse=True)
def one_thread():
    """Two threads would wait for each other longer than these small networks compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    return path


def build(family, vocabulary, region_size=12, scale_weights=1.0, **config) -> NetworkScorer:
    """A scorer with weights that are large enough for its inputs to matter."""
    torch.manual_seed(3)
    block = {"family": family, "architecture": ARCHITECTURES[family], "max_tokens": 20, **config}
    scorer = build_scorer(block, vocabulary, region_size).eval()
    for parameter in scorer.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(scale_weights)
        else:
            parameter.data.add_(0.1 * torch.randn(parameter.shape))
    return scorer


def regions(counts=(4, 2, 5), size=12, seed=0) -> RegionBatch:
    """Images with different numbers of regions."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.zeros(len(counts), max(counts), size)
    boxes = torch.zeros(len(counts), max(counts), 4)
    for row, count in enumerate(counts):
        features[row, :count] = torch.rand(count, size, generator=generator)
        boxes[row, :count] = torch.rand(count, 2, 2, generator=generator).sort(1).values.flatten(1) * 100
    return RegionBatch(features, boxes, torch.tensor([[100.0, 120.0]] * len(counts)), list(counts))


def alone(batch: RegionBatch, row: int) -> RegionBatch:
    """One image of a batch, without padding."""
    count = batch.counts[row]
    return RegionBatch(
        batch.features[row : row + 1, :count],
        batch.boxes[row : row + 1, :count],
        batch.sizes[row : row + 1],
        [count],
    )


def naive_pieces(text: str, pieces: list[str], lowercase: bool) -> list[int]:
    """BERT's tokenisation in plain steps: lower case without accents, cut at punctuation, longest piece first."""
    if lowercase:
        text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    spaced = ""
    for character in text:
        code = ord(character)
        ascii_mark = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
        spaced += f" {character} " if ascii_mark or unicodedata.category(character).startswith("P") else character
    ids = []
    for word in spaced.split():
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in pieces:
                    found.append(pieces.index(piece))
                    start = end
                    break
            else:
                found = [pieces.index("[UNK]")]
                break
        ids += found
    return ids


TEXTS = [
    *CAPTIONS,
    "A Cat sits on the grass!",
    "a café - caf\u0065\u0301",
    "zebras",
    "two dogs' cats, running.and  sitting\ton the\ngrass",
    "",
    "Dogs and [SEP] cats",
    "a_cat's {dog}",
    "日本 a cat",
]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("text", TEXTS)
def test_word_pieces(text, lowercase):
    words = WordPieces(PIECES, lowercase=lowercase)
    expected = naive_pieces(text.replace("日本", "日 本"), PIECES, lowercase)
    assert words.encode([text], 100) == [[PIECES.index("[CLS]"), *expected, PIECES.index("[SEP]")]]


def test_case_matters_to_a_cased_vocabulary():
    cat, lower = PIECES.index("Cat"), PIECES.index("cat")
    assert WordPieces(PIECES, lowercase=False).encode(["Cat cat"], 9)[0][1:-1] == [cat, lower]
    assert WordPieces(PIECES, lowercase=True).encode(["Cat cat"], 9)[0][1:-1] == [lower, lower]


def test_texts_are_cut_before_the_end_token():
    words = WordPieces(PIECES)
    (whole,), (cut,) = words.encode([CAPTIONS[1]], 99), words.encode([CAPTIONS[1]], 6)
    assert len(whole) > 6
    assert cut == [*whole[:5], whole[-1]]
    assert words.left_out([CAPTIONS[1], "a"], 6) == [len(whole) - 6, 0]
    assert words.left_out([CAPTIONS[1]], len(whole)) == [0]


def test_punctuation_of_rosita():
    words = WordPieces(PIECES, strip_punctuation=True)
    assert words.encode(["two dogs', a_cat - the..!"], 99) == words.encode(["two dogs acat  the"], 99)


def test_vocabulary_files(tmp_path):
    words = WordPieces(PIECES)
    words.save(tmp_path / "vocab.txt")
    assert WordPieces.load(tmp_path / "vocab.txt").pieces == PIECES
    (tmp_path / "other.txt").write_text("a\nb\n")
    with pytest.raises(ValueError, match=r"other\.txt is no vocab\.txt of word pieces: the vocabulary has no \[UNK\]"):
        WordPieces.load(tmp_path / "other.txt")
    with pytest.raises(ValueError, match="'cat' twice"):
        WordPieces([*PIECES, "cat"])


@pytest.mark.parametrize("family", FAMILIES)
def test_any_batching_gives_the_same(family, vocabulary):
    """Each caption alone with its image alone, nothing cached or padded, against everything at once."""
    scorer, batch = build(family, vocabulary), regions()
    rows = torch.tensor([0, 1, 2, 2, 1, 0, 0, 2])
    captions = [*CAPTIONS, "two cats", CAPTIONS[0], CAPTIONS[2]]
    with torch.no_grad():
        tokens = scorer.encode_text(captions)
        naive = [
            scorer.network.logits(scorer.network.encode_image(alone(batch, row)), torch.tensor([ids]), None)[0]
            for row, ids in zip(rows.tolist(), tokens, strict=True)
        ]
        visual = scorer.encode_image(batch)
        for size in (1, 2, 3, 100):
            together = scorer.logits(visual, tokens, rows, batch=size)
            torch.testing.assert_close(together, torch.stack(naive), atol=1e-5, rtol=0)
    index = family_class("scorers", family).MATCHING.match_index
    torch.testing.assert_close(
        scorer.score(visual, captions, rows), torch.stack(naive).softmax(1)[:, index], atol=1e-5, rtol=0
    )
    # The test can fail: captions and images matter.
    assert torch.stack(naive).std(0).min() > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_what_words_and_regions_go_through_first(family, vocabulary):
    """Every family that can be trained here has both, for captionlab.training.objectives.itm."""
    assert {*plugin_models("scorers", "Trained")} == set(FAMILIES)
    network = build(family, vocabulary).network
    assert network.word_embeddings.num_embeddings == len(PIECES)
    assert network.region_projection.in_features == 12
    assert isinstance(network.region_projection, torch.nn.Linear)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_do_not_depend_on_batching(family, vocabulary):
    scorer, batch = build(family, vocabulary), regions()
    tokens = scorer.encode_text(CAPTIONS[:3])
    together = scorer.logits(scorer.encode_image(batch), tokens)[:, 0]
    separate = [
        scorer.network.logits(scorer.network.encode_image(alone(batch, row)), torch.tensor([ids]), None)[0, 0]
        for row, ids in enumerate(tokens)
    ]
    gradients = [
        torch.autograd.grad(value, list(scorer.parameters()), allow_unused=True)
        for value in (together.sum(), torch.stack(separate).sum())
    ]
    for ours, naive in zip(*gradients, strict=True):
        if naive is not None:
            torch.testing.assert_close(ours, naive, atol=1e-5, rtol=1e-3)
    assert sum(naive is not None and bool(naive.abs().max() > 1e-4) for naive in gradients[1]) > 20


def test_duplicates_are_computed_once(vocabulary):
    """And texts come in the order of their lengths, those of one length without any padding."""
    scorer, seen = build("uniter", vocabulary), []
    compute = scorer.network.logits

    def logits(visual, ids, mask):
        seen.append((ids, mask, visual.mask))
        return compute(visual, ids, mask)

    scorer.network.logits = logits
    captions = ["a cat", "two cats", "the dog sits", "a cat", "a cat"]
    scores = scorer.score(scorer.encode_image(regions((3, 3))), captions, [0, 0, 1, 0, 1], batch=2)
    assert [len(ids) for ids, _, _ in seen] == [2, 2]
    widths = [ids.shape[1] for ids, _, _ in seen]
    assert widths == sorted(widths)
    assert all(mask is None for _, _, mask in seen)
    assert scores[0] == scores[3]
    assert scores[0] != scores[4]


def test_images_lose_the_padding_that_they_do_not_need():
    visual = Visual(torch.arange(24.0).view(3, 4, 2), [2, 4, 1])
    selected = visual.select([2, 0, 2])
    assert selected.states.shape == (3, 2, 2)
    assert torch.equal(selected.states[1], visual.states[0, :2])
    assert selected.mask.tolist() == [[True, False], [True, True], [True, False]]
    assert visual.select([1]).mask is None


def test_vilbert_of_several_tasks(vocabulary):
    """The task token, by a network without tasks that has it as a word: no position, no token type, not hidden."""
    scorer = build("vilbert", vocabulary)
    network = scorer.network
    torch.manual_seed(9)
    with_tasks = type(network)(**{**network.architecture, "tasks": 5, "task": 3}).eval()
    with_tasks.load_state_dict({**network.state_dict(), "task_embeddings.weight": torch.randn(5, 32)})
    text = network.embeddings
    positions = text.position_embeddings.weight.data.clone()
    text.position_embeddings.weight.data[1] = 0
    text.position_embeddings.weight.data[2:] = positions[1:-1]
    word = PIECES.index("[MASK]")
    text.word_embeddings.weight.data[word] = with_tasks.task_embeddings.weight[3] - text.token_type_embeddings.weight[0]
    tokens = scorer.encode_text(["a cat", "two dogs and a cat"])
    as_words = scorer.logits(scorer.encode_image(regions((4, 2))), [[ids[0], word, *ids[1:]] for ids in tokens])
    tasked = NetworkScorer(with_tasks, scorer.words, scorer.matching)
    torch.testing.assert_close(tasked.logits(tasked.encode_image(regions((4, 2))), tokens), as_words)


# Layers of vision (of 3) and of text (of 4) before each connection. The last but one ends with a connection, as some of
# the authors' configurations do; in the last, two follow each other.
ORDERS = [([1, 2], [2, 3]), ([0, 1], [2, 3]), ([0, 2], [1, 1]), ([0, 1, 2, 3], [1, 2, 3, 4]), ([0, 0, 3], [0, 0, 0])]


def naive_vilbert(network, batch: RegionBatch, ids: list[int], order: tuple[list[int], list[int]]) -> torch.Tensor:
    """Logits for one image and text by the loop of the authors' encoder, all positions of all layers computed."""
    t, v = network.embeddings(torch.tensor([ids])), network.v_embeddings(*embedded_regions(batch))
    v_start = t_start = count = 0
    for v_end, t_end in zip(*order, strict=True):
        for number in range(t_start, t_end):
            t = network.layer[number](t, None)
        for number in range(v_start, v_end):
            v = network.v_layer[number](v, None)
        v, t = network.c_layer[count](v, None, t, None)
        v_start, t_start, count = v_end, t_end, count + 1
    for number in range(v_start, len(network.v_layer)):
        v = network.v_layer[number](v, None)
    for number in range(t_start, len(network.layer)):
        t = network.layer[number](t, None)
    pooled = network.t_pooler(t).relu() * network.v_pooler(v).relu()
    return network.head(pooled)[0]


def embedded_regions(batch: RegionBatch) -> tuple[torch.Tensor, torch.Tensor]:
    """What ViLBERT embeds of one image: its mean with the whole as box, then the regions with corners and area."""
    (width, height), rows = batch.sizes[0].tolist(), [[0, 0, 1, 1, 1]]
    for left, top, right, bottom in batch.boxes[0].tolist():
        area = (right - left) * (bottom - top) / (width * height)
        rows.append([left / width, top / height, right / width, bottom / height, area])
    return torch.cat([batch.features.mean(1, keepdim=True), batch.features], 1), torch.tensor([rows])


@pytest.mark.parametrize("order", ORDERS)
@torch.no_grad()
def test_order_of_vilberts_layers(vocabulary, tmp_path, order):
    """Weights under their published names, imported with an order, against the loop of the authors' encoder."""
    sizes = {**ARCHITECTURES["vilbert"], "connections": len(order[0])}
    if len(order[0]) > sizes["visual_layers"]:
        sizes |= {"v_biattention_id": order[0], "t_biattention_id": order[1]}
    weights = {}
    for name, value in build("vilbert", vocabulary, architecture=sizes).network.state_dict().items():
        inside = name.startswith(("layer.", "v_layer.", "c_layer."))
        name = f"bert.encoder.{name}" if inside else f"bert.{name}"
        weights[name.replace("bert.head", "cls.bi_seq_relationship")] = value
    save_file(weights, tmp_path / "pytorch_model.safetensors")
    config = {"family": "vilbert", "max_tokens": 20, "heads": 4, "visual_heads": 4, "joint_heads": 2}
    ids = {"v_biattention_id": order[0], "t_biattention_id": order[1]}
    import_scorer({**config, **ids}, tmp_path / "pytorch_model.safetensors", vocabulary, tmp_path / "scorer")
    assert json.loads((tmp_path / "scorer" / "config.json").read_text())["architecture"].items() >= ids.items()
    scorer = load_scorer(tmp_path / "scorer")
    batch, tokens = regions(), scorer.encode_text(CAPTIONS[:3])
    ours = scorer.logits(scorer.encode_image(batch), tokens)
    naive = [naive_vilbert(scorer.network, alone(batch, row), tokens[row], order) for row in range(3)]
    torch.testing.assert_close(ours, torch.stack(naive), atol=1e-5, rtol=0)
    if len(order[0]) == 4:
        with pytest.raises(
            CheckpointError, match=r"v_biattention_id is \[-1, 0, 1, 2\], and there are 4 connections and 3"
        ):
            import_scorer(config, tmp_path / "pytorch_model.safetensors", vocabulary, tmp_path / "default")
        return
    import_scorer(config, tmp_path / "pytorch_model.safetensors", vocabulary, tmp_path / "default")
    default = load_scorer(tmp_path / "default")
    change = (default.logits(default.encode_image(batch), tokens).softmax(1) - ours.softmax(1)).abs().max()
    assert change == 0 if order == ORDERS[0] else change > 1e-3


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ({"v_biattention_id": [0]}, r"v_biattention_id is \[0\], and there are 2 connections and 3 layers"),
        ({"v_biattention_id": [2, 1]}, "none smaller than the one before it"),
        ({"t_biattention_id": [3, 5]}, r"t_biattention_id is \[3, 5\], and there are 2 connections and 4 layers"),
        ({"t_biattention_id": []}, "a number for each connection"),
    ],
)
def test_orders_that_do_not_fit(ids, message):
    sizes = {**ARCHITECTURES["vilbert"], "vocabulary": 100, **ids}
    with pytest.raises(CheckpointError, match=message):
        new_scorer({"family": "vilbert", "architecture": sizes}, CAPTIONS, 12)


@pytest.mark.parametrize(("head", "scale"), [("itm", 1), ("itm", 100), ("retrieval", 100)])
@pytest.mark.parametrize("match_index", [0, 1])
def test_scores(head, scale, match_index):
    logits = torch.tensor([[1.0, 3.0], [0.5, -2.0]])[:, : 2 if head == "itm" else 1]
    scores = Matching(match_index, 20, head, scale).score(logits)
    if head == "itm":
        exponentials = np.exp(logits.numpy())
        expected = exponentials[:, match_index] / exponentials.sum(1)
    else:
        expected = 1 / (1 + np.exp(-logits.numpy()[:, 0]))
    np.testing.assert_allclose(scores.numpy(), scale * expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("family", "index", "tokens", "lowercase", "strip"),
    [
        ("uniter", 1, 62, False, False),
        ("rosita", 1, 30, True, True),
        ("vilbert", 0, 36, True, False),
        ("lxmert", 1, 20, True, False),
    ],
)
def test_defaults(family, index, tokens, lowercase, strip):
    expected = Matching(index, tokens, "itm", 1.0, lowercase, strip)
    assert expected == family_class("scorers", family).MATCHING


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"max_tokens": 25}, "max_tokens is 25; there are 24 positions"),
        ({"architecture": {**SIZES, "heads": 5}}, "a width of 32 cannot be divided among 5 heads"),
        ({"architecture": {**SIZES, "depth": 5}}, "depth"),
    ],
)
def test_wrong_settings(config, message):
    config = {"family": "uniter", "architecture": SIZES, **config}
    config["architecture"] = {**config["architecture"], "vocabulary": 100}
    with pytest.raises(CheckpointError, match=message):
        new_scorer(config, CAPTIONS, 12)


def test_wrong_regions(vocabulary):
    scorer = build("uniter", vocabulary)
    with pytest.raises(ValueError, match="the regions have 7 numbers and this scorer reads 12"):
        scorer.encode_image(regions(size=7))


@pytest.mark.parametrize("family", FAMILIES)
def test_saved_and_loaded(family, vocabulary, tmp_path):
    scorer = build(family, vocabulary, scale=100, head="itm", match_index=0)
    save_scorer(scorer, tmp_path / "scorer", {"from": "a test"})
    assert sorted(path.name for path in (tmp_path / "scorer").iterdir()) == [
        "config.json",
        "model.safetensors",
        "vocab.txt",
    ]
    loaded = load_scorer(tmp_path / "scorer")
    assert not loaded.training
    assert not any(parameter.requires_grad for parameter in loaded.parameters())
    scores = [each.score(each.encode_image(regions()), CAPTIONS[:3]) for each in (scorer, loaded)]
    assert torch.equal(*scores)
    assert scores[0].max() > 1
    assert json.loads((tmp_path / "scorer" / "config.json").read_text())["origin"] == {"from": "a test"}


def published(scorer: NetworkScorer) -> dict[str, torch.Tensor]:
    """The weights of a scorer of UNITER under the names of its authors."""
    names = {"embeddings.": "uniter.embeddings.", "img_embeddings.": "uniter.img_embeddings."}
    names |= {"layer.": "uniter.encoder.layer.", "pooler.": "uniter.pooler.", "head.": "itm_output."}
    state = scorer.network.state_dict()
    return {
        next(theirs + name.removeprefix(ours) for ours, theirs in names.items() if name.startswith(ours)): value
        for name, value in state.items()
    }


def imported(weights, vocabulary, folder, **config) -> NetworkScorer:
    """A scorer from weights under the names of UNITER's authors, through files."""
    torch.save(weights, folder / "weights.pt")
    config = {"family": "uniter", "heads": 4, "max_tokens": 20, **config}
    import_scorer(config, folder / "weights.pt", vocabulary, folder / "out")
    return load_scorer(folder / "out")


def test_spellings_of_uniter(vocabulary, tmp_path):
    scorer = build("uniter", vocabulary)
    expected = scorer.score(scorer.encode_image(regions()), CAPTIONS[:3])
    weights = published(scorer) | {"cls.predictions.bias": torch.zeros(3), "feat_regress.bias": torch.zeros(12)}
    weights["uniter.img_embeddings.mask_embedding.weight"] = torch.zeros(2, 12)
    old = {
        name.replace("uniter.", "bert.", 1)
        .replace("itm_output.", "ITM.")
        .replace("LayerNorm.weight", "LayerNorm.gamma")
        .replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in weights.items()
    }
    for spelling in (weights, old, {f"module.{name}": value for name, value in weights.items()}):
        ours = imported(spelling, vocabulary, tmp_path)
        assert torch.equal(ours.score(ours.encode_image(regions()), CAPTIONS[:3]), expected)
    assert json.loads((tmp_path / "out" / "config.json").read_text())["origin"]["weights"] == "weights.pt"


def test_half_precision_is_read_as_single(vocabulary, tmp_path):
    weights = {name: value.half() for name, value in published(build("uniter", vocabulary)).items()}
    scorer = imported(weights, vocabulary, tmp_path)
    assert {parameter.dtype for parameter in scorer.parameters()} == {torch.float32}


def test_retrieval_head_of_uniter(vocabulary, tmp_path):
    """Fine-tuned, or as the authors start it: the match output of the itm head."""
    weights = published(build("uniter", vocabulary))
    start = imported(weights, vocabulary, tmp_path, head="retrieval")
    visual = start.encode_image(regions())
    whole = imported(weights, vocabulary, tmp_path)
    tokens = whole.encode_text(CAPTIONS[:3])
    torch.testing.assert_close(start.logits(visual, tokens)[:, 0], whole.logits(visual, tokens)[:, 1])
    fine_tuned = {**weights, "rank_output.weight": torch.ones(1, 32), "rank_output.bias": torch.tensor([0.5])}
    ranked = imported(fine_tuned, vocabulary, tmp_path, head="retrieval", scale=100)
    pooled = ranked.network.pooled(visual.select([0]), torch.tensor([tokens[0]]), None)
    expected = 100 * torch.sigmoid(pooled.sum() + 0.5)
    torch.testing.assert_close(ranked.score(visual, CAPTIONS[:1], [0])[0], expected)


def test_twelve_in_one(vocabulary, tmp_path):
    """Its layout: embeddings of tasks, the heads of many tasks, and names behind `module.`."""
    block = {"architecture": {**ARCHITECTURES["vilbert"], "tasks": 9, "task": 7}, "head": "retrieval"}
    scorer = build("vilbert", vocabulary, **block)
    weights = {
        "module.cls.bi_seq_relationship.weight": torch.zeros(2, 24),
        "module.vil_prediction.main.0.weight_g": torch.ones(1),
    }
    inner = ("layer.", "v_layer.", "c_layer.")
    for name, value in scorer.network.state_dict().items():
        name = f"bert.encoder.{name}" if name.startswith(inner) else f"bert.{name}"
        name = name.replace("bert.task_embeddings", "bert.embeddings.task_embeddings").replace("bert.head", "vil_logit")
        weights[f"module.{name}"] = value
    save_file(weights, tmp_path / "multi_task_model.safetensors")
    heads = {"heads": 4, "visual_heads": 4, "joint_heads": 2}
    for task in (7, 8):
        config = {"family": "vilbert", "head": "retrieval", "max_tokens": 20, **heads}
        if task != 7:
            config["task"] = task
        import_scorer(config, tmp_path / "multi_task_model.safetensors", vocabulary, tmp_path / "scorer")
        loaded = load_scorer(tmp_path / "scorer")
        scorer.network.task = task
        scores = [each.score(each.encode_image(regions()), CAPTIONS[:3]) for each in (scorer, loaded)]
        assert torch.equal(*scores)


@pytest.mark.parametrize("family", ["rosita", "lxmert"])
def test_no_retrieval_head(family, tmp_path, vocabulary):
    save_file({"a": torch.zeros(1)}, tmp_path / "weights.safetensors")
    with pytest.raises(CheckpointError, match="has no retrieval head"):
        import_scorer(
            {"family": family, "head": "retrieval"}, tmp_path / "weights.safetensors", vocabulary, tmp_path / "x"
        )


def test_lxmert_under_the_names_of_transformers(vocabulary, tmp_path):
    """The whole class of transformers, its weights and its own result."""
    from transformers.models.lxmert.configuration_lxmert import LxmertConfig
    from transformers.models.lxmert.modeling_lxmert import LxmertForPreTraining

    torch.manual_seed(1)
    config = LxmertConfig(
        vocab_size=len(PIECES), hidden_size=32, num_attention_heads=4, intermediate_size=48, max_position_embeddings=24,
        l_layers=2, r_layers=1, x_layers=2, visual_feat_dim=12, num_object_labels=5, num_attr_labels=5, num_qa_labels=5,
    )  # fmt: skip
    theirs = LxmertForPreTraining(config).eval()
    for parameter in theirs.parameters():
        parameter.data.add_(0.1 * torch.randn(parameter.shape))
    torch.save(theirs.state_dict(), tmp_path / "pytorch_model.bin")
    block = {"family": "lxmert", "heads": 4}
    import_scorer(block, tmp_path / "pytorch_model.bin", vocabulary, tmp_path / "scorer")
    scorer, batch = load_scorer(tmp_path / "scorer"), regions((4, 4, 4))
    tokens = scorer.encode_text(CAPTIONS[:3])
    longest = max(map(len, tokens))
    with torch.no_grad():
        output = theirs(
            input_ids=torch.tensor([[*ids, *[0] * (longest - len(ids))] for ids in tokens]),
            attention_mask=torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in tokens]),
            visual_feats=batch.features,
            visual_pos=batch.boxes / torch.tensor([100.0, 120.0, 100.0, 120.0]),
        ).cross_relationship_score
        ours = scorer.logits(scorer.encode_image(batch), tokens)
    torch.testing.assert_close(ours, output, atol=1e-5, rtol=0)


def test_wrong_checkpoints(vocabulary, tmp_path):
    weights = published(build("uniter", vocabulary))
    other = {name: value for name, value in weights.items() if "itm_output" not in name}
    with pytest.raises(CheckpointError, match=r"makes no uniter scorer: it has no tensor 'itm_output\.weight'"):
        imported(other, vocabulary, tmp_path)
    with pytest.raises(CheckpointError, match=r"does not fit uniter: missing layer\.1\.output\.dense\.bias"):
        imported(
            {k: v for k, v in weights.items() if k != "uniter.encoder.layer.1.output.dense.bias"}, vocabulary, tmp_path
        )
    with pytest.raises(CheckpointError, match=r"unexpected layer\.0\.adapter"):
        imported({**weights, "uniter.encoder.layer.0.adapter": torch.zeros(1)}, vocabulary, tmp_path)
    wrong = {**weights, "uniter.pooler.dense.bias": torch.zeros(3)}
    with pytest.raises(CheckpointError, match=r"pooler\.dense\.bias is \(3,\), expected \(32,\)"):
        imported(wrong, vocabulary, tmp_path)
    (tmp_path / "short.txt").write_text("\n".join(PIECES[:-1]))
    with pytest.raises(CheckpointError, match=r"the vocabulary has \d+ word pieces and the uniter network"):
        imported(weights, tmp_path / "short.txt", tmp_path)
    with pytest.raises(CheckpointError, match="unexpected keyword argument 'layers'"):
        imported(weights, vocabulary, tmp_path, layers=2)
    assert not (tmp_path / "out").exists()


class Payload:
    """Something that runs code when it is unpickled."""

    def __reduce__(self):
        return (print, ("executed",))


def test_code_in_weights_is_not_run(vocabulary, tmp_path, capsys):
    with pytest.raises(CheckpointError, match="not unpickled"):
        imported({"uniter.x": Payload()}, vocabulary, tmp_path)
    assert "executed" not in capsys.readouterr().out


def test_broken_files(vocabulary, tmp_path):
    save_scorer(build("uniter", vocabulary), tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    save_file({name: value for name, value in weights.items() if name != "head.bias"}, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"model\.safetensors does not fit uniter: missing head\.bias"):
        load_scorer(tmp_path)
    (tmp_path / "config.json").write_text('{"family": "unifier"}')
    with pytest.raises(CheckpointError, match=r"config\.json does not describe a scorer"):
        load_scorer(tmp_path)


def test_only_lxmert_imports_transformers():
    """It takes several seconds, which the other families shall not pay."""
    code = "import sys; from captionlab.plugins import family_class; import captionlab.scorers.store; "
    code += "[family_class('scorers', family) for family in ('uniter', 'rosita', 'vilbert')]; "
    code += "print('transformers' in sys.modules, 'captionlab.scorers.lxmert.scorer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["False"] * 2


@pytest.mark.parametrize("family", FAMILIES)
def test_real_features(family, shared_data, tmp_path, vocabulary):
    """Bottom-up features of eight images, in the format that they come in, with their five captions."""
    folder = shared_data / "butd-demo"
    images = {coco_number(path.name): Image.open(path).size for path in (folder / "images").iterdir()}
    write_regions(tmp_path / "regions.parquet", read_regions("rosita-npz", [folder / "features"], images))
    captions = {
        coco_number(path.name): np.load(path)["text"].tolist() for path in sorted((folder / "features").glob("*.npz"))
    }
    batch = RegionTable(tmp_path / "regions.parquet").batch(list(captions))
    scorer = build(family, vocabulary, region_size=2048, scale_weights=0.25)
    visual = scorer.encode_image(batch)
    texts = [text for of_image in captions.values() for text in of_image]
    scores = scorer.score(visual, texts, [row for row, of_image in enumerate(captions.values()) for _ in of_image])
    assert scores.shape == (40,)
    assert ((scores > 0) & (scores < 1)).all()
    assert len(set(scores.tolist())) > 35  # images and captions matter
    alone_scores = [scorer.score(scorer.encode_image(alone(batch, row)), [texts[5 * row]])[0] for row in range(8)]
    torch.testing.assert_close(scores[::5], torch.stack(alone_scores), atol=1e-5, rtol=0)
