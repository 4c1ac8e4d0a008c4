"""Scorers: how well does a caption match an image?

Needs: a corpus; for scorers that read regions, boxes with an encoder, a detector's weights or files of regions; for a
scorer, weights and a vocabulary, or an encoder, or nothing when it is trained here (docs/data.md).
"""


def boxed_objects(wildcards):
    """Return the annotated objects of a corpus, if the regions are their boxes."""
    annotated = settings.regions[wildcards.regions].source == "boxes"
    return [f"results/corpora/{wildcards.corpus}/objects.parquet"] if annotated else []


def region_encoder(wildcards):
    """Return the encoder whose features are pooled in boxes, as a list, which is empty for a detector."""
    encoder = getattr(settings.regions[wildcards.regions], "encoder", None)
    return [encoder] if encoder else []


rule extract_regions:
    """Find regions in the images of a part of a corpus, by a detector or as boxes of annotated objects.

    output: captionlab.storage.schemas.regions_schema
    """
    input:
        images="results/corpora/{corpus}/images.parquet",
        checks=lambda wildcards: checks_of([wildcards.corpus]),
        objects=boxed_objects,
        encoder_config=lambda wildcards: [f"results/encoders/{one}/config.json" for one in region_encoder(wildcards)],
        encoder_weights=lambda wildcards: [
            f"results/encoders/{one}/model.safetensors" for one in region_encoder(wildcards)
        ],
        weights=lambda wildcards: graph.files_of("regions", wildcards.regions, "weights"),
    output:
        "results/regions/{regions}/{corpus}/{shard}.parquet",
    log:
        "results/logs/extract_regions/{regions}/{corpus}/{shard}.log",
    wildcard_constraints:
        regions=graph.names_of("regions", "boxes", "detector"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, images=2, objects=10),
        runtime=720,
        gpu=1,
    params:
        **graph.software(
            "extract_regions",
            "torch",
            "torchvision",
            "pillow",
            loads=lambda wildcards: graph.modules("encoders", *region_encoder(wildcards)),
        ),
        config=lambda wildcards: graph.block("regions", wildcards.regions, "files", "encoder"),
    message:
        "extract the regions {wildcards.regions} of part {wildcards.shard} of {wildcards.corpus}"
    script:
        "../scripts/extract_regions.py"


