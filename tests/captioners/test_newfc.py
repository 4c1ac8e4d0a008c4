"""The FC captioner and its words: against loops written out here, on disk, and with bad input."""

import json
import math
import string
from collections import Counter

import pytest
import torch
from support.decodings import decoding_of

from captionlab.captioners.newfc.captioner import NewFC
from captionlab.captioners.store import import_captioner, load_captioner, save_captioner
from captionlab.generation.decoding import decode
from captionlab.networks.checkpoints import CheckpointError
from captionlab.networks.tokenizer import Tokenizer
from captionlab.networks.words import learn_words, read_words, words_of

torch.set_num_threads(1)
TEXTS = ["A dog's ball, red.", "Two dogs; a RED close-up!", "a ball (red) and a dog", "unk", "Éclairs: a naïve 2nd try"]


def tiny(**changes):
    torch.manual_seed(3)
    sizes = {"visual_size": 5, "width": 6, "input_width": 4, "vocabulary": 9, **changes}
    captioner = NewFC(**sizes)
    for parameter in captioner.parameters():  # large enough for differences to show
        torch.nn.init.normal_(parameter, std=0.7)
    return captioner.eval()


def naive_probabilities(captioner, image, words):
    """The distribution after each of `words`, one image, unit by unit in double precision, dropout left out."""
    p = {name: value.double() for name, value in captioner.state_dict().items()}
    width = captioner.architecture["width"]
    hidden = cell = [0.0] * width
    found = []
    inputs = [p["fc_embed.weight"] @ image.double() + p["fc_embed.bias"], *(p["embed.weight"][w] for w in [0, *words])]
    for number, x in enumerate(inputs):
        z = p["_core.i2h.weight"] @ x + p["_core.i2h.bias"] + p["_core.h2h.bias"]
        z = (z + p["_core.h2h.weight"] @ torch.tensor(hidden, dtype=torch.double)).tolist()

        def gate(k, z=z):
            return 1 / (1 + math.exp(-z[k]))

        cell = [gate(width + k) * cell[k] + gate(k) * max(z[3 * width + k], z[4 * width + k]) for k in range(width)]
        hidden = [gate(2 * width + k) * math.tanh(cell[k]) for k in range(width)]
        if number:
            logits = p["logit.weight"] @ torch.tensor(hidden, dtype=torch.double) + p["logit.bias"]
            found.append(logits.softmax(0))
    return found


def test_log_probs_and_steps_are_the_naive_ones():
    captioner = tiny()
    visual, tokens = torch.randn(3, 5), torch.randint(1, 9, (3, 4))
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]]).bool()
    with torch.no_grad():
        ours = captioner.log_probs(visual, tokens, mask)
        logits, state = captioner.start(visual, 4)
        steps = [logits]
        for position in range(3):
            logits, state = captioner.step(tokens[:, position], captioner.reorder(state, torch.arange(3)))
            steps.append(logits)
    for row in range(3):
        expected = naive_probabilities(captioner, visual[row], tokens[row, :-1].tolist())
        for position in range(4):
            log_prob = expected[position][tokens[row, position]].log().item() if mask[row, position] else 0.0
            assert ours[row, position].item() == pytest.approx(log_prob, abs=1e-5)
            torch.testing.assert_close(steps[position][row].softmax(0), expected[position].float(), atol=1e-5, rtol=0)


def test_dropout_is_on_what_the_cell_puts_out_only():
    captioner = tiny(dropout=0.999999)
    captioner.train()
    with torch.no_grad():
        logits, state = captioner.start(torch.randn(2, 5), 4)
    torch.testing.assert_close(logits, captioner.logit.bias.expand(2, -1))
    assert (state[0] != 0).all()


def test_scheduled_sampling_reads_its_own_words():
    """A captioner that always says 7 then reads 7 from the second word on, whatever the words given."""
    captioner = tiny()
    with torch.no_grad():
        captioner.logit.weight.zero_()
        captioner.logit.bias.fill_(-100.0)[7] = 0.0
    read = []
    captioner.embed.register_forward_hook(lambda module, given, output: read.append(given[0].tolist()))
    visual, tokens, mask = torch.randn(2, 5), torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.ones(2, 3).bool()
    captioner.log_probs(visual, tokens, mask, sampled=1.0)
    assert read == [[0, 0], [7, 7], [7, 7]]
    read.clear()
    captioner.log_probs(visual, tokens, mask)
    assert read == [[[0, 1, 2], [0, 4, 5]]]
    read.clear()
    torch.manual_seed(0)
    captioner.log_probs(visual.repeat(2000, 1), tokens.repeat(2000, 1), mask.repeat(2000, 1), sampled=0.25)
    replaced = torch.tensor(read)[1:] != tokens.T[:2].repeat(1, 2000)
    assert replaced.float().mean().item() == pytest.approx(0.25, abs=0.02)


