"""Libraries are imported in parts, and have the rest when somebody wants it."""

import subprocess
import sys

import pytest

HIDDEN = """
import sys
import torch
from captionlab.imports import without_compiler
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
from captionlab.imports import without_compiler
with without_compiler():
    assert sys.modules["torch._dynamo"] is compiler
assert sys.modules["torch._dynamo"] is compiler
print("kept")
"""


LATER = """
import sys
from captionlab.imports import without_compiler
with without_compiler(later=["wcwidth"]):
    from wcwidth import wcswidth
assert "wcwidth" not in sys.modules
print(wcswidth("ab"), wcswidth("abc", n=1), "wcwidth" in sys.modules)
"""

OPEN = """
import sys
from captionlab.imports import open_packages
open_packages("torchvision", "torchvision.ops", "no_such_package")
from torchvision.ops.misc import FrozenBatchNorm2d
assert not {"torchvision.models", "torchvision.ops.boxes", "no_such_package"} & {*sys.modules}
import torchvision
assert not hasattr(torchvision, "__wrapped__") and "torchvision.models" not in sys.modules
assert torchvision.__version__ and torchvision.models.resnet18 and torchvision.ops.nms
print(torchvision.ops.FrozenBatchNorm2d is torchvision.ops.misc.FrozenBatchNorm2d is FrozenBatchNorm2d)
"""

CLIP = """
import sys
import captionlab.encoders.clip
assert not {"torchvision.models", "transformers", "timm", "open_clip.factory", "torch._dynamo"} & {*sys.modules}
import open_clip
print(open_clip.CLIP is captionlab.encoders.clip.CLIP, "ViT-B-32" in open_clip.list_models())
"""

LXMERT = """
import sys
import captionlab.scorers.lxmert
assert not {"scipy.optimize", "sympy", "torch._dynamo", "torchvision.models"} & {*sys.modules}
from transformers.loss.loss_for_object_detection import linear_sum_assignment
print(linear_sum_assignment([[2, 1], [1, 2]])[1].tolist())
"""

CASES = {
    "hidden": (HIDDEN, "absent True 2.0"),
    "kept": (KEPT, "kept"),
    "later": (LATER, "2 1 True"),
    "open": (OPEN, "True"),
    "clip": (CLIP, "True True"),
    "lxmert": (LXMERT, "[1, 0]"),
}


@pytest.mark.parametrize(("code", "said"), CASES.values(), ids=CASES)
def test_libraries_are_imported_in_parts(code, said):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == said, done.stderr
