"""Decoding against naive searches, one image at a time, over a captioner whose next token depends on the last one."""

import math
from dataclasses import dataclass
from itertools import pairwise

import pytest
import torch
from support.decodings import decoding_of
from torch import Tensor

from captionlab.captioners.clipcap.captioner import ClipCap
from captionlab.config.evaluations import read_decoding
from captionlab.generation.decoding import _penalised, _weights, decode

TOKENS, END, STOPS = 24, 5, {3, 17}


class Vocabulary:
    end = END

    def stop_ids(self, text: str) -> list[int]:
        return sorted(STOPS)


@dataclass
class State:
    images: Tensor
    position: int


class Table:
    """Logits of the next token by image, position and last token; `visual` are the numbers of the images."""

    generates = False

    def __init__(self, images: int, positions: int, seed: int, sharpness: float = 2.0, end: float = 0.0):
        generator = torch.Generator().manual_seed(seed)
        self.table = sharpness * torch.randn(images, positions, TOKENS + 1, TOKENS, generator=generator)
        self.table[..., END] += end
        self.rows: list[int] = []
        self.prompt_length = 1

    def start(self, visual: Tensor, max_tokens: int) -> tuple[Tensor, State]:
        return self.table[visual, 0, TOKENS], State(visual, 0)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        self.rows.append(len(tokens))
        after = State(state.images, state.position + 1)
        return self.table[state.images, after.position, tokens], after

    def reorder(self, state: State, index: Tensor) -> State:
        return State(state.images[index], state.position)

    def log_probs(self, image: int, so_far: tuple[int, ...]) -> list[float]:
        last = so_far[-1] if so_far else TOKENS
        return self.table[image, len(so_far), last].double().log_softmax(0).tolist()


def options(table: Table, image: int, so_far: tuple[int, ...], stop: bool) -> dict[int, tuple[float, float]]:
    """For each next token: what it adds to the search's score, and its log-probability."""
    log_probs = table.log_probs(image, so_far)
    if stop and so_far and so_far[-1] in STOPS:
        return {END: (0.0, log_probs[END])}
    return {token: (value, value) for token, value in enumerate(log_probs)}


def naive_greedy(table: Table, image: int, longest: int, stop: bool) -> tuple[tuple[int, ...], float]:
    tokens, total = (), 0.0
    while len(tokens) < longest and END not in tokens:
        found = options(table, image, tokens, stop)
        token = max(found, key=lambda token: found[token][0])
        tokens, total = (*tokens, token), total + found[token][1]
    return tokens, total


def naive_beam(
    table: "Table | Prefixed", image: int, longest: int, beams: int, stop: bool, former: bool = False
) -> tuple[float, tuple[int, ...], float]:
    """The best caption by score over length: its score, its tokens and their log-probability.

    A length is the number of tokens; `former`, as transformers had it in 2022, that of the prompt and the tokens before
    the end. The worst finished caption is held against the best beam that goes on and its length; `former` against the
    best continuation, be it an end or not, and the length before that step. Beams that are open when there is no room
    left are captions too: those among the best `beams` continuations; all open ones when `former`.
    """

    def length(tokens: tuple[int, ...]) -> int:
        return table.prompt_length + len(tokens) - (tokens[-1] == END) if former else len(tokens)

    opened: list[tuple[float, tuple[int, ...], float]] = [(0.0, (), 0.0)]
    finished: list[tuple[float, tuple[int, ...], float]] = []
    for step in range(1, longest + 1):
        candidates = [
            (score + gain, (*tokens, token), plain + log_prob)
            for score, tokens, plain in opened
            for token, (gain, log_prob) in options(table, image, tokens, stop).items()
        ]
        candidates = sorted(candidates, reverse=True)[: 2 * beams]
        opened = [candidate for candidate in candidates if candidate[1][-1] != END][:beams]
        ended = [c for c in candidates[:beams] if c[1][-1] == END or (step == longest and not former)]
        finished += [(score / length(tokens), tokens, plain) for score, tokens, plain in ended]
        finished = sorted(finished, reverse=True)[:beams]
        if not opened:
            break
        attainable = candidates[0][0] / (table.prompt_length + step - 1) if former else opened[0][0] / step
        if len(finished) == beams and finished[-1][0] >= attainable:
            break
    else:
        finished += [(score / length(tokens), tokens, plain) for score, tokens, plain in opened if former]
    return max(finished)


