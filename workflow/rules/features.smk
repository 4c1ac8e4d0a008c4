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
        config=paths.encoder("config.json"),
        weights=paths.encoder("model.safetensors"),
        training=paths.encoder("training.parquet"),
        provenance=paths.provenance("train_encoder/{encoder}"),
    log:
        paths.log("train_encoder/{encoder}"),
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
        config=paths.encoder("config.json"),
        weights=paths.encoder("model.safetensors"),
        provenance=paths.provenance("import_encoder/{encoder}"),
    log:
        paths.log("import_encoder/{encoder}"),
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
        images=paths.corpus("images"),
        config=lab.embedding.seeing("config.json"),
        weights=lab.embedding.seeing("model.safetensors"),
    output:
        paths.features(),
        provenance=paths.provenance("embed_images/{encoder}/{corpus}/{shard}"),
    log:
        paths.log("embed_images/{encoder}/{corpus}/{shard}"),
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
        images=paths.corpus("images"),
        objects=lab.regions.objects("tags"),
        regions=lab.regions.labelling,
        files=lab.files_of("tags", "files"),
    output:
        paths.tags(),
        provenance=paths.provenance("read_tags/{tags}/{corpus}"),
    log:
        paths.log("read_tags/{tags}/{corpus}"),
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
        images=paths.corpus("images"),
        features=lab.embedding.searched,
    output:
        paths.neighbours(),
        provenance=paths.provenance("mine_neighbours/{encoder}/{corpus}/{neighbours}"),
    log:
        paths.log("mine_neighbours/{encoder}/{corpus}/{neighbours}"),
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
