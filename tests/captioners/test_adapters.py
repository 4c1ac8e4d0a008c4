"""Adapters of captioners: what they change and what not, files, line of parents, and peft's reading of an export."""

import copy
import json
import re

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from support.decodings import decoding_of
from support.tiny_captioners import BUILT, END, SIZE, TOKENIZER
from torch import nn
from transformers import BlipTextConfig, BlipTextLMHeadModel, GPT2Config, GPT2LMHeadModel

from captionlab.captioners.adapters import export_adapters, merge_adapters, new_adapters, without_adapters
from captionlab.captioners.store import load_captioner, save_captioner
from captionlab.generation.decoding import decode, decode_with_gradient
from captionlab.networks.checkpoints import CheckpointError

LORA = {"rank": 2, "alpha": 3, "targets": "all-linear", "dropout": 0.0, "merge": False}


def built(name):
    """A captioner of a family, whose weights matter, images for it, and captions of them with their mask."""
    torch.manual_seed(0)
    captioner, visual = BUILT[name]()
    for parameter in captioner.parameters():
        if parameter.ndim == 2 and name == "clipcap":
            nn.init.normal_(parameter, std=0.5)
    tokens = torch.randint(4, 200, (4, 5))
    return captioner.eval(), visual, tokens, torch.arange(5) < torch.tensor([5, 2, 3, 1])[:, None]


def adapted(captioner, folder, lora=LORA, seed=1):
    """Store a captioner, and give it adapters."""
    save_captioner(captioner, TOKENIZER, folder)
    new_adapters(captioner, lora, folder, seed)
    return captioner.eval()


