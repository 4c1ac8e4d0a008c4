"""Each mistake in a config is one sentence that says where it is and what to write."""

import copy
import json
import re
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config
from support.plans import config_of

from captionlab.config.blocks import normalise
from captionlab.config.config_files import check_config_files
from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph

ROOT = Path(__file__).parents[2]

CONFIG = yaml.safe_load("""
seed: 1
corpora:
  world: {reader: toyworld, domain: coco, seed: 1, images: {train: 8, test: 8}}
  texts: {reader: coco, annotations: {test: refs.json}, images: null}
  photos: {reader: karpathy, annotations: photos.json, images: photos, max_rejected: 0.1}
encoders:
  clip: {family: clip, weights: clip.safetensors}
regions:
  boxes: {source: boxes, encoder: clip}
  butd: {source: files, format: lxmert-tsv, files: {photos: [a.tsv, b.tsv]}}
  detector: {source: detector, weights: detector.pth}
tags:
  things: {source: objects}
  detected: {source: files, files: {photos: tags.tsv}}
  named: {source: regions, regions: butd}
scorers:
  uniter: {family: uniter, regions: butd, weights: uniter.pt, vocabulary: vocab.txt, scale: 100}
  ours:
    family: lxmert
    regions: boxes
    corpus: world
    architecture:
      {vocabulary: 90, positions: 20, width: 8, layers: 1, heads: 1, feed_forward: 8, visual_layers: 1, cross_layers: 1}
    negatives: {encoder: clip, hard: 0.5, nearest: 0.1}
    optimizer: {kind: adamw, lr: 1.0e-3, batch: 4, steps: 2}
  clip: {family: clip, encoder: clip, prompt: "A photo depicts "}
captioners:
  base:
    family: clipcap
    encoder: clip
    corpus: world
    architecture: {prefix_length: 2, width: 8, layers: 1, heads: 1, positions: 20, mapper_hidden: 8, vocabulary: 300}
    objective: {kind: cross-entropy}
    optimizer: {kind: adam, lr: 1.0e-3, batch: 4, steps: 2}
  child:
    parent: base
    corpus: world
    objective:
      kind: reinforce
      reward: {kind: discriminative, retriever: clip, candidates: 4}
      baseline: running-mean
      decoding: greedy
    optimizer: {kind: adam, lr: 1.0e-3, batch: 4, epochs: 1}
  people: {family: human}
  tagged:
    family: vinvl
    regions: boxes
    tags: things
    corpus: world
    architecture: {vocabulary: 90, positions: 60, width: 8, layers: 1, heads: 1, feed_forward: 8, max_pieces: 20}
    objective: {kind: mlm, smoothing: 0.1, drop_worst: 0.2, drop_after: 20000}
    optimizer: {kind: adamw, lr: 1.0e-3, batch: 4, epochs: 2}
  scened:
    parent: tagged
    corpus: world
    objective: {kind: mlm}
    optimizer: {kind: adamw, lr: 1.0e-3, batch: 4, epochs: 2}
    snapshots: [1]
  fc:
    family: newfc
    encoder: clip
    corpus: world
    architecture: {width: 8, input_width: 8, min_count: 2}
    objective: {kind: cross-entropy, scheduled_sampling: {increase: 0.05, epochs: 5, maximum: 0.25}}
    validation: {split: test, every: 2, decoding: greedy}
    optimizer: {kind: adam, lr: 1.0e-3, batch: 4, steps: 2, schedule: staircase, decay: 0.8, decay_epochs: 3}
  critical:
    parent: fc
    corpus: world
    objective:
      kind: self-critical
      decoding: greedy
      kl: 0.1
      reward:
        kind: sum
        of:
          - {weight: 1, reward: {kind: cider}}
          - weight: 0.5
            reward: {kind: alternate, of: [{kind: similarity, retriever: clip, candidates: 2}, {kind: fluency}]}
    optimizer: {kind: adam, lr: 1.0e-3, batch: 4, steps: 2}
  mine: {family: file, captions: {texts: mine.json}}
decodings:
  greedy: {kind: greedy, max_tokens: 10}
  beam: {kind: beam, beams: 2, max_tokens: 10}
evaluations:
  main: {captioners: [base, child, people], corpora: [world], decoding: greedy, retrievers: [clip], candidates: 8}
  given: {captioners: [mine], corpora: [texts]}
scene_analysis: {corpus: world, pretrained: tagged, finetuned: scened, decoding: greedy, labels: {number: 3}}
study: {corpus: world, evaluation: main, captioners: [people, base], encoder: clip, sets: 4, block: 2}
papers:
  discritune: {comparable: false, captioners: {ClipCap-COCO: base}, corpora: {COCO: world}, retrievers: [clip]}
""")

IMPORTED = {"family": "camel", "encoder": "grid", "weights": "w", "tokenizer": "t", "grid_positions": True}
TRAINED = {
    "family": "clip",
    "corpus": "world",
    "architecture": {
        "embed_dim": 8,
        "vision_cfg": {"image_size": 64, "layers": 1, "width": 64, "patch_size": 32},
        "text_cfg": {"width": 64, "heads": 2},
    },
    "optimizer": {"kind": "adam", "lr": 1.0e-3, "batch": 4, "steps": 2},
}
ABLATION = {
    "evaluation": "main",
    "corpora": {"W": "world"},
    "reference": "b",
    "captioners": {"a": "base", "b": ["base"]},
}


def trained(optimizer=(), vision=(), text=()):
    """An encoder that is trained here with other keys of these parts."""
    block = copy.deepcopy(TRAINED)
    block["optimizer"].update(optimizer)
    block["architecture"]["vision_cfg"].update(vision)
    block["architecture"]["text_cfg"].update(text)
    return block


def edited(path, value):
    """The config with one key set, or removed when the value is ..., addressed by a dotted path."""
    config = copy.deepcopy(CONFIG)
    *parents, last = path.split(".")
    block = config
    for parent in parents:
        block = block[parent]
    if value is ...:
        del block[last]
    else:
        block[last] = value
    return config


def mistakes(config):
    with pytest.raises(ConfigError) as raised:
        checked(config, ROOT)
    return str(raised.value)


OF_HUB = {"family": "transformers", "weights": "hub/git", "corpus": "world"}


