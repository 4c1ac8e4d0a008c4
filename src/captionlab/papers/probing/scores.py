"""Tables 2, 4 and 7 and the numbers of Figures 2 and 3: scores, metrics and statistics, with the paper's beside."""

from collections.abc import Mapping
from typing import Any

from captionlab.evaluation.summary import BY_AND, CONNECTED, PER_CENT
from captionlab.papers.probing.constructed import FEWEST
from captionlab.papers.probing.paper import REFERENCE
from captionlab.papers.probing.run import ProbingRun
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
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
    "Bleu1": "BLEU@1",
    "Bleu4": "BLEU@4",
    "METEOR": "METEOR",
    "ROUGE": "ROUGE-L",
    "CIDEr": "CIDEr",
    "SPICE": "SPICE",
}
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


def scores_table(run: ProbingRun, provenance: Mapping[str, Any]) -> Table:
    """Table 2: every role's captions by every scorer, and their metrics."""
    sheet = Sheet(run, provenance)
    measures = [(f"score by {label}", label, "score", label) for label in run.scorers]
    measured = run.found("measure")
    measures += [(printed, printed, metric, None) for printed, metric in METRICS.items() if metric in measured]
    sheet.notes += [f"{printed} is not in this run." for printed, metric in METRICS.items() if metric not in measured]
    columns = [Column("captioner", numeric=False)]
    for _, heading, _, scorer in measures:
        columns += [Column("this run", "score" if scorer else "", heading), Column("paper", group=heading)]
    blocks = []
    for label, corpus in run.corpora.items():
        rows = []
        for role in run.roles:
            row = [Cell(role)]
            for printed, _, measure, scorer in measures:
                place = Place(role, corpus, measure, scorer)
                theirs = run.published.find("2", role, label, printed)
                apart = run.difference(place, REFERENCE) if scorer else None
                row += sheet.value(place, theirs, mark=ARROWS[apart.sign if apart else 0])
            rows.append(row)
        blocks.append(Block(rows, sheet.heading(label)))
    sheet.notes.append(
        f"Arrows: the score differs from that of {REFERENCE} and the 95 % interval of the difference leaves out 0. "
        "Scores are probabilities in per cent, CLIP's 100 times the cosine; metrics are times 100."
    )
    return sheet.table(
        "probing_table2_scores",
        "Probing, table 2: scores and metrics of captioners trained on scorers",
        f"Captions of each captioner by every scorer, and their similarity to references. {REFERENCE} was trained by "
        "cross-entropy, the others by self-critical training on the scorer of their name, or as their name says.",
        columns,
        blocks,
    )


def statistics_table(run: ProbingRun, provenance: Mapping[str, Any]) -> Table:
    """Table 4: fluency, length and nouns of each role's captions."""
    sheet = Sheet(run, provenance)
    columns = [Column("captioner", numeric=False)]
    for printed, (_, group) in STATISTICS.items():
        columns += [Column(printed, "this run", group), Column("paper", group=group)]
    columns.append(Column("repeated nouns", "this run", "token level"))
    blocks = []
    for label, corpus in run.corpora.items():
        rows = []
        for role in run.roles:
            row = [Cell(role)]
            for printed, (measure, _) in STATISTICS.items():
                theirs = run.published.find("4", role, label, printed)
                row += sheet.value(Place(role, corpus, measure), theirs)
            rows.append([*row, sheet.value(Place(role, corpus, "repeated nouns"))[0]])
        blocks.append(Block(rows, sheet.heading(label)))
    return sheet.table(
        "probing_table4_statistics",
        "Probing, table 4: statistics of the captions",
        "Perplexity (PPL) of a trigram model over all words, mean number of words (Avg. Leng.), of nouns (Noun) and of "
        "different nouns (Uni. Noun) of a caption.",
        columns,
        blocks,
    )


