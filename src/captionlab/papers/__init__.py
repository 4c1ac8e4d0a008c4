"""Papers as plug-ins (captionlab.reporting.paper): their tables, figures, measurements and claims."""

from importlib import import_module

from captionlab.reporting.paper import Paper

PAPERS = ("clipscore", "discritune", "hl", "probing", "scenes")


def paper_class(name: str) -> type[Paper]:
    """Return the subclass of Paper that the package of a paper declares."""
    declared: type[Paper] = import_module(f"captionlab.papers.{name}.paper").PAPER
    return declared
