"""Time self-critical updates rewarded by CIDEr-D, beside a plain loop that does what the original code does.

    python benchmarks/self_critical_cider.py [--updates 5] [--threads 2] [--small]

The FC captioner at the shape of Ma et al. (2022): 10 images, five samples and a greedy caption of each, 9,488 words,
random weights. The plain loop does what ImageCaptioning.pytorch does (docs/fidelity.md): at every step it computes all
rows, until the last caption has ended, takes the logarithms of all probabilities and keeps them for the loss, and draws
by torch.distributions; the reward counts the n-grams of a caption's references anew for each caption, in
dictionaries; Adam is torch's. Both take turns. Captions have 8 to 13 words, which random weights would not do.

Before anything is timed, both must give the same mean reward and loss to 1e-5, of samples by the same random numbers
where no caption ends before the others (else ours, which no longer draws for captions that have ended, draws others).
"""

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from products import torch_products
from self_critical import IMAGES, SAMPLES, SMALL, WORDS, Captioner, Sizes, words_of
from torch import Tensor

from captionlab.generation.contract import Decoding
from captionlab.generation.decoding import decode
from captionlab.networks.words import learn_words
from captionlab.training.loop.batches import ImageBatch, ImageBatches
from captionlab.training.loop.optimizers import build_optimizer
from captionlab.training.objectives.self_critical import SelfCritical
from captionlab.training.rewards.cider import ORDERS, SIGMA, CiderD, cider, ended

LONGEST, REFERENCES, RATE, CLIP = 20, 5, 5e-5, 0.1
TOLERANCE = 1e-5


class PlainCiderD:
    """CIDEr-D (Vedantam et al. 2015) in dictionaries; of the references the document frequencies alone are kept."""

    def __init__(self, references: Sequence[Sequence[Sequence[str]]]):
        self.references = references
        self.images = float(np.log(len(references)))
        self.frequency: Counter[tuple[str, ...]] = Counter()
        for of_image in references:
            self.frequency.update({gram for words in of_image for gram in self._count(words)})

    def score(self, image: int, words: Sequence[str]) -> float:
        """That of one caption of an image, 0 to 10."""
        vector, norms, length = self._vector(words)
        total = np.zeros(ORDERS)
        for reference in self.references[image]:
            other, other_norms, other_length = self._vector(reference)
            similarity = np.zeros(ORDERS)
            for n in range(ORDERS):
                for gram, value in vector[n].items():
                    similarity[n] += min(value, other[n].get(gram, 0.0)) * other[n].get(gram, 0.0)
                if norms[n] and other_norms[n]:
                    similarity[n] /= norms[n] * other_norms[n]
            total += similarity * np.exp(-((length - other_length) ** 2) / (2 * SIGMA**2))
        return float(10 * total.mean() / len(self.references[image]))

    def _count(self, words: Sequence[str]) -> Counter[tuple[str, ...]]:
        return Counter(tuple(words[i : i + n]) for n in range(1, ORDERS + 1) for i in range(len(words) - n + 1))

    def _vector(self, words: Sequence[str]) -> tuple[list[dict[tuple[str, ...], float]], Any, int]:
        """The weights of the n-grams of each order, their norms, and the length as CIDEr-D has it, in bigrams."""
        vector: list[dict[tuple[str, ...], float]] = [{} for _ in range(ORDERS)]
        for gram, count in self._count(words).items():
            vector[len(gram) - 1][gram] = count * (self.images - np.log(max(1.0, self.frequency[gram])))
        norms = np.sqrt([sum(value**2 for value in of_order.values()) for of_order in vector])
        return vector, norms, max(0, len(words) - 1)