def words_table(run: ProbingRun, provenance: Mapping[str, Any]) -> Table:
    """What section 4.3 says of Figure 4: nouns and verbs among the most frequent words, and what connects nouns."""
    sheet = Sheet(run, provenance)
    columns = [Column("captioner", numeric=False)]
    for heading in WORDS.values():
        columns += [Column("this run", group=heading), Column("paper", group=heading)]
    blocks = []
    for label, corpus in run.corpora.items():
        rows = []
        for role in run.roles:
            row = [Cell(role)]
            for measure in WORDS:
                theirs = run.published.find("text", role, label, measure)
                places = 1 if measure in PER_CENT else 2
                row += sheet.value(Place(role, corpus, measure), theirs, places)
            rows.append(row)
        blocks.append(Block(rows, sheet.heading(label)))
    sheet.notes.append(
        "A word is a noun or a verb that is tagged as one at least half of the time. A noun and the next noun of its "
        "caption are connected by what stands between them."
    )
    return sheet.table(
        "probing_figure4_words",
        "Probing, figure 4: nouns, verbs and what connects them",
        "How many of the ten most frequent words of each captioner are nouns and verbs, and how often a noun and the "
        "next one of its caption are connected.",
        columns,
        blocks,
    )


def templates_table(run: ProbingRun, templates: Mapping[tuple[str, str], str], provenance: Mapping[str, Any]) -> Table:
    """Table 7: the nouns of the reference's captions in templates. templates: texts by model and source."""
    sheet = Sheet(run, provenance)
    columns = [Column("scorer", numeric=False), Column("template", numeric=False)]
    columns += [Column("this run", group=REFERENCE), Column("paper", group=REFERENCE)]
    columns += [Column("this run", group="reconstructed"), Column("paper", group="reconstructed")]
    columns += [Column("difference"), Column(f"preferred to {REFERENCE}, %")]
    blocks = []
    for label, corpus in run.corpora.items():
        for source in run.sources():
            rows = []
            for scorer in run.scorers:
                first, second = (
                    run.published.find("7", scorer, label, metric) if source == "published" else None
                    for metric in ("CE", "Recons.")
                )
                place = Place(scorer, corpus, "score", scorer, "template", source)
                preferred = Place(scorer, corpus, "preferred", scorer, "template", source)
                row = [Cell(scorer), Cell(templates.get((scorer, source), MISSING))]
                row += sheet.value(Place(REFERENCE, corpus, "score", scorer), first)
                row += sheet.value(place, second)
                rows.append([*row, sheet.difference(place, REFERENCE), sheet.value(preferred)[0]])
            what = {"published": "the paper's templates", "mined": "templates found in the captions of each captioner"}
            blocks.append(Block(rows, f"{sheet.heading(label)}: {what[source]}"))
    sheet.notes.append(
        "Difference and preference are from the very captions that the nouns are of, those without a noun left out; "
        "with few nouns a caption ends after the last."
    )
    return sheet.table(
        "probing_table7_templates",
        "Probing, table 7: visual words in templates",
        f"What each scorer thinks of the nouns of {REFERENCE} captions in its own template, against these captions.",
        columns,
        blocks,
    )


