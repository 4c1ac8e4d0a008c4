"""What every plug-in has, as a check for the tests of its author.

from captionlab.config.contract import check_plugin

check_plugin("training.rewards", "brevity")
"""

import importlib
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from captionlab import plugins
from captionlab.config.captioners import CaptionerFacts, WriterFacts
from captionlab.config.corpora import CorpusFacts, JudgementFacts
from captionlab.config.encoders import EncoderFacts
from captionlab.config.metrics import MetricFacts
from captionlab.config.model import Model
from captionlab.config.objectives import ObjectiveFacts
from captionlab.config.papers import PaperFacts, check_papers
from captionlab.config.questions import AnswererFacts, ReaderFacts
from captionlab.config.rewards import RewardFacts
from captionlab.config.scorers import ScorerFacts


class Contract(NamedTuple):
    """What a plug-in of a package has."""

    facts: type
    """class of its FACTS"""
    models: tuple[str, ...]
    """names of models of which its config.py has at least one"""
    work: tuple[str, ...]
    """names that its working module defines"""


CONTRACTS = {
    "captioners": Contract(CaptionerFacts, ("Imported", "Trained", "Config"), ("FAMILY",)),
    "encoders": Contract(EncoderFacts, ("Imported", "Trained"), ("FAMILY",)),
    "scorers": Contract(ScorerFacts, ("Adopted", "Imported", "Trained"), ("FAMILY",)),
    "corpora.readers": Contract(CorpusFacts, ("Config",), ("read",)),
    "judgements.readers": Contract(JudgementFacts, ("Config",), ("read",)),
    "questions.readers": Contract(ReaderFacts, ("Config",), ("read",)),
    "questions.answerers": Contract(AnswererFacts, ("Config",), ("build",)),
    "training.objectives": Contract(ObjectiveFacts, ("Config",), ("build",)),
    "training.rewards": Contract(RewardFacts, ("Config",), ("build",)),
    "evaluation.metrics": Contract(MetricFacts, (), ("results",)),
    plugins.PAPERS: Contract(PaperFacts, ("Config",), ()),
}
# Modules of a paper that the workflow imports, with what each defines.
OF_PAPERS = {"tables": "TABLES", "evidence": "evidence"}


def check_plugin(package: str, name: str) -> None:
    """Raise PluginError, with a sentence for each mistake, if a plug-in lacks what every plug-in of its package has.

    `package` is a package of captionlab, such as `training.rewards`. The plug-in is imported. The packages of plug-ins
    in use are searched (captionlab.plugins.use).
    """
    if package not in CONTRACTS:
        raise ValueError(f"{package!r} is no package of plug-ins; there are {', '.join(CONTRACTS)}")
    if mistakes := [*_mistakes(package, name, CONTRACTS[package])]:
        raise plugins.PluginError("\n".join(mistakes))


def _mistakes(package: str, name: str, contract: Contract) -> Iterator[str]:
    place, module = plugins.place_of(package, name), plugins.config_module(package, name)
    file = f"{place}/{plugins.CONFIG}.py"
    facts = getattr(module, "FACTS", None)
    if not isinstance(facts, contract.facts):
        yield f"{file}: FACTS must be {contract.facts.__name__}(...); it is {facts!r}"
    if contract.models and not any(hasattr(module, model) for model in contract.models):
        yield f"{file} has no model {' or '.join(contract.models)}"
    for model in _own_models(module):
        yield from (f"{file}: {sentence}" for sentence in _undocumented(model))
    if not module.__doc__:
        yield f"{file} begins with no docstring"
    if package == plugins.PAPERS:
        yield from _paper_mistakes(name)
        return
    if not plugins.headline(package, name):
        yield f"{place}/{plugins.WORK[package]}.py begins with no docstring; its first line is shown to users"
    work = importlib.import_module(plugins.work_module(package, name))
    scores = ("SCORES", "score") if getattr(facts, "reads", ()) and package == "evaluation.metrics" else ()
    for lacking in (attribute for attribute in (*contract.work, *scores) if not hasattr(work, attribute)):
        yield f"{work.__file__} does not define {lacking}"
    if isinstance(facts, WriterFacts) and inspect.isabstract(getattr(work, "FAMILY", None)):
        yield f"{work.__file__}: the class FAMILY does not define caption(images)"


def _own_models(module: Any) -> Iterator[type[Model]]:
    """Yield the models that a module defines."""
    for value in vars(module).values():
        if inspect.isclass(value) and issubclass(value, Model) and value.__module__ == module.__name__:
            yield value


def _undocumented(model: type[Model]) -> Iterator[str]:
    """Yield a sentence for each thing of a model that is not documented; a key with one value names the model."""
    if not model.__doc__:
        yield f"the model {model.__name__} has no docstring"
    for key, field in model.model_fields.items():
        chooses = key in ("family", "kind", "reader")
        if field.description is None and not chooses:
            yield f"the key {key} of {model.__name__} has no description; give it one by Field(description=...)"


def _paper_mistakes(name: str) -> Iterator[str]:
    check_papers()
    for module, attribute in OF_PAPERS.items():
        imported = importlib.import_module(f"{plugins.module_of(plugins.PAPERS, name)}.{module}")
        if not hasattr(imported, attribute):
            yield f"{imported.__file__} does not define {attribute}"
