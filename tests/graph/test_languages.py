"""Corpora in other languages than English: what is planned for them, and what of a config is refused."""

import copy
import json

import pytest
from test_config import CONFIG, ROOT

from captionlab.config.languages import has_spaces, language_mistake, tagger_language, usual_tokenizer
from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph

CHINESE = {"reader": "karpathy", "annotations": "zh.json", "images": "zh", "language": "zh"}
GERMAN = {**CHINESE, "annotations": "de.json", "images": "de", "language": "de-CH"}
EVALUATION = {"captioners": ["base"], "decoding": "greedy"}
LANGUAGE = {"evaluation": "one", "model": {"corpus": "german", "splits": ["train"]}}


def config_with(corpora: list[str], **changes: object) -> dict:
    """A config with an evaluation of these corpora."""
    config = copy.deepcopy(CONFIG) | {"spice": "auto"}
    config["corpora"] |= {"chinese": CHINESE, "german": GERMAN}
    config["evaluations"] = {"one": {**EVALUATION, "corpora": corpora, **changes}}
    config |= {section: {} for section in ("judgements", "papers") if section in config}
    for section in ("study", "validity", "scene_analysis", "language"):
        config.pop(section, None)
    return config


def test_spice_is_for_english():
    assert "spice" in Graph(config_with(["world"]), ROOT).score_tables()
    assert "spice" not in Graph(config_with(["chinese", "german"]), ROOT).score_tables()


def test_each_corpus_has_its_tokeniser(planned):
    plan = planned(config_with(["world", "chinese", "german"], sacrebleu=True, chrf=True))
    tokens = plan.job("tokenize_captions", captioner="base")
    assert tokens.params["tokenizers"] == {"chinese": "zh", "german": "intl"}
    assert {"pycocoevalcap", "sacrebleu"} == tokens.params["versions"].keys()
    of_world = plan.job("tokenize_references", corpus="world")
    assert of_world.params["tokenizers"] == {}
    assert of_world.params["versions"].keys() == {"pycocoevalcap"}
    assert plan.job("tokenize_references", corpus="chinese").params["tokenizers"] == {"chinese": "zh"}
    assert plan.job("score_nlg", evaluation="one").params["english"] == ["world"]
    spice = plan.job("score_spice")
    assert spice.params["corpora"] == ["world"]
    assert spice.inputs["references"] == ["results/evaluation/references/world.parquet"]
    assert plan.job("score_captions", table="sacrebleu").params["tokenizers"] == {"chinese": "zh", "german": "intl"}
    assert plan.job("score_captions", table="chrf").params["tokenizers"] == {}


def test_another_language_reads_no_image_again(planned):
    english = {**CHINESE, "language": "en"}
    plans = [planned(config_with(["chinese"]) | {"corpora": {**CONFIG["corpora"], "chinese": corpus, "german": GERMAN}})
             for corpus in (english, CHINESE)]  # fmt: skip
    first, second = (plan.job("read_corpus", corpus="chinese").params["config"] for plan in plans)
    assert first == second
    first, second = (plan.job("tokenize_references", corpus="chinese").params["tokenizers"] for plan in plans)
    assert first != second


def test_a_reader_of_several_languages_reads_again(planned):
    corpus = {"reader": "xm3600", "annotations": "captions.jsonl", "images": "xm", "language": "ar"}
    config = config_with(["arabic"])
    config["corpora"]["arabic"] = corpus
    assert planned(config).job("read_corpus", corpus="arabic").params["config"]["language"] == "ar"


def test_judged_captions_have_the_language_of_their_corpus():
    config = config_with(["world"])
    config["judgements"] = {
        "expert": {"reader": "flickr8k-expert", "corpus": "chinese", "annotations": "a.txt", "captions": "b.txt"}
    }
    graph = Graph(config, ROOT)
    assert graph.languages("expert") == {"expert": "zh"}
    assert graph.tokenizers("expert") == {"expert": "zh"}
    assert "spice" not in graph.metrics("expert")


CHAIR = {"objects": "coco"}
AMBER = {"amber": {"annotations": "annotations.json", "relation": "relation.json"}}


