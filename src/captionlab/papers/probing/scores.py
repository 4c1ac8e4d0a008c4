"""Tables 2, 4 and 7 and the numbers of Figures 1 to 4: scores, metrics and statistics, with the paper's beside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from captionlab.papers.probing.constructed import FEWEST
from captionlab.papers.probing.paper import REFERENCE
from captionlab.papers.probing.run import ProbingRun, Provenance
from captionlab.papers.probing.words import BY_AND, CONNECTED
from captionlab.reporting.builder import Line, Number, blocks_of, columns_of, rows_of
from captionlab.reporting.render import MISSING, Block, Table
from captionlab.reporting.runs import Place
from captionlab.reporting.sheets import Sheet

# What is said of the words of captions in section 4.3 and appendix A, with how it is headed.
WORDS = {
    "nouns of the top words": "nouns among the ten most frequent words",
    "verbs of the top words": "verbs among them",
    CONNECTED: "noun phrases that a preposition or verb connects, %",
    BY_AND: 'noun phrases that "and" connects, %',
}
# Our metrics by the headings of the paper's Table 2.
METRICS = {
    "Bleu1": "BLEU@1", "Bleu4": "BLEU@4", "METEOR": "METEOR", "ROUGE": "ROUGE-L", "CIDEr": "CIDEr", "SPICE": "SPICE",
}  # fmt: skip
# Our statistics by the headings of the paper's Table 4, with the group that they stand in there.
STATISTICS = {
    "PPL": ("perplexity", "sentence level"),
    "Avg. Leng.": ("length", "sentence level"),
    "Noun": ("nouns", "token level"),
    "Uni. Noun": ("distinct nouns", "token level"),
}
# Our shares of captions that follow the paper's patterns by its headings in Table 5.
PATTERN_RATIOS = {
    "published prefix": "prefix 1 ratio",
    "published second prefix": "prefix 2 ratio",
    "published pattern": "sentence 1 ratio",
}
ARROWS = {1: " ↑", -1: " ↓", 0: ""}
# Where templates come from.
SOURCES = {"published": "the paper's templates", "mined": "templates found in the captions of each captioner"}


@dataclass(frozen=True)
class Declared:
    """A table of numbers of each role, or of other lines, on each corpus; `printed` is the paper's table."""

    name: str
    title: str
    description: str
    numbers: Sequence[Number]
    printed: str | None = None
    lines: Sequence[Line] | None = None
    notes: Sequence[str] = ()

    def table(self, run: ProbingRun, provenance: Provenance) -> Table:
        """The table, as the run fills it."""
        sheet = Sheet(run, provenance, notes=[*self.notes])
        lines = [Line([role], {"subject": role}, role) for role in run.roles] if self.lines is None else self.lines
        columns = columns_of(["captioner" if self.lines is None else "scorer"], self.numbers)
        blocks = blocks_of(sheet, self.printed, lines, self.numbers)
        return sheet.table(self.name, self.title, self.description, columns, blocks)


STATISTICS_TABLE = Declared(
    "probing_table4_statistics",
    "Probing, table 4: statistics of the captions",
    "Perplexity (PPL) of a trigram model over all words, mean number of words (Avg. Leng.), of nouns (Noun) and of "
    "different nouns (Uni. Noun) of a caption.",
    [
        *(
            Number({"measure": measure}, group, printed, "this run", printed)
            for printed, (measure, group) in STATISTICS.items()
        ),
        Number({"measure": "repeated nouns"}, "token level", "repeated nouns", "this run"),
    ],
    "4",
)
# What section 4.3 says of Figure 4: nouns and verbs among the most frequent words, and what connects nouns.
WORDS_TABLE = Declared(
    "probing_figure4_words",
    "Probing, figure 4: nouns, verbs and what connects them",
    "How many of the ten most frequent words of each captioner are nouns and verbs, and how often a noun and the "
    "next one of its caption are connected.",
    [
        Number({"measure": measure}, heading, printed=measure, decimals=1 if measure in (CONNECTED, BY_AND) else 2)
        for measure, heading in WORDS.items()
    ],
    "text",
    notes=[
        "A word is a noun or a verb that is tagged as one at least half of the time. A noun and the next noun of its "
        "caption are connected by what stands between them."
    ],
)
PATTERN_SHARES_TABLE = Declared(
    "probing_figure1_patterns",
    "Probing, figure 1: captions that follow one pattern",
    "Share of captions, in per cent, that follow the most frequent pattern of their captioner to the last word, "
    "that start with the first prefix that the paper prints for the scorer, or else with the second (of ROSITA "
    "alone it prints two), and that follow its sentence pattern.",
    [
        Number({"measure": "first pattern"}, "", "most frequent pattern", "found in its captions"),
        *(
            Number({"measure": measure}, f"the paper's {measure.removeprefix('published ')}", printed=printed)
            for measure, printed in PATTERN_RATIOS.items()
        ),
    ],
    "5",
)


def score_tables(run: ProbingRun) -> list[Declared]:
    """Tables 2 and 4, and the numbers of Figures 1 to 4."""
    of_run = [_scores(run), _replacements(run), _visual_words(run)]
    return [*of_run, STATISTICS_TABLE, WORDS_TABLE, PATTERN_SHARES_TABLE]


