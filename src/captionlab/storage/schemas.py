"""Tables that several stages read: the meaning of a row, the key, and the columns with meaning and unit."""

import pyarrow as pa

from captionlab.storage.tables import Column, TableSchema

_STRING, _INT, _LONG, _FLOAT, _DOUBLE = pa.string(), pa.int32(), pa.int64(), pa.float32(), pa.float64()
# Columns shared by tables of several stages.
IMAGE_ID = Column(_STRING, "identifier of the image in its corpus")
CORPUS = Column(_STRING, "name of the corpus in the config")
CAPTION_INDEX = Column(_INT, "rank of the caption among the captions of its image, from 0")
CAPTION_KEY = {"corpus": CORPUS, "image_id": IMAGE_ID, "caption_index": CAPTION_INDEX}
ROLE = Column(_STRING, "pretrained or finetuned")
SCENE = Column(_STRING, "scene")
REMOVED = Column(_INT, "how many of the objects that tell the scene were removed from the image; 0: none")
_BOX = {
    "x1": Column(_FLOAT, "left edge, pixels"),
    "y1": Column(_FLOAT, "top edge, pixels"),
    "x2": Column(_FLOAT, "right edge, pixels"),
    "y2": Column(_FLOAT, "bottom edge, pixels"),
}

IMAGES = TableSchema(
    "images",
    "an image of a corpus that can be read",
    ("image_id",),
    image_id=IMAGE_ID,
    position=Column(_LONG, "rank in the annotation file, from 0 (the order of evaluation blocks)"),
    split=Column(_STRING, "train, val, test or another split of the annotation file"),
    path=Column(
        _STRING, "file of the image, or file that contains it; missing when its bytes are in `data`", nullable=True
    ),
    offset=Column(_LONG, "first byte of the image in a file that holds several, such as a tar", nullable=True),
    length=Column(_LONG, "bytes of the image in that file; missing when it has a file of its own", nullable=True),
    data=Column(pa.binary(), "encoded image; missing when it is in a file", nullable=True),
    width=Column(_INT, "pixels"),
    height=Column(_INT, "pixels"),
    image_set=Column(_STRING, "look-alike set that the image belongs to", nullable=True),
)
CAPTIONS = TableSchema(
    "captions",
    "a reference caption of an image",
    ("image_id", "caption_index"),
    image_id=IMAGE_ID,
    caption_index=CAPTION_INDEX,
    caption=Column(_STRING, "text as in the annotation file"),
)
OBJECTS = TableSchema(
    "objects",
    "an annotated object of an image",
    ("image_id", "object_index"),
    image_id=IMAGE_ID,
    object_index=Column(_INT, "rank of the object in its image, from 0"),
    label=Column(_STRING, "class of the object"),
    **_BOX,
    attributes=Column(pa.list_(_STRING), "colours, sizes and the like"),
)
SCENE_CAPTIONS = TableSchema(
    "scenes",
    "a scene caption of an image",
    ("image_id", "scene_index"),
    image_id=IMAGE_ID,
    scene_index=Column(_INT, "rank of the scene caption in its image, from 0"),
    caption=Column(_STRING, "text as in the annotation file"),
    scene=Column(_STRING, "scene label where the corpus has one", nullable=True),
    confidence=Column(_FLOAT, "the annotators' confidence, 1 to 5", nullable=True),
)
REJECTS = TableSchema(
    "rejects",
    "an entry of the annotation file that was left out",
    ("position", "image_id", "reason"),
    position=Column(_LONG, "rank of the entry in the annotation file, from 0"),
    image_id=IMAGE_ID,
    path=Column(_STRING, "file that was looked for", nullable=True),
    reason=Column(_STRING, "missing, empty, broken, unsupported, too-large, zero-size, duplicate or no-caption"),
    detail=Column(_STRING, "details of the fault"),
)
GENERATED = TableSchema(
    "generated captions",
    "a caption that a captioner gave to an image",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    caption=Column(_STRING, "text"),
    log_prob=Column(_DOUBLE, "sum of the log-probabilities of its tokens, nats", nullable=True),
    confidence=Column(_DOUBLE, "geometric mean of the token probabilities, end included", nullable=True),
)
FAILED_REQUESTS = TableSchema(
    "failed requests",
    "a caption that a server did not give",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    reason=Column(_STRING, "what the server answered, or how the connection failed"),
)
TOKENS = TableSchema(
    "tokenised captions",
    "a caption after the tokeniser of the Penn treebank: lower case, no punctuation, joined by spaces",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    tokens=Column(_STRING, "tokens joined by spaces; empty when nothing but punctuation was there"),
)
TAGGED = TableSchema(
    "tagged captions",
    "a caption as a spaCy model sees it, without white space",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    words=Column(pa.list_(_STRING), "words and punctuation as written"),
    lemmas=Column(pa.list_(_STRING), "lemma of each word"),
    tags=Column(pa.list_(_STRING), "universal part-of-speech tag of each word"),
)
RETRIEVAL = TableSchema(
    "retrieval ranks",
    "a caption used to find its image among candidates",
    (*CAPTION_KEY, "retriever", "protocol"),
    **CAPTION_KEY,
    retriever=Column(_STRING, "name of the encoder that scores"),
    protocol=Column(_STRING, "source of the candidates: file-order, random, set, full, or bags of a size"),
    candidates=Column(_INT, "images to choose from, the right one included"),
    rank=Column(_INT, "rank of the right image, from 1; a tie goes to it"),
    chosen=Column(_STRING, "image_id of the candidate most similar to the caption; the right one where its rank is 1"),
)
ALIGNMENT = TableSchema(
    "alignment scores",
    "a caption scored by a scorer for how well it matches its image",
    (*CAPTION_KEY, "scorer"),
    **CAPTION_KEY,
    scorer=Column(_STRING, "name of the scorer in the config"),
    score=Column(_DOUBLE, "matching score, on the scale that the scorer's settings give it"),
)
CAPTIONER = Column(_STRING, "name of the captioner in the config")
_PLACE = {
    "corpus": CORPUS,
    "split": Column(_STRING, "split of the corpus"),
    "evaluation": Column(_STRING, "name of the evaluation in the config"),
    "decoding": Column(_STRING, "name of the decoding in the config"),
    "retriever": Column(
        _STRING, "name of the encoder, scorer or set of questions that scores; missing for other metrics", True
    ),
    "candidates": Column(_STRING, "number and source of the candidates; missing for other metrics", True),
    "metric": Column(
        _STRING,
        "metric as papers print it; times 100, except ranks, lengths, vocabulary and metrics with a scale of their own",
    ),
}
_SEEDS = Column(
    _INT, "number of trainings over which the value is a mean; above 1, the captioner stands for all trainings"
)
SUMMARY = TableSchema(
    "values of metrics",
    "a metric of a captioner on a corpus",
    ("captioner", "seeds", "corpus", "evaluation", "retriever", "candidates", "metric"),
    captioner=CAPTIONER,
    **_PLACE,
    value=Column(_DOUBLE, "value on all images, or its mean over trainings"),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images and seeds"),
    ci_high=Column(_DOUBLE, "upper end of the interval"),
    seeds=_SEEDS,
    n=Column(_INT, "images"),
    device=Column(_STRING, "devices that captions and scores were computed on, joined; empty where unknown"),
)
COMPARISONS = TableSchema(
    "differences between captioners",
    "a metric of a captioner against another's on the same images",
    ("captioner", "seeds", "against", "corpus", "evaluation", "retriever", "candidates", "metric"),
    captioner=CAPTIONER,
    against=Column(
        _STRING, "captioner whose value is subtracted: the parent, the end of the finetuning, or one of `compare`"
    ),
    **_PLACE,
    difference=Column(_DOUBLE, "difference of the two values, or its mean over trainings"),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images and seeds"),
    ci_high=Column(_DOUBLE, "upper end of the interval"),
    p_value=Column(_DOUBLE, "two-sided; missing for means over trainings", True),
    p_holm=Column(
        _DOUBLE,
        "p-value with Holm's correction for the comparisons of this metric in the evaluation, on the same corpus",
        True,
    ),
    test=Column(_STRING, "paired bootstrap, or exact McNemar for P@1", True),
    seeds=_SEEDS,
    n=Column(_INT, "images"),
)
TRAINING = TableSchema(
    "training log",
    "a statistic at an update",
    ("step", "statistic"),
    step=Column(_LONG, "number of updates, from 1; 0 has the validation before the first update"),
    epoch=Column(_INT, "epoch of the update, from 0"),
    statistic=Column(_STRING, "loss, reward, learning_rate and the like"),
    value=Column(_DOUBLE, "its value"),
)
TRAINING_CAPTIONS = TableSchema(
    "captions over training",
    "a caption of one of a few training images, the same at each validation",
    ("step", "image_id"),
    step=Column(_LONG, "number of updates; 0 is before the first update"),
    image_id=IMAGE_ID,
    caption=Column(_STRING, "caption by the decoding of the validation"),
    reward=Column(
        _DOUBLE, "reward of the caption, as in the training; missing in a training without a reward", nullable=True
    ),
)
REWARDS = TableSchema(
    "rewards of captions",
    "a greedy caption of a training image, before or after a training by a reward, and its reward",
    ("captions", "image_id"),
    captions=Column(
        _STRING,
        "before: by the parent; after: by the captioner; commonest: the most frequent caption of after, for all images",
    ),
    image_id=IMAGE_ID,
    caption=Column(_STRING, "text"),
    reward=Column(_DOUBLE, "reward as in the training, mean over rewards that take turns"),
    accuracy=Column(
        _DOUBLE,
        "whether the caption finds its image among the candidates, 0 or 1; missing for other rewards",
        nullable=True,
    ),
)
COST = TableSchema(
    "cost of a job",
    "the last run of a job",
    ("rule", "job"),
    rule=Column(_STRING, "name of the rule"),
    job=Column(_STRING, "name of the log file, which says what the job made; empty if the rule has one job"),
    seconds=Column(_DOUBLE, "wall time from the start of the process, s; of a resumed job since its resumption"),
    cpu_seconds=Column(
        _DOUBLE,
        "time of processors of the whole process and of the programs that it waited for, s; missing where several "
        "processes shared the work",
        nullable=True,
    ),
    memory_mb=Column(
        _DOUBLE, "most memory of the largest process, MB; missing where the system does not tell", nullable=True
    ),
    gpu_seconds=Column(_DOUBLE, "wall time times the GPUs that it used, s; 0 without a GPU"),
    gpu_memory_mb=Column(_DOUBLE, "most memory that torch held on a GPU, MB; 0 without a GPU"),
    device=Column(_STRING, "name of the GPU, or kind of processor"),
    requests=Column(_LONG, "requests with a response of a served model"),
    cached_requests=Column(_LONG, "requests whose response an earlier job got and paid for"),
    input_tokens=Column(_LONG, "tokens of the prompts of all requests, with the tokens of images"),
    output_tokens=Column(_LONG, "tokens of the answers to all requests"),
    price=Column(_DOUBLE, "price of all requests, in the currency of the config; 0 where it names no price"),
)


