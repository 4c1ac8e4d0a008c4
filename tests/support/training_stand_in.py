"""A captioner small enough to be trained hundreds of times in a test, with dropout, and data for it."""

import torch
from torch import nn

# So little work only waits for a second thread; and equal bytes want an equal number of threads.
torch.set_num_threads(1)

END, VOCABULARY, FEATURES = 0, 12, 6


class TinyCaptioner(nn.Module):
    """A recurrent captioner: the image is the first state."""

    def __init__(self, seed: int = 0, width: int = 8, dropout: float = 0.1):
        super().__init__()
        torch.manual_seed(seed)
        self.start = nn.Linear(FEATURES, width)
        self.table = nn.Embedding(VOCABULARY, width)
        self.cell = nn.GRUCell(width, width)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(width, VOCABULARY)

    def logits(self, visual, tokens):
        """(B, T, V): at each position before its token is read."""
        state, logits = torch.tanh(self.start(visual)), []
        for t in range(tokens.shape[1]):
            logits.append(self.out(self.dropout(state)))
            state = self.cell(self.table(tokens[:, t]), state)
        return torch.stack(logits, 1)

    def log_probs(self, visual, tokens, mask):
        chosen = self.logits(visual, tokens).log_softmax(-1).gather(2, tokens[..., None])[..., 0]
        return chosen * mask


def sample(model, visual, max_tokens=5):
    """Captions drawn from the captioner, (B, max_tokens), filled up with the end token."""
    tokens = torch.zeros(len(visual), 0, dtype=torch.long)
    for _ in range(max_tokens):
        longer = torch.cat([tokens, torch.full((len(visual), 1), END)], 1)
        tokens = torch.cat([tokens, torch.multinomial(model.logits(visual, longer)[:, -1].softmax(-1), 1)], 1)
    return tokens.masked_fill((tokens == END).cumsum(1) > 0, END)


def data(images: int = 23, seed: int = 0) -> tuple[torch.Tensor, list[list[list[int]]]]:
    """Features and token ids of one to three references of each image, each with the end token."""
    generator = torch.Generator().manual_seed(seed)
    visual = torch.randn(images, FEATURES, generator=generator)
    captions = [
        [
            [*torch.randint(1, VOCABULARY, (1 + (i + j) % 4,), generator=generator).tolist(), END]
            for j in range(1 + i % 3)
        ]
        for i in range(images)
    ]
    return visual, captions


def decode(tokens: torch.Tensor) -> list[str]:
    """Token ids before the end, as words."""
    return [" ".join(map(str, row[: row.index(END)] if END in row else row)) for row in tokens.tolist()]


class Lengths:
    """A reward: captions of three words are best."""

    def __call__(self, batch, captions):
        words = torch.tensor([float(len(caption.split())) for caption in captions])
        return -(words - 3).abs(), {"accuracy": (words == 3).float()}
