from collections import defaultdict
from itertools import chain

import numpy as np
import pytest
from support.running import run_script

from captionlab.evaluation.metrics.retrieval import metric as retrieval
from captionlab.evaluation.metrics.retrieval.metric import RetrievalError, ranks, unit_length
from captionlab.evaluation.summary import Job
from captionlab.storage.schemas import GENERATED, IMAGES, RETRIEVAL, embeddings_schema
from captionlab.storage.tables import read_table, write_table


def unit(generator, rows, dimensions=6):
    return unit_length(generator.normal(size=(rows, dimensions)), [str(i) for i in range(rows)], "test")


def rank_by_sorting(text, target, images, candidates):
    """Position of the target among the candidates sorted by similarity, one dot product at a time."""
    ordered = sorted(candidates, key=lambda image: (-float(np.dot(text, images[image])), image != target))
    return 1 + ordered.index(target)


@pytest.fixture
def world():
    generator = np.random.default_rng(0)
    images = unit(generator, 23)
    targets = np.array([4, 0, 22, 19, 4, 7, 15, 11])
    return unit(generator, len(targets)), targets, images


@pytest.mark.parametrize("scores", [retrieval.SCORES, 50])
def test_full_ranks_equal_sorting(world, scores, monkeypatch):
    monkeypatch.setattr(retrieval, "SCORES", scores)
    texts, targets, images = world
    found, sizes, _ = ranks(texts, targets, images, "full", corpus="toy")
    assert found.tolist() == [rank_by_sorting(x, t, images, range(23)) for x, t in zip(texts, targets, strict=True)]
    assert set(sizes) == {23}