def replacements_table(run: ProbingRun, provenance: Mapping[str, Any]) -> Table:
    """The numbers of Figure 2: words replaced, at every share, and how far the scores fall."""
    sheet = Sheet(run, provenance)
    columns = [Column("scorer", numeric=False), Column(REFERENCE)]
    shown = [
        (subject, share) for subject in ("others", "nouns") for share in run.levels("replacement", subject=subject)
    ]
    for subject, share in shown:
        group = {"others": "other words replaced", "nouns": "nouns replaced"}[subject]
        columns += [Column(f"{100 * share:g} %", "score", group), Column("", f"against {REFERENCE}", group)]
    columns.append(Column("nouns against others", "all replaced"))
    blocks = []
    for label, corpus in run.corpora.items():
        rows = []
        for scorer in run.scorers:
            row = [Cell(scorer), sheet.value(Place(REFERENCE, corpus, "score", scorer))[0]]
            for subject, share in shown:
                place = Place(subject, corpus, "score", scorer, "replacement", None, share)
                row += [sheet.value(place)[0], sheet.difference(place, REFERENCE)]
            largest = max((share for subject, share in shown if subject == "nouns"), default=1.0)
            place = Place("nouns", corpus, "score", scorer, "replacement", None, largest)
            rows.append([*row, sheet.difference(place, "others")])
        blocks.append(Block(rows, sheet.heading(label)))
    sheet.notes.append(
        "Differences are from the very captions whose words are replaced; one without a noun, or without another word, "
        "is left out."
    )
    return sheet.table(
        "probing_figure2_replacements",
        "Probing, figure 2: words replaced",
        f"Scores of {REFERENCE} captions in which a share of the nouns is replaced by wrong ones, or of the other "
        "words by random ones.",
        columns,
        blocks,
    )


def visual_words_table(run: ProbingRun, provenance: Mapping[str, Any]) -> Table:
    """The numbers of Figure 3: more and more nouns in each scorer's template."""
    sheet = Sheet(run, provenance)
    counts = run.levels("count")
    columns = [Column("scorer", numeric=False)]
    for count in counts:
        columns += [Column("score", group=f"{count:g} nouns"), Column("images", group=f"{count:g} nouns")]
    if len(counts) > 1:
        columns.append(Column(f"{counts[-1]:g} against {counts[0]:g} nouns", "on the same images"))
    source = next(iter(run.sources()), None)
    blocks = []
    for label, corpus in run.corpora.items():
        rows = []
        for scorer in run.scorers:
            row = [Cell(scorer)]
            places = [Place(scorer, corpus, "score", scorer, "count", source, count) for count in counts]
            for place in places:
                ours = run.value(place)
                row += [sheet.value(place)[0], Cell(str(ours.n) if ours else MISSING)]
            if len(counts) > 1:
                row.append(sheet.difference(places[-1], FEWEST))
            rows.append(row)
        blocks.append(Block(rows, sheet.heading(label)))
    sheet.notes.append(
        f"Nouns are those of the {REFERENCE} caption, then those of the references; images that have fewer are left "
        "out, so the counts rest on different images, and the last column on those that have both."
    )
    return sheet.table(
        "probing_figure3_visual_words",
        "Probing, figure 3: more visual words",
        "What each scorer thinks of its own template with so many nouns.",
        columns,
        blocks,
    )


def pattern_shares_table(run: ProbingRun, provenance: Mapping[str, Any]) -> Table:
    """The numbers of Figure 1: how many captions follow one pattern, found here or published."""
    sheet = Sheet(run, provenance)
    columns = [Column("captioner", numeric=False), Column("most frequent pattern", "found in its captions")]
    for measure in PATTERN_RATIOS:
        group = f"the paper's {measure.removeprefix('published ')}"
        columns += [Column("this run", group=group), Column("paper", group=group)]
    blocks = []
    for label, corpus in run.corpora.items():
        rows = []
        for role in run.roles:
            row = [Cell(role), sheet.value(Place(role, corpus, "first pattern"))[0]]
            for measure, printed in PATTERN_RATIOS.items():
                theirs = run.published.find("5", role, label, printed)
                row += sheet.value(Place(role, corpus, measure), theirs)
            rows.append(row)
        blocks.append(Block(rows, sheet.heading(label)))
    return sheet.table(
        "probing_figure1_patterns",
        "Probing, figure 1: captions that follow one pattern",
        "Share of captions, in per cent, that follow the most frequent pattern of their captioner to the last word, "
        "that start with the first prefix that the paper prints for the scorer, or else with the second (of ROSITA "
        "alone it prints two), and that follow its sentence pattern.",
        columns,
        blocks,
    )
