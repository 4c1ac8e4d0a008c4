"""Write a card beside the weights of every model that the run trained."""

import json
from pathlib import Path

from captionlab.jobs.scripting import script
from captionlab.reporting.documents.card_results import Results
from captionlab.reporting.documents.costs import measured_job
from captionlab.reporting.documents.facts import Trained, counts, parameters, updates, validated
from captionlab.reporting.documents.model_cards import Context, card_text
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.reporting.tables.formats.files import write_text
from captionlab.scorers.schemas import MATCHING
from captionlab.storage import paths
from captionlab.storage.files import read_yaml
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.storage.tables import read_table


def trained_models(models: list[dict], inputs, results: Path) -> list[Trained]:
    """Return the trained models in the order of their descriptions, `models`, which is the order of the files."""
    matching = {paths.owner_of(path): read_table(path, MATCHING).to_pylist() for path in inputs.matching}
    return [
        Trained(
            described=described,
            config=read_json(config),
            parameters=parameters(weights),
            made=read_json(results / "provenance" / f"{described['job']}.json"),
            cost=measured_job(results, Path(described["job"])),
            updates=updates(training),
            validated=validated(training, described["select"]),
            matching=matching.get(described["name"], []) if described["section"] == "scorers" else [],
        )
        for described, config, weights, training in zip(
            models, inputs.configs, inputs.weights, inputs.training, strict=True
        )
    ]


def read_json(path: str) -> dict:
    return json.loads(Path(path).read_text(encoding="utf-8"))


@script
def main(snakemake):
    inputs, params = snakemake.input, snakemake.params
    summary, comparisons = read_table(inputs.summary, SUMMARY), read_table(inputs.comparisons, COMPARISONS)
    tables = zip(inputs.images, inputs.captions, inputs.rejects, strict=True)
    hubs = {corpus: known["hub"] for corpus, known in params.corpora.items()}
    context = Context(
        corpora=params.corpora,
        counts={paths.owner_of(of_corpus[0]): counts(*of_corpus) for of_corpus in tables},
        carded=frozenset((model["section"], model["name"]) for model in params.models),
        results=Results(summary.to_pylist(), comparisons.to_pylist(), params.humans, hubs),
        validity=[row for path in inputs.validity for row in read_records(path)],
        papers=params.papers,
        software=read_yaml(inputs.software),
        caveats=params.get("caveats", []),
    )
    results = paths.results_of(snakemake.log[0])
    for model, path in zip(trained_models(params.models, inputs, results), snakemake.output.cards, strict=True):
        write_text(path, card_text(model, context))
