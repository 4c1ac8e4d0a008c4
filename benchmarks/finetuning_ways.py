"""What benchmarks/finetuning.py compares: updates of captionlab and of a plain loop, on the same models and images."""

import copy
import io
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from PIL import Image
from products import counted, torch_products
from torch import Tensor
from torch.nn.functional import cross_entropy, interpolate, normalize

from captionlab.captioners.clipcap.captioner import ClipCap
from captionlab.config.evaluations import Greedy
from captionlab.encoders.clip.encoder import MEAN, STD, Clip, build, normalise, pad, tokenise
from captionlab.generation.decoding import decode
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.objectives.baselines import RunningMean
from captionlab.training.objectives.reinforce.objective import Reinforce
from captionlab.training.rewards.retrieval import Discriminative

CLIP_B32 = {
    "embed_dim": 512,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 224, "layers": 12, "width": 768, "patch_size": 32},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 512, "heads": 8, "layers": 12},
}
GPT2 = {"prefix_length": 10, "width": 768, "layers": 12, "heads": 12, "positions": 1024, "vocabulary": 50257}
SMALL_CLIP = {
    "embed_dim": 16,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}
SMALL_GPT2 = {"prefix_length": 10, "width": 32, "layers": 2, "heads": 2, "positions": 64, "vocabulary": 300}
LONGEST = 30  # tokens: 40 positions, of which the prefix has ten
PIXELS = 640, 480  # of most images of COCO
WORDS = ["a", "the", "man", "dog", "table", "red", "with", "on", "near", "large", "of", "in", "white", "street", "two"]
ADAM = {"kind": "adam", "lr": 1e-7}  # Dessì et al. 2023, §4.1


class Lengths:
    """How many words the captions of a batch have: from the fewest to the most, and again."""

    def __init__(self, fewest: int, most: int):
        self.fewest, self.most = fewest, most

    def __call__(self, rows: int, device: torch.device) -> Tensor:
        """Words of each caption (rows,)."""
        return self.fewest + torch.arange(rows, device=device) % (self.most - self.fewest + 1)


def end_or_not(logits: Tensor, end: int, words_left: Tensor) -> Tensor:
    """The logits (B, vocabulary) with an end that is certain where no word (B,) is left, and impossible elsewhere."""
    logits[:, end] = torch.where(words_left > 0, -1e4, 1e4).to(logits.dtype)
    return logits


