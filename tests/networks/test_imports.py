"""Libraries are imported without torch's compiler, and find it afterwards."""

import subprocess
import sys

import pytest

HIDDEN = """
import sys
import torch
from captionlab.networks.imports import without_compiler
with without_compiler("wcwidth"):
    @torch.compiler.disable
    def plain(x):
        return x + 1
    @torch.compiler.disable(recursive=False)
    def called(x):
        return x + 2
    try:
        import wcwidth
    except ImportError:
        print("absent", end=" ")
assert (plain(1), called(1)) == (2, 3)
assert "torch._dynamo" not in sys.modules
import wcwidth, torch._dynamo
print(torch._dynamo.__file__ is not None, torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)).item())
"""

KEPT = """
import sys
import torch._dynamo as compiler
from captionlab.networks.imports import without_compiler
with without_compiler():
    assert sys.modules["torch._dynamo"] is compiler
assert sys.modules["torch._dynamo"] is compiler
print("kept")
"""


@pytest.mark.parametrize(("code", "said"), [(HIDDEN, "absent True 2.0"), (KEPT, "kept")], ids=["hidden", "kept"])
def test_the_compiler_is_hidden_for_a_while(code, said):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == said, done.stderr
