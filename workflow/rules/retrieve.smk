"""Retrieve: missing files that the config names, if it says `retrieve: true`.

Needs: the addresses in resources/sources.yaml, and the network.
The fetched files below `data` are outputs of no rule, because Snakemake deletes outputs before a job, and files of the
user must never be deleted. The output is a mark that all files were fetched. It exists as long as jobs wait for it.
"""


checkpoint retrieve:
    """Fetch missing files that the config names.

    output: a mark that all files were fetched; it exists as long as jobs wait for it
    """
    output:
        temp(local("results/retrieved")),  # data are on this machine, also if results lie in a bucket
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
        "fetch missing files below {params.data}"
    script:
        "../scripts/retrieve.py"