def test_the_example_is_accepted():
    checked(CONFIG, ROOT)


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("corpara", {}, "the top level has no key 'corpara'; did you mean 'corpora'?"),
        ("seed", ..., "the top level lacks the key seed; if this config goes on top of another, name both"),
        (
            "evaluations.main.evaluation_split",
            "val",
            "has no key 'evaluation_split'; it is a key of a corpus; known keys",
        ),
        ("checkpoints", {"step": 1}, "checkpoints has no key 'step'; did you mean 'steps'?"),
        ("checkpoints", {"steps": 0}, "checkpoints.steps is 0; it must be above 0"),
        ("checkpoints", {"seconds": 0}, "checkpoints.seconds is 0; it must be above 0"),
        ("regions.boxes.source", "box", "regions.boxes.source is 'box'; it must be one of boxes, files, detector"),
        ("regions.boxes.encoder", "clap", "regions.boxes.encoder is 'clap', which is not among the encoders"),
        ("regions.boxes.weights", "x", "regions.boxes has no key 'weights'"),
        ("regions.butd.format", "lxmert", "regions.butd.format is 'lxmert'; it must be one of lxmert-tsv"),
        ("regions.butd.files", {"coco": "a.tsv"}, "regions.butd.files is 'coco', which is not among the corpora"),
        ("scorers.uniter.vocab", "x", "scorers.uniter has no key 'vocab'; did you mean 'vocabulary'?"),
        ("scorers.uniter.vocabulary", ..., "scorers.uniter lacks the key vocabulary"),
        (
            "scorers.uniter.regions",
            "bud",
            "scorers.uniter.regions is 'bud', which is not among the regions; did you mean",
        ),
        (
            "scorers.uniter.v_biattention_id",
            [0],
            "scorers.uniter has no key 'v_biattention_id', which vilbert can have; known keys",
        ),
        (
            "scorers.vilbert",
            {**CONFIG["scorers"]["uniter"], "family": "vilbert", "t_biattention_id": [-1]},
            "scorers.vilbert.t_biattention_id.0 is -1; it must be at least 0",
        ),
        (
            "scorers.vilbert",
            {**CONFIG["scorers"]["uniter"], "family": "vilbert", "v_biattention_id": [0]},
            "scorers.vilbert.v_biattention_id needs t_biattention_id beside it",
        ),
        ("scorers.ours.negatives", ..., "scorers.ours lacks the key negatives"),
        ("scorers.ours.negatives.encoder", "x", "scorers.ours.negatives.encoder is 'x'"),
        ("scorers.ours.architecture.depth", 2, "scorers.ours.architecture has no key 'depth'"),
        ("scorers.ours.optimizer.batch", 9, "scorers.ours: a batch needs 9 images of the split 'train'"),
        ("scorers.ours.regions", "butd", "the scorer reads regions.butd, which has no files of 'world'; add them"),
        (
            "scorers.ours",
            {**CONFIG["scorers"]["ours"], "regions": "detector", "word_embeddings": "encoder"},
            "write `word_embeddings: random`",
        ),
        ("scorers.blip", {"family": "blip", "weights": "w"}, "scorers.blip lacks the key vocabulary"),
        ("scorers.uniter.regions", ..., "scorers.uniter lacks the key regions"),
        ("encoders.siglip", {"family": "siglip", "weights": "w"}, "encoders.siglip lacks the key tokenizer"),
        ("scorers.clip.scael", 1, "scorers.clip has no key 'scael'; did you mean 'scale'?"),
        ("scorers.clip.encoder", "clop", "scorers.clip.encoder is 'clop'"),
        ("evaluations.main.scorers", ["blip"], "evaluations.main.scorers.0 is 'blip', which is not among the scorers"),
        (
            "evaluations.main.scorers",
            ["uniter"],
            "evaluations.main: the scorer reads regions.butd, which has no files of",
        ),
        ("evaluations.given.scorers", ["clip"], "no scorer look at it"),
        ("corpora.photos.imges", "x", "corpora.photos has no key 'imges'; did you mean 'images'?"),
        (
            "corpora.photos.domain",
            "coco",
            "corpora.photos has no key 'domain', which nocaps and toyworld can have; known keys: ",
        ),
        ("corpora.photos.reader", "karpaty", "Did you mean 'karpathy'?"),
        ("corpora.photos.annotations", ..., "corpora.photos lacks the key annotations"),
        ("corpora.world.domain", "cocoo", "did you mean 'coco'?"),
        ("corpora.world.images", {"train": 3}, "evaluations use the split 'test', but images names train"),
        ("encoders.clip.corpus", "world", "encoders.clip has no key 'corpus'; known keys: family, head_width, heads, "),
        ("encoders.clip.weights", ..., "encoders.clip lacks the key architecture"),
        ("captioners.base.optimizer.lr", "1e-3", "must be a number; YAML reads '1e-3' as text"),
        ("captioners.base.optimizer.epochs", 3, "captioners.base.optimizer must have exactly one of"),
        ("captioners.base.famly", "x", "captioners.base has no key 'famly'; did you mean 'family'?"),
        ("captioners.base.encoder", "clap", "captioners.base.encoder is 'clap', which is not among the encoders"),
        ("captioners.child.parent", "bass", "did you mean 'base'?"),
        ("captioners.child.parent", "child", "captioners.child is its own ancestor (child -> child)"),
        ("captioners.child.parent", "mine", "'mine' is of the family file and has no weights"),
        (
            "captioners.child.optimizer.batch",
            3,
            "a batch of 3 is smaller than 4 candidates; write `optimizer: {batch: 4}`",
        ),
        ("captioners.child.optimizer.batch", 6, "a batch of 6 is no multiple of 4 candidates"),
        ("captioners.child.objective.reward.kind", "cosine", "it must be one of accuracy, alternate, bleu, cider,"),
        ("captioners.child.objective.decoding", "greedi", "did you mean 'greedy'?"),
        ("captioners.child.objective.decoding", "beam", "REINFORCE needs one that is greedy or sampled"),
        (
            "decodings.greedy",
            {"kind": "sample", "max_tokens": 10, "samples": 2},
            "captioners.child.objective.decoding is a beam search, or draws several captions of an image",
        ),
        ("decodings.greedy", {"kind": "sample", "max_tokens": 10, "samples": 0}, "samples is 0; it must be above 0"),
        ("captioners.base.architecture.width", ..., "captioners.base.architecture lacks the key width"),
        (
            "captioners.base.optimizer.batch",
            9,
            "a batch needs 9 images of the split 'train', and corpora.world.images has 8",
        ),
        ("evaluations.main.candidates", 100, "a set of candidates needs 100 images of the split 'test'"),
        ("decodings.greedy.beams", 3, "decodings.greedy has no key 'beams'"),
        ("decodings.beam.beams", 1, "decodings.beam.beams is 1; it must be at least 2"),
        (
            "decodings.beam",
            {"kind": "beam", "max_tokens": 10, "beams": 2, "rules": "oscar", "length_penalty": 2.0},
            "decodings.beam.length_penalty is for `rules: transformers`",
        ),
        (
            "decodings.beam",
            {"kind": "beam", "max_tokens": 10, "beams": 2, "rules": "camel", "repetition_penalty": 1.2},
            "decodings.beam.repetition_penalty is for `rules: transformers`",
        ),
        ("decodings.greedy.top_p", 0.9, "decodings.greedy has no key 'top_p', which sample can have"),
        (
            "decodings.greedy",
            {"kind": "sample", "max_tokens": 10, "top_p": 1.5},
            "decodings.greedy.top_p is 1.5; it must be at most 1",
        ),
        ("tags.things", {"source": "objects", "regions": "butd"}, "tags of the source objects do not have regions"),
        ("tags.things", {"source": "files"}, "tags.things: tags of the source files need files"),
        ("tags.named.regions", "bute", "tags.named.regions is 'bute', which is not among the regions"),
        ("captioners.tagged.tags", "thing", "captioners.tagged.tags is 'thing', which is not among the tags; did you"),
        ("captioners.tagged.tags", "detected", "the captioner reads tags.detected, which has no files of 'world'"),
        ("captioners.tagged.tags", ..., "captioners.tagged lacks the key tags"),
        ("captioners.tagged.architecture.max_pices", 3, "no key 'max_pices'; did you mean 'max_pieces'?"),
        (
            "captioners.tagged.objective.smoothing",
            1.5,
            "captioners.tagged.objective.smoothing is 1.5; it must be below 1",
        ),
        (
            "captioners.base.objective.kind",
            "mlm",
            "by which a clipcap cannot be trained; write cross-entropy or",
        ),
        (
            "captioners.base",
            {"family": "vinvl", "encoder": "clip", "weights": "a.pt", "tokenizer": "vocab.txt"},
            "captioners.base has no key 'encoder'",
        ),
        (
            "captioners.tagged",
            {"family": "newfc", "regions": "boxes", "tags": "things", "weights": "a.pt", "tokenizer": "b.json"},
            "captioners.tagged lacks the key encoder",
        ),
        ("captioners.scened.snapshots", [1, 2], "has 2, and optimizer.epochs is 2; snapshots are taken before the end"),
        ("captioners.fc.snapshots", [5], "captioners.fc.snapshots has 5, and optimizer.steps is 2"),
        ("captioners.scened.snapshots", [3, 1], "captioners.scened.snapshots is [3, 1]; write [1, 3]"),
        ("captioners.scened.snapshots", [0], "captioners.scened.snapshots.0 is 0; it must be above 0"),
        ("captioners.scened.snapshots", 1, "captioners.scened.snapshots is 1; it must be a list"),
        ("captioners.people.snapshots", [1], "captioners.people has no key 'snapshots'"),
        (
            "captioners.scened@2",
            {"family": "human"},
            "captioners has the name 'scened@2'; names are lower-case letters",
        ),
        (
            "scene_analysis.finetuned",
            "scened@3",
            "is 'scened@3', which is not among the captioners; 'scened' has snapshots after 1, and 'scened' itself is",
        ),
        (
            "scene_analysis.pretrained",
            "tagged@3",
            "'tagged' has no snapshots; list them under captioners.tagged.snapshots, or write 'tagged'",
        ),
        ("study.captioners", ["people", "base", "people@1"], "'people' is not trained here, so it has no snapshots"),
        (
            "scene_analysis.finetuned",
            "scend@1",
            "is 'scend@1', which is not among the captioners; did you mean 'scened@1'?",
        ),
        ("captioners.scened.parent", "scened@1", "its own ancestor (scened -> scened@1 -> scened@1)"),
        (
            "scene_analysis.finetuned",
            "child",
            "scene_analysis.finetuned is 'child', a clipcap; what is analysed is attention to",
        ),
        (
            "scene_analysis.corpus",
            "photos",
            "'photos', which has no scene captions; write scene_analysis.labels: {table: captions}",
        ),
        ("scene_analysis.pretrained", "people", "scene_analysis.pretrained is 'people', a human"),
        (
            "scene_analysis.splits",
            ["train", "tset"],
            "scene_analysis.splits has 'tset', which 'world' has not; did you mean",
        ),
        ("scene_analysis.pretrained", "taged", "which is not among the captioners; did you mean 'tagged'?"),
        (
            "scene_analysis.probes",
            {"test_share": [0.5]},
            "scene_analysis.probes has no key 'test_share'; did you mean 'test_shares'?",
        ),
        ("study.sets", 5, "study.sets is 5, no multiple of study.block; write sets: 4"),
        ("study.captioners", ["base", "child"], "must have one captioner of the family human"),
        (
            "study.captioners",
            ["people", "mine"],
            "study.captioners is 'mine', which is not in evaluations.main.captioners",
        ),
        ("study.corpus", "photos", "study.corpus is 'photos', which is not in evaluations.main.corpora; add it there"),
        ("study.simulated", {"retriever": "clap", "participants": 3}, "study.simulated.retriever is 'clap'"),
        ("study.post", "mailto:me", "study.post is 'mailto:me'; it must match"),
        ("papers.discritune.evaluations", ["nope"], "which is not among the evaluations"),
        ("captioners.Upper", {"family": "human"}, "captioners has the name 'Upper'; names are lower-case letters"),
        ("evaluations.main.corpora", ["worlds"], "did you mean 'world'?"),
        ("evaluations.main.corpora", ["texts"], "the corpus 'texts' is text only (images: null)"),
        ("evaluations.given.corpora", ["texts", "photos"], "the captioner 'mine' has no captions for photos"),
        (
            "evaluations.given.captioners",
            ["mine", "mine"],
            "evaluations.given.captioners is ['mine', 'mine']; something in it is there twice",
        ),
        ("evaluations.main.decoding", ..., "it needs a decoding; there are greedy, beam"),
        (
            "evaluations.again",
            {**CONFIG["evaluations"]["main"], "decoding": "beam"},
            "the captions of 'base' on 'world' are in the evaluations main and again; name the one",
        ),
        (
            "language",
            {"evaluation": "main", "fluency": ["mian"], "model": {"corpus": "world", "splits": ["train"]}},
            "language.fluency.0 is 'mian', which is not among the evaluations; did you mean 'main'?",
        ),
        (
            "language",
            {"evaluation": "main", "caption_types": ["base", "mine"], "model": {"corpus": "world", "splits": ["test"]}},
            "language.caption_types is 'mine', which is not in evaluations.main.captioners; add it there",
        ),
        (
            "language",
            {"evaluation": "main", "model": {"corpus": "word", "splits": ["test"]}},
            "language.model.corpus is 'word', which is not among the corpora; did you mean 'world'?",
        ),
        (
            "language",
            {"evaluation": "main", "model": {"arpa": "model.arpa", "splits": ["test"]}},
            "language.model has arpa, so no model is trained here: drop splits",
        ),
        (
            "language",
            {"evaluation": "main", "model": {"corpus": "world"}},
            "language.model has no arpa, so it is trained here and needs splits",
        ),
        ("evaluations.again", CONFIG["evaluations"]["main"], "both caption 'world' with 'base' by 'greedy'"),
        ("papers.discritune.captioners", {"X": "bas"}, "did you mean 'base'?"),
        ("papers.discritune.variants", {"colours": {}}, "is 'colours'; it must be one of baselines"),
        ("papers.discritune.variants", {"rewards": {**ABLATION, "reference": "c"}}, "not among the labels"),
        (
            "papers.discritune.variants",
            {"rewards": {**ABLATION, "captioners": {"a": "bas", "b": ["base"]}}},
            "'base'?",
        ),
        (
            "papers.discritune.variants",
            {"rewards": {**ABLATION, "captioners": {"a": ["base", "child", "people"], "b": ["base", "child"]}}},
            "a has 3 captioners and the reference 2",
        ),
        ("papers.discritune.variants", {"rewards": {**ABLATION, "corpora": {"W": "photos"}}}, "add it there"),
        ("papers.discritune.variants", {"rewards": {**ABLATION, "evaluation": "given"}}, "needs `retrievers`"),
        (
            "encoders.grid",
            {"patches_of": "clap"},
            "encoders.grid.patches_of is 'clap', which is not among the encoders",
        ),
        (
            "encoders.grid",
            {"patches_of": "clip", "seed": 1},
            "encoders.grid has no key 'seed'; known keys: patches_of",
        ),
        ("encoders.grid", {"seed": 1}, "encoders.grid lacks the key family"),
        ("encoders.blip", {"family": "blip"}, "encoders.blip lacks the key weights"),
        (
            "captioners.base.objective.teacher",
            {},
            "objective.teacher is nothing that a clipcap can do, but a blip or a camel; drop it",
        ),
        (
            "captioners.camel",
            {**IMPORTED, "family": "clipcap", "encoder": "clip"},
            "has no key 'grid_positions', which camel can have",
        ),
        (
            "captioners.camel",
            {**IMPORTED, "start": 2},
            "camel has no key 'start', which vinvl can have",
        ),
        (
            "captioners.camel",
            {**IMPORTED, "grid_positions": 1},
            "camel.grid_positions is 1; it must be true or false",
        ),
        ("captioners.base.grid_positions", True, "captioners.base has no key 'grid_positions'"),
        ("captioners.child.objective.reward.hard_negatives", 4, "4 hard_negatives of 4 candidates leave no place"),
        (
            "captioners.child.objective.reward.hard_negatives",
            1,
            "a batch of 4 is no multiple of 4 candidates less 1 hard negatives; write `optimizer: {batch: 3}`",
        ),
        (
            "captioners.child.objective.bags",
            {"encoder": "clip", "sizes": [{"epoch": 2, "size": 2}]},
            "bags.sizes begins with epoch 2, and a training begins with epoch 1",
        ),
        (
            "captioners.child.objective.bags",
            {"encoder": "clip", "sizes": [{"epoch": 1, "size": 2}, {"epoch": 1, "size": 3}]},
            "bags.sizes has the epochs 1, 1; write each once, in ascending order",
        ),
        (
            "captioners.child.objective.bags",
            {"encoder": "clip", "sizes": [{"epoch": 1, "size": 2}, {"epoch": 2, "size": 5}]},
            "bags has bags of 5 images, and captioners.child.optimizer.batch is 4",
        ),
        ("evaluations.main.bags", {"encoder": "clips", "sizes": [3]}, "bags.encoder is 'clips'"),
        (
            "evaluations.main.bags",
            {"encoder": "clip", "sizes": [3, 90]},
            "a bag needs 90 images of the split 'test'",
        ),
        ("encoders.clip", {"family": "resnet"}, "encoders.clip lacks the key weights"),
        ("encoders.clip.family", "resnet", "is 'clip', a resnet, which has no text side"),
        ("captioners.fc.architecture.widht", 3, "captioners.fc.architecture has no key 'widht'; did you mean 'width'?"),
        ("captioners.fc.architecture", {"width": 1, "input_width": 2}, "lacks the key min_count"),
        ("captioners.fc.validation.decoding", "greed", "fc.validation.decoding is 'greed', which is not among"),
        ("captioners.fc.validation.split", "val", "needs 1 images of the split 'val', and corpora.world.images has 0"),
        ("captioners.fc.validation.every", 3, "validation.every is 3 and there are 2 updates"),
        ("captioners.fc.optimizer.kind", "sgd", "optimizer.kind is 'sgd'; it must be one of adam, adamw"),
        ("captioners.fc.optimizer.schedule", "step", "optimizer.schedule is 'step'; it must be one of constant"),
        ("captioners.child.objective.baseline", "mean", "objective.baseline is 'mean'; it must be one of none"),
        ("captioners.fc.optimizer.decay", ..., "the schedule staircase needs decay"),
        ("captioners.base.optimizer.decay", 0.5, "optimizer.decay is for `schedule: staircase`"),
        (
            "captioners.base.objective",
            CONFIG["captioners"]["fc"]["objective"],
            "scheduled_sampling is nothing that a clipcap can do, but a newfc; drop it",
        ),
        ("captioners.critical.objective.sample", 5, "objective has no key 'sample'; did you mean 'samples'?"),
        ("captioners.critical.objective.kind", "self-citical", "Did you mean 'self-critical'?"),
        ("captioners.critical.objective.decoding", "beam", "objective.decoding must be greedy"),
        ("captioners.critical.objective.search", "greedy", "objective.search must be a beam search"),
        (
            "captioners.critical.objective",
            {
                "kind": "self-critical",
                "decoding": "greedy",
                "search": "beam",
                "samples": 2,
                "reward": {"kind": "cider"},
            },
            "objective.search makes one caption of each image and nothing is drawn: drop samples",
        ),
        (
            "captioners.critical.objective",
            {
                "kind": "self-critical",
                "decoding": "greedy",
                "search": "beam",
                "baseline": "leave-one-out",
                "reward": {"kind": "cider"},
            },
            "the baseline leave-one-out needs at least 2 samples",
        ),
        (
            "captioners.critical.objective",
            {"kind": "grpo", "decoding": "greedy", "reward": {"kind": "cider"}},
            "objective.decoding does not draw by the probabilities of the captioner itself, which GRPO compares",
        ),
        (
            "captioners.critical.objective",
            {"kind": "grpo", "decoding": "greedy", "reward": {"kind": "cider"}, "samples": 1},
            "critical.objective.samples is 1; it must be at least 2",
        ),
        (
            "captioners.critical.objective",
            {"kind": "grpo", "decoding": "greedy", "reward": {"kind": "cider"}, "updates": 0},
            "critical.objective.updates is 0; it must be above 0",
        ),
        (
            "captioners.critical.objective",
            {"kind": "grpo", "decoding": "greedy", "reward": {"kind": "cider"}, "baseline": "greedy"},
            "critical.objective has no key 'baseline'",
        ),
        ("captioners.critical.objective.reward", {"kind": "cidre"}, "Did you mean 'cider'?"),
        ("captioners.critical.objective.reward", {"kind": "cider", "scale": 2}, "reward has no key 'scale'"),
        (
            "captioners.critical.objective.reward",
            {"kind": "similarity", "retriever": "clip", "scale": "logit-scale"},
            "reward has no key 'scale'",
        ),
        (
            "captioners.critical.objective.reward",
            {"kind": "alternate", "of": [{"kind": "cider"}, {"kind": "scorer", "scorer": "unter"}]},
            "captioners.critical.objective.reward.of.1.scorer is 'unter', which is not among the scorers; did you mean",
        ),
        (
            "captioners.critical.objective.reward",
            {"kind": "scorer", "scorer": "uniter"},
            "reward.scorer: the scorer reads regions.butd, which has no files of 'world'",
        ),
        (
            "captioners.critical.objective.reward",
            {"kind": "sum", "of": [{"weight": 1, "reward": {"kind": "similarity", "retriever": "clp"}}]},
            "captioners.critical.objective.reward.of.0.reward lacks the key candidates",
        ),
        (
            "captioners.critical.objective.reward",
            {
                "kind": "sum",
                "of": [{"weight": 1, "reward": {"kind": "similarity", "retriever": "clp", "candidates": 3}}],
            },
            "reward.of.0.reward.retriever is 'clp', which is not among the encoders; did you mean 'clip'?",
        ),
        ("captioners.made", {"family": "constructed"}, "captioners.made lacks the key captions_of"),
        ("captioners.made", {"family": "constructed", "captions_of": "bass"}, "did you mean 'base'?"),
        (
            "captioners.made",
            {"family": "constructed", "captions_of": "base", "replacements": {"shares": [0]}},
            "captioners.made.replacements.shares.0 is 0; it must be above 0",
        ),
        ("seed", 2**63, "seed is 9223372036854775808; it must be at most 9223372036854775807"),
        ("corpora.world.seed", 2**64, "corpora.world.seed is 18446744073709551616; it must be at most"),
        ("captioners.base.seed", 2**64, "captioners.base.seed is 18446744073709551616; it must be at most"),
        ("scorers.ours.seed", 2**64, "scorers.ours.seed is 18446744073709551616; it must be at most"),
        ("scene_analysis.seed", 2**64, "scene_analysis.seed is 18446744073709551616; it must be at most"),
        (
            "captioners.base.optimizer.lr",
            float("inf"),
            "captioners.base.optimizer.lr is inf; it must be a finite number",
        ),
        (
            "captioners.base.optimizer.batch",
            4.0,
            "captioners.base.optimizer.batch is 4.0; it must be a whole number",
        ),
        ("captioners.base.optimizer.warmup", 3, "base.optimizer.warmup is 3 and there are 2 updates; set it to 2"),
        ("captioners.base.optimizer.accumulate", 5, "base.optimizer.accumulate is 5, more than there is in a batch"),
        ("scorers.ours.optimizer.warmup", 3, "scorers.ours.optimizer.warmup is 3 and there are 2 updates"),
        ("captioners.child.optimizer.batch", 1, "smaller than 4 candidates; write `optimizer: {batch: 4}`"),
        (
            "captioners.base.corpus",
            "texts",
            "captioners.base: the corpus 'texts' is text only (images: null), so nothing",
        ),
        (
            "captioners.base.architecture.heads",
            3,
            "heads is 3, which does not divide width, 8; write 2, or another width",
        ),
        ("captioners.tagged.architecture.heads", 16, "tagged.architecture.heads is 16, which does not divide width, 8"),
        ("scorers.ours.architecture.heads", 5, "scorers.ours.architecture.heads is 5, which does not divide width, 8"),
        ("scorers.ours.max_tokens", 21, "scorers.ours.max_tokens is 21, and its architecture has 20 positions"),
        (
            "captioners.base.architecture.positions",
            11,
            "child.objective: decodings.greedy.max_tokens is 10, and captioners.base.architecture has room for 9",
        ),
        (
            "decodings.greedy.max_tokens",
            19,
            "evaluations.main: decodings.greedy.max_tokens is 19, and captioners.base.",
        ),
        (
            "decodings.greedy.max_tokens",
            60,
            "scene_analysis.finetuned: decodings.greedy.max_tokens is 60, and captioners.",
        ),
        ("encoders.own", {**TRAINED, "corpus": "texts"}, "split 'train', which corpora.texts.annotations has not"),
        ("encoders.own", trained({"batch": 9}), "encoders.own: a batch needs 9 images of the split 'train'"),
        ("encoders.own", trained({"accumulate": 2}), "encoders.own.optimizer.accumulate must be 1"),
        ("encoders.own", trained({"warmup": 3}), "encoders.own.optimizer.warmup is 3 and there are 2 updates"),
        (
            "encoders.own",
            trained(vision={"patch_size": 48}),
            "vision_cfg.image_size is 64, no multiple of patch_size, 48",
        ),
        (
            "encoders.own",
            trained(vision={"head_width": 33}),
            "vision_cfg.head_width is 33, which does not divide its width",
        ),
        (
            "encoders.own",
            trained(vision={"layers": [1, 1, 1, 1], "width": 8, "head_width": 33}),
            "vision_cfg.head_width is 33, which does not divide 32 times its width, 256",
        ),
        (
            "encoders.own",
            trained(vision={"layers": [1, 1, 1, 1], "image_size": 48}),
            "vision_cfg.image_size is 48, no multiple of 32, by which a ResNet makes images smaller",
        ),
        ("encoders.own", trained(vision={"pool_type": "avg"}), "own.architecture.vision_cfg has no key 'pool_type'"),
        ("encoders.own", trained(text={"heads": 3}), "text_cfg.heads is 3, which does not divide its width, 64"),
        ("encoders.sees", {"family": "image-side"}, "encoders.sees lacks the key weights"),
        (
            "encoders.sees",
            {"family": "image-side", "weights": "hub/git", "processor": "small"},
            "encoders.sees.processor is 'small'; it must be a mapping",
        ),
        (
            "captioners.git",
            {**OF_HUB, "encoder": "clip"},
            "captioners.git.encoder is 'clip', and patch",
        ),
        ("captioners.git", {**OF_HUB, "tokenizer": "vocab.txt"}, "captioners.git has no key 'tokenizer'"),
        ("captioners.git", {**OF_HUB, "dtype": "float16"}, "captioners.git.dtype is 'float16'; it must be one of"),
        (
            "captioners.blip",
            {**OF_HUB, "family": "blip", "tokenizer": "vocab.txt", "prompt": "a picture of"},
            "captioners.blip.prompt is 'a picture of'; it must be a list",
        ),
    ],
)
def test_a_mistake_is_a_sentence(path, value, sentence, answers):
    given = f"without `{path}`" if value is ... else f"`{path}: {json.dumps(value)}`"
    answers.hold(given, mistakes(edited(path, value)), sentence)


