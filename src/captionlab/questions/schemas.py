"""The table of questions about the images of a corpus."""

import pyarrow as pa

from captionlab.storage.schemas import IMAGE_ID
from captionlab.storage.tables import Column, TableSchema

QUESTIONS = TableSchema(
    "questions",
    "a question about an image",
    ("image_id", "question_index"),
    image_id=IMAGE_ID,
    question_index=Column(pa.int32(), "rank of the question among the questions about its image, from 0"),
    kind=Column(pa.string(), "kind of the question, such as colour; other if the file names none"),
    question=Column(pa.string(), "text"),
    options=Column(pa.list_(pa.string()), "answers to choose from; empty if any answer may be given"),
    answer=Column(pa.string(), "the correct answer; one of the options, if there are any"),
)