def naive_oscar_beam(table: Table, image: int, longest: int, beams: int) -> tuple[float, tuple[int, ...], float]:
    """As pytorch-transformers 1.0 has it: candidates in order until the next beam is full, no early end at all."""
    opened: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    best = (-math.inf, (), 0.0)
    for length in range(1, longest + 1):
        candidates = [
            (score + gain, (*tokens, token))
            for score, tokens in opened
            for token, (gain, _) in options(table, image, tokens, stop=False).items()
        ]
        opened = []
        for score, tokens in sorted(candidates, reverse=True)[: 2 * beams]:
            if tokens[-1] != END and length < longest:
                opened.append((score, tokens))
            elif score / length > best[0]:
                best = score / length, (*tokens[:-1], END), score
            if len(opened) == beams:
                break
    return best


@pytest.mark.parametrize("end", [-3.0, 0.0, 1.5, 4.0])
@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_the_rules_of_oscar(kind, end):
    images, longest = 60, 9
    table = Table(images, longest, seed=11, end=end)
    decoded = decode(table, torch.arange(images), decoding_of(kind, longest, rules="oscar", beams=3), Vocabulary())
    for image in range(images):
        if kind == "greedy":
            tokens, plain = naive_greedy(table, image, longest, stop=False)
            tokens = (*tokens[:-1], END)  # which it is already unless the caption was cut
        else:
            score, tokens, plain = naive_oscar_beam(table, image, longest, 3)
            assert math.isclose(decoded.score[image], score, abs_tol=1e-4)
        length = int(decoded.lengths[image])
        assert tuple(decoded.tokens[image, :length].tolist()) == tokens
        assert math.isclose(decoded.log_prob[image], plain, abs_tol=1e-4)
        assert math.isclose(decoded.confidence[image], math.exp(plain / length), rel_tol=1e-4)


def test_the_rules_of_oscar_are_others():
    """Otherwise the test above would not tell them apart."""
    table = Table(200, 9, seed=11, end=1.5)
    ours, theirs = (
        decode(table, torch.arange(200), decoding_of("beam", 9, rules=rules, beams=3), Vocabulary())
        for rules in ("transformers", "oscar")
    )
    assert (ours.score - theirs.score).abs().max() > 1e-3


def check_former(captioner: "Table | Prefixed", visual: Tensor, table: "Table | Prefixed", stop: str | None) -> None:
    """Tokens, scores and log-probabilities against the naive search; some are not those of the rules of today."""
    decoded, today = (
        decode(captioner, visual, decoding_of("beam", 9, stop=stop, rules=rules, beams=3), Vocabulary())
        for rules in ("transformers-2022", "transformers")
    )
    changed = 0
    for image in range(len(visual)):
        score, tokens, plain = naive_beam(table, image, 9, 3, stop is not None, former=True)
        length = int(decoded.lengths[image])
        assert tuple(decoded.tokens[image, :length].tolist()) == tokens
        assert math.isclose(decoded.score[image], score, abs_tol=1e-4)
        assert math.isclose(decoded.log_prob[image], plain, abs_tol=1e-4)
        changed += tuple(today.tokens[image, : int(today.lengths[image])].tolist()) != tokens
    assert 0 < changed < len(visual)


