"""Features: what a frozen encoder sees in an image, computed once.

Needs: results/corpora/{corpus}/{images,captions}.parquet; published weights, or those of another run, for an encoder that has them.
Makes: results/encoders/{encoder}/{config.json,model.safetensors} and, for each part of a corpus,
results/features/{encoder}/{corpus}/{shard}.parquet; hard negatives in results/neighbours/{encoder}/{corpus}/{neighbours}.parquet
"""


rule train_encoder:
    input:
        images=lab.training_table("encoder", "images"),
        captions=lab.training_table("encoder", "captions"),
    output:
        config="results/encoders/{encoder}/config.json",
        weights="results/encoders/{encoder}/model.safetensors",
        training="results/encoders/{encoder}/training.parquet",
        provenance="results/provenance/train_encoder/{encoder}.json",
    log:
        "results/logs/train_encoder/{encoder}.log",
    wildcard_constraints:
        encoder=lab.of_kind("encoders", "trained"),
    priority: 10  # Trainings are the longest way through the DAG.
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(6000, lab.embedding.pixels, images=2, captions=20),
        runtime=120,
        gpu=1,
    params:
        **lab.software("train_encoder", "numpy", "pillow", "torch", "open_clip_torch"),
        config=lab.settings("encoder", "corpus", "seed"),
        seed=lab.value("encoder", "seed"),
    message:
        "train the encoder {wildcards.encoder}"
    script:
        "../scripts/train_encoder.py"


rule import_encoder:
    input:
        weights=lab.embedding.weights,
        beside=lab.files_of("encoder", "config"),
    output:
        config="results/encoders/{encoder}/config.json",
        weights="results/encoders/{encoder}/model.safetensors",
        provenance="results/provenance/import_encoder/{encoder}.json",
    log:
        "results/logs/import_encoder/{encoder}.log",
    wildcard_constraints:
        encoder=lab.of_kind("encoders", "imported"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        # A model that open_clip downloads is no input, and most of these need no more than the first term.
        mem_mb=lab.memory(8000, weights=4),
        runtime=30,
    params:
        **lab.software("import_encoder", "torch", loads=lab.embedding.imported),
        config=lab.settings("encoder", "corpus", "seed", "run", "config"),
    message:
        "import the encoder {wildcards.encoder}"
    script:
        "../scripts/import_encoder.py"


rule embed_images:
    input:
        images="results/corpora/{corpus}/images.parquet",
        config=lab.embedding.seeing("config.json"),
        weights=lab.embedding.seeing("model.safetensors"),
    output:
        "results/features/{encoder}/{corpus}/{shard}.parquet",
        provenance="results/provenance/embed_images/{encoder}/{corpus}/{shard}.json",
    log:
        "results/logs/embed_images/{encoder}/{corpus}/{shard}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(6000, images=2),
        runtime=240,
        gpu=1,
    params:
        **lab.software("embed_images", "torch", "pillow", loads=lab.embedding.used),
        patches=lab.embedding.is_patches,
        split=lab.embedded_split,
    message:
        "embed part {wildcards.shard} of {wildcards.corpus} by {wildcards.encoder}"
    script:
        "../scripts/embed_images.py"


rule read_tags:
    input:
        images="results/corpora/{corpus}/images.parquet",
        objects=lab.regions.objects("tags"),
        regions=lab.regions.labelling,
        files=lab.files_of("tags", "files"),
    output:
        "results/tags/{tags}/{corpus}/tags.parquet",
        provenance="results/provenance/read_tags/{tags}/{corpus}.json",
    log:
        "results/logs/read_tags/{tags}/{corpus}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(4000, objects=20),
        runtime=120,
    params:
        **lab.software("read_tags"),
        config=lab.settings("tags", "files", "regions"),
    message:
        "collect the tags {wildcards.tags} of {wildcards.corpus}"
    script:
        "../scripts/read_tags.py"


rule mine_neighbours:
    input:
        images="results/corpora/{corpus}/images.parquet",
        features=lab.embedding.searched,
    output:
        "results/neighbours/{encoder}/{corpus}/{neighbours}.parquet",
        provenance="results/provenance/mine_neighbours/{encoder}/{corpus}/{neighbours}.json",
    log:
        "results/logs/mine_neighbours/{encoder}/{corpus}/{neighbours}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=lab.memory(4000, features=2.5),
        runtime=240,
        gpu=1,
    params:
        **lab.software("mine_neighbours", "torch"),
    message:
        "find the {wildcards.neighbours} nearest neighbours of the images of {wildcards.corpus} by {wildcards.encoder}"
    script:
        "../scripts/mine_neighbours.py"
