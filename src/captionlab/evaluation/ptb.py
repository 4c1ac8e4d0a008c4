"""Penn treebank tokenisation by the Java program of pycocoevalcap, without the punctuation in pycocoevalcap's list."""

import logging
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pycocoevalcap.tokenizer import ptbtokenizer

from captionlab.evaluation.java import LAST, SHORT, JavaError, find_java, java_failure
from captionlab.jobs.programs import program_environment

# Characters that the tokeniser treats as line ends, found by trying every character of the basic plane, and U+0085.
LINE_ENDS = re.compile("[\n\r\x0b\x0c\x85\u2028\u2029]+")
PUNCTUATION = frozenset(ptbtokenizer.PUNCTUATIONS)

logger = logging.getLogger(__name__)


def tokenize(captions: Sequence[str]) -> list[str]:
    """Return each caption in lower case, without punctuation, its tokens joined by single spaces.

    The tokens equal those from pycocoevalcap's PTBTokenizer. That class is not used because it writes its input into
    the folder it is installed in, and because a caption with a line separator shifts all captions that follow. A
    caption that consists of emoji, spaces and listed punctuation gives an empty string. Raises JavaError if the process
    fails or drops a line.
    """
    if not captions:
        return []
    jar = Path(ptbtokenizer.__file__).with_name(ptbtokenizer.STANFORD_CORENLP_3_4_1_JAR)
    program = [str(find_java()), *SHORT, "-cp", str(jar), "edu.stanford.nlp.process.PTBTokenizer"]
    text = "".join(LINE_ENDS.sub(" ", caption) + "\n" for caption in captions)
    program += ["-preserveLines", "-lowerCase"]
    done = subprocess.run(program, input=text.encode(), capture_output=True, env=program_environment())
    messages = done.stderr.decode(errors="replace")
    if done.returncode:
        raise JavaError(java_failure("the tokeniser", done.returncode, messages))
    lines = done.stdout.decode().split("\n")[:-1]
    if len(lines) != len(captions):
        counts = f"was given {len(captions)} captions and gave back {len(lines)} lines"
        raise JavaError(f"the tokeniser {counts}: {messages.strip()[-LAST:]}")
    tokenized = [" ".join(word for word in line.rstrip().split(" ") if word not in PUNCTUATION) for line in lines]
    if empty := sum(not tokens for tokens in tokenized):
        logger.warning("%d of %d captions have no token but punctuation", empty, len(captions))
    return tokenized
