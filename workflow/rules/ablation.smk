"""Ablation: scenes, the objects that tell them, and captions of images without these objects.

Needs: a corpus with scene captions, its regions and tags, and a captioner before and after finetuning on scenes.
Makes: results/ablation/{labels,chosen,pmi,matches,coverage}.parquet,
results/ablation/{captioner}/captions.parquet and results/ablation/{effects,splits}.parquet
"""


rule label_scenes:
    input:
        images=lab.scene_analysis.table("images"),
        captions=lab.scene_analysis.labelling(),
        tagger=lab.language.tagger_files(),
    output:
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
        provenance="results/provenance/label_scenes.json",
    log:
        "results/logs/label_scenes.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **graph.software("label_scenes", *lab.language.tagger_libraries()),
        config=lab.scene_analysis.part("labels"),
        tagger=lab.language.tagger,
    message:
        "label images with scenes"
    script:
        "../scripts/label_scenes.py"


rule compute_pmi:
    input:
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
        tags=lab.scene_analysis.tags_table(),
    output:
        "results/ablation/pmi.parquet",
        provenance="results/provenance/compute_pmi.json",
    log:
        "results/logs/compute_pmi.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, tags=10),
        runtime=60,
    params:
        **graph.software("compute_pmi"),
        config=lab.scene_analysis.part_on_labels("pmi"),
    message:
        "compute what objects say about scenes"
    script:
        "../scripts/compute_pmi.py"


rule match_regions:
    input:
        model=lab.scene_analysis.model(),
        images=lab.scene_analysis.table("images"),
        features=lab.scene_analysis.shared_features(),
    output:
        matches="results/ablation/matches.parquet",
        coverage="results/ablation/coverage.parquet",
        provenance="results/provenance/match_regions.json",
    log:
        "results/logs/match_regions.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, features=1),
        runtime=120,
    params:
        **graph.software("match_regions", "numpy", loads=lab.scene_analysis.loaded()),
        config=lab.scene_analysis.part("matching"),
    message:
        "find the regions that show tagged objects"
    script:
        "../scripts/match_regions.py"


rule ablate_objects:
    input:
        config="results/captioners/{captioner}/config.json",
        weights="results/captioners/{captioner}/model.safetensors",
        tokenizer="results/captioners/{captioner}/tokenizer.json",
        ancestors=ancestors,
        labels="results/ablation/labels.parquet",
        chosen="results/ablation/chosen.parquet",
        pmi="results/ablation/pmi.parquet",
        matches="results/ablation/matches.parquet",
        features=lab.scene_analysis.features,
    output:
        "results/ablation/{captioner}/captions.parquet",
        provenance="results/provenance/ablate_objects/{captioner}.json",
    log:
        "results/logs/ablate_objects/{captioner}.log",
    wildcard_constraints:
        captioner=lab.scene_analysis.captioners(),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, features=1),
        runtime=720,
        gpu=1,
    params:
        **graph.software("ablate_objects", "torch", "tokenizers", loads=lab.scene_analysis.loaded()),
        config=lab.scene_analysis.part_on_labels("ablation"),
        splits=lab.scene_analysis.splits(),
        decoding=lab.scene_analysis.decoding(),
    message:
        "caption images with and without diagnostic objects by {wildcards.captioner}"
    script:
        "../scripts/ablate_objects.py"


rule compare_captions:
    input:
        pretrained=lab.scene_analysis.of("pretrained", "ablation", "captions"),
        finetuned=lab.scene_analysis.of("finetuned", "ablation", "captions"),
    output:
        effects="results/ablation/effects.parquet",
        splits="results/ablation/splits.parquet",
        provenance="results/provenance/compare_captions.json",
    log:
        "results/logs/compare_captions.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        **graph.software("compare_captions", "numpy", "scipy"),
        seed=lab.scene_analysis.seed(),
    message:
        "compare captions before and after ablation"
    script:
        "../scripts/compare_captions.py"