def disturb(captioner, seed=2):
    """Adapters as a training leaves them, B no longer 0."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in captioner.parameters():
        if parameter.requires_grad:
            parameter.data = 0.5 * torch.randn(parameter.shape, generator=generator)
    return captioner


@pytest.mark.parametrize("name", BUILT)
def test_through_all_that_happens_to_adapters(tmp_path, name):
    captioner, visual, tokens, mask = built(name)
    frozen = {n for n, parameter in captioner.named_parameters() if not parameter.requires_grad}
    before = captioner.log_probs(visual, tokens, mask)
    adapted(captioner, tmp_path / "parent")
    assert torch.equal(captioner.log_probs(visual, tokens, mask), before), "at the start nothing is changed"
    trained = [n for n, parameter in captioner.named_parameters() if parameter.requires_grad]
    assert trained
    assert all(re.fullmatch(r".*\.lora_[AB]\.default\.weight", n) for n in trained)
    assert len(trained) == 2 * len(captioner.adapters.settings["target_modules"])

    disturb(captioner)
    after = captioner.log_probs(visual, tokens, mask)
    assert (after - before).abs().max() > 1e-2
    save_captioner(captioner, TOKENIZER, tmp_path / "child")
    stored = load_file(tmp_path / "child" / "model.safetensors")
    assert sorted(stored) == sorted(n.replace(".default", "") for n in trained)
    loaded, tokenizer = load_captioner(tmp_path / "child")
    assert (loaded.training, tokenizer.size) == (False, SIZE)
    assert torch.equal(loaded.log_probs(visual, tokens, mask), after)
    with torch.no_grad(), without_adapters(loaded):
        assert torch.equal(loaded.log_probs(visual, tokens, mask), before)
    assert torch.equal(loaded.log_probs(visual, tokens, mask), after)

    merge_adapters(loaded)
    torch.testing.assert_close(loaded.log_probs(visual, tokens, mask), after, atol=1e-5, rtol=0)
    assert {n for n, parameter in loaded.named_parameters() if not parameter.requires_grad} == frozen
    save_captioner(loaded, TOKENIZER, tmp_path / "merged")
    whole, _ = load_captioner(tmp_path / "merged")
    assert whole.adapters is None
    assert torch.equal(whole.log_probs(visual, tokens, mask), loaded.log_probs(visual, tokens, mask))


@pytest.mark.parametrize("name", BUILT)
def test_steps_go_through_the_adapters_as_whole_passes_do(tmp_path, name):
    captioner, visual, *_ = built(name)
    disturb(adapted(captioner, tmp_path / "parent"))
    ways = [decode] if not captioner.differentiable_steps else [decode, decode_with_gradient]
    for way in ways:
        torch.manual_seed(3)
        found = way(captioner, visual, decoding_of("sample", 6), TOKENIZER)
        whole = captioner.log_probs(visual, found.tokens, found.mask)
        torch.testing.assert_close(found.log_prob, whole.sum(1), atol=1e-5, rtol=0)
    parameters = [parameter for parameter in captioner.parameters() if parameter.requires_grad]
    reached = torch.autograd.grad(whole.sum(), parameters, allow_unused=True)
    if captioner.differentiable_steps:
        steps = torch.autograd.grad(found.log_prob.sum(), parameters)
        for mine, theirs in zip(steps, reached, strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=0)
    assert all(gradient is not None and gradient.abs().max() > 0 for gradient in reached)
    with torch.no_grad(), without_adapters(captioner):
        other = captioner.log_probs(visual, found.tokens, found.mask)
    assert (other - whole).abs().max() > 1e-2


def test_a_line_of_adapters(tmp_path):
    """Each is of the captioner that its parent is with its own; the whole line is read."""
    captioner, visual, tokens, mask = built("clipcap")
    disturb(adapted(captioner, tmp_path / "parent"))
    save_captioner(captioner, TOKENIZER, tmp_path / "child")
    after = captioner.log_probs(visual, tokens, mask)
    grandchild, _ = load_captioner(tmp_path / "child")
    merge_adapters(grandchild)
    new_adapters(grandchild, {**LORA, "targets": ["c_fc"]}, tmp_path / "child", 1)
    torch.testing.assert_close(grandchild.log_probs(visual, tokens, mask), after, atol=1e-5, rtol=0)
    disturb(grandchild, 5)
    save_captioner(grandchild, TOKENIZER, tmp_path / "grandchild")
    loaded, _ = load_captioner(tmp_path / "grandchild")
    found = loaded.log_probs(visual, tokens, mask)
    assert torch.equal(found, grandchild.log_probs(visual, tokens, mask))
    assert (found - after).abs().max() > 1e-2


def test_adapters_of_another_parent_are_refused(tmp_path, answers):
    captioner, *_ = built("clipcap")
    other = copy.deepcopy(captioner)
    save_captioner(adapted(captioner, tmp_path / "parent"), TOKENIZER, tmp_path / "child")
    nn.init.normal_(other.gpt.transformer.wpe.weight)
    save_captioner(other, TOKENIZER, tmp_path / "parent")
    with pytest.raises(CheckpointError) as error:
        load_captioner(tmp_path / "child")
    answers.hold("adapters whose parent was trained again", error.value, "…/parent")
    (tmp_path / "parent" / "model.safetensors").unlink()
    with pytest.raises(CheckpointError) as error:
        load_captioner(tmp_path / "child")
    answers.hold("adapters without their parent beside them", error.value, "…/parent")


def test_files_that_do_not_fit_are_refused(tmp_path):
    captioner, *_ = built("clipcap")
    save_captioner(adapted(captioner, tmp_path / "parent"), TOKENIZER, tmp_path / "child")
    config = json.loads((tmp_path / "child" / "config.json").read_text())
    config["lora"]["r"] = 3
    (tmp_path / "child" / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        CheckpointError, match=r"does not fit an adapted ClipCap: .*lora_A.weight is \(2, 6\), expected"
    ):
        load_captioner(tmp_path / "child")


@pytest.mark.parametrize(
    ("targets", "count"),
    [
        ("all-linear", 10),
        (["c_attn"], 2),
        (["attn.c_proj", "gpt.transformer.h.1.mlp.c_fc"], 3),
        (r"gpt\..*\.mlp\.c_.*", 4),
    ],
)
def test_which_layers_have_adapters(tmp_path, targets, count):
    captioner, *_ = built("clipcap")
    adapted(captioner, tmp_path / "parent", {**LORA, "targets": targets})
    assert len(captioner.adapters.settings["target_modules"]) == count
    assert len([n for n, parameter in captioner.named_parameters() if parameter.requires_grad]) == 2 * count


@pytest.mark.parametrize("targets", [["c_attn", "q_proj"], r".*\.lm_head", ["attn"]])
def test_targets_that_are_no_layers_are_refused(tmp_path, targets, answers):
    captioner, *_ = built("clipcap")
    with pytest.raises(ValueError, match="is no linear layer of this captioner") as error:
        adapted(captioner, tmp_path / "parent", {**LORA, "targets": targets})
    assert "which has clip_project.model.*, gpt.transformer.h.*.attn.c_attn," in str(error.value)
    answers.hold(f"adapters with `targets: {targets}`", error.value, "lora.targets")


def test_the_seed_and_nothing_else_decides_where_adapters_start(tmp_path):
    starts = []
    for noise, seed in ((1, 1), (2, 1), (1, 2)):
        captioner, *_ = built("clipcap")
        torch.manual_seed(noise)
        adapted(captioner, tmp_path / "parent", seed=seed)
        starts.append(captioner.clip_project.model[0].lora_A["default"].weight)
    assert torch.equal(starts[0], starts[1])
    assert not torch.equal(starts[0], starts[2])


class OfTransformers(nn.Module):
    """ClipCap, written down with the GPT-2 of transformers."""

    def __init__(self, captioner):
        super().__init__()
        self.clip_project = nn.Module()
        self.clip_project.model = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 16))
        sizes = {"n_positions": 24, "n_embd": 8, "n_layer": 2, "n_head": 2, "vocab_size": SIZE}
        self.gpt = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
        missing, unexpected = self.load_state_dict(captioner.state_dict(), strict=False)
        assert (missing, unexpected) == ([], [])

    def forward(self, visual, tokens):
        prefix = self.clip_project.model(visual).view(len(visual), 2, 8)
        words = self.gpt.transformer.wte(tokens[:, :-1])
        logits = self.gpt(inputs_embeds=torch.cat([prefix, words], dim=1)).logits[:, 1:]
        return logits.log_softmax(2).gather(2, tokens[..., None])[..., 0]


class BlipOfTransformers(nn.Module):
    """The same of BLIP."""

    def __init__(self, captioner):
        super().__init__()
        sizes = {"vocab_size": SIZE, "hidden_size": 8, "encoder_hidden_size": 6, "intermediate_size": 16}
        sizes |= {"num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 24, "is_decoder": True}
        self.text_decoder = BlipTextLMHeadModel(BlipTextConfig(**sizes, bos_token_id=0))
        self.load_state_dict(captioner.state_dict())

    def forward(self, visual, tokens):
        ids = torch.cat([torch.full_like(tokens[:, :1], END), tokens[:, :-1]], dim=1)
        logits = self.text_decoder(ids, encoder_hidden_states=visual, is_decoder=True).logits
        return logits.log_softmax(2).gather(2, tokens[..., None])[..., 0]


@pytest.mark.filterwarnings("ignore:fan_in_fan_out is set to False:UserWarning")  # so peft says of any GPT-2
@pytest.mark.parametrize(("name", "plain"), [("clipcap", OfTransformers), ("blip", BlipOfTransformers)])
def test_peft_reads_what_is_exported_onto_a_model_of_transformers(tmp_path, name, plain):
    captioner, visual, tokens, _ = built(name)
    model = plain(captioner).eval()
    disturb(adapted(captioner, tmp_path / "parent"))
    expected = captioner.log_probs(visual, tokens, torch.ones_like(tokens))
    export_adapters(captioner, tmp_path / "exported")
    assert sorted(path.name for path in (tmp_path / "exported").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    assert (
        json.loads((tmp_path / "exported" / "adapter_config.json").read_text())["base_model_name_or_path"] == "parent"
    )
    assert (model(visual, tokens) - expected).abs().max() > 1e-2
    read = PeftModel.from_pretrained(model, tmp_path / "exported").eval()
    torch.testing.assert_close(read(visual, tokens), expected, atol=1e-5, rtol=0)


def test_what_no_other_library_knows_is_not_exported(tmp_path, answers):
    captioner, *_ = built("clipcap")
    with pytest.raises(ValueError, match="only adapters of it can be exported") as error:
        captioner.export(TOKENIZER, tmp_path, {})
    answers.hold("export of a captioner without adapters", error.value, "clipcap")


def test_adapters_are_as_precise_as_optimizers_need_them(tmp_path):
    captioner, *_ = built("clipcap")
    save_captioner(captioner, TOKENIZER, tmp_path / "parent")
    half = captioner.to(torch.bfloat16)
    new_adapters(half, LORA, tmp_path / "parent", seed=1)
    found = {value.dtype for name, value in half.named_parameters() if "lora_" in name}
    assert found == {torch.float32}