def with_own_sight(**sees):
    """A config with a model of the hub, and an encoder whose patches it reads."""
    config = edited("encoders.sees", {"family": "image-side", "weights": "hub/git", **sees})
    config["encoders"]["patches"] = {"patches_of": "sees"}
    config["captioners"]["git"] = {**OF_HUB, "encoder": "patches"}
    return config


def test_a_model_of_the_hub_reads_what_its_own_image_side_makes(answers):
    checked(with_own_sight(), ROOT)
    for key, value in {"weights": "hub/other", "processor": {"size": 3}}.items():
        said = f"captioners.git reads patches of encoders.sees, whose {key} is {value!r}; it learnt by its own"
        answers.hold(f"`encoders.sees.{key}: {json.dumps(value)}`", mistakes(with_own_sight(**{key: value})), said)


def test_generate_has_no_rules_of_other_programs(answers):
    config = with_own_sight()
    config["decodings"]["old"] = {"kind": "beam", "beams": 2, "max_tokens": 6, "rules": "transformers-2022"}
    config["evaluations"]["hub"] = {**config["evaluations"]["main"], "captioners": ["git"], "decoding": "old"}
    named = "evaluations.hub: decodings.old.rules is 'transformers-2022', and `generate` of transformers writes"
    answers.hold("a captioner of the hub with `rules: transformers-2022`", mistakes(config), named)


