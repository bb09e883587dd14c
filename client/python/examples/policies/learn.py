#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learns to give out slots: the job with the largest weighted sum of its features gets the slot, and the weights are found by the
cross-entropy method. Then it compares what it has learnt with fifo, fair and sjf over seeds that it has not seen.

    learn.py --rounds 10

Needs `pip install "millrace[gym]"`. A library of agents (MaskablePPO of sb3-contrib, say) takes the same environment and its masks.
"""

import argparse
import math
import random
import statistics
import sys
from pathlib import Path

import numpy

import millrace
from millrace.gym import FEATURES, SlotEnv

TOY = Path(__file__).with_name("toy.toml")
OF_JOBS = [index for index, name in enumerate(FEATURES) if name not in ("there", "may_take", "map")]  # the same for all jobs, or masked


def play(env, weights, seed):
    """Returns the mean turnaround of an episode."""
    observation, _ = env.reset(seed=seed)
    total = 0.0
    while True:
        values = observation[:, OF_JOBS] @ weights
        observation, reward, terminated, truncated, info = env.step(int(numpy.where(env.action_masks() == 1, values, -math.inf).argmax()))
        total += reward
        if terminated or truncated:
            return -total / len(info["turnarounds"])


def learn(env, *, rounds, population, episodes, chance, say=print):
    """Returns the weights. Each round plays candidates over the same few seeds and goes on from the best fifth."""
    mean, spread = numpy.zeros(len(OF_JOBS)), numpy.ones(len(OF_JOBS))
    elite = max(2, population // 5)
    for number in range(1, rounds + 1):
        seeds = [int(seed) for seed in chance.integers(1_000_000, size=episodes)]
        candidates = mean + spread * chance.standard_normal((population, len(OF_JOBS)))
        scores = numpy.array([statistics.fmean(play(env, weights, seed) for seed in seeds) for weights in candidates])
        best = candidates[scores.argsort()[:elite]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.05
        say(f"round {number}: {scores.min():.2f} s to {scores.max():.2f} s, the best fifth {numpy.sort(scores)[:elite].mean():.2f} s")
    return mean


def interval(ratios, chance):
    """Returns the geometric mean of ratios, and an interval for it at 95% (bootstrap)."""
    logs = [math.log(ratio) for ratio in ratios]
    means = sorted(statistics.fmean(chance.choices(logs, k=len(logs))) for _ in range(4000))
    return tuple(math.exp(value) for value in (statistics.fmean(logs), means[100], means[-101]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", nargs="?", default=TOY)
    parser.add_argument("--jobs", type=int, default=16, help="that the agent sees")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--population", type=int, default=25)
    parser.add_argument("--episodes", type=int, default=4, help="for each candidate")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    env = SlotEnv(given.workload, jobs=given.jobs)
    chance = numpy.random.default_rng(given.seed)
    weights = learn(env, rounds=given.rounds, population=given.population, episodes=given.episodes, chance=chance)
    print("weights: " + ", ".join(f"{FEATURES[column]} {weight:.2f}" for column, weight in zip(OF_JOBS, weights)))
    fresh = range(2_000_001, 2_000_011)
    mine = [play(env, weights, seed) for seed in fresh]
    env.close()
    for other in ("fifo", "fair", "sjf"):
        theirs = [millrace.simulate(other, given.workload, seed=seed).summary["mean_turnaround"] for seed in fresh]
        ratio, low, high = interval([own / their for own, their in zip(mine, theirs)], random.Random(1))
        print(f"turnaround over that of {other}, 10 fresh seeds: {ratio:.3f} ({low:.3f} to {high:.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