class Captioner(ClipCap):
    """ClipCap with captions of given lengths."""

    def __init__(self, lengths: Lengths, **sizes: int):
        super().__init__(**sizes)
        self.lengths, self.end = lengths, sizes["vocabulary"] - 1

    def start(self, visual: Tensor, max_tokens: int) -> tuple[Tensor, Any]:
        """Logits of the first token, and a state that also knows how many words are to come."""
        logits, cache = super().start(visual, max_tokens)
        words = self.lengths(len(visual), visual.device)
        return end_or_not(logits, self.end, words), (cache, words)

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Logits of the next token."""
        logits, cache = super().step(tokens, state[0])
        return end_or_not(logits, self.end, state[1] - 1), (cache, state[1] - 1)

    def reorder(self, state: Any, index: Tensor) -> Any:
        """The rows of a state."""
        return super().reorder(state[0], index), state[1][index]


class Stopwatch:
    """Seconds, and on request operations, of the stages of an update."""

    def __init__(self, device: str):
        self.device, self.counting = device, False
        self.seconds: dict[str, float] = defaultdict(float)
        self.operations: dict[str, float] = defaultdict(float)

    def stage(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """The same work, measured."""

        def measured(*arguments: Any) -> Any:
            if self.counting:
                with counted() as counter:
                    result = work(*arguments)
                self.operations[name] += counter.get_total_flops()
                return result
            started = self.now()
            result = work(*arguments)
            self.seconds[name] += self.now() - started
            return result

        return measured

    def now(self) -> float:
        """The time when the device has done what it was given."""
        if self.device != "cpu":
            torch.cuda.synchronize()
        return time.perf_counter()

    def measure(self, update: Callable[[], Any]) -> None:
        """Run an update twice, for its seconds and for its operations, after two in which a GPU records captions."""
        update()
        update()
        self.seconds.clear()
        update()
        self.counting = True
        # The counter does not know the one operation that stands for a whole attention layer.
        torch.backends.mha.set_fastpath_enabled(False)
        update()
        torch.backends.mha.set_fastpath_enabled(True)
        self.counting = False


class Setting:
    """The models, images and captions that both ways work on."""

    def __init__(self, small: bool, batch: int, words: Sequence[int], device: str):
        torch.manual_seed(0)
        architecture, self.sizes = (SMALL_CLIP, SMALL_GPT2) if small else (CLIP_B32, GPT2)
        self.device, self.batch = device, batch
        self.clip = Clip(
            build(architecture), {"architecture": architecture, "image_mean": MEAN, "image_std": STD}, device
        )
        self.lengths = Lengths(*words)
        prefix_size = self.clip.image_dimensions
        self.captioner = Captioner(self.lengths, prefix_size=prefix_size, **self.sizes).to(device)
        self.end = self.sizes["vocabulary"] - 1
        self.files = [image_file() for _ in range(2 * batch)]
        self.visual = torch.cat([self.clip.embed_images(self.pixels([row])) for row in range(len(self.files))])

    def pixels(self, rows: Sequence[int]) -> Tensor:
        """The images, decoded."""
        return torch.stack([self.clip.preprocess(Image.open(io.BytesIO(self.files[row]))) for row in rows])

    def in_words(self, tokens: Tensor) -> list[str]:
        """Captions with a word for each token before the end, none of them twice."""
        rows = [ids[: ids.index(self.end)] if self.end in ids else ids for ids in tokens.tolist()]
        return [
            " ".join([str(number), *(WORDS[token % len(WORDS)] for token in ids[1:])])
            for number, ids in enumerate(rows)
        ]

    def objective(self, watch: Stopwatch, dropout: bool) -> Reinforce:
        """Our objective, with stages that are measured."""
        decoding = Greedy(kind="greedy", max_tokens=LONGEST)
        reward = Discriminative("discriminative", self.clip.embed_texts, self.visual, self.batch, self.clip.logit_scale)
        return Reinforce(
            generate=watch.stage("generation", lambda model, visual: decode(model, visual, decoding, self).tokens),
            decode=self.in_words,
            ends=(self.end,),
            reward=watch.stage("reward", reward),
            baseline=RunningMean(),
            dropout=dropout,
        )


def image_file() -> bytes:
    """A smooth JPEG of the usual size."""
    coarse = torch.rand(1, 3, 15, 20)
    smooth = interpolate(coarse, size=PIXELS[::-1], mode="bicubic").clamp(0, 1)[0]
    file = io.BytesIO()
    Image.fromarray((255 * smooth).byte().permute(1, 2, 0).numpy()).save(file, "JPEG", quality=90)
    return file.getvalue()


class PlainLoop:
    """An update as the authors' code does it, with transformers' GPT-2 and the weights of our captioner."""

    def __init__(self, setting: Setting, watch: Stopwatch, dropout: bool):
        from transformers import GPT2Config, GPT2LMHeadModel

        self.setting, self.watch, self.dropout = setting, watch, dropout
        sizes, end = setting.sizes, setting.end
        config = GPT2Config(
            vocab_size=sizes["vocabulary"],
            n_positions=sizes["positions"],
            n_embd=sizes["width"],
            n_layer=sizes["layers"],
            n_head=sizes["heads"],
            bos_token_id=end,
            eos_token_id=end,
            pad_token_id=end,
        )
        self.project = copy.deepcopy(setting.captioner.clip_project)
        self.gpt = GPT2LMHeadModel(config).to(setting.device)
        self.gpt.load_state_dict(setting.captioner.gpt.state_dict())
        self.vanilla = copy.deepcopy(self.gpt).eval().requires_grad_(False)
        # The optimizer held a stale copy of the token embeddings: they get gradients and stay as they are.
        table = self.gpt.transformer.wte.weight.requires_grad_(True)
        parameters = [p for part in (self.project, self.gpt) for p in part.parameters() if p is not table]
        self.optimizer = torch.optim.Adam(parameters, lr=ADAM["lr"])
        self.baseline, self.batches_seen = 0.0, 0

    @torch_products()
    def update(self, batch: ImageBatch) -> tuple[Tensor, Tensor]:
        """One update; the tokens of the captions and the loss."""
        stage, rows = self.watch.stage, batch.images.tolist()
        self.gpt.train(self.dropout)
        visual, candidates = stage("images", self._images)(rows)
        tokens = stage("generation", self._generate)(visual)
        log_prob, token_log_probs, mask = stage("re-scoring", self._log_probs)(visual, tokens)
        divergence = stage("divergence", self._divergence)(tokens, token_log_probs.detach(), mask)
        costs = stage("reward", self._costs)(self.setting.in_words(tokens), candidates)
        loss = ((costs - self.baseline + 0.0 * divergence) * log_prob).mean()
        self.batches_seen += 1
        self.baseline += (float(costs.mean()) - self.baseline) / self.batches_seen
        self.optimizer.zero_grad()
        stage("backward", loss.backward)()
        stage("optimizer", self.optimizer.step)()
        return tokens, loss.detach()

    @torch.no_grad()
    def _images(self, rows: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The images as the captioner and as the retriever reads them, each decoded and encoded for itself."""
        of_captioner, of_retriever = (
            self.setting.clip.model.encode_image(
                normalise(self.setting.pixels(rows).to(self.setting.device), MEAN, STD)
            )
            for _ in range(2)
        )
        return of_captioner, of_retriever

    @torch.no_grad()
    def _generate(self, visual: Tensor) -> Tensor:
        prefix = self._prefix(visual)
        words = self.setting.lengths(len(visual), visual.device)

        def ends(tokens: Tensor, logits: Tensor) -> Tensor:
            return end_or_not(logits, self.setting.end, words - tokens.shape[1])

        tokens: Tensor = self.gpt.generate(
            inputs_embeds=prefix,
            attention_mask=torch.ones(prefix.shape[:2], dtype=torch.long, device=prefix.device),
            do_sample=False,
            num_beams=1,
            max_new_tokens=LONGEST,
            logits_processor=[ends],
        )
        return tokens

    def _prefix(self, visual: Tensor) -> Tensor:
        return self.project(visual).view(len(visual), self.setting.sizes["prefix_length"], -1)

    def _log_probs(self, visual: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        prefix = self._prefix(visual)
        logits = self.gpt(inputs_embeds=torch.cat([prefix, self.gpt.transformer.wte(tokens)], dim=1)).logits
        log_probs = logits[:, prefix.shape[1] - 1 : -1].log_softmax(-1).gather(2, tokens[:, :, None])[:, :, 0]
        mask = (tokens == self.setting.end).cumsum(1) == 0
        lengths = (mask.sum(1) + 1).clamp(max=tokens.shape[1])
        return (log_probs * mask).sum(1) / lengths, log_probs, mask

    @torch.no_grad()
    def _divergence(self, tokens: Tensor, log_probs: Tensor, mask: Tensor) -> Tensor:
        begin = tokens.new_full((len(tokens), 1), self.setting.end)
        whole = torch.cat([begin, tokens], dim=1)
        logits = self.vanilla(whole, attention_mask=torch.ones_like(whole)).logits[:, :-1]
        vanilla = logits.log_softmax(-1).gather(2, tokens[:, :, None])[:, :, 0]
        return ((log_probs - vanilla) * mask).sum(1)

    @torch.no_grad()
    def _costs(self, captions: Sequence[str], images: Tensor) -> Tensor:
        clip = self.setting.clip
        padded = pad([*tokenise(captions, clip.context_length), [0] * clip.context_length])[:-1].to(images.device)
        texts = clip.model.encode_text(padded)
        scores = clip.logit_scale * normalize(texts, dim=1) @ normalize(images, dim=1).T
        diagonal = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
        target_first = torch.cat([scores.diagonal()[:, None], scores.masked_fill(diagonal, -torch.inf)], dim=1)
        return cross_entropy(target_first, target_first.new_zeros(len(scores), dtype=torch.long), reduction="none")