def test_dropout_of_adapters_where_nothing_drops(answers):
    objective = {
        "kind": "grpo",
        "reward": {"kind": "similarity", "retriever": "clip", "candidates": 4},
        "decoding": "sample",
    }
    config = edited("captioners.child.objective", objective)
    config["captioners"]["child"]["lora"] = {"dropout": 0.1}
    config["decodings"]["sample"] = {"kind": "sample", "max_tokens": 6}
    answers.hold(
        "`lora.dropout` with grpo", mistakes(config), "captioners.child.lora.dropout is 0.1, and its objective"
    )


@pytest.mark.parametrize(
    ("corpus", "splits", "wrong"),
    [
        ({"reader": "hl", "annotations": {"train": "a", "test": "b"}}, ["train", "val"], ["val"]),
        ({"reader": "hl", "annotations": {"train": "a"}, "validation": {"images": 2, "seed": 1}}, ["train", "val"], []),
        ({"reader": "coco", "annotations": {"train": "a", "val": "b"}}, ["test", "train"], ["test"]),
        ({"reader": "flickr8k-token", "annotations": "a", "splits": {"test": "b"}}, ["test", "val"], ["val"]),
        ({"reader": "karpathy", "annotations": "a"}, ["anything"], []),  # its file says which splits there are
        ({"reader": "toyworld", "images": {"train": 8, "test": 8}}, ["test", "train"], []),
    ],
)
def test_splits_of_scenes_are_those_of_the_corpus(corpus, splits, wrong):
    images = None if corpus["reader"] != "toyworld" else corpus["images"]
    config = edited("corpora.world", {**corpus, "images": images})
    config["scene_analysis"].update(splits=splits, labels={"table": "captions"})
    with pytest.raises(ConfigError) as raised:  # of other things that such a corpus would need
        checked(config, ROOT)
    sentences = [sentence for sentence in str(raised.value).splitlines() if "scene_analysis.splits" in sentence]
    assert [sentence.split("'")[1] for sentence in sentences] == wrong


