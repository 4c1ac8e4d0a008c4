"""Draw the figures of the discritune paper from summaries and training logs."""

from captionlab.scripting import run


def main(snakemake):
    import yaml

    from captionlab.reporting.figures import plot_finetuning, plot_retrieval
    from captionlab.reporting.published import read_published

    with open(snakemake.input.style, encoding="utf-8") as file:
        style = yaml.safe_load(file)
    published = read_published(snakemake.input.published)
    order = {"captioners": published.rows("1"), "corpora": published.columns("1")}
    plot_retrieval(snakemake.input.summary, snakemake.params.config, order, style, snakemake.output.retrieval)
    plot_finetuning(snakemake.input.training, snakemake.params.finetuned, style, snakemake.output.finetuning)


if __name__ == "__main__":
    run(main, globals())
