"""What a family declares, it can: it overrides the methods of the contract that its declaration promises."""

import pytest

from captionlab.encoders.encoder import Encoder
from captionlab.plugins import EncoderFamily, declared, family_class

FAMILIES = declared("encoders", EncoderFamily)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_declared_can_be_done(name):
    family, declaration = family_class("encoders", name), FAMILIES[name]
    promised = dict.fromkeys(("patch_shape", "embed_patches"), declaration.patches)
    promised |= dict.fromkeys(("logit_scale", "embed_texts", "text_tower"), declaration.texts)
    for member, said in promised.items():
        assert (getattr(family, member) is not getattr(Encoder, member)) == said, member
