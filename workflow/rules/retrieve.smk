"""Retrieve: what the config names and is not there, where it says `retrieve: true`.

Needs: the addresses in resources/sources.yaml, and the network.
Makes: the missing files below `data`. No rule declares these as its output, as Snakemake deletes outputs before a job:
what somebody put there is nobody's to delete. A file that says that all were fetched is there for as long as the jobs
that wait for them.
"""


checkpoint retrieve:
    """Fetch what the config names and is not there.

    output: a sign that all was fetched, for as long as jobs wait for it
    """
    output:
        temp("results/retrieved"),
    log:
        "results/logs/retrieve.log",
    localrule: True  # nodes of a cluster often have no network
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=1440,
    params:
        **graph.software("retrieve"),
        sources=graph.fetched(),
        data=settings.data,
    message:
        "fetch what is missing below {params.data}"
    script:
        "../scripts/retrieve.py"