def test_file_order_ranks_equal_sorting_in_blocks_and_drop_the_tail(world):
    texts, targets, images = world
    found, sizes, _ = ranks(texts, targets, images, "file-order", corpus="toy", candidates=5)
    expected = [
        rank_by_sorting(x, t, images, range(t // 5 * 5, t // 5 * 5 + 5)) if t < 20 else 0
        for x, t in zip(texts, targets, strict=True)
    ]
    assert found.tolist() == expected
    assert sizes.tolist() == [0 if t >= 20 else 5 for t in targets]


def test_set_ranks_equal_sorting_within_sets_of_any_place_and_size(world):
    texts, targets, images = world
    sets = [f"set{image % 4}" for image in range(23)]
    found, sizes, _ = ranks(texts, targets, images, "set", corpus="toy", sets=sets)
    members = defaultdict(list)
    for image, name in enumerate(sets):
        members[name].append(image)
    expected = [rank_by_sorting(x, t, images, members[sets[t]]) for x, t in zip(texts, targets, strict=True)]
    assert found.tolist() == expected
    assert sizes.tolist() == [len(members[sets[t]]) for t in targets]


@pytest.mark.parametrize("protocol", ["full", "file-order", "set", "random"])
@pytest.mark.parametrize("scores", [retrieval.SCORES, 50])
def test_the_chosen_image_is_the_most_similar_candidate(world, protocol, scores, monkeypatch):
    monkeypatch.setattr(retrieval, "SCORES", scores)
    texts, targets, images = world
    copies = np.array([0, 1, 0, 1, 1, 0, 0, 1])
    sets = [f"set{image % 4}" for image in range(23)]
    found, _, chosen = ranks(
        texts, targets, images, protocol, corpus="toy", candidates=5, sets=sets, copies=copies, seed=3
    )
    draws = [retrieval.drawn(23, 5, copy, 3) for copy in range(2)]
    among = {
        "full": lambda target, copy: range(23),
        "file-order": lambda target, copy: range(target // 5 * 5, target // 5 * 5 + 5),
        "set": lambda target, copy: [other for other in range(23) if other % 4 == target % 4],
        "random": lambda target, copy: [target, *draws[copy][target]],
    }[protocol]
    for text, target, copy, rank, one in zip(texts, targets, copies, found, chosen, strict=True):
        if protocol == "file-order" and target >= 20:
            assert (rank, one) == (0, -1)
        else:
            similarity = {
                other: sum(x * y for x, y in zip(text, images[other], strict=True)) for other in among(target, copy)
            }
            assert one == max(similarity, key=similarity.get)
            assert (one == target) == (rank == 1)


def test_random_ranks_with_all_images_equal_full_ranks(world):
    texts, targets, images = world
    found, sizes, _ = ranks(texts, targets, images, "random", corpus="toy", candidates=23)
    assert found.tolist() == ranks(texts, targets, images, "full", corpus="toy")[0].tolist()
    assert set(sizes) == {23}


def test_random_candidates_are_drawn_without_replacement_and_evenly():
    generator = np.random.default_rng(3)
    drawn = [retrieval._others(generator, 3, 9, 5) for _ in range(4000)]
    assert all(len(set(row)) == 4 and 3 not in row for row in drawn)
    assert set(np.concatenate(drawn)) == set(range(9)) - {3}
    share = np.bincount(np.concatenate(drawn), minlength=9) / len(drawn)
    np.testing.assert_allclose(np.delete(share, 3), 0.5, atol=0.04)


def test_random_candidates_of_an_image_do_not_depend_on_the_other_captions(world):
    texts, targets, images = world
    options = {"corpus": "toy", "candidates": 6, "seed": 2}
    whole, *_ = ranks(texts, targets, images, "random", **options)
    part, *_ = ranks(texts[2:5], targets[2:5], images, "random", **options)
    assert part.tolist() == whole[2:5].tolist()
    again = [ranks(texts, targets, images, "random", **{**options, "seed": seed})[0].tolist() for seed in range(5)]
    assert len({tuple(row) for row in again}) > 1
    others, *_ = ranks(texts, targets, images, "random", **options, copies=np.ones(len(targets), dtype=int))
    assert others.tolist() != whole.tolist()


def test_the_right_image_wins_ties_with_its_duplicates():
    generator = np.random.default_rng(0)
    image, text = unit(generator, 1, 512), unit(generator, 1, 512)
    images = np.repeat(image, 203, axis=0)
    found, *_ = ranks(np.repeat(text, 203, axis=0), np.arange(203), images, "full", corpus="toy")
    assert set(found) == {1}


@pytest.mark.parametrize("protocol", ["full", "random"])
@pytest.mark.parametrize(("lead", "rank"), [(3e-7, 1), (1e-5, 2)])
def test_a_lead_below_the_precision_of_float32_is_a_tie(protocol, lead, rank):
    cosines = np.array([0.5, 0.5 + lead])
    images = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)
    found, *_ = ranks(np.float32([[1, 0]]), np.array([0]), images, protocol, corpus="toy", candidates=2)
    assert found.tolist() == [rank]


@pytest.mark.parametrize("protocol", ["file-order", "random"])
def test_too_few_images_are_an_error_that_says_what_to_do(world, protocol):
    texts, targets, images = world
    with pytest.raises(RetrievalError, match=r"'toy' has 23 images.*fewer than the 100 candidates.*`candidates: 23`"):
        ranks(texts, targets, images, protocol, corpus="toy")


def test_images_without_sets_and_unknown_protocols_are_errors(world):
    texts, targets, images = world
    with pytest.raises(RetrievalError, match="without a look-alike set"):
        ranks(texts, targets, images, "set", corpus="toy", sets=["a", None] * 11 + ["a"])
    with pytest.raises(RetrievalError, match="'nearest' is not one of"):
        ranks(texts, targets, images, "nearest", corpus="toy")


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_an_embedding_without_direction_is_an_error_that_names_it(value):
    rows = np.ones((3, 4))
    rows[1] = value
    with pytest.raises(ValueError, match=r"images of toy: the embedding of 'b' is not a direction"):
        unit_length(rows, ["a", "b", "c"], "images of toy")


ARCHITECTURE = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
    "text_cfg": {"context_length": 20, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}


def naive_bags(embeddings, images, size):
    """Bags of an image and its nearest images, the most similar bag first, which share no image with an earlier bag."""

    def cosine(one, other):
        lengths = np.linalg.norm(embeddings[one]) * np.linalg.norm(embeddings[other])
        return float(embeddings[one] @ embeddings[other] / lengths)

    nearest = {one: sorted({*images} - {one}, key=lambda other: -cosine(one, other))[: size - 1] for one in images}
    bags = []
    for one in sorted(images, key=lambda one: -sum(cosine(one, other) for other in nearest[one])):
        if not {one, *nearest[one]} & {*chain.from_iterable(bags)}:
            bags.append([one, *nearest[one]])
    return bags


def test_the_script_ranks_every_caption_by_every_retriever(tmp_path, caplog):
    from captionlab.encoders.clip.encoder import MEAN, STD, Clip, build

    generator = np.random.default_rng(0)
    ids = [f"image{i}" for i in range(13)]
    corpora = {"plain": [None] * 12 + [None], "alike": [f"set{i // 4}" for i in range(13)]}
    captions = {"corpus": [], "image_id": [], "caption_index": [], "caption": []}
    paths = {"images": [], "configs": [], "features": []}
    embeddings, encoders = {}, {}
    for corpus, sets in corpora.items():
        rows = {
            "image_id": ids,
            "position": np.arange(13)[::-1],  # the file's order, not the table's
            "split": ["train", *["test"] * 12],
            "path": ids,
            "offset": [None] * 13,
            "length": [None] * 13,
            "data": [None] * 13,
            "width": [32] * 13,
            "height": [32] * 13,
            "image_set": sets,
        }
        write_table(tmp_path / corpus / "images.parquet", IMAGES, rows)
        paths["images"].append(str(tmp_path / corpus / "images.parquet"))
        for image in range(1, 13):
            captions["corpus"].append(corpus)
            captions["image_id"].append(ids[image])
            captions["caption_index"].append(0)
            captions["caption"].append(
                "" if image == 5 else f"{corpus} caption {image} 🐕" + " and a cat" * (200 if image == 7 else 0)
            )
    write_table(
        tmp_path / "captions.parquet",
        GENERATED,
        {**captions, "log_prob": [None] * 24, "confidence": [None] * 24},
    )
    for seed, retriever in enumerate(("first", "second")):
        config = {"architecture": ARCHITECTURE, "image_mean": list(MEAN), "image_std": list(STD)}
        encoders[retriever] = Clip(build(ARCHITECTURE, seed=seed), config)
        encoders[retriever].save(tmp_path / "encoders" / retriever)
        paths["configs"].append(str(tmp_path / "encoders" / retriever / "config.json"))
        for corpus in corpora:
            embeddings[retriever, corpus] = generator.normal(size=(13, 16)).astype(np.float32)
            for shard, part in enumerate((slice(0, 6), slice(6, 13))):
                path = tmp_path / "features" / retriever / corpus / f"{shard}-of-2.parquet"
                kind = embeddings_schema(16, "float32")
                write_table(path, kind, {"image_id": ids[part], "embedding": list(embeddings[retriever, corpus][part])})
                paths["features"].append(str(path))
    run_script(
        "retrieve_images",
        {"captions": tmp_path / "captions.parquet", **paths, "bag_features": paths["features"][-4:]},
        [tmp_path / "retrieval.parquet"],
        corpora=list(corpora),
        splits=["test", "test"],
        retrievers=list(encoders),
        config={
            "candidates": 5,
            "candidate_sets": "file-order",
            "bags": {"encoder": "second", "sizes": [3, 5], "number": 2},
        },
        seed=1,
    )
    for retriever in encoders:
        assert f"plain: 1 of 12 captions are too long for {retriever} and are cut, by up to" in caplog.text
    rows = read_table(tmp_path / "retrieval.parquet", RETRIEVAL).to_pylist()
    # plain: 10 of 12 images in whole blocks, and all in the full set; alike: all in sets and in the full set
    in_bags = defaultdict(lambda: defaultdict(set))
    for corpus in corpora:
        for size in (3, 5):
            for bag in naive_bags(embeddings["second", corpus], range(12, 0, -1), size)[:2]:
                for image in bag:
                    in_bags[corpus, size][image] = bag
    assert len(rows) == 2 * (10 + 12 + 12 + 12 + sum(map(len, in_bags.values())))
    job = Job("mine", "main", "greedy", dict.fromkeys(corpora, "test"))
    measured = defaultdict(set)
    for result in retrieval.results(job, tmp_path / "retrieval.parquet", 1):
        measured[result.candidates].add(result.metric)
    assert measured["bags of 3"] == measured["bags of 5"] == {"P@1", "mean rank"}  # R@5 in bags of 5 is always 100
    assert measured["full"] == {"P@1", "R@5", "R@10", "mean rank"}
    in_file_order = list(range(12, 0, -1))
    for row in rows:
        image = ids.index(row["image_id"])
        if row["protocol"] == "full":
            among = in_file_order
        elif row["protocol"].startswith("bags of "):
            among = in_bags[row["corpus"], int(row["protocol"].removeprefix("bags of "))][image]
            assert row["candidates"] == len(among)
        elif row["corpus"] == "plain":
            assert row["protocol"] == "file-order"
            block = in_file_order.index(image) // 5
            among = in_file_order[5 * block : 5 * block + 5]
        else:
            assert row["protocol"] == "set"
            among = [other for other in range(1, 13) if other // 4 == image // 4]
        assert row["candidates"] == len(among)
        caption = next(
            text
            for corpus, name, text in zip(*(captions[c] for c in ("corpus", "image_id", "caption")), strict=True)
            if (corpus, name) == (row["corpus"], row["image_id"])
        )
        text = encoders[row["retriever"]].embed_texts([caption]).numpy()[0]
        images = embeddings[row["retriever"], row["corpus"]]
        images = images / np.linalg.norm(images, axis=1, keepdims=True)
        assert row["rank"] == rank_by_sorting(text, image, images, among)
        best = max(among, key=lambda other: (float(np.dot(text, images[other])), other == image))
        assert row["chosen"] == ids[best]
        assert (row["chosen"] == row["image_id"]) == (row["rank"] == 1)