@pytest.mark.parametrize("stop", [None, "."])
@pytest.mark.parametrize("end", [0.0, 1.5, 4.0])
@pytest.mark.parametrize("prompt", [1, 4, 10])
def test_the_prompt_counted_in_the_length(prompt, end, stop):
    table = Table(60, 9, seed=13, end=end)
    table.prompt_length = prompt
    check_former(table, torch.arange(60), table, stop)


class Prefixed:
    """A ClipCap with a prefix of ten positions, asked for one token of one image at a time."""

    def __init__(self, images: int):
        torch.manual_seed(3)
        self.captioner = ClipCap(4, 10, width=16, layers=1, heads=2, positions=30, vocabulary=TOKENS, mapper_hidden=8)
        for parameter in self.captioner.parameters():
            parameter.data.add_(0.6 * torch.randn(parameter.shape))
        self.captioner.eval()
        self.visual, self.prompt_length = torch.randn(images, 4), 10

    @torch.no_grad()
    def log_probs(self, image: int, so_far: tuple[int, ...]) -> list[float]:
        tokens = torch.tensor([[*so_far, token] for token in range(TOKENS)])
        visual = self.visual[image].expand(TOKENS, -1)
        return self.captioner.log_probs(visual, tokens, torch.ones_like(tokens))[:, -1].tolist()


@pytest.mark.parametrize("stop", [None, "."])
def test_the_prefix_of_clipcap_counted_in_the_length(stop):
    prefixed = Prefixed(30)
    check_former(prefixed.captioner, prefixed.visual, prefixed, stop)


@pytest.mark.parametrize("stop", [None, "."])
@pytest.mark.parametrize("end", [-3.0, 0.0, 4.0])
@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_a_batch_is_decoded_as_each_image_alone(kind, end, stop):
    images, longest = 60, 9
    table = Table(images, longest, seed=7, end=end)
    decoding = decoding_of(kind, longest, stop=stop, beams=3)
    decoded = decode(table, torch.arange(images), decoding, Vocabulary())
    for image in range(images):
        if kind == "greedy":
            tokens, plain = naive_greedy(table, image, longest, stop is not None)
            score = plain
        else:
            score, tokens, plain = naive_beam(table, image, longest, 3, stop is not None)
        length = int(decoded.lengths[image])
        assert tuple(decoded.tokens[image, :length].tolist()) == tokens
        assert set(decoded.tokens[image, length:].tolist()) <= {END}
        assert math.isclose(decoded.log_prob[image], plain, abs_tol=1e-4)
        assert math.isclose(decoded.score[image], score, abs_tol=1e-4)
        assert math.isclose(decoded.confidence[image], math.exp(plain / length), rel_tol=1e-4)
    # The test would say little if all captions ended alike.
    assert len(set(decoded.lengths.tolist())) > 2 or end == -3.0
    assert decoded.mask.sum(1).tolist() == decoded.lengths.tolist()


def test_beam_search_finds_more_probable_captions_than_greedy():
    table = Table(50, 9, seed=3, end=-20.0)  # captions of one length, so that scores can be compared
    greedy, beam = (decode(table, torch.arange(50), decoding_of(kind, 9), Vocabulary()) for kind in ("greedy", "beam"))
    assert beam.log_prob.mean() > greedy.log_prob.mean() + 0.5


