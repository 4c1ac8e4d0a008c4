"""captionlab: train, finetune, probe and evaluate image captioners in one workflow."""

import gc
import sys
from pathlib import Path

# What a rule's script imports lives as long as its process. Python would look through it for garbage again and again, a
# fifth of the time that torch takes to import; `scripting.script`, with which each of them ends, lets it look again.
if Path(vars(sys.modules["__main__"]).get("__file__") or "").parent == Path(__file__).parents[2] / "workflow/scripts":
    gc.disable()
