"""Measure the reward of greedy captions of training images, by a captioner trained with it and by its parent."""

from captionlab.captioners.store import load_captioner
from captionlab.config.evaluations import read_decoding
from captionlab.jobs.provenance import device_name
from captionlab.jobs.scripting import device, folder_of, script
from captionlab.questions.answering import with_servers
from captionlab.storage.schemas import REWARDS
from captionlab.storage.tables import write_table
from captionlab.training.greedy_rewards import GreedyRewards, turns_of
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import build_reward


@script
def main(snakemake):
    inputs, params = snakemake.input, snakemake.params
    parent, captioner = (load_captioner(folder_of(path), device()) for path in (inputs.parent_config, inputs.config))
    data = TrainingData(
        images=inputs.images,
        features=inputs.features,
        device=device(),
        batch=params.batch,
        seed=0,  # no random numbers are used
        captions=next(iter(inputs.captions), ""),
        reward_models=with_servers(params.reward_models, snakemake.config),
        captioner=captioner[0],
        tokenizer=captioner[1],
    )
    rewards = GreedyRewards(
        data,
        build_reward(params.reward, data),
        turns_of(params.reward),
        read_decoding({"kind": "greedy", **params.decoding}),
    )
    write_table(snakemake.output[0], REWARDS, rewards.rows(parent, captioner), {"device": device_name()})
