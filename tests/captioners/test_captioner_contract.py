"""What a family declares, it can: it overrides the methods of the contract that its declaration promises."""

import inspect

import pytest

from captionlab.captioners.captioner import Captioner
from captionlab.plugins import CaptionerFamily, declared, family_class

FAMILIES = declared("captioners", CaptionerFamily)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_declared_can_be_done(name):
    family, declaration = family_class("captioners", name), FAMILIES[name]
    promised = {
        "logits": "teacher" in declaration.options,
        "masked_logits": "mlm" in declaration.objectives,
        "attention": declaration.attention,
        "open_images": "regions" in declaration.reads or "pixels" in declaration.reads,
        "from_folder": declaration.folder,
        "measure_images": "regions" in declaration.reads,
    }
    for method, said in promised.items():
        own = getattr(family, method, None)
        assert (own is not None and getattr(own, "__qualname__", "").partition(".")[0] != Captioner.__name__) == said
    assert ("sampled" in inspect.signature(family.log_probs).parameters) == (
        "scheduled_sampling" in declaration.options
    )
    assert "longest" in family.__init__.__code__.co_names, "the constructor sets it"
    assert set(declaration.architecture) - {"vocabulary", "min_count"} <= set(inspect.signature(family).parameters)
