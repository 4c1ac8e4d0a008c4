"""Config of the reader of LongCap-Arena."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.corpora import JudgementFacts, Judgements
from captionlab.config.model import FilePath, Text, Unique

FACTS = JudgementFacts(files=(), folders=("folder",), ratings=True, leaves_out="references", libraries=("pyarrow",))


class Config(Judgements):
    """Judgements of LongCap-Arena."""

    reader: Literal["longcap-arena"]
    folder: FilePath = Field(description="folder of the Parquet files of the data set on the hub")
    splits: Annotated[list[Text], Len(1), Unique()] = Field(
        description="splits that count, as the files are named, such as `dci_test.desc`, `dci_test.rel` or "
        "`dci_test.flu` for ratings of descriptiveness, relevance or fluency"
    )
