"""What a job makes again as it was makes nothing else run again, in the same call of Snakemake either.

Snakemake plans everything below a job that is to run, and looks at its reasons again only in the next call: then inputs
with a newer time stamp and the content that they had are none. Here that is asked when a planned job has become ready.
"""

from typing import Any


def end_cascades(workflow: Any) -> None:
    """Leave out planned jobs whose inputs turn out to be as they were; to be called before Snakemake starts jobs.

    A job that a cluster runs in a group with others runs as planned.
    """
    dag, finish = workflow.dag, workflow.dag.finish

    async def finish_and_look(finished: Any, **options: Any) -> Any:
        result = await finish(finished, **options)
        for job in finished if finished.is_group() else [finished]:
            for below in [below for below in dag.depending[job] if below in dag.ready_jobs]:
                if await _is_up_to_date(below, workflow):
                    await leave_out(below, **options)
        return result

    async def leave_out(job: Any, **options: Any) -> None:
        # Newer than its inputs, or they would be read again to be compared, in each call of Snakemake.
        for file in filter(None, (*job.output, job.benchmark)):
            if not file.is_storage and await file.exists():
                file.touch()
        dag.register_running({job})
        workflow.scheduler.finished_jobs += 1
        workflow.scheduler.progress()
        await finish_and_look(job, **options)

    dag.finish = finish_and_look


async def _is_up_to_date(job: Any, workflow: Any) -> bool:
    """Whether a job was planned only because of what ran before it, and would read what it read last time."""
    dag, memory, reason = workflow.dag, workflow.persistence, workflow.dag.reason(job)
    planned = {*reason.updated_input_run}
    reason.updated_input_run.clear()
    forced = bool(reason) or job.rule in dag.forcerules or not dag.forcefiles.isdisjoint(job.output)
    reason.updated_input_run.update(planned)
    if forced or not job.output or not all([await file.exists() for file in (*job.input, *job.output)]):
        return False
    job.reset_params_and_resources()  # as Snakemake does before a job runs: now the inputs are there
    changed = (memory.input_changed(job), memory.code_changed(job), memory.software_stack_changed(job))
    if not memory.has_metadata(job) or memory.params_changed(job) or any(map(any, changed)):
        return False
    limit, oldest = dag.max_checksum_file_size, await job.output_mintime
    for file in job.input:
        if await file.is_newer(oldest):
            known = memory.input_checksums(job, file)
            if len(known) != 1 or not await file.is_checksum_eligible(limit):
                return False
            if not await file.is_same_checksum(known.pop(), limit):
                return False
    return True