rule read_regions:
    """Read the regions of a part of a corpus from files of features."""
    input:
        images="results/corpora/{corpus}/images.parquet",
        files=lambda wildcards: graph.files_of("regions", wildcards.regions, "files", corpus=wildcards.corpus),
    output:
        "results/regions/{regions}/{corpus}/{shard}.parquet",
    log:
        "results/logs/read_regions/{regions}/{corpus}/{shard}.log",
    wildcard_constraints:
        regions=graph.names_of("regions", "files"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(6000, images=2),
        runtime=720,
    params:
        **graph.software("read_regions"),
        config=lambda wildcards: graph.block("regions", wildcards.regions, "files", "encoder"),
    message:
        "read the regions {wildcards.regions} of {wildcards.corpus}"
    script:
        "../scripts/read_regions.py"


def scorer_config(wildcards):
    """Return the parameters of the import or training of a scorer, beside its inputs."""
    files = ("weights", "vocabulary", "tokenizer", "run", "config")
    block = graph.block("scorers", wildcards.scorer, "regions", "corpus", "seed", "encoder", *files)
    if "negatives" in block:
        block["negatives"].pop("encoder", None)
    return block


def scorer_modules(wildcards):
    """Return the modules of the family of a scorer, and of the encoder that it is."""
    return graph.modules("scorers", wildcards.scorer)


rule import_scorer:
    """Import the weights and the vocabulary of a scorer, published or of another run.

    config: architecture and settings of the scorer
    weights: weights of the scorer
    vocabulary: word pieces of the scorer. A scorer that is an encoder, or is imported from a folder, has no such file
    """
    input:
        weights=lambda wildcards: graph.files_of("scorers", wildcards.scorer, "weights")[0],
        vocabulary=lambda wildcards: graph.files_of("scorers", wildcards.scorer, "vocabulary")[0],
        beside=lambda wildcards: graph.files_of("scorers", wildcards.scorer, "config"),
    output:
        config="results/scorers/{scorer}/config.json",
        weights="results/scorers/{scorer}/model.safetensors",
        vocabulary="results/scorers/{scorer}/vocab.txt",
    log:
        "results/logs/import_scorer/{scorer}.log",
    wildcard_constraints:
        scorer=graph.names_of("scorers", "imported"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(3000, weights=4),
        runtime=30,
    params:
        **graph.software("import_scorer", "torch", "tokenizers", loads=scorer_modules),
        config=scorer_config,
    message:
        "import the scorer {wildcards.scorer}"
    script:
        "../scripts/import_scorer.py"


rule import_scorer_folder:
    """Import a scorer from the folder of a model, published or of another run.

    config: settings of the scorer, and the files of its processor
    weights: weights of the scorer
    tokenizer: tokenizer of a scorer that is imported from a folder
    """
    input:
        files=lambda wildcards: graph.files_of("scorers", wildcards.scorer, "weights", "tokenizer"),
        beside=lambda wildcards: graph.files_of("scorers", wildcards.scorer, "config"),
    output:
        config="results/scorers/{scorer}/config.json",
        weights="results/scorers/{scorer}/model.safetensors",
        tokenizer="results/scorers/{scorer}/tokenizer.json",
    log:
        "results/logs/import_scorer_folder/{scorer}.log",
    wildcard_constraints:
        scorer=graph.names_of("scorers", "folder"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(3000, files=4),
        runtime=30,
    params:
        **graph.software("import_scorer_folder", "torch", "tokenizers", loads=scorer_modules),
        config=scorer_config,
    message:
        "import the scorer {wildcards.scorer} from a folder"
    script:
        "../scripts/import_scorer_folder.py"


rule adopt_encoder:
    """Make an encoder a scorer."""
    input:
        config=lambda wildcards: f"results/encoders/{settings.scorers[wildcards.scorer].encoder}/config.json",
        weights=lambda wildcards: f"results/encoders/{settings.scorers[wildcards.scorer].encoder}/model.safetensors",
    output:
        config="results/scorers/{scorer}/config.json",
        weights="results/scorers/{scorer}/model.safetensors",
    log:
        "results/logs/adopt_encoder/{scorer}.log",
    wildcard_constraints:
        scorer=graph.names_of("scorers", "encoder"),
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(3000, weights=4),
        runtime=30,
    params:
        **graph.software("adopt_encoder", "torch", "tokenizers", loads=scorer_modules),
        config=scorer_config,
    message:
        "make an encoder the scorer {wildcards.scorer}"
    script:
        "../scripts/adopt_encoder.py"


def scorer_training_images(wildcards):
    """Return the tables of the training corpus that a scorer reads."""
    return graph.images_for("scorers", wildcards.scorer, settings.scorers[wildcards.scorer].corpus)


def similar_images(wildcards):
    """Return the features that say which images of the training corpus are alike."""
    scorer = settings.scorers[wildcards.scorer]
    return graph.features_of(scorer.negatives.encoder, scorer.corpus)


def word_encoder(wildcards):
    """Return the encoder that word pieces start from, as a list, which is empty for a random start."""
    scorer = settings.scorers[wildcards.scorer]
    return [settings.regions[scorer.regions].encoder] if scorer.word_embeddings == "encoder" else []


rule pretrain_scorer:
    """Train a scorer to match images and captions.

    training: captionlab.storage.schemas.TRAINING
    matching: captionlab.scorers.schemas.MATCHING. The pairs are of the evaluation split
    """
    input:
        images=lambda wildcards: f"results/corpora/{settings.scorers[wildcards.scorer].corpus}/images.parquet",
        captions=lambda wildcards: f"results/corpora/{settings.scorers[wildcards.scorer].corpus}/captions.parquet",
        regions=scorer_training_images,
        neighbours=similar_images,
        encoder_config=lambda wildcards: [f"results/encoders/{one}/config.json" for one in word_encoder(wildcards)],
        encoder_weights=lambda wildcards: [
            f"results/encoders/{one}/model.safetensors" for one in word_encoder(wildcards)
        ],
        checks=lambda wildcards: checks_before_training("scorers", wildcards.scorer),
    output:
        config="results/scorers/{scorer}/config.json",
        weights="results/scorers/{scorer}/model.safetensors",
        vocabulary="results/scorers/{scorer}/vocab.txt",
        training="results/scorers/{scorer}/training.parquet",
        matching="results/scorers/{scorer}/matching.parquet",
    log:
        "results/logs/pretrain_scorer/{scorer}.log",
    wildcard_constraints:
        scorer=graph.names_of("scorers", "trained"),
    priority: 10  # Trainings are the longest way through the DAG.
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, captions=20, neighbours=2),
        runtime=1440,
        gpu=1,
    params:
        **graph.software(
            "pretrain_scorer",
            "numpy",
            "torch",
            "tokenizers",
            loads=lambda wildcards: {
                **scorer_modules(wildcards),
                **graph.modules("encoders", *word_encoder(wildcards)),
            },
        ),
        config=scorer_config,
        seed=lambda wildcards: settings.scorers[wildcards.scorer].seed,
        split=lambda wildcards: settings.corpora[settings.scorers[wildcards.scorer].corpus].evaluation_split,
    message:
        "train the scorer {wildcards.scorer} to match images and captions"
    script:
        "../scripts/pretrain_scorer.py"


def evaluation_scorers(wildcards):
    """Return the scorers of an evaluation, with the tables of each corpus that each scorer reads."""
    evaluation = settings.evaluations[wildcards.evaluation]
    return {
        scorer: {corpus: graph.images_for("scorers", scorer, corpus) for corpus in evaluation.corpora}
        for scorer in evaluation.scorers
    }


def evaluation_scorer_files(wildcards):
    """Return the files of the scorers of an evaluation."""
    return [path for scorer in evaluation_scorers(wildcards) for path in graph.scorer_files(scorer)]


def evaluation_scorer_images(wildcards):
    """Return the tables that the scorers of an evaluation read."""
    tables = (path for of in evaluation_scorers(wildcards).values() for paths in of.values() for path in paths)
    return list(dict.fromkeys(tables))


rule score_alignment:
    """Score how well captions match their images, by each scorer of an evaluation.

    output: captionlab.storage.schemas.ALIGNMENT
    """
    input:
        captions="results/captions/{captioner}/{evaluation}.parquet",
        scorers=evaluation_scorer_files,
        features=evaluation_scorer_images,
    output:
        "results/evaluation/{captioner}/{evaluation}/alignment.parquet",
    log:
        "results/logs/score_alignment/{captioner}/{evaluation}.log",
    conda:
        "../../envs/captionlab.yaml"
    threads: 1
    resources:
        mem_mb=graph.memory(8000, captions=20, scorers=2),
        runtime=480,
        gpu=1,
    params:
        **graph.software(
            "score_alignment",
            "torch",
            "tokenizers",
            loads=lambda wildcards: graph.modules("scorers", *evaluation_scorers(wildcards)),
        ),
        sources=evaluation_scorers,
    message:
        "score how well the captions of {wildcards.captioner} for {wildcards.evaluation} match their images"
    script:
        "../scripts/score_alignment.py"
