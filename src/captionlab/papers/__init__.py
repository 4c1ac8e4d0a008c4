"""Papers, each a plug-in (captionlab.reporting.paper): its tables, figures, measurements and claims."""

from importlib import import_module

from captionlab.reporting.paper import Paper

PAPERS = ("clipscore", "discritune", "hl", "probing", "scenes")


def paper_class(name: str) -> type[Paper]:
    """What a paper declares."""
    declared: type[Paper] = import_module(f"captionlab.papers.{name}.paper").PAPER
    return declared
