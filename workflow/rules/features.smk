"""Features: what a frozen encoder sees in an image, computed once.

Needs: results/corpora/{corpus}/{images,captions}.parquet; for an imported encoder, published weights or weights of
another run.
"""


def bytes_of_pixels(wildcards, input):
    """Return the bytes of all images of the training corpus, at the size at which an encoder sees them."""
    return 3 * settings.encoders[wildcards.encoder].architecture.vision_cfg.image_size**2 * rows_of(input.images)


rule train_encoder:
    """Train an encoder on the images and captions of a corpus.

    config: architecture and settings of the encoder
    weights: weights of the encoder
    training: captionlab.storage.schemas.TRAINING
    """
    input:
        images=lambda wildcards: f"results/corpora/{settings.encoders[wildcards.encoder].corpus}/images.parquet",
        captions=lambda wildcards: f"results/corpora/{settings.encoders[wildcards.encoder].corpus}/captions.parquet",
        checks=lambda wildcards: checks_before_training("encoders", wildcards.encoder),
    output:
        config="results/encoders/{encoder}/config.json",
        weights="results/encoders/{encoder}/model.safetensors",
        training="results/encoders/{encoder}/training.parquet",
    log:
        "results/logs/train_encoder/{encoder}.log",
    wildcard_constraints:
        encoder=graph.names_of("encoders", "trained"),
    priority: 10  # Trainings are the longest way through the DAG.
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(6000, bytes_of_pixels, images=2, captions=20),
        runtime=120,
        gpu=1,
    params:
        **graph.software("train_encoder", "numpy", "pillow", "torch", "open_clip_torch"),
        config=lambda wildcards: graph.block("encoders", wildcards.encoder, "corpus", "seed"),
        seed=lambda wildcards: settings.encoders[wildcards.encoder].seed,
    message:
        "train the encoder {wildcards.encoder}"
    script:
        "../scripts/train_encoder.py"


def encoder_weights(wildcards):
    """Return the files that an encoder is imported from; none if open_clip downloads it by its published name."""
    encoder = settings.encoders[wildcards.encoder]
    files = [] if getattr(encoder, "model", None) else graph.facts("encoders", encoder.family).files
    return graph.files_of("encoders", wildcards.encoder, *files)


rule import_encoder:
    """Import the weights of an encoder, published or of another run."""
    input:
        weights=encoder_weights,
        beside=lambda wildcards: graph.files_of("encoders", wildcards.encoder, "config"),
    output:
        config="results/encoders/{encoder}/config.json",
        weights="results/encoders/{encoder}/model.safetensors",
    log:
        "results/logs/import_encoder/{encoder}.log",
    wildcard_constraints:
        encoder=graph.names_of("encoders", "imported"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        # A model that open_clip downloads is no input. Most such models need no more than the first term.
        mem_mb=graph.memory(8000, weights=4),
        runtime=30,
    params:
        **graph.software(
            "import_encoder",
            "torch",
            loads=lambda wildcards: graph.modules("encoders", wildcards.encoder, definition="import_weights"),
        ),
        config=lambda wildcards: graph.block("encoders", wildcards.encoder, "corpus", "seed", "run", "config"),
    message:
        "import the encoder {wildcards.encoder}"
    script:
        "../scripts/import_encoder.py"


def seeing_encoder(wildcards):
    """Return the encoder whose network sees the images: the encoder itself, or the one whose patches it gives."""
    return getattr(settings.encoders[wildcards.encoder], "patches_of", wildcards.encoder)


def embedded_split(wildcards):
    """Return the split that evaluations use, or None for all images of a corpus from which something learns."""
    learned = graph.is_learned_from(wildcards.encoder, wildcards.corpus)
    return None if learned else settings.corpora[wildcards.corpus].evaluation_split


rule embed_images:
    """Embed the images of a part of a corpus by an encoder.

    output: captionlab.storage.schemas.embeddings_schema. If a captioner or scorer learns from the corpus, or its
        scenes are analysed, the table has all images. Otherwise it has the images of the split that evaluations use
    """
    input:
        images="results/corpora/{corpus}/images.parquet",
        checks=lambda wildcards: checks_of([wildcards.corpus]),
        config=lambda wildcards: f"results/encoders/{seeing_encoder(wildcards)}/config.json",
        weights=lambda wildcards: f"results/encoders/{seeing_encoder(wildcards)}/model.safetensors",
    output:
        "results/features/{encoder}/{corpus}/{shard}.parquet",
    log:
        "results/logs/embed_images/{encoder}/{corpus}/{shard}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(6000, images=2),
        runtime=240,
        gpu=1,
    params:
        **graph.software(
            "embed_images", "torch", "pillow", loads=lambda wildcards: graph.modules("encoders", wildcards.encoder)
        ),
        patches=lambda wildcards: seeing_encoder(wildcards) != wildcards.encoder,
        split=embedded_split,
    message:
        "embed part {wildcards.shard} of {wildcards.corpus} by {wildcards.encoder}"
    script:
        "../scripts/embed_images.py"


def tagged_objects(wildcards):
    """Return the annotated objects of a corpus, if the tags are their names."""
    annotated = settings.tags[wildcards.tags].source == "objects"
    return [f"results/corpora/{wildcards.corpus}/objects.parquet"] if annotated else []


def labelled_regions(wildcards):
    """Return the regions of a corpus whose labels are the tags, if any."""
    regions = settings.tags[wildcards.tags].regions
    return graph.images_for("regions", regions, wildcards.corpus) if regions else []


rule read_tags:
    """Collect the names and boxes of the objects of each image.

    output: captionlab.regions.tags.TAGS
    """
    input:
        images="results/corpora/{corpus}/images.parquet",
        objects=tagged_objects,
        regions=labelled_regions,
        files=lambda wildcards: graph.files_of("tags", wildcards.tags, "files", corpus=wildcards.corpus),
    output:
        "results/tags/{tags}/{corpus}/tags.parquet",
    log:
        "results/logs/read_tags/{tags}/{corpus}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, objects=20),
        runtime=120,
    params:
        **graph.software("read_tags"),
        config=lambda wildcards: graph.block("tags", wildcards.tags, "files", "regions"),
    message:
        "collect the tags {wildcards.tags} of {wildcards.corpus}"
    script:
        "../scripts/read_tags.py"


rule mine_neighbours:
    """Find the nearest other images of each training image, which are hard negatives.

    output: captionlab.encoders.neighbours.NEIGHBOURS
    """
    input:
        images="results/corpora/{corpus}/images.parquet",
        features=lambda wildcards: graph.features_of(wildcards.encoder, wildcards.corpus),
    output:
        "results/neighbours/{encoder}/{corpus}/{neighbours}.parquet",
    log:
        "results/logs/mine_neighbours/{encoder}/{corpus}/{neighbours}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(4000, features=2.5),
        runtime=240,
        gpu=1,
    params:
        **graph.software("mine_neighbours", "torch"),
    message:
        "find the {wildcards.neighbours} nearest neighbours of the images of {wildcards.corpus} by {wildcards.encoder}"
    script:
        "../scripts/mine_neighbours.py"
