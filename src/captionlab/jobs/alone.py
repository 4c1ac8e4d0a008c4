"""One job without a run: a script that is started by hand gets what its rule would give it, for instance in a debugger.

    python workflow/scripts/score_captions.py captioner=toy-fc evaluation=probing table=chair

The arguments are the wildcards of the job. `rule=NAME` chooses a rule if several run the script, `config=FILE` (once or
several times) a config in place of the default. Results lie in the current folder, as for Snakemake; the inputs of the
job must be there, and its outputs are written.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from captionlab.installation import PROJECT


def job_alone(script: Path, arguments: Sequence[str]) -> Any:
    """Return the `snakemake` object of the job of a script with these arguments, KEY=VALUE.

    Raises SystemExit if an argument is not of this form, if no rule or several rules run the script, or if an input of
    the job is missing.
    """
    from snakemake.api import OutputSettings, ResourceSettings, SnakemakeApi
    from snakemake.dag import DAG
    from snakemake.jobs import Job
    from snakemake.script import Snakemake
    from snakemake.settings.types import ConfigSettings, DAGSettings, GroupSettings, StorageSettings, WorkflowSettings
    from snakemake.workflow import Workflow

    given = [argument.partition("=") for argument in arguments]
    if wrong := [key for key, separator, _ in given if not separator]:
        raise SystemExit(f"{wrong[0]!r} is no KEY=VALUE; give the wildcards of the job, such as captioner=toy-fc")
    configs = [Path(value) for key, _, value in given if key == "config"]
    wildcards = {key: value for key, _, value in given if key not in ("config", "rule")}
    with SnakemakeApi(OutputSettings()) as api:
        workflow = Workflow(
            config_settings=ConfigSettings(configfiles=configs),
            resource_settings=ResourceSettings(cores=1),
            workflow_settings=WorkflowSettings(),
            logger_manager=api.logger_manager,
            storage_settings=StorageSettings(),
            dag_settings=DAGSettings(rerun_triggers=frozenset()),
            group_settings=GroupSettings(),
            storage_provider_settings={},
        )
        workflow.include(PROJECT / "Snakefile", overwrite_default_target=True)
        rule = _rule_of(workflow.rules, script, dict((key, value) for key, _, value in given).get("rule"))
        if lacking := sorted(rule.wildcard_names - wildcards.keys()):
            raise SystemExit(f"rule {rule.name} needs the wildcard {lacking[0]}: add {lacking[0]}=VALUE")
        job = Job(rule, DAG(workflow, rules=[rule]), wildcards)
        if missing := [path for path in job.input if not Path(path).exists()]:
            raise SystemExit(f"{rule.name} reads {missing[0]}, which is missing; run snakemake {missing[0]} first")
        for path in [*job.output, *job.log]:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        job_data = (job.input, job.output, job.params, job.wildcards, job.threads, job.resources, job.log)
        return Snakemake(*job_data, workflow.config, rule.name, None, script.parent)


def _rule_of(rules: Any, script: Path, name: str | None) -> Any:
    """Return the rule that runs a script, or of several the rule of this name."""
    running = [rule for rule in rules if rule.script and Path(rule.script).name == script.name]
    chosen = [rule for rule in running if name in (None, rule.name)]
    if len(chosen) != 1:
        names = ", ".join(sorted(rule.name for rule in running)) or "no rule of this config"
        raise SystemExit(f"{script.name} is run by {names}; if there are several rules, add rule=NAME")
    return chosen[0]
