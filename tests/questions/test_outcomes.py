"""Outcomes of questions in a table, by scripted answers."""

from support.toy_questions import write_questions

from captionlab.questions.answering import ImageQuestions


class Scripted:
    """An answerer whose answer is the caption, or nothing if the caption is empty."""

    def answer(self, captions, questions):
        return [caption or None for caption in captions]


def test_outcomes_of_options_that_differ_in_punctuation_and_of_free_answers(tmp_path):
    number = ("count", "which number?", ("-5", "5"), "-5")
    free = ("object", "what is it?", (), "a dog")
    questions = ImageQuestions(str(write_questions(tmp_path / "questions.parquet", {"i": [number, free]})))
    assert questions.outcomes(Scripted(), ["i"] * 4 + ["other"], ["-5", "5", "Dog.", "", "-5"]) == [
        [("count", True), ("object", False)],
        [("count", False), ("object", False)],
        [("count", False), ("object", True)],
        [("count", None), ("object", None)],
        [],
    ]