def test_finished_images_leave_the_batch():
    table = Table(40, 12, seed=1, end=3.0)
    decoded = decode(table, torch.arange(40), decoding_of("greedy", 12), Vocabulary())
    still_open = [int((decoded.lengths > step).sum()) for step in range(1, int(decoded.lengths.max()))]
    assert table.rows == still_open
    table.rows.clear()
    decode(table, torch.arange(40), decoding_of("beam", 12, beams=4), Vocabulary())
    assert table.rows[0] == 160
    assert table.rows[-1] < 160


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_samples_follow_the_distribution(temperature):
    table = Table(2, 3, seed=5, sharpness=1.0)
    samples = 20_000
    decoding = decoding_of("sample", 3, temperature=temperature, samples=samples)
    decoded = decode(table, torch.arange(2), decoding, Vocabulary(), torch.Generator().manual_seed(0))
    for image in range(2):
        rows = slice(image * samples, (image + 1) * samples)
        expected = (table.table[image, 0, TOKENS] / temperature).softmax(0)
        observed = torch.bincount(decoded.tokens[rows, 0], minlength=TOKENS) / samples
        assert ((observed - expected).abs() < 5 * (expected / samples).sqrt() + 1e-3).all()
        tokens = decoded.tokens[rows][0, : int(decoded.lengths[rows][0])].tolist()
        plain = sum(table.log_probs(image, tuple(tokens[:n]))[token] for n, token in enumerate(tokens))
        assert math.isclose(decoded.log_prob[rows][0], plain, abs_tol=1e-4)


def test_what_tokens_are_drawn_in_proportion_to_is_what_transformers_makes_of_them():
    """Its processors one after the other, in the order of `generate`; ties, few tokens and all of them among it."""
    from transformers import generation

    torch.manual_seed(0)
    logits = (4 * torch.randn(200, TOKENS)).round(decimals=1)
    said = torch.randint(0, TOKENS, (200, 7))
    for penalty, temperature, top_k, top_p in [
        (1.0, 1.0, 1, 1.0), (1.0, 0.5, TOKENS + 3, 0.9), (2.0, 1.0, 5, 0.5), (0.5, 3.0, 12, 0.99), (1.3, 1.0, 3, 1e-6),
    ]:  # fmt: skip
        chain = [
            generation.RepetitionPenaltyLogitsProcessor(penalty), generation.TemperatureLogitsWarper(temperature),
            generation.TopKLogitsWarper(top_k), generation.TopPLogitsWarper(top_p),
        ]  # fmt: skip
        theirs = logits
        for processor in chain:
            theirs = processor(said, theirs)
        decoding = decoding_of("sample", 9, temperature=temperature, top_k=top_k, top_p=top_p)
        weights = _weights(_penalised(logits, said, penalty), decoding)
        ours = weights / weights.sum(1, keepdim=True)
        torch.testing.assert_close(ours, theirs.softmax(1), rtol=1e-5, atol=1e-7)
        assert ((ours > 0) == (theirs > -math.inf)).all()


def naive_choice(log_probs: list[float], so_far: tuple[int, ...], penalty: float) -> dict[int, float]:
    return {token: value * (penalty if token in so_far else 1) for token, value in enumerate(log_probs)}


@pytest.mark.parametrize(("length_penalty", "repetition_penalty"), [(0.0, 1.0), (1.0, 1.9), (2.0, 0.6), (-1.0, 1.2)])
def test_beams_with_penalties(length_penalty, repetition_penalty):
    """Against a search of one image at a time; forced ends count nothing, and no penalty is in `log_prob`."""
    images, longest, width = 60, 7, 3
    table = Table(images, longest, seed=17, end=1.5)
    penalties = {"length_penalty": length_penalty, "repetition_penalty": repetition_penalty}
    decoding = decoding_of("beam", longest, stop=".", beams=width, **penalties)
    decoded = decode(table, torch.arange(images), decoding, Vocabulary())
    plain_search = decode(
        table, torch.arange(images), decoding_of("beam", longest, stop=".", beams=width), Vocabulary()
    )
    for image in range(images):
        opened, finished = [(0.0, (), 0.0)], []
        for step in range(1, longest + 1):
            candidates = []
            for score, tokens, plain in opened:
                log_probs = table.log_probs(image, tokens)
                gains = naive_choice(log_probs, tokens, repetition_penalty)
                gains = {END: 0.0} if tokens and tokens[-1] in STOPS else gains
                candidates += [(score + gain, (*tokens, t), plain + log_probs[t]) for t, gain in gains.items()]
            candidates = sorted(candidates, reverse=True)[: 2 * width]
            opened = [one for one in candidates if one[1][-1] != END][:width]
            finished += [
                (score / step**length_penalty, tokens, plain)
                for score, tokens, plain in candidates[:width]
                if tokens[-1] == END or step == longest
            ]
            finished = sorted(finished, reverse=True)[:width]
            if not opened or (len(finished) == width and finished[-1][0] >= opened[0][0] / step**length_penalty):
                break
        score, tokens, plain = finished[0]
        assert tuple(decoded.tokens[image, : int(decoded.lengths[image])].tolist()) == tokens
        assert math.isclose(decoded.score[image], score, abs_tol=1e-4)
        assert math.isclose(decoded.log_prob[image], plain, abs_tol=1e-4)
    assert decoded.tokens.tolist() != plain_search.tokens.tolist()