def test_words_are_those_of_the_annotations():
    table = str.maketrans("", "", string.punctuation)
    assert [words_of(text) for text in TEXTS] == [text.lower().translate(table).split() for text in TEXTS]
    counts = Counter(word for text in TEXTS for word in words_of(text))
    tokenizer = learn_words(TEXTS, 2)
    kept = {word for word, count in counts.items() if count >= 2}
    assert tokenizer.size == len(kept) + 2
    assert tokenizer.end == 0
    texts = tokenizer.decode(tokenizer.encode(TEXTS))
    assert texts == [" ".join(w if w in kept else "UNK" for w in words_of(text)) for text in TEXTS]
    assert tokenizer.encode(["nowhere"]) == [[tokenizer.size - 1]]
    assert tokenizer.decode([[1, 0, 1]]) == tokenizer.decode([[1]])
    with pytest.raises(ValueError, match=r"architecture\.min_count"):
        learn_words(TEXTS, 99)


def test_words_survive_the_disk(tmp_path):
    tokenizer = learn_words(TEXTS, 1)
    tokenizer.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (again.size, again.end) == (tokenizer.size, 0)
    assert again.encode(TEXTS) == tokenizer.encode(TEXTS)
    assert again.decode(again.encode(TEXTS)) == tokenizer.decode(tokenizer.encode(TEXTS))


def published(folder, words):
    path = folder / "cocotalk.json"
    path.write_text(json.dumps({"images": [], "ix_to_word": {str(i): word for i, word in enumerate(words, 1)}}))
    return path


def test_published_weights_and_vocabulary(tmp_path):
    captioner = tiny(vocabulary=6)
    words = ["a", "dog", "red", "ball", "UNK"]
    torch.save(captioner.state_dict(), tmp_path / "model.pth")
    import_captioner("newfc", tmp_path / "model.pth", published(tmp_path, words), tmp_path / "stored")
    loaded, tokenizer = load_captioner(tmp_path / "stored")
    assert tokenizer.encode(["A red, red dog barks."]) == [[1, 3, 3, 2, 5]]
    visual = torch.randn(3, 5)
    decoding = decoding_of("greedy", 7)
    assert torch.equal(
        decode(loaded, visual, decoding, tokenizer).tokens, decode(captioner, visual, decoding, tokenizer).tokens
    )
    with pytest.raises(CheckpointError, match="has 5 tokens"):
        import_captioner("newfc", tmp_path / "model.pth", published(tmp_path, words[1:]), tmp_path / "other")
    torch.save({"weight": torch.zeros(2)}, tmp_path / "other.pth")
    with pytest.raises(CheckpointError, match="no checkpoint of the family 'newfc'"):
        import_captioner("newfc", tmp_path / "other.pth", published(tmp_path, words), tmp_path / "other")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[]", "no vocabulary of words"),
        ('{"ix_to_word": {"1": "a", "3": "UNK"}}', "no vocabulary of words"),
        ('{"ix_to_word": {"1": "a", "2": "b"}}', "the last word is 'b'"),
        ('{"ix_to_word": {"1": "a", "2": "a", "3": "UNK"}}', "twice"),
    ],
)
def test_what_is_no_vocabulary(tmp_path, answers, content, sentence):
    (tmp_path / "words.json").write_text(content)
    with pytest.raises(ValueError, match=sentence) as raised:
        read_words(tmp_path / "words.json")
    answers.hold(f"words in a file `{content}`", raised.value, "words.json")


def test_a_captioner_for_a_corpus(tmp_path):
    sizes = {"width": 6, "input_width": 4, "min_count": 2, "max_words": 3}
    captioner, tokenizer = NewFC.for_corpus(iter(TEXTS[:1]), TEXTS[1:], 5, sizes)
    assert tokenizer.encode(["red"]) == learn_words(TEXTS, 2).encode(["red"])
    assert captioner.architecture["vocabulary"] == tokenizer.size
    assert captioner.longest == 4
    save_captioner(captioner, tokenizer, tmp_path)
    assert load_captioner(tmp_path)[0].architecture == captioner.architecture


def test_embeddings_of_another_encoder():
    with pytest.raises(ValueError, match=r"are \(7,\) and this captioner reads vectors of 5 numbers"):
        tiny().start(torch.zeros(1, 7), 3)