def test_both_captioners_of_scenes_read_the_same():
    config = edited("scene_analysis.pretrained", "other")
    config["captioners"]["other"] = copy.deepcopy(config["captioners"]["tagged"])
    checked(config, ROOT)
    config["captioners"]["other"]["tags"] = "named"
    assert (
        "scene_analysis.pretrained reads 'named' (other) and scene_analysis.finetuned reads 'things' (tagged); they "
        "are compared on the same tags, so name captioners that read the same"
    ) in mistakes(config)
    assert "the same regions" not in mistakes(config)
    config["captioners"]["other"].update(tags="things", regions="butd")
    assert "compared on the same regions" in mistakes(config)


def test_samples_of_a_group_are_drawn_from_the_captioner_itself():
    objective = {"kind": "grpo", "decoding": "plain", "reward": {"kind": "cider"}}
    config = edited("captioners.critical.objective", objective)
    config["decodings"]["plain"] = {"kind": "sample", "max_tokens": 10}
    checked(copy.deepcopy(config), ROOT)
    changes = {"temperature": 0.7, "top_k": 5, "top_p": 0.9, "repetition_penalty": 1.2, "rules": "oscar", "samples": 4}
    for more in ({name: value} for name, value in changes.items()):
        config["decodings"]["plain"] = {"kind": "sample", "max_tokens": 10, **more}
        assert "critical.objective.decoding does not draw by the probabilities" in mistakes(config)


