"""The FC captioner with a maxout LSTM (Rennie et al. 2017), in the form that Ma et al. 2022 train.

The LSTM reads the image before the first word. Follows `NewFCModel` of github.com/ruotianluo/ImageCaptioning.pytorch
(captioning/models/AttModel.py, FCModel.py) and uses the parameter names of its checkpoints.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from captionlab.captioners.captioner import Captioner, check_features, log_probs_of
from captionlab.networks.linear import Linear
from captionlab.networks.sampling import drawn
from captionlab.networks.tokenizer import Tokenizer
from captionlab.networks.words import learn_words, read_words

# The id that begins, ends and pads a caption.
BEGIN = 0

State = tuple[Tensor, Tensor]


class MaxoutCell(nn.Module):
    """An LSTM cell whose candidate is the maximum of two linear maps, without a tanh."""

    def __init__(self, inputs: int, width: int):
        super().__init__()
        self.i2h, self.h2h = Linear(inputs, 5 * width), Linear(width, 5 * width)

    def forward(self, projected: Tensor, state: State) -> State:
        """Return the next hidden and cell states (N, width) after an input that i2h has projected, (N, 5 width)."""
        hidden, cell = state
        gates, first, second = (projected + self.h2h(hidden)).split((3 * cell.shape[1], *[cell.shape[1]] * 2), dim=1)
        keep_new, keep_old, show = gates.sigmoid().chunk(3, dim=1)
        cell = keep_old * cell + keep_new * torch.maximum(first, second)
        return show * cell.tanh(), cell


class NewFC(Captioner[State]):
    """The FC captioner.

    `visual` has one vector for each image, (B, visual_size): the encoder's embedding, not normalised.
    """

    differentiable_steps = cut_keeps_end = True
    output_layer = "logit"
    replayable = True

    def __init__(
        self, visual_size: int, width: int, input_width: int, vocabulary: int, dropout: float = 0.5, max_words: int = 16
    ):
        """Build a captioner with random weights.

        The LSTM has `width` units and reads embeddings of `input_width` numbers, first of the image and then of each
        word. `dropout` applies to the outputs of the LSTM, not to its state. References are cut to `max_words` words.
        """
        super().__init__(locals())
        self.longest = max_words + 1
        self.embed = nn.Embedding(vocabulary, input_width)
        self.fc_embed = Linear(visual_size, input_width)
        self.logit = Linear(width, vocabulary)
        self._core = MaxoutCell(input_width, width)
        self.dropout = nn.Dropout(dropout)

    @classmethod
    def for_corpus(
        cls, texts: Iterable[str], other_texts: Iterable[str], visual_size: int, architecture: Mapping[str, Any]
    ) -> tuple[Self, Tokenizer]:
        """Return a captioner with random weights, to be trained from scratch, and its tokenizer.

        Words are counted in `texts` and in `other_texts`, as the authors' code does.
        """
        sizes = dict(architecture)
        tokenizer = learn_words([*texts, *other_texts], sizes.pop("min_count"))
        return cls(visual_size=visual_size, vocabulary=tokenizer.size, **sizes), tokenizer

    @classmethod
    def from_published(cls, checkpoint: Mapping[str, Any]) -> tuple[Self, dict[str, Tensor]]:
        """Return a captioner with the sizes of a published state dict, and the weights to load into it."""
        vocabulary, width = checkpoint["logit.weight"].shape
        input_width, visual_size = checkpoint["fc_embed.weight"].shape
        return cls(visual_size, width, input_width, vocabulary), dict(checkpoint)

    read_tokenizer = staticmethod(read_words)

    def log_probs(self, visual: Tensor, tokens: Tensor, mask: Tensor, sampled: float = 0.0) -> Tensor:
        """Return the log-probability (nats, with gradient) of each token after the tokens before it, as float32 (B, T).

        With probability `sampled`, an input word is drawn from the last prediction (scheduled sampling, Bengio et al.
        2015).
        """
        state = self._read_image(visual)
        words = torch.full_like(tokens[:, 0], BEGIN)
        given: Sequence[Tensor] = ()
        if not sampled:
            # Unbound at once: the gradient of indexing one position would be as large as the whole tensor.
            given = self._core.i2h(self.embed(torch.cat([words[:, None], tokens[:, :-1]], dim=1))).unbind(dim=1)
        outputs: list[Tensor] = []
        for position in range(tokens.shape[1]):
            if sampled and position:
                with torch.no_grad():
                    guess = drawn(self.logit(outputs[-1]).float().softmax(1))
                    own = torch.rand(len(words), device=words.device) < sampled
                words = torch.where(own, guess, tokens[:, position - 1])
            state = self._core(self._core.i2h(self.embed(words)) if sampled else given[position], state)
            outputs.append(self.dropout(state[0]))
        return log_probs_of(self.logit, torch.stack(outputs, dim=1), tokens, mask)

    def start(self, visual: Tensor, max_tokens: int) -> tuple[Tensor, State]:
        """Return the logits (B, vocabulary) of the first word, and the state after it. Captions may have any length."""
        begin = torch.full((len(visual),), BEGIN, device=visual.device)
        return self.step(begin, self._read_image(visual))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the logits (N, vocabulary) of the word after `tokens` (N,), and the next state."""
        state = self._core(self._core.i2h(self.embed(tokens)), state)
        return self.logit(self.dropout(state[0])), state

    def reorder(self, state: State, index: Tensor) -> State:
        """Return the state of the rows `index` (N,), in this order. Rows may be repeated or left out."""
        return state[0][index], state[1][index]

    def _read_image(self, visual: Tensor) -> State:
        check_features(visual, self.architecture["visual_size"], "vectors")
        nothing = visual.new_zeros(len(visual), self.logit.in_features)
        return self._core(self._core.i2h(self.fc_embed(visual)), (nothing, nothing))


FAMILY = NewFC
