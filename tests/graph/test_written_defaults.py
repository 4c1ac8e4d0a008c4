"""A default that is written out changes no parameter of any job, and so runs nothing again."""

from pathlib import Path

import yaml
from support.config_keys import declared_models, used_models
from support.plans import plan

from captionlab.config.families import captioners, scorers
from captionlab.config.model import SeedMark
from captionlab.config.walking import filled, root, type_of
from captionlab.config.whole import checked
from captionlab.storage import paths

ROOT = Path(__file__).parents[2]
CONFIG = yaml.safe_load((Path(__file__).parent / "every_kind.yaml").read_text(encoding="utf-8"))


def test_the_config_has_a_block_for_every_default_there_is():
    models = [model for model in declared_models() if any(has_default(field) for field in model.model_fields.values())]
    seen = {model for model, _ in used_models(root(), filled(CONFIG))}
    assert len(models) > 60
    assert [model for model in models if model not in seen] == []


def has_default(field):
    return type_of(field).has(SeedMark) or not (field.is_required() or field.default is None)


def written_out(config):
    """A config with all defaults: those of the models, and those that families have of their own."""
    config = filled(config)
    for name, family in (("tuned", "clipcap"), ("tuned-blip", "blip"), ("tuned-camel", "camel")):
        config["captioners"][name]["objective"] |= captioners()[family].finetuned_as
    for block in config["scorers"].values():
        positions = {"max_tokens": 20} if "architecture" in block else {}
        block |= {**scorers()[block["family"]].matching, **positions}
    types = [name for name in config["evaluations"]["main"]["captioners"] if name != "made"]
    config["language"] |= {"fluency": ["main"], "caption_types": types}
    return config


def test_what_is_written_out_is_accepted_and_filled_in_as_before():
    written, plain = (checked(config, ROOT) for config in (written_out(CONFIG), CONFIG))
    assert {**written, "language": plain["language"]} == plain


def parameters(plan):
    """By rule and wildcards the parameters of each job of a plan."""
    return {(job.rule, *job.wildcards.values()): job.params for job in plan.jobs}


def test_no_parameter_of_any_job_changes(tmp_path):
    models = [name for name in CONFIG["captioners"] if name not in ("people", "given", "served", "made")]
    targets = [paths.captioner("config.json", name) for name in models]
    targets += [paths.scorer("config.json", name) for name in CONFIG["scorers"]]
    targets += [paths.encoder("config.json", name) for name in CONFIG["encoders"] if name != "grid"]
    targets += [paths.corpus("images", name) for name in CONFIG["corpora"]]
    targets += [paths.regions(name, "toy", "0-of-1") for name in CONFIG["regions"]]
    targets += ["all", paths.captions("made", "main")]
    patterns = ["web.tar", "hub/test.parquet"]  # which their readers look for as patterns
    plain = parameters(plan(CONFIG, tmp_path, *targets, present=patterns))
    # And neither does another key that no result depends on.
    other = {"tracking": "tensorboard", "checkpoints": {"seconds": 1, "steps": 1}}
    written = parameters(plan({**written_out(CONFIG), **other}, tmp_path, *targets))
    asked = {rule for rule, *_ in plain}
    assert {"pretrain_scorer", "import_scorer", "adopt_encoder", "train_probe", "construct_captions"} <= asked
    assert (len(plain) > 120, written) == (True, plain)
