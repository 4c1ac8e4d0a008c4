"""ClipCap, its GPT-2 against transformers', tokenizers, and captioners on disk."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.decodings import decoding_of

from captionlab.captioners.clipcap.captioner import ClipCap
from captionlab.captioners.store import import_captioner, load_captioner, save_captioner
from captionlab.generation.decoding import decode
from captionlab.networks.checkpoints import CheckpointError
from captionlab.networks.gpt2 import GPT2
from captionlab.networks.tokenizer import Tokenizer

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
TEXTS = ["A dog runs on the grass.", "Two dogs sleep on a red sofa.", "A man holds a kite U.S. made...", "a cat, a hat"]


class Vocabulary:
    end = 56

    def stop_ids(self, text: str) -> list[int]:
        return [4, 9, 30]


def spread(module: torch.nn.Module, seed: int, std: float = 0.3) -> None:
    """Give all parameters random values, biases and scales too, so that none of them can be forgotten unnoticed."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            centre = 1.0 if "ln_" in name and name.endswith("weight") else 0.0
            parameter.copy_(centre + std * torch.randn(parameter.shape, generator=generator))


def tiny(seed: int = 0, **changes: int) -> ClipCap:
    sizes = {"prefix_size": 12, "prefix_length": 3, "width": 16, "layers": 2, "heads": 2, "positions": 24}
    captioner = ClipCap(**{**sizes, "vocabulary": 57, **changes}).eval()
    spread(captioner, seed)
    return captioner


@pytest.fixture(scope="module")
def transformers():
    import transformers

    return transformers


