"""captionlab: train, finetune, probe and evaluate image captioners in one workflow."""

import gc
import sys

# Where a rule's script runs, what it imports lives as long as its process. Python would look through it for garbage
# again and again, a fifth of the time that torch takes to import; `scripting.script` lets it look at what follows.
if "snakemake" in vars(sys.modules["__main__"]):
    gc.disable()
