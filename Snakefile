"""captionlab: from images to the tables of three captioning papers.

`snakemake --cores all results/tables/` makes everything that the config asks for.
"""

import atexit
import gc
import sys
from pathlib import Path

from snakemake.utils import min_version

# The folder of this file, also where another workflow includes it or uses it as a module. Its library comes before
# any that is installed: where this was deployed to, or in a pod, none is.
ROOT = Path(str(workflow.current_basedir)).resolve()
sys.path.insert(0, str(ROOT / "src"))

from captionlab import paths
from captionlab.workflow.cascades import end_cascades
from captionlab.workflow.config import SCHEMA, ConfigError, Refusal
from captionlab.workflow.config_files import check_config_files
from captionlab.workflow.experiments import Experiments

min_version("9.20")

# What a plan consists of lives as long as the process: looking through it for garbage after each 700 new objects, as
# Python does, takes a tenth of planning; and at the very end, several times, half a second.
gc.set_threshold(300_000)
atexit.register(gc.freeze)

# A config given by --configfile stands alone; Snakemake would merge it into the default one.
if "corpora" not in config and (workflow.modifier.namespace or not workflow.configfiles):

    configfile: ROOT / "config" / "config.yaml"


# Those of the command line go on top of those of a Snakefile.
GIVEN = len(workflow.overwrite_configfiles)
CONFIG_FILES = [*workflow.configfiles[GIVEN:], *workflow.configfiles[:GIVEN]]

try:
    if not workflow.modifier.namespace:  # as a module, the config is only a part of what is in these files
        check_config_files(config, CONFIG_FILES, workflow.config_settings.config, ROOT / SCHEMA)
    lab = Experiments(config, ROOT)
    lab.check_files()
    lab.lend_library()
    if lab.retrieving:
        lab.retrieving.checkpoints = checkpoints
except ConfigError as mistakes:
    raise Refusal(str(mistakes)) from None


wildcard_constraints:
    **dict.fromkeys(
        ["corpus", "encoder", "evaluation", "regions", "tags", "scorer", "judgements", "metric"],
        "[a-z0-9-]+",
    ),
    captioner="[a-z0-9-]+(@[0-9]+)?",
    shard="[0-9]+-of-[0-9]+",


# Where a limit to how many jobs start is set, each pass of Snakemake's scheduler orders the next, and each job that ends
# orders one more, until the process plans all the time. One is set by default, 100 a second, which no run here reaches.
# 100 jobs of 2 s, two at a time: 3.6 s of processor time with it, 1.2 s without.
onstart:
    try:
        lab.check_results()
    except ConfigError as mistake:
        raise WorkflowError(str(mistake)) from None
    limiter = workflow.scheduler.job_rate_limiter
    if limiter and (limiter.max_jobs, limiter.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    end_cascades(workflow)
    if note := lab.spice_note({job.rule.name for job in workflow.dag.needrun_jobs()}):
        logger.info(note)


report: "workflow/report/workflow.rst"


include: "workflow/rules/retrieve.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/captioners.smk"
include: "workflow/rules/scorers.smk"
include: "workflow/rules/finetuning.smk"
include: "workflow/rules/generation.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/judgements.smk"
include: "workflow/rules/language.smk"
include: "workflow/rules/attention.smk"
include: "workflow/rules/ablation.smk"
include: "workflow/rules/probes.smk"
include: "workflow/rules/study.smk"
include: "workflow/rules/browser.smk"
include: "workflow/rules/reporting.smk"
include: "workflow/rules/documenting.smk"


rule all:
    default_target: True
    input:
        paths.TABLES,
        lab.papers.figures(),
        lab.documenting.cards(),
        lab.study.results(),
        lab.scene_analysis.results(),