def twin(transformers, captioner: ClipCap):
    """transformers' GPT-2 with the same weights."""
    sizes = captioner.architecture
    config = transformers.GPT2Config(
        vocab_size=sizes["vocabulary"],
        n_positions=sizes["positions"],
        n_embd=sizes["width"],
        n_layer=sizes["layers"],
        n_head=sizes["heads"],
        bos_token_id=Vocabulary.end,
        eos_token_id=Vocabulary.end,
        pad_token_id=Vocabulary.end,
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    model.load_state_dict(captioner.gpt.state_dict())
    return model


def test_gpt2_computes_as_transformers_does(transformers):
    captioner = tiny()
    embeddings = torch.randn(4, 11, 16, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        ours = captioner.gpt.lm_head(captioner.gpt.transformer(embeddings))
        theirs = twin(transformers, captioner)(inputs_embeds=embeddings).logits
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_gpt2_learns_as_transformers_does(transformers):
    captioner = tiny()
    model = twin(transformers, captioner)
    tokens = torch.randint(0, 57, (3, 8), generator=torch.Generator().manual_seed(1))
    model(input_ids=tokens, labels=tokens).loss.backward()
    hidden = captioner.gpt.transformer(captioner.gpt.transformer.wte(tokens[:, :-1]))
    logits = captioner.gpt.lm_head(hidden)
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    theirs = dict(model.named_parameters())
    for name, parameter in captioner.gpt.named_parameters():
        torch.testing.assert_close(parameter.grad, theirs[name].grad, rtol=1e-4, atol=1e-5)


PENALTIES = [
    ("greedy", {}),
    ("greedy", {"repetition_penalty": 1.6}),
    ("beam", {}),
    ("beam", {"length_penalty": 2.5}),
    ("beam", {"length_penalty": -0.5}),
    ("beam", {"repetition_penalty": 1.6}),
    ("beam", {"repetition_penalty": 0.7, "length_penalty": 0.0}),
]


@pytest.mark.parametrize("stop", [None, "."])
@pytest.mark.parametrize(("kind", "penalties"), PENALTIES)
def test_decoding_finds_what_transformers_finds(transformers, kind, penalties, stop):
    class StopAfter(transformers.LogitsProcessor):
        """The end token, and nothing else, after a token that contains the stop text."""

        def __call__(self, input_ids, scores):
            if input_ids.shape[1]:
                for row in torch.isin(input_ids[:, -1], torch.tensor(Vocabulary().stop_ids("."))).nonzero()[:, 0]:
                    scores[row] = torch.finfo(scores.dtype).min
                    scores[row, Vocabulary.end] = 0
            return scores

    lengths, changed = set(), False
    for seed in range(4):
        captioner = ending(seed)
        visual = torch.randn(12, 12, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            theirs = twin(transformers, captioner).generate(
                inputs_embeds=captioner.prefix(visual),
                attention_mask=torch.ones(12, 3, dtype=torch.long),
                max_new_tokens=15,
                num_beams=1 if kind == "greedy" else 4,
                do_sample=False,
                logits_processor=transformers.LogitsProcessorList([StopAfter()] if stop else []),
                return_dict_in_generate=True,
                output_scores=True,
                **penalties,
            )
        ours, plain = (
            decode(captioner, visual, decoding_of(kind, 15, stop=stop, beams=4, **given), Vocabulary())
            for given in (penalties, {})
        )
        assert ours.tokens.tolist() == theirs.sequences.tolist()
        if kind == "beam":
            torch.testing.assert_close(ours.score, theirs.sequences_scores, rtol=1e-6, atol=1e-5)
        with torch.no_grad():
            own = captioner.log_probs(visual, ours.tokens, ours.mask).sum(1)
        torch.testing.assert_close(ours.log_prob, own, rtol=0, atol=1e-4)
        lengths |= set(ours.lengths.tolist())
        changed |= ours.tokens.tolist() != plain.tokens.tolist() if penalties else False
    assert len(lengths) > 3
    assert changed == bool(penalties), "otherwise they would not be told apart"


def ending(seed: int) -> ClipCap:
    """A captioner of random weights whose captions end now and then."""
    captioner = tiny(seed)
    with torch.no_grad():
        captioner.gpt.transformer.wte.weight[Vocabulary.end] += captioner.gpt.transformer.ln_f.bias
    return captioner


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top_k": 4},
        {"top_p": 0.6},
        {"repetition_penalty": 1.8, "temperature": 0.7, "top_k": 9, "top_p": 0.8},
    ],
)
def test_samples_are_those_of_transformers(transformers, options):
    """By the same random numbers; no caption may end, for images that are finished leave our batch."""
    captioner = tiny()
    visual = torch.randn(12, 12, generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        captioner.gpt.transformer.wte.weight[Vocabulary.end] -= 9 * captioner.gpt.transformer.ln_f.bias
        model = twin(transformers, captioner)  # made with random numbers, too
        torch.manual_seed(11)
        theirs = model.generate(
            inputs_embeds=captioner.prefix(visual),
            attention_mask=torch.ones(12, 3, dtype=torch.long),
            max_new_tokens=15,
            do_sample=True,
            **{"top_k": 0, **options},
        )
    torch.manual_seed(11)
    ours = decode(captioner, visual, decoding_of("sample", 15, **options), Vocabulary())
    assert ours.tokens.tolist() == theirs.tolist()
    assert ours.lengths.tolist() == [15] * 12
    with torch.no_grad():
        own = captioner.log_probs(visual, ours.tokens, ours.mask).sum(1)
    torch.testing.assert_close(ours.log_prob, own, rtol=0, atol=1e-4)


def test_steps_give_what_the_whole_text_gives():
    captioner = tiny()
    generator = torch.Generator().manual_seed(2)
    visual, tokens = torch.randn(3, 12, generator=generator), torch.randint(0, 57, (3, 6), generator=generator)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    with torch.no_grad():
        whole = captioner.log_probs(visual, tokens, mask)
        logits, state = captioner.start(visual, 6)
        order = torch.tensor([2, 0, 0, 1])  # rows may move, multiply and leave
        state, logits, tokens = captioner.reorder(state, order), logits[order], tokens[order]
        for position in range(6):
            stepped = logits.log_softmax(1).gather(1, tokens[:, position, None])[:, 0]
            torch.testing.assert_close(stepped, whole[order, position], rtol=0, atol=1e-5)
            if position < 5:
                logits, state = captioner.step(tokens[:, position], state)
            if position in (1, 3):
                keep = torch.tensor([3, 1, 0, 2][: len(tokens)])
                state, logits, tokens, order = (
                    captioner.reorder(state, keep), logits[keep], tokens[keep], order[keep],
                )  # fmt: skip


def test_padding_changes_nothing():
    captioner = tiny()
    visual = torch.randn(2, 12, generator=torch.Generator().manual_seed(3))
    tokens = torch.tensor([[5, 9, 56, 56, 56], [8, 8, 1, 2, 56]])
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    padded = captioner.log_probs(visual, tokens, mask)
    alone = captioner.log_probs(visual[:1], tokens[:1, :3], mask[:1, :3])
    torch.testing.assert_close(padded[0, :3], alone[0], rtol=0, atol=1e-6)
    assert padded[0, 3:].tolist() == [0.0, 0.0]
    padded.sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in captioner.parameters())


def test_dropout_is_active_in_training_alone():
    captioner = tiny()
    visual, tokens = torch.randn(2, 12), torch.randint(0, 57, (2, 6))
    mask = torch.ones_like(tokens)

    def log_probs() -> torch.Tensor:
        return captioner.log_probs(visual, tokens, mask)

    assert torch.equal(log_probs(), log_probs())
    captioner.train()
    assert not torch.equal(log_probs(), log_probs())


def test_a_long_prefix_has_a_linear_mapper():
    assert isinstance(tiny(prefix_length=11).clip_project, torch.nn.Linear)
    assert tiny(prefix_length=10).architecture["mapper_hidden"] == 80
    assert isinstance(tiny(prefix_length=10, mapper_hidden=0).clip_project, torch.nn.Linear)
    assert tiny(prefix_length=11, mapper_hidden=5).clip_project.model[0].out_features == 5


def test_what_does_not_fit_is_refused():
    captioner = tiny()
    with pytest.raises(ValueError, match="a prompt of 3 and 22 tokens do not fit into 24 positions; lower max_tokens"):
        captioner.start(torch.zeros(1, 12), 22)
    with pytest.raises(ValueError, match=r"are \(13,\) and this captioner reads vectors of 12 numbers"):
        captioner.start(torch.zeros(1, 13), 5)
    with pytest.raises(ValueError, match="width of 16 cannot be divided among 3 heads"):
        GPT2(20, 10, 16, 1, 3)


# ------------------------------------------------------------------------------------------------------- tokenizers
def test_a_trained_tokenizer_encodes_any_text():
    tokenizer = Tokenizer.train(TEXTS, 300)
    assert tokenizer.size == 300
    texts = [*TEXTS, "", "Ünïcode \U0001f415 כלב 犬", "never seen: zebra!"]
    assert tokenizer.decode([[*ids, tokenizer.end, 3, 4] for ids in tokenizer.encode(texts)]) == texts
    assert tokenizer.end not in {token for ids in tokenizer.encode(texts) for token in ids}
    assert len(tokenizer.encode(["A dog runs on the grass."])[0]) < len("A dog runs on the grass.") / 2


def test_training_a_tokenizer_is_deterministic():
    code = (
        "import sys, json; from captionlab.networks.tokenizer import Tokenizer;"
        "print(Tokenizer.train(json.loads(sys.argv[1]), 290).tokenizer.to_str())"
    )
    runs = {subprocess.check_output([sys.executable, "-c", code, json.dumps(TEXTS)]) for _ in range(3)}
    assert len(runs) == 1


def test_few_texts_give_few_tokens():
    assert Tokenizer.train(["ab"], 5000).size == 258
    with pytest.raises(ValueError, match="at least 257"):
        Tokenizer.train(TEXTS, 100)


def test_stop_ids_are_all_tokens_with_the_text():
    tokenizer = Tokenizer.train(TEXTS * 20, 400)
    ids = tokenizer.stop_ids(".")
    texts = {tokenizer.tokenizer.decode([number]) for number in ids}
    assert {".", "..."} <= texts
    assert all("." in text for text in texts)
    assert len(ids) == sum("." in token for token in tokenizer.tokenizer.get_vocab())


def test_decoding_takes_away_spaces_as_transformers_does(transformers):
    tokenizer = Tokenizer.train(TEXTS, 300)
    texts = ["a dog , a cat .", "it 's 2 dogs ' toys", "they 've n't seen we 're here ! really ?", "I 'm in"]
    expected = [transformers.PreTrainedTokenizerFast.clean_up_tokenization(None, text) for text in texts]
    assert tokenizer.decode(tokenizer.encode(texts)) == expected


# --------------------------------------------------------------------------------------------------------- on disk
@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS, 280)