def test_families_that_read_grids_need_an_encoder_that_gives_them():
    sizes = {"width": 8, "layers": 1, "heads": 1, "feed_forward": 8, "positions": 20, "vocabulary": 300}
    config = edited("captioners.base.architecture", sizes)
    config["captioners"]["base"]["family"] = "blip"
    assert "captioners.base.encoder is 'clip', and patch features of each image are read; name an encoder" in mistakes(
        config
    )
    config["encoders"]["grid"] = {"patches_of": "clip"}
    config["captioners"]["base"]["encoder"] = "grid"
    checked(config, ROOT)
    config["captioners"]["child"]["objective"]["reward"]["retriever"] = "grid"
    assert "reward.retriever is 'grid', patch features, which has no text side; name a clip" in mistakes(config)
    config = edited("captioners.base.encoder", "grid")
    config["encoders"]["grid"] = {"patches_of": "clip"}
    assert "captioners.base.encoder is 'grid', and one vector of each image is read" in mistakes(config)


@pytest.mark.parametrize("section", [{}, {"seconds": 0.5}, {"seconds": 60, "steps": None}, {"steps": 1}])
def test_intervals_of_checkpoints(section):
    checked(edited("checkpoints", section), ROOT)


@pytest.mark.parametrize("program", ["tensorboard", "wandb", "mlflow"])
def test_a_tracker_that_is_not_installed_is_a_sentence(program, monkeypatch):
    config = edited("tracking", program)
    checked(config, ROOT)
    monkeypatch.setattr("captionlab.config.references.find_spec", lambda name: None)
    text = f"tracking is {program}, which is not installed: pip install 'captionlab[{program}]'"
    assert text in mistakes(config)


