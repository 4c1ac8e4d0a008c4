"""Config of the tables of Hessel et al. 2021."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.model import Model, Ref

Label = Literal["Flickr8k-Expert", "Flickr8k-CF", "Pascal-50S", "FOIL-1", "FOIL-4"]


class Config(Model):
    """Tables of Hessel et al. 2021, *CLIPScore*."""

    comparable: bool = Field(
        description="whether numbers of this run are compared with the paper's; those of simulated judgements never are"
    )
    judgements: Annotated[dict[Label, Annotated[str, Ref("judgements")]], Len(1)] = Field(
        description="by the paper's label judgements: Flickr8k-Expert (Table 1), Flickr8k-CF (Table 2), Pascal-50S "
        "(Table 4), FOIL-1 or FOIL-4 (Table 5, with one and with four references)"
    )
    encoder: Annotated[str, Ref("encoders")] = Field(
        description="encoder whose CLIPScore stands beside the paper's; rows of other encoders have no published "
        "numbers"
    )