@pytest.mark.parametrize(
    ("given", "config", "names"),
    [
        ("CHAIR of Chinese captions", config_with(["chinese"], **CHAIR), "evaluations.one.objects"),
        ("CHAIR of a mixture", config_with(["world", "german"], **CHAIR), "evaluations.one.objects"),
        ("AMBER of German captions", config_with(["german"], **AMBER), "evaluations.one.amber"),
        (
            "CHAIR by a list of the user without a tagger",
            config_with(["german"], objects="mine.yaml"),
            "de_core_news_sm",
        ),
        (
            "statistics of German by the English tagger",
            config_with(["german"]) | {"language": LANGUAGE},
            "language.tagger",
        ),
        (
            "statistics of two languages",
            config_with(["world"]) | {"language": {**LANGUAGE, "tagger": "de_core_news_sm"}},
            "one tagger cannot do",
        ),
    ],
)
def test_what_is_for_another_language_is_refused(given, config, names, answers):
    with pytest.raises(ConfigError) as raised:
        checked(config, ROOT)
    answers.hold(given, raised.value, names)


@pytest.mark.parametrize("key", ["validation", "reward"])
def test_trainings_that_compare_words_need_spaces(key, answers):
    config = copy.deepcopy(CONFIG)
    config["corpora"]["chinese"] = CHINESE
    name = next(
        name for name, block in config["captioners"].items() if block.get("objective", {}).get("kind") == "reinforce"
    )
    block = config["captioners"][name]
    block["corpus"] = "chinese"
    block.pop("validation", None)
    if key == "reward":
        block["objective"]["reward"] = {"kind": "cider"}
    else:
        block["validation"] = {"split": "val", "every": 1, "decoding": "greedy"}
    with pytest.raises(ConfigError) as raised:
        checked(config, ROOT)
    answers.hold(f"Chinese captions and {key}", raised.value, "compares words that spaces separate")


def test_german_is_tagged_by_a_german_model():
    config = config_with(["german"], objects="mine.yaml") | {"language": {**LANGUAGE, "tagger": "de_core_news_sm"}}
    assert checked(config, ROOT)["language"]["tagger"] == "de_core_news_sm"


@pytest.mark.parametrize(
    ("corpus", "names"),
    [
        ({**CHINESE, "language": "cn"}, "'zh'"),
        ({**CHINESE, "language": "Chinese"}, "'zh'"),
        ({**CHINESE, "tokenizer": "ptb"}, "corpora.chinese.tokenizer is ptb"),
        ({**CHINESE, "tokenizer": "jieba"}, "corpora.chinese.tokenizer"),
        ({"reader": "toyworld", "domain": "coco", "seed": 1, "images": {"test": 2}, "language": "de"}, "toy world"),
        (
            {"reader": "xm3600", "annotations": "captions.jsonl", "images": "xm"},
            "corpora.chinese lacks the key language",
        ),
        (
            {
                "reader": "multi30k",
                "language": "de",
                "lists": {"train": "a.txt", "val": "b.txt"},
                "annotations": {"train": ["a.de"], "test": ["c.de"]},
                "images": None,
            },
            "lacks the split 'val'",
        ),
    ],
)
def test_a_wrong_corpus_is_a_sentence(corpus, names, answers):
    config = config_with(["chinese"])
    config["corpora"]["chinese"] = corpus
    with pytest.raises(ConfigError) as raised:
        checked(config, ROOT)
    answers.hold(f"`chinese: {json.dumps(corpus)}`", raised.value, names)


# The 36 languages of XM3600, and others.
OF_XM3600 = (
    "ar bn cs da de el en es fa fi fil fr he hi hr hu id it ja ko mi nl no pl pt quz ro ru sv sw te th tr uk vi zh"
)


@pytest.mark.parametrize("language", [*OF_XM3600.split(), "zh-Hant", "pt-BR", "sr-Latn-RS", "yue", "nb"])
def test_codes_of_languages(language):
    assert language_mistake(language) == ""
    assert usual_tokenizer(language) in {"ptb", "zh", "ja-mecab", "ko-mecab", "flores200", "intl"}


@pytest.mark.parametrize("language", ["", "d", "de_DE", "DE", "german", "xx", "kr2", "zh-", "zh Hant"])
def test_texts_that_are_no_codes(language):
    assert "no code of a language" in language_mistake(language)


def test_words_of_some_languages_have_no_spaces():
    found = {language: has_spaces(usual_tokenizer(language)) for language in ("en", "de", "ko", "zh-Hant", "ja", "th")}
    assert found == {"en": True, "de": True, "ko": True, "zh-Hant": False, "ja": False, "th": False}
    names = {"de_core_news_sm": "de", "xx_ent_wiki_sm": "xx", "models/mine": "", "en_ewt_sm": "en"}
    assert {name: tagger_language(name) for name in names} == names