def embeddings_schema(dimensions: int, precision: str = "float16") -> TableSchema:
    """Return the schema of a table of embeddings with `dimensions` numbers, stored as float16 or float32."""
    return TableSchema(
        "embeddings",
        "the embedding of an image",
        ("image_id",),
        image_id=IMAGE_ID,
        embedding=Column(
            pa.list_(pa.type_for_alias(precision), dimensions), "output of the image tower, not normalised"
        ),
    )


def regions_schema(dimensions: int, precision: str = "float32") -> TableSchema:
    """Return the schema of a table of regions with features of `dimensions` numbers, stored as float16 or float32."""
    return TableSchema(
        "regions",
        "a region of an image; rows of an image are adjacent",
        ("image_id", "region_index"),
        image_id=IMAGE_ID,
        region_index=Column(_INT, "rank of the region in its image, from 0, in the order of the detector"),
        **_BOX,
        width=Column(_INT, "width of the image, pixels"),
        height=Column(_INT, "height of the image, pixels"),
        confidence=Column(_FLOAT, "the detector's confidence in the class, 0 to 1", nullable=True),
        label=Column(_STRING, "name of the class", nullable=True),
        label_id=Column(_INT, "number of the class in the detector's vocabulary", nullable=True),
        attribute_id=Column(_INT, "number of the attribute in the detector's vocabulary", nullable=True),
        attribute_confidence=Column(_FLOAT, "the detector's confidence in the attribute, 0 to 1", nullable=True),
        features=Column(
            pa.list_(pa.type_for_alias(precision), dimensions), "features of the region by the detector or encoder"
        ),
    )