@pytest.fixture
def captioner(tokenizer) -> ClipCap:
    return tiny(vocabulary=tokenizer.size)


@pytest.fixture
def tokenizer_file(tmp_path, tokenizer) -> Path:
    tokenizer.save(tmp_path / "tokenizer.json")
    return tmp_path / "tokenizer.json"


def equal(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    first, second = one.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_a_captioner_comes_back_from_disk(tmp_path, captioner, tokenizer):
    save_captioner(captioner.train(), tokenizer, tmp_path / "a", {"encoder": "toy"})
    loaded, its_tokenizer = load_captioner(tmp_path / "a")
    assert equal(loaded, captioner)
    assert not loaded.training
    assert loaded.gpt.lm_head.weight is loaded.gpt.transformer.wte.weight
    assert its_tokenizer.encode(TEXTS) == tokenizer.encode(TEXTS)
    assert "gpt.lm_head.weight" not in load_file(tmp_path / "a" / "model.safetensors")
    assert json.loads((tmp_path / "a" / "config.json").read_text())["origin"] == {"encoder": "toy"}
    save_captioner(loaded, its_tokenizer, tmp_path / "b", {"encoder": "toy"})
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["config.json", "model.safetensors", "tokenizer.json"]
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in names)


@pytest.mark.parametrize("mapper_hidden", [7, 0])
@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_published_weights_are_imported(tmp_path, tokenizer, tokenizer_file, suffix, mapper_hidden):
    original = tiny(vocabulary=tokenizer.size, mapper_hidden=mapper_hidden)
    weights = {name: value.clone() for name, value in original.state_dict().items()}
    # What old versions of transformers stored besides.
    weights["gpt.transformer.h.0.attn.bias"] = torch.ones(1, 1, 24, 24, dtype=torch.uint8)
    weights["gpt.transformer.h.1.attn.masked_bias"] = torch.tensor(-1e4)
    path = tmp_path / f"weights{suffix}"
    (torch.save if suffix == ".pt" else save_file)(weights, path)
    main = runpy.run_path(str(SCRIPTS / "import_captioner.py"))["main"]
    main(
        SimpleNamespace(
            params=SimpleNamespace(config={"family": "clipcap", "heads": 2}),
            input=SimpleNamespace(files=[str(path), str(tokenizer_file)]),
            output=SimpleNamespace(config=str(tmp_path / "stored" / "config.json")),
        )
    )
    loaded, _ = load_captioner(tmp_path / "stored")
    assert equal(loaded, original)
    assert loaded.architecture == original.architecture