def _scores(run: ProbingRun) -> Declared:
    """Table 2: every role's captions by every scorer, and their metrics."""

    def arrow(place: Place) -> str:
        apart = run.difference(place, REFERENCE)
        return ARROWS[apart.sign if apart else 0]

    measured = run.found("measure")
    return Declared(
        "probing_table2_scores",
        "Probing, table 2: scores and metrics of captioners trained on scorers",
        f"Captions of each captioner by every scorer, and their similarity to references. {REFERENCE} was trained by "
        "cross-entropy, the others by self-critical training on the scorer of their name, or as their name says.",
        [
            *(
                Number({"measure": "score", "scorer": one}, one, "this run", "score", f"score by {one}", mark=arrow)
                for one in run.scorers
            ),
            *(Number({"measure": METRICS[p]}, p, printed=p) for p in METRICS if METRICS[p] in measured),
        ],
        "2",
        notes=[
            *(f"{printed} is not in this run." for printed, metric in METRICS.items() if metric not in measured),
            f"Arrows: the score differs from that of {REFERENCE} and the 95 % interval of the difference leaves out 0. "
            "Scores are probabilities in per cent, CLIP's 100 times the cosine; metrics are times 100.",
        ],
    )


def _replacements(run: ProbingRun) -> Declared:
    """The numbers of Figure 2: words replaced, at every share, and how far the scores fall."""
    numbers = [Number({"subject": REFERENCE}, heading=REFERENCE)]
    for subject, group in (("others", "other words replaced"), ("nouns", "nouns replaced")):
        for share in run.levels("replacement", subject=subject):
            place = {"experiment": "replacement", "subject": subject, "level": share}
            numbers.append(Number(place, group, f"{100 * share:g} %", "score"))
            numbers.append(Number(place, group, "", f"against {REFERENCE}", against=REFERENCE))
    largest = max(run.levels("replacement", subject="nouns"), default=1.0)
    place = {"experiment": "replacement", "subject": "nouns", "level": largest}
    numbers.append(Number(place, "", "nouns against others", "all replaced", against="others"))
    return Declared(
        "probing_figure2_replacements",
        "Probing, figure 2: words replaced",
        f"Scores of {REFERENCE} captions in which a share of the nouns is replaced by wrong ones, or of the other "
        "words by random ones.",
        numbers,
        lines=[Line([scorer], {"measure": "score", "scorer": scorer}) for scorer in run.scorers],
        notes=[
            "Differences are from the very captions whose words are replaced; one without a noun, or without another "
            "word, is left out."
        ],
    )


def _visual_words(run: ProbingRun) -> Declared:
    """The numbers of Figure 3: more and more nouns in each scorer's template."""
    counts = run.levels("count")
    made = {"measure": "score", "experiment": "count", "source": next(iter(run.sources()), None)}
    numbers = [Number({"level": count}, f"{count:g} nouns", "score", images=True) for count in counts]
    if len(counts) > 1:
        heading = f"{counts[-1]:g} against {counts[0]:g} nouns"
        numbers.append(Number({"level": counts[-1]}, "", heading, "on the same images", against=FEWEST))
    return Declared(
        "probing_figure3_visual_words",
        "Probing, figure 3: more visual words",
        "What each scorer thinks of its own template with so many nouns.",
        numbers,
        lines=[Line([scorer], {**made, "subject": scorer, "scorer": scorer}) for scorer in run.scorers],
        notes=[
            f"Nouns are those of the {REFERENCE} caption, then those of the references; images that have fewer are "
            "left out, so the counts rest on different images, and the last column on those that have both."
        ],
    )


def templates_table(run: ProbingRun, templates: Mapping[tuple[str, str], str], provenance: Provenance) -> Table:
    """Table 7: the nouns of the reference's captions in templates. templates: texts by model and source."""
    sheet, blocks = Sheet(run, provenance), []
    for label, corpus in run.corpora.items():
        for source in run.sources():
            lines = [
                Line([scorer, templates.get((scorer, source), MISSING)], {"subject": scorer, "scorer": scorer}, scorer)
                for scorer in run.scorers
            ]
            printed = "7" if source == "published" else None
            rows = rows_of(sheet, printed, label, corpus, lines, _of_templates(source))
            blocks.append(Block(rows, f"{sheet.heading(label)}: {SOURCES[source]}"))
    sheet.notes.append(
        "Difference and preference are from the very captions that the nouns are of, those without a noun left out; "
        "with few nouns a caption ends after the last."
    )
    return sheet.table(
        "probing_table7_templates",
        "Probing, table 7: visual words in templates",
        f"What each scorer thinks of the nouns of {REFERENCE} captions in its own template, against these captions.",
        columns_of(["scorer", "template"], _of_templates("published")),
        blocks,
    )


def _of_templates(source: str) -> list[Number]:
    rebuilt = {"experiment": "template", "source": source}
    score = {**rebuilt, "measure": "score"}
    return [
        Number({"subject": REFERENCE, "measure": "score"}, REFERENCE, printed="CE"),
        Number(score, "reconstructed", printed="Recons."),
        Number(score, heading="difference", against=REFERENCE),
        Number({**rebuilt, "measure": "preferred"}, heading=f"preferred to {REFERENCE}, %"),
    ]
