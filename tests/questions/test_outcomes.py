"""Outcomes of questions in a table, by scripted answers."""

from support.toy_questions import write_questions

from captionlab.questions.answering import ImageQuestions


class Scripted:
    """An answerer whose answer is the caption, or nothing if the caption is empty."""

    def answer(self, captions, questions):
        return [caption or None for caption in captions]


def test_outcomes_of_options_that_differ_in_punctuation_and_of_free_answers(tmp_path):
    signs, free = ("sign", "which number?", ("-5", "5"), "-5"), ("free", "which number?", (), "-5")
    questions = ImageQuestions(str(write_questions(tmp_path / "questions.parquet", {"i": [signs, free]})))
    assert questions.outcomes(Scripted(), ["i"] * 4 + ["other"], ["-5", "5", "It is -5", "", "-5"]) == [
        [("sign", True), ("free", True)],
        [("sign", False), ("free", True)],
        [("sign", False), ("free", False)],
        [("sign", None), ("free", None)],
        [],
    ]