def test_nobody_is_told_of_one_candidate_and_nothing_is_said_twice():
    text = mistakes(edited("captioners.child.optimizer.batch", 1))
    assert "candidates: 1" not in text
    text = mistakes(edited("decodings.greedy.max_tokens", 19))  # of base and of child, which has its positions
    assert text.count("evaluations.main: decodings.greedy.max_tokens is 19") == 1


def test_what_fits_by_number_is_accepted():
    config = edited("encoders.own", trained({"warmup": 2}, {"head_width": 32, "patch_size": 16}))
    config["encoders"]["resnet"] = trained({}, {"layers": [1, 1, 1, 1], "width": 8, "head_width": 32})
    config["captioners"]["base"]["optimizer"].update(warmup=2, accumulate=4)
    config["captioners"]["base"]["architecture"].update(heads=4, positions=12)
    config["seed"] = 2**63 - 1
    config["scorers"]["ours"]["max_tokens"] = 20
    checked(config, ROOT)


def test_an_evaluation_needs_its_split():
    config = edited("corpora.pairs", {"reader": "coco", "annotations": {"train": "a.json"}, "images": "a"})
    checked(config, ROOT)
    config["evaluations"]["given"]["corpora"] = ["pairs"]
    config["captioners"]["mine"]["captions"] = {"pairs": "mine.json"}
    assert (
        "evaluations.given: it needs images of the split 'test', which corpora.pairs.annotations has not"
        in mistakes(config)
    )


def test_every_mistake_is_named():
    config = edited("captioners.child.parent", "bass")
    config["evaluations"]["main"]["decoding"] = "greedi"
    text = mistakes(config)
    assert text.count("\n  - ") == 2


def test_normalise_orders_keys_at_every_depth():
    assert list(normalise({"b": [{"y": 1, "x": 2}], "a": 1})) == ["a", "b"]
    assert list(normalise({"b": [{"y": 1, "x": 2}], "a": 1})["b"][0]) == ["x", "y"]


# Trainings that no evaluation asks for.
OTHERS = [f"results/captioners/{name}/model.safetensors" for name in ("critical", "scened")]
CAPTIONS = ["results/corpora/world/captions.parquet"]
GREEDY = {"kind": "greedy", "max_tokens": 10, "rules": "transformers"}


def test_blocks_hold_only_what_a_job_depends_on():
    graph = Graph(copy.deepcopy(CONFIG), ROOT)
    assert graph.training("child")["objective"]["decoding"] == GREEDY
    assert graph.training("fc")["validation"]["decoding"] == GREEDY
    assert "parent" not in graph.training("child")
    assert {"regions", "tags", "corpus"}.isdisjoint(graph.training("tagged"))
    assert graph.block("corpora", "photos", "evaluation_split", "shards") == {
        "reader": "karpathy",
        "annotations": "photos.json",
        "images": "photos",
        "language": "en",
        "max_rejected": 0.1,
        "split_in_id": False,
    }
    assert graph.lineage()["child"] == {
        "parent": "base",
        "corpora": ["world", "world"],
        "family": "clipcap",
        "retriever": "clip",
    }
    assert graph.root_of("child").family == "clipcap"
    assert graph.images_for("captioners", "child", "photos") == ["results/features/clip/photos/0-of-1.parquet"]
    regions = [f"results/{part}.parquet" for part in ("regions/boxes/world/0-of-1", "tags/things/world/tags")]
    for captioner in ("scened", "tagged"):
        assert graph.images_for("captioners", captioner, "world") == regions


def test_the_summary_reads_all_captions_that_it_has_scores_of(planned):
    """Those of people have ranks, those that were given text metrics."""
    places = ("base/main", "child/main", "mine/given", "people/main")
    captions = planned(CONFIG, "all", *OTHERS).job("summarise_evaluation").inputs["captions"]
    assert captions == [f"results/captions/{place}.parquet" for place in places]


