"""A dual encoder of the Hugging Face hub stands wherever an encoder of images and texts may stand."""

from support.plans import config_of


def config():
    """A config in which a SigLIP 2 gives rewards, retrieves, scores, and is what captioners see."""
    config = config_of("flickr8k")
    config["encoders"]["siglip2"] = {"family": "transformers", "weights": "hub/siglip2"}
    config["encoders"]["siglip2-patches"] = {"patches_of": "siglip2"}
    config["scorers"] = {"siglip2": {"family": "clip", "encoder": "siglip2"}}
    config["captioners"]["clipcap"]["encoder"] = "siglip2"
    config["captioners"]["blip"] = {
        "family": "blip",
        "encoder": "siglip2-patches",
        "corpus": "flickr8k",
        "architecture": {"width": 8, "layers": 1, "heads": 1, "feed_forward": 8, "positions": 40, "vocabulary": 300},
        "objective": {"kind": "cross-entropy"},
        "optimizer": {"kind": "adam", "lr": 1.0e-3, "batch": 4, "steps": 2},
    }
    config["captioners"]["discritune"]["objective"]["reward"]["retriever"] = "siglip2"
    evaluation = {**config["evaluations"]["main"], "retrievers": ["siglip2"], "clipscore": ["siglip2"]}
    config["evaluations"] = {
        "main": {**evaluation, "captioners": ["discritune", "blip", "human"], "scorers": ["siglip2"]}
    }
    del config["papers"]
    return config


def test_it_is_used_in_a_plan(planned):
    plan = planned(config())
    assert plan.job("import_encoder", encoder="siglip2").reads == [str(plan.data / "hub" / "siglip2")]
    weights = "results/encoders/siglip2/model.safetensors"
    assert weights in plan.job("finetune_captioner", captioner="discritune").reads
    jobs = [*plan.of("retrieve_images"), *plan.of("adopt_encoder"), *plan.of("score_captions", table="clipscore")]
    assert {job.rule for job in jobs} == {"retrieve_images", "adopt_encoder", "score_captions"}
    assert [job for job in jobs if weights not in job.reads] == []
