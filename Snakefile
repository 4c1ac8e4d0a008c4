"""captionlab: from images to the tables of captioning papers.

`snakemake --cores all results/tables/` makes everything that the config asks for.
"""

import os
import sys
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from snakemake.utils import min_version

# The folder of this file, also where another workflow includes it or uses it as a module. Its library comes before
# any that is installed: where this was deployed to, or in a pod, none is. In an installed package it is the library.
ROOT = Path(str(workflow.current_basedir)).resolve()
if (ROOT / "src").is_dir():
    sys.path.insert(0, str(ROOT / "src"))

from captionlab.storage import paths
from captionlab.config.blocks import POOL, any_of
from captionlab.config.config_files import check_config_files
from captionlab.config.evaluations import OWN_SLICES
from captionlab.config.own_tables import ChoiceError, check_names, read_choice
from captionlab.config.papers import listed, pooled_sets
from captionlab.config.whole import ConfigError
from captionlab.graph.graph import Graph, Refusal, check_results, lend_library, record_config
from captionlab.graph.report import labels_of, paper_of
from captionlab.graph.resources import distinct, rows_of
from captionlab.graph.software import own
from captionlab.plugins import headline, module_of, place_of
from captionlab.reporting.paper import FIGURE_FILES, Paper
from captionlab.reporting.tables.footnotes import figure_title, titled
from captionlab.reporting.tables.render import FORMATS
from captionlab.storage.shards import shard_names

min_version("9.20")

# A config given by --configfile stands alone; Snakemake would merge it into the default one.
if "corpora" not in config and (workflow.modifier.namespace or not workflow.configfiles):

    configfile: ROOT / "config" / "config.yaml"


# Those of the command line go on top of those of a Snakefile.
GIVEN = len(workflow.overwrite_configfiles)
CONFIG_FILES = [*workflow.configfiles[GIVEN:], *workflow.configfiles[:GIVEN]]

try:
    if not workflow.modifier.namespace:  # as a module, the config is only a part of what is in these files
        check_config_files(config, CONFIG_FILES, workflow.config_settings.config)
    graph = Graph(config, ROOT)
    graph.check_files()
    settings = graph.settings
    if graph.retrieving:
        graph.retrieving.checkpoints = checkpoints
except ConfigError as mistakes:
    raise Refusal(str(mistakes)) from None

lend_library(ROOT)


wildcard_constraints:
    **dict.fromkeys(
        ["corpus", "encoder", "evaluation", "regions", "tags", "scorer", "judgements", "metric", "comparison"],
        "[a-z0-9-]+",
    ),
    captioner="[a-z0-9-]+(@[0-9]+)?",
    shard="[0-9]+-of-[0-9]+",


onstart:
    try:
        check_results()
        record_config(config)
    except ConfigError as mistake:
        raise WorkflowError(str(mistake)) from None
    for cut in graph.cuts:
        logger.info(f"limit {settings.limit}: {cut}")


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/retrieve.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/captioners.smk"
include: "workflow/rules/scorers.smk"
include: "workflow/rules/questions.smk"
include: "workflow/rules/finetuning.smk"
include: "workflow/rules/generation.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/judgements.smk"
include: "workflow/rules/comparisons.smk"
include: "workflow/rules/language.smk"
include: "workflow/rules/attention.smk"
include: "workflow/rules/ablation.smk"
include: "workflow/rules/probes.smk"
include: "workflow/rules/study.smk"
include: "workflow/rules/slices.smk"
include: "workflow/rules/browser.smk"


for paper in settings.asked_papers():

    include: str(place_of("papers", paper) / "rules.smk")


include: "workflow/rules/reporting.smk"
include: "workflow/rules/own_tables.smk"
include: "workflow/rules/documenting.smk"
include: "workflow/rules/answer.smk"
include: "workflow/rules/training_pages.smk"


rule all:
    default_target: True
    input:
        paths.TABLES,
        paper_figures(),
        study_results(),
        scene_results(),
