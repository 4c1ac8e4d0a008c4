"""What the facts of a family promise, it can: it overrides these methods of the contract."""

import pytest

from captionlab.encoders.encoder import Encoder
from captionlab.plugins import facts, family_class

FAMILIES = facts("encoders")


@pytest.mark.parametrize("name", FAMILIES)
def test_what_the_facts_promise_can_be_done(name):
    family, promises = family_class("encoders", name), FAMILIES[name]
    promised = dict.fromkeys(("patch_shape", "embed_patches"), promises.patches)
    promised |= dict.fromkeys(("logit_scale", "embed_texts", "text_tower"), promises.texts)
    for member, said in promised.items():
        assert (getattr(family, member) is not getattr(Encoder, member)) == said, member