def test_half_precision_weights_become_single(tmp_path, captioner, tokenizer_file):
    torch.save({name: value.half() for name, value in captioner.state_dict().items()}, tmp_path / "half.pt")
    import_captioner("clipcap", tmp_path / "half.pt", tokenizer_file, tmp_path / "stored", heads=2)
    loaded, _ = load_captioner(tmp_path / "stored")
    assert {value.dtype for value in loaded.state_dict().values()} == {torch.float32}


def changed(captioner: ClipCap, name: str, value: torch.Tensor | None) -> dict[str, torch.Tensor]:
    weights = {key: tensor.clone() for key, tensor in captioner.state_dict().items()}
    weights.pop(name, None)
    return weights if value is None else {**weights, name: value}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("gpt.transformer.h.1.mlp.c_fc.bias", None, "missing gpt.transformer.h.1.mlp.c_fc.bias"),
        ("gpt.transformer.h.1.attn.c_attn.scale", torch.ones(1), "unexpected gpt.transformer.h.1.attn.c_attn.scale"),
        ("gpt.transformer.ln_f.bias", torch.ones(15), r"ln_f.bias is \(15,\), expected \(16,\)"),
        ("gpt.lm_head.weight", torch.ones(280, 16), "gpt.lm_head.weight differs from gpt.transformer.wte.weight"),
        (
            "gpt.transformer.wte.weight",
            torch.ones(7, 16),
            r"gpt.lm_head.weight differs from gpt.transformer.wte.weight",
        ),
        ("clip_project.model.0.weight", None, "no checkpoint of the family 'clipcap'.*its 32 keys start with clip_pro"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path, captioner, tokenizer_file, name, value, message):
    torch.save(changed(captioner, name, value), tmp_path / "weights.pt")
    with pytest.raises(CheckpointError, match=message):
        import_captioner("clipcap", tmp_path / "weights.pt", tokenizer_file, tmp_path / "stored", heads=2)
    assert not (tmp_path / "stored").exists()


