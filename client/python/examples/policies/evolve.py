#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Improves a policy without a model: changes the weights of weighted.py by chance, keeps what scores better on the training suite, and says
at the end whether the improvement holds on the suite that was held out.

    evolve.py --generations 20 -o FILE

A search by a language model has the same shape: it proposes the text of a policy where `mutate` does here, and goes by the same score.
"""

import argparse
import math
import random
import re
import sys
import tempfile
from pathlib import Path

import millrace

SEED = Path(__file__).with_name("weighted.py")
LINE = re.compile(r"^WEIGHTS = (\{.*\})$", re.MULTILINE)


def weights_of(text):
    return {name: float(value) for name, value in re.findall(r'"(\w+)": ([-\d.e]+)', LINE.search(text)[1])}


def with_weights(text, weights):
    line = ", ".join(f'"{name}": {value:.3f}' for name, value in weights.items())
    return LINE.sub(lambda _: f"WEIGHTS = {{{line}}}", text, count=1)


def mutate(weights, chance, step):
    """Changes one weight or two. The order by a sum is the same for any multiple of the weights, so that they keep the length 1."""
    made = dict(weights)
    for name in chance.sample(sorted(made), chance.choice((1, 2))):
        made[name] += chance.gauss(0, step)
    length = math.sqrt(sum(value * value for value in made.values())) or 1.0
    return {name: value / length for name, value in made.items()}


def evolve(seed, *, generations, children, chance, trusted, suite="training", say=print):
    """Returns the text of the best policy. Each generation has so many children of the best one so far; the step grows after a success and
    shrinks after none."""
    best, step = seed, 0.6
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "candidate.py")

        def score(text):
            path.write_text(text)
            result = millrace.evaluate(path, suite, trusted=trusted)
            if not result["valid"]:
                say(f"not valid: {result['log'].splitlines()[0]}")
            return result["score"]

        value = score(best)
        say(f"seed: {value:.3f}")
        for generation in range(1, generations + 1):
            made = [with_weights(best, mutate(weights_of(best), chance, step)) for _ in range(children)]
            scores = [score(text) for text in made]
            found = max(scores)
            better = found > value
            if better:
                best, value = made[scores.index(found)], found
            step = min(1.0, step * 1.3) if better else max(0.05, step * 0.8)
            say(f"generation {generation}: {value:.3f} (step {step:.2f})")
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=12)
    parser.add_argument("--children", type=int, default=4, help="of each generation")
    parser.add_argument("--seed", type=int, default=1, help="of the changes")
    parser.add_argument("--trusted", action="store_true", help="do not confine the policies, which differ in their weights alone")
    parser.add_argument("-o", "--output", metavar="FILE", default="evolved.py", help="the best policy")
    given = parser.parse_args()
    seed = SEED.read_text()
    best = evolve(seed, generations=given.generations, children=given.children, chance=random.Random(given.seed), trusted=given.trusted)
    Path(given.output).write_text(best)
    print(f"{given.output}: {LINE.search(best)[0]}")
    for over in (SEED, "fair", "sjf"):
        report = millrace.held_out(given.output, over, trusted=given.trusted)
        print(f"over {over if isinstance(over, str) else over.stem}: {report['verdict']}: {report['why']}")
        for name, ratio in report.get("held_out", {}).get("by_workload", {}).items():
            print(f"  {name}: {ratio:.3f}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except millrace.MillraceError as error:
        sys.exit(f"evolve.py: {error}")
