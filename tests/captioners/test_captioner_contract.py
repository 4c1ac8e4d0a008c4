"""What the facts of a family promise, it can: it overrides these methods of the contract."""

import inspect

import pytest

from captionlab.captioners.captioner import Captioner
from captionlab.plugins import config_module, facts, family_class

FAMILIES = facts("captioners")


@pytest.mark.parametrize("name", FAMILIES)
def test_what_the_facts_promise_can_be_done(name):
    family, promises = family_class("captioners", name), FAMILIES[name]
    promised = {
        "logits": "teacher" in promises.options,
        "masked_logits": "mlm" in promises.objectives,
        "attention": promises.attention,
        "open_images": "regions" in promises.reads or "pixels" in promises.reads,
        "from_folder": promises.folder,
        "measure_images": "regions" in promises.reads,
    }
    for method, said in promised.items():
        own = getattr(family, method, None)
        assert (own is not None and getattr(own, "__qualname__", "").partition(".")[0] != Captioner.__name__) == said
    assert ("sampled" in inspect.signature(family.log_probs).parameters) == ("scheduled_sampling" in promises.options)
    assert "longest" in family.__init__.__code__.co_names, "the constructor sets it"
    architecture = config_module("captioners", name).Trained.model_fields["architecture"].annotation
    assert {*architecture.model_fields} - {"vocabulary", "min_count"} <= set(inspect.signature(family).parameters)