class Dangerous:
    ran = False

    def __setstate__(self, state: object) -> None:
        Dangerous.ran = True


def test_files_that_are_no_weights_are_refused(tmp_path, tokenizer_file):
    def refused(message: str, name: str = "weights.pt") -> None:
        with pytest.raises(CheckpointError, match=message):
            import_captioner("clipcap", tmp_path / name, tokenizer_file, tmp_path / "stored")

    torch.save({"model": Dangerous()}, tmp_path / "weights.pt")
    refused("not unpickled because it could run code")
    assert not Dangerous.ran
    torch.save([torch.ones(2)], tmp_path / "weights.pt")
    refused("holds a list, not a state dict")
    torch.save(tiny().state_dict(), tmp_path / "weights.pt")
    whole = (tmp_path / "weights.pt").read_bytes()
    for content in (b"", b"<html>Quota exceeded</html>", whole[: len(whole) // 2]):
        (tmp_path / "weights.pt").write_bytes(content)
        refused("weights.pt")
    (tmp_path / "weights.safetensors").write_bytes(b"<html>Quota exceeded</html>")
    refused("cannot be read .*is the download complete", "weights.safetensors")


def test_a_tokenizer_of_another_model_is_refused(tmp_path, captioner):
    Tokenizer.train(TEXTS, 290).save(tmp_path / "other.json")
    torch.save(captioner.state_dict(), tmp_path / "weights.pt")
    with pytest.raises(CheckpointError, match=r"other.json has 290 tokens and .*weights.pt has 280"):
        import_captioner("clipcap", tmp_path / "weights.pt", tmp_path / "other.json", tmp_path / "stored", heads=2)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match=r"other.json is no tokenizer.json"):
        import_captioner("clipcap", tmp_path / "weights.pt", tmp_path / "other.json", tmp_path / "stored", heads=2)


def test_a_damaged_folder_is_named(tmp_path, captioner, tokenizer):
    save_captioner(captioner, tokenizer, tmp_path)
    config = tmp_path / "config.json"
    for text in (
        "{",
        "{}",
        '{"family": "unheard-of", "architecture": {}}',
        '{"family": "clipcap", "architecture": {}}',
    ):
        config.write_text(text)
        with pytest.raises(CheckpointError, match=r"config.json does not describe a captioner"):
            load_captioner(tmp_path)