def test_what_the_toy_world_is_made_of_is_read_by_its_jobs(planned):
    plan = planned(config_of("config"))
    words = plan.job("measure_validity").inputs["words"]
    assert [Path(path).name for path in words] == ["objects.yaml", "scenes.yaml"]
    assert all(job.reads == words for job in plan.of("render_toyworld"))
    assert planned(config_of("paper")).job("measure_validity").inputs["words"] == []


def test_a_language_model_is_trained_here_or_given(planned):
    config = edited("language", {"evaluation": "main", "model": {"corpus": "world", "splits": ["train"]}})
    target = "results/language/base/main/measures.parquet"
    plan = planned(config, target)
    assert plan.job("measure_language").inputs["model"] == "results/language/model.arpa"
    assert plan.job("train_language_model").inputs["captions"] == CAPTIONS[0]
    assert plan.job("train_language_model").params["splits"] == ["train"]
    config["language"]["model"] = {"arpa": "srilm.arpa.gz"}
    plan = planned(config, target)
    assert plan.job("measure_language").inputs["model"] == str(plan.data / "srilm.arpa.gz")
    assert not plan.of("train_language_model")


def test_files_of_tags_are_those_of_the_corpus():
    graph = Graph(copy.deepcopy(CONFIG), ROOT)
    found = [graph.files_of("tags", "detected", "files", corpus=corpus) for corpus in ("photos", "world")]
    assert found == [[str(ROOT / "tags.tsv")], []]


SHARDS = ["results/features/clip/world/0-of-1.parquet"]


def test_a_reward_names_what_its_job_reads(planned):
    plan = planned(CONFIG, "all", *OTHERS)
    job = plan.job("finetune_captioner", captioner="critical")
    assert job.params["reward_models"] == {"encoders/clip": {"directory": "results/encoders/clip", "features": SHARDS}}
    files = [f"results/encoders/clip/{name}" for name in ("config.json", "model.safetensors")]
    assert job.inputs["reward_models"] == files
    assert (job.inputs["reward_models_features"], job.inputs["reward_models_regions"]) == (SHARDS, [])
    assert job.inputs["captions"] == CAPTIONS
    # Of captions in a domain, and of a captioner that learns references by themselves.
    assert plan.job("finetune_captioner", captioner="child").inputs["captions"] == []
    assert plan.job("finetune_captioner", captioner="scened").inputs["captions"] == CAPTIONS


def test_a_reward_by_scorers_reads_their_files(planned):
    reward = {"kind": "alternate", "of": [{"kind": "scorer", "scorer": name} for name in ("ours", "clip")]}
    config = edited("captioners.critical.objective.reward", reward)
    mixed = {"kind": "sum", "of": [{"weight": 1, "reward": {"kind": "bleu"}}, {"weight": 1, "reward": reward}]}
    critical = config["captioners"]["critical"]
    config["captioners"]["mixed"] = {**critical, "objective": {**critical["objective"], "reward": mixed}}
    plan = planned(config, *(f"results/captioners/{name}/model.safetensors" for name in ("critical", "mixed")))
    job = plan.job("finetune_captioner", captioner="critical")
    regions = ["results/regions/boxes/world/0-of-1.parquet"]
    assert job.params["reward_models"] == {
        "scorers/clip": {"directory": "results/scorers/clip", "features": SHARDS},
        "scorers/ours": {"directory": "results/scorers/ours", "features": regions},
    }
    of_scorers = {
        "clip": ("config.json", "model.safetensors"),
        "ours": ("config.json", "model.safetensors", "vocab.txt"),
    }
    assert job.inputs["reward_models"] == [f"results/scorers/{s}/{name}" for s, of in of_scorers.items() for name in of]
    assert job.inputs["reward_models_regions"] == regions
    assert job.inputs["captions"] == []
    assert plan.job("finetune_captioner", captioner="mixed").inputs["captions"] == CAPTIONS


def test_a_training_depends_on_the_code_of_its_rewards():
    graph = Graph(copy.deepcopy(CONFIG), ROOT)
    rewards = {
        f"captionlab.training.rewards.{kind}.reward" for kind in ("sum", "cider", "alternate", "similarity", "fluency")
    }
    models = {"captionlab.captioners.newfc.captioner", "captionlab.encoders.clip.encoder:FAMILY"}
    objective = "captionlab.training.objectives.self_critical.objective"
    assert {*graph.modules("training", "critical")} == {*rewards, *models, objective}
    alone = graph.software("finetune_captioner", loads=graph.modules("captioners", "critical"))
    used = graph.software("finetune_captioner", loads=graph.modules("training", "critical"))
    assert used["code"](None) != alone["code"](None)
    graph = Graph(edited("captioners.critical.objective.reward", {"kind": "scorer", "scorer": "ours"}), ROOT)
    used = graph.software("finetune_captioner", loads=graph.modules("training", "critical"))
    assert "transformers" in used["versions"](None)


def shipped(name):
    """A config of the workflow, upon those that the command in its header has before it."""
    header = (ROOT / "config" / f"{name}.yaml").read_text(encoding="utf-8")
    command = re.search(r"--configfile ((?:config/\w+\.yaml ?)+)", header)
    files = command[1].split() if command else [f"config/{name}.yaml"]
    assert files[-1] == f"config/{name}.yaml"
    return stacked(files)


def stacked(files):
    """What Snakemake and the Snakefile make of several configs."""
    config = {}
    for file in files:
        update_config(config, yaml.safe_load((ROOT / file).read_text(encoding="utf-8")))
    check_config_files(config, [ROOT / file for file in files], {})
    return config


# plotting.yaml has the styles of figures and is no config.
@pytest.mark.parametrize("name", sorted({path.stem for path in (ROOT / "config").glob("*.yaml")} - {"plotting"}))
def test_every_config_of_the_workflow_is_accepted_and_evaluates_something(name):
    config = checked(shipped(name), ROOT)
    assert config["evaluations"] or config["judgements"]


def test_references_are_those_of_each_paper(planned):
    """Dessì et al. compare with the first five of COCO's captions, Ma et al. with all; nocaps has ten."""
    jobs = planned(config_of("paper")).of("score_nlg")
    numbers = {job.wildcards["evaluation"]: job.params["references_per_image"] for job in jobs}
    assert (numbers["coco"], numbers["camel"], numbers["probing"], numbers["nocaps"]) == (5, 5, None, None)