@pytest.mark.parametrize("rules", ["transformers", "transformers-2022"])
def test_a_penalty_large_enough_lets_no_token_come_twice(rules):
    table = Table(30, 9, seed=2, sharpness=0.3, end=-9.0)
    decoding = decoding_of("beam", 9, rules=rules, beams=3, repetition_penalty=50.0)
    for caption in decode(table, torch.arange(30), decoding, Vocabulary()).tokens.tolist():
        assert len({*caption}) == len(caption)


def test_samples_depend_on_the_seed_alone():
    table, decoding = Table(10, 8, seed=2), decoding_of("sample", 8, samples=3, stop=".")

    def tokens(seed: int) -> list[list[int]]:
        generator = torch.Generator().manual_seed(seed)
        return decode(table, torch.arange(10), decoding, Vocabulary(), generator).tokens.tolist()

    assert tokens(1) == tokens(1)
    assert tokens(1) != tokens(2)
    for caption in tokens(1):
        for token, following in pairwise(caption):
            assert token not in STOPS or following == END


def test_decoding_is_read_from_a_config():
    block = {"kind": "beam", "beams": 4, "max_tokens": 20, "stop": "."}
    assert read_decoding(block) == decoding_of("beam", 20, stop=".", beams=4)


@pytest.mark.parametrize(
    ("block", "key"),
    [
        ({"kind": "greedy", "max_tokens": 5, "beams": 3}, "beams"),
        ({"kind": "beam", "max_tokens": 5, "beams": 1}, "beams"),
        ({"kind": "sample", "max_tokens": 5, "temperature": 0}, "temperature"),
        ({"kind": "greedy", "max_tokens": 0}, "max_tokens"),
        ({"kind": "greedy", "max_tokens": 5, "rules": "vinvl"}, "rules"),
        ({"kind": "sample", "max_tokens": 5, "top_p": 1.5}, "top_p"),
        ({"kind": "sample", "max_tokens": 5, "top_k": 0}, "top_k"),
        ({"kind": "greedy", "max_tokens": 5, "top_k": 3}, "top_k"),
        (
            {"kind": "beam", "max_tokens": 5, "beams": 3, "length_penalty": 2.0, "rules": "transformers-2022"},
            "length_penalty",
        ),
        (
            {"kind": "beam", "max_tokens": 5, "beams": 3, "repetition_penalty": 1.2, "rules": "camel"},
            "repetition_penalty",
        ),
        ({"kind": "greedy"}, "max_tokens"),
        ({"kind": "nucleus", "max_tokens": 5}, "'nucleus'.*greedy, sample, beam"),
        ({"max_tokens": 5}, "decoding.kind is None"),
    ],
)
def test_a_wrong_decoding_is_refused(block, key):
    with pytest.raises(ValueError, match=key):
        read_decoding(block)


def test_more_beams_than_tokens_are_refused():
    with pytest.raises(ValueError, match="at least 26 tokens"):
        decode(Table(1, 2, seed=0), torch.arange(1), decoding_of("beam", 2, beams=13), Vocabulary())
