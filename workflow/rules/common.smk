"""Input functions that rules of several stages share.

`settings` is the config, `graph` what rules share of the library (captionlab.workflow.graph).
"""


def evaluated_corpora(wildcards):
    """The corpora of an evaluation, in the order of the config."""
    return settings.evaluations[wildcards.evaluation].corpora


def evaluated_images(wildcards):
    """The images of each corpus of an evaluation."""
    return [f"results/corpora/{corpus}/images.parquet" for corpus in evaluated_corpora(wildcards)]


def evaluated_captions(wildcards):
    """The captions of each corpus of an evaluation."""
    return [f"results/corpora/{corpus}/captions.parquet" for corpus in evaluated_corpora(wildcards)]


def evaluation_splits(wildcards):
    """The split of each corpus of an evaluation whose images are evaluated."""
    return [settings.corpora[corpus].evaluation_split for corpus in evaluated_corpora(wildcards)]


def ancestors(wildcards):
    """The files of the captioners without which a captioner is not read, because it is adapters."""
    return graph.ancestor_files(wildcards.captioner)


def captioner_modules(wildcards):
    """The modules of the family of a captioner."""
    return graph.captioner_modules(wildcards.captioner)
