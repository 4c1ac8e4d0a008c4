"""Ask a model behind a server which of the captions of every two captioners of an evaluation is better."""

from captionlab.comparisons.asking import ask_preferences
from captionlab.comparisons.images import described_images
from captionlab.comparisons.prompts import Prompt
from captionlab.comparisons.schemas import PREFERENCES
from captionlab.config.comparisons import Comparison
from captionlab.jobs.scripting import script
from captionlab.served.client import Client
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    input, params, name = snakemake.input, snakemake.params, snakemake.wildcards.comparison
    # The address, prices and limits are no parameters of the job, so that it does not run again if they change.
    comparison = Comparison.model_validate(snakemake.config["comparisons"][name])
    tables = dict(zip(params.captioners, input.captions, strict=True))
    shown = {"images": input.images, "references": input.references}
    images = described_images(tables, params.corpora, shown, comparison.images, params.seed)
    client = Client(comparison, f"comparisons.{name}")
    rows = ask_preferences(comparison, client, Prompt(input.prompt), images)
    metadata = {"device": f"server of {comparison.model}", "models": sorted(client.models)}
    write_table(snakemake.output.preferences, PREFERENCES, rows, metadata)