class PlainLoop:
    """An update as the original code does it."""

    def __init__(self, captioner: Captioner, tokenizer: Any, reward: PlainCiderD):
        self.captioner, self.tokenizer, self.reward = captioner, tokenizer, reward
        self.optimizer = torch.optim.Adam(captioner.parameters(), lr=RATE)

    def update(self, batch: ImageBatch) -> None:
        """One update."""
        self.optimizer.zero_grad()
        self.loss(batch, dropout=True)[0].backward()
        torch.nn.utils.clip_grad_value_(self.captioner.parameters(), CLIP)
        self.optimizer.step()

    @torch_products()
    def loss(self, batch: ImageBatch, dropout: bool) -> tuple[Tensor, Tensor]:
        """The loss, and the rewards of the samples."""
        self.captioner.train(dropout)
        tokens, log_probs = self._sample(batch.visual.repeat_interleave(SAMPLES, dim=0), self._draw)
        self.captioner.eval()
        with torch.no_grad():
            best, _ = self._sample(batch.visual, lambda log_probs: log_probs.argmax(1))
        images = batch.images.tolist()
        earned = self._rewards([image for image in images for _ in range(SAMPLES)], tokens)
        baseline = self._rewards(images, best).repeat_interleave(SAMPLES)
        chosen = log_probs.gather(2, tokens[:, :, None])[:, :, 0]
        words = (tokens != self.tokenizer.end).float()
        mask = torch.cat([torch.ones_like(words[:, :1]), words[:, :-1]], dim=1)
        weights = (earned - baseline)[:, None].expand_as(chosen)
        return (-chosen * weights * mask).sum() / mask.sum(), earned

    def _draw(self, log_probs: Tensor) -> Tensor:
        drawn: Tensor = torch.distributions.Categorical(logits=log_probs.detach()).sample()
        return drawn

    def _sample(self, visual: Tensor, choose: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """Tokens (rows, LONGEST) and logarithms of all probabilities (rows, LONGEST, vocabulary)."""
        end = self.tokenizer.end
        logits, state = self.captioner.start(visual, LONGEST)
        tokens = torch.full((len(visual), LONGEST), end)
        going = torch.ones(len(visual), dtype=torch.bool)
        kept = visual.new_zeros(len(visual), LONGEST, logits.shape[1])
        for place in range(LONGEST):
            log_probs = logits.log_softmax(1)
            chosen = choose(log_probs)
            going = going & (chosen != end)
            chosen = chosen.masked_fill(~going, end)
            tokens[:, place] = chosen
            kept[:, place] = log_probs
            if not going.any() or place + 1 == LONGEST:
                break
            logits, state = self.captioner.step(chosen, state)
        return tokens, kept

    def _rewards(self, images: Sequence[int], tokens: Tensor) -> Tensor:
        texts = self.tokenizer.decode(tokens.tolist())
        return torch.tensor([self.reward.score(*pair) for pair in zip(images, map(ended, texts), strict=True)])


def random_references(words: Sequence[str], guesses: Sequence[str]) -> list[list[list[str]]]:
    """References of each image: of its guess about every second word, others rarer the later they are in the list."""
    draw = np.random.default_rng(0)

    def reference(guess: list[str]) -> list[str]:
        count = draw.integers(WORDS[0], WORDS[1] + 1)
        ranks = np.minimum(draw.zipf(1.3, count) - 1, len(words) - 1)
        guessed = draw.random(count) < 0.5
        own = [guess[i] if guessed[i] and i < len(guess) else words[rank] for i, rank in enumerate(ranks)]
        return ended(" ".join(own))

    return [[reference(guess.split()) for _ in range(REFERENCES)] for guess in guesses]


def update(captioner: Captioner, objective: SelfCritical, optimizer: Any, batch: ImageBatch) -> None:
    """An update of ours."""
    optimizer.zero_grad()
    objective.loss(captioner, batch)[0].backward()
    torch.nn.utils.clip_grad_value_(optimizer.parameters, CLIP)
    optimizer.step(RATE)


def check(captioner: Captioner, plain: PlainLoop, objective: SelfCritical, batch: ImageBatch) -> tuple[float, float]:
    """The largest difference of rewards and losses for captions of one length without dropout, and the loss.

    Exits when it is larger than 1e-5.
    """
    captioner.lengths = (WORDS[1], WORDS[1])
    objective.dropout = False
    torch.manual_seed(1)
    theirs, earned = plain.loss(batch, dropout=False)
    torch.manual_seed(1)
    ours, statistics_of = objective.loss(captioner, batch)
    captioner.lengths, objective.dropout = WORDS, True
    differences = ours.detach() - theirs.detach(), statistics_of["reward"] - earned.mean()
    difference, loss = max(abs(float(one)) for one in differences), float(theirs.detach())
    if difference > TOLERANCE or abs(loss) < 10 * TOLERANCE:
        raise SystemExit(f"rewards or losses of both ways differ by {difference:.1e}, at a loss of {loss:.1e}")
    return difference, loss


def seconds_of(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds of the processors and on the clock that some work takes."""
    processors, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - processors, time.perf_counter() - clock


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print both ways' seconds of an update."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", action="store_true", help="tiny models, to see whether this runs")
    given = parser.parse_args(arguments)
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    sizes = SMALL if given.small else Sizes()
    words = words_of(sizes)
    tokenizer = learn_words([" ".join(words)], 1)
    captioner = Captioner(sizes.visual_size, sizes.width, sizes.width, tokenizer.size)
    visual, greedy = torch.randn(sizes.pool, sizes.visual_size), Decoding("greedy", LONGEST)
    guesses = tokenizer.decode(decode(captioner.eval(), visual, greedy, tokenizer).tokens.tolist())
    references = random_references(words, guesses)
    plain = PlainLoop(captioner, tokenizer, PlainCiderD(references))
    reward = partial(cider, CiderD(references))
    objective = SelfCritical(tokenizer, greedy, reward, samples=SAMPLES)
    batches = ImageBatches(visual, IMAGES, seed=1)
    difference, loss = check(captioner, plain, objective, batches[0])
    print(f"losses of {loss:.4f} and their rewards differ by {difference:.1e} at most", flush=True)
    optimizer = build_optimizer(captioner.parameters(), {"kind": "adam", "lr": RATE})
    ways: dict[str, Callable[[ImageBatch], None]] = {
        "plain loop": plain.update,
        "ours": partial(update, captioner, objective, optimizer),
    }
    turns: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for number in range(given.updates + 1):
        for name, way in ways.items():
            torch.manual_seed(number)  # the same lengths of captions
            turns[name].append(seconds_of(partial(way, batches[number])))
    # The first update of each allocates memory.
    medians = {name: [statistics.median(one) for one in zip(*of[1:], strict=True)] for name, of in turns.items()}
    for name, (processors, clock) in medians.items():
        print(
            f"{name}: {processors:.3f} s of the processors, {clock:.3f} on the clock; "
            f"{processors / medians['ours'][0]:.2f} and {clock / medians['ours'][1]:.2f} times ours"
        )


if __name__ == "__main__":
    main()
