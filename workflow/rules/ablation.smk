"""Ablation: scenes, the objects that tell them, and captions of images without these objects.

Needs: a corpus with scene captions, its regions and tags, and a captioner before and after finetuning on scenes.
Makes: results/ablation/{labels,chosen,information,matches,coverage}.parquet,
results/ablation/{captioner}/captions.parquet and results/ablation/{effects,splits}.parquet
"""


rule label_scenes:
    input:
        images=lab.scenes.table("images"),
        captions=lab.scenes.labelling(),
        tagger=lab.language.tagger_files(),
    output:
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
    log:
        "results/logs/label_scenes.log",
    benchmark:
        "results/benchmarks/label_scenes.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lab.code("label_scenes"),
        versions=lab.language.tagger_versions(),
        config=lab.scenes.part("labels"),
        tagger=lab.language.tagger,
    message:
        "label images with scenes"
    script:
        "../scripts/label_scenes.py"


rule compute_pmi:
    input:
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
        tags=lab.scenes.tags_table(),
    output:
        "results/ablation/information.parquet",
    log:
        "results/logs/compute_pmi.log",
    benchmark:
        "results/benchmarks/compute_pmi.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(4000, tags=10),
        runtime=60,
    params:
        code=lab.code("compute_pmi"),
        config={**lab.scenes.part("information"), **lab.scenes.least_captions()},
    message:
        "compute what objects say about scenes"
    script:
        "../scripts/compute_pmi.py"


rule tag_regions:
    input:
        model=lab.scenes.model(),
        images=lab.scenes.table("images"),
        features=lab.scenes.shared_features(),
    output:
        matches="results/ablation/matches.parquet",
        coverage="results/ablation/coverage.parquet",
    log:
        "results/logs/tag_regions.log",
    benchmark:
        "results/benchmarks/tag_regions.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(8000, features=1),
        runtime=120,
    params:
        code=lab.scenes.code("tag_regions"),
        versions=lab.versions("numpy"),
        config=lab.scenes.part("matching"),
    message:
        "find the regions that show tagged objects"
    script:
        "../scripts/tag_regions.py"


rule ablate_objects:
    input:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
        information="results/ablation/information.parquet",
        matches="results/ablation/matches.parquet",
        features=lab.scenes.features,
    output:
        "results/ablation/{captioner}/captions.parquet",
    log:
        "results/logs/ablate_objects/{captioner}.log",
    benchmark:
        "results/benchmarks/ablate_objects/{captioner}.tsv"
    wildcard_constraints:
        captioner=lab.scenes.captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(8000, features=1),
        runtime=720,
        gpu=1,
    params:
        code=lab.scenes.code("ablate_objects"),
        versions=lab.versions("torch", "tokenizers"),
        config={**lab.scenes.part("ablation"), **lab.scenes.least_captions()},
        splits=lab.scenes.splits(),
        decoding=lab.scenes.decoding(),
    message:
        "caption images with and without telling objects by {wildcards.captioner}"
    script:
        "../scripts/ablate_objects.py"


rule compare_captions:
    input:
        pretrained=lab.scenes.of("pretrained", "ablation", "captions"),
        finetuned=lab.scenes.of("finetuned", "ablation", "captions"),
    output:
        effects="results/ablation/effects.parquet",
        splits="results/ablation/splits.parquet",
    log:
        "results/logs/compare_captions.log",
    benchmark:
        "results/benchmarks/compare_captions.tsv"
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=lab.code("compare_captions"),
        versions=lab.versions("numpy", "scipy"),
        seed=lab.scenes.seed(),
    message:
        "compare captions before and after ablation"
    script:
        "../scripts/compare_captions.py"
