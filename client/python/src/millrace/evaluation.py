# SPDX-License-Identifier: Apache-2.0
"""Scores a policy over a suite of workloads, and says whether an improvement holds on workloads that were held out.

    millrace.evaluate("policy.py")                     # {"score": 1.31, "valid": True, ...}: for loops that search for policies
    millrace.held_out("policy.py", over="fair")        # {"verdict": "holds", ...}: once, at the end

The score is the geometric mean, over the workloads and seeds of the suite, of the mean turnaround under `fair` divided by that under the
policy: 1 is as good as fair, 2 is twice as fast. Both are what the simulator says. docs/schedulers/evaluate.md has the rules.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from . import apart, suites
from .errors import MillraceError, UsageError
from .policy import Policy

BASELINE = "fair"
REFERENCES = ("fifo", "sjf")  # are reported beside it
CONFIDENCE = 0.95
PRACTICAL = 0.01  # an improvement below this is none
_RESAMPLES = 4000

PolicyFile = Union[str, "os.PathLike[str]", type[Policy]]


def evaluate(
    policy: PolicyFile, suite: Union[str, os.PathLike[str]] = "training", *, seeds: Optional[Iterable[int]] = None, tolerate: int = 20,
    limit: float = 120.0, trusted: bool = False,
) -> dict[str, Any]:
    """Scores a policy over a suite.

    policy    the path of its file, which is run as a program of its own and never imported; a class, only if it is trusted
    suite     "training", "held-out", or a directory of workload files
    seeds     in place of those that the suite declares
    tolerate  parts of answers that may be refused within a minute of the simulation; a policy with one more is not valid
    limit     seconds that a run may take
    trusted   the policy is not confined. The result says so, and means nothing if the policy cheats

    Returns `score`; `valid`; `refused`, the parts of answers that were refused in all; `by_workload`; `log`, which says why a policy is not
    valid; and `suite`, `seeds` and `confined`. A policy that is not valid has the score 0. Raises UsageError where policies cannot be
    confined and this one is not trusted.
    """
    chosen = suites.find(suite, seeds)
    runs = _Runs(policy, chosen, tolerate=tolerate, limit=limit, trusted=trusted)
    runs.make()
    by_workload = {path.stem: runs.of_workload(path) for path in chosen.workloads}
    valid = not runs.failure
    score = geometric_mean([ratio for row in by_workload.values() for ratio in row["ratios"]]) if valid else 0.0
    return {
        "score": score, "valid": valid, "refused": runs.refused, "by_workload": by_workload, "log": runs.failure or runs.summary(score),
        "suite": chosen.name, "seeds": list(chosen.seeds), "confined": runs.confined,
    }


def held_out(
    policy: PolicyFile, over: PolicyFile = BASELINE, *, training: Union[str, os.PathLike[str]] = "training",
    suite: Union[str, os.PathLike[str]] = "held-out", seeds: Optional[Iterable[int]] = None, tolerate: int = 20, limit: float = 120.0,
    trusted: bool = False,
) -> dict[str, Any]:
    """Says whether the improvement of `policy` over `over` (another policy, or the name of a reference: fair, fifo, sjf) is there on the
    suite that was held out. Both run over the same workloads and seeds, and are compared in pairs.

    Returns `verdict`: "holds", "does not hold" or "cannot be told"; `why`, a sentence; `training` and `held_out`, each with the `ratio` of
    turnarounds (above 1: the policy is faster), its interval from `low` to `high`, and `by_workload`; `valid` and `confined`. `seeds` are
    those of the suite that was held out. It is an honest answer only once: who goes on searching after it, and asks again, has held nothing
    out.
    """
    how: dict[str, Any] = {"tolerate": tolerate, "limit": limit, "trusted": trusted}
    report: dict[str, Any] = {"verdict": "", "why": ""}
    for key, chosen in (("training", suites.find(training)), ("held_out", suites.find(suite, seeds))):
        mine = _Runs(policy, chosen, **how)
        mine.make()
        theirs = mine.references[over] if isinstance(over, str) and over in mine.references else _Runs(over, chosen, **how).make()
        report["confined"] = mine.confined
        failure = mine.failure or getattr(theirs, "failure", "")
        report["valid"] = not failure
        if failure:
            report.update(verdict="does not hold" if mine.failure else "cannot be told", why=f"on {chosen.name}: {failure}")
            return report
        report[key] = _compared(chosen, mine.turnarounds, theirs if isinstance(theirs, dict) else theirs.turnarounds)
    report["verdict"], report["why"] = _judge(report["training"], report["held_out"])
    return report


def mean(values: Sequence[float]) -> float:
    """Returns the arithmetic mean of at least one value."""
    return math.fsum(values) / len(values)


def geometric_mean(values: Sequence[float]) -> float:
    """Returns the geometric mean of at least one value above 0."""
    return math.exp(mean([math.log(value) for value in values]))


class _Runs:
    """The runs of one policy over a suite, and of the schedulers that it is compared with."""

    def __init__(self, policy: PolicyFile, suite: suites.Suite, *, tolerate: int, limit: float, trusted: bool) -> None:
        self.source = _source_of(policy, trusted)
        self.suite, self.tolerate, self.limit = suite, tolerate, limit
        self.confined = not trusted
        self.turnarounds: dict[tuple[Path, int], float] = {}
        self.references: dict[str, dict[tuple[Path, int], float]] = {}
        self.refused = 0
        self.failure = ""

    def make(self) -> _Runs:
        """Makes the runs, up to the first that fails; the policy that has failed once is not asked again."""
        why_not = apart.why_not_confined() if self.confined else ""
        if why_not:
            raise UsageError(
                f"a policy cannot be confined here, and could read the workloads: {why_not}; trusted=True runs one that you trust")
        for name in (BASELINE, *REFERENCES):
            self.references[name] = {pair: _turnaround(apart.simulate_reference(*pair, name)) for pair in self.suite.pairs()}
        with apart.Place(self.source, tolerate=self.tolerate, confined=self.confined, limit=self.limit) as place:
            first: Optional[dict[str, Any]] = None
            try:
                for pair in self.suite.pairs():
                    entry = place.simulate(*pair)
                    self._take(pair, entry)
                    first = first or entry
                if place.simulate(*self.suite.pairs()[0]) != first:
                    raise apart.Failed("it does not decide alike when it is asked alike: the first run, made again, has another result")
            except apart.Failed as failed:
                self.failure = f"{self.source.name}: {failed}"
        return self

    def _take(self, pair: tuple[Path, int], entry: dict[str, Any]) -> None:
        self.refused += entry["program"]["refused"]
        missing = apart.simulate_reference(*pair, BASELINE)["succeeded"] - entry["succeeded"]
        if missing > 0:
            raise apart.Failed(f"{missing} jobs of {pair[0].stem} did not succeed that do under {BASELINE}")
        self.turnarounds[pair] = _turnaround(entry)

    def of_workload(self, workload: Path) -> dict[str, Any]:
        """Returns what `by_workload` has of a workload: rows by seed, as far as they were made."""
        seeds = [seed for seed in self.suite.seeds if (workload, seed) in self.turnarounds]
        mine = [self.turnarounds[workload, seed] for seed in seeds]
        theirs = {name: [times[workload, seed] for seed in seeds] for name, times in self.references.items()}
        ratios = [fair / own for fair, own in zip(theirs[BASELINE], mine)]
        score = geometric_mean(ratios) if ratios and not self.failure else 0.0
        return {"score": score, "seeds": seeds, "ratios": ratios, "turnaround": {apart.LABEL: mine, **theirs}}

    def summary(self, score: float) -> str:
        """Returns what people read of runs that were valid."""
        others = []
        for name in REFERENCES:
            ratios = [self.references[BASELINE][pair] / time for pair, time in self.references[name].items()]
            others.append(f"{name} {geometric_mean(ratios):.3f}")
        trust = "" if self.confined else "; it was trusted, and not confined"
        refusals = "" if self.refused == 0 else f"; {self.refused} parts of its answers were refused"
        return f"score {score:.3f} on {self.suite.name} ({BASELINE} 1, {', '.join(others)}), {len(self.turnarounds)} runs{refusals}{trust}"


def _source_of(policy: PolicyFile, trusted: bool) -> apart.Source:
    if not isinstance(policy, type):
        return apart.source_of_file(os.fspath(policy))
    if not trusted:
        raise UsageError(
            f"{policy.__name__} is a class, whose code has run in this process already: give the path of its file, or trusted=True")
    return apart.source_of_class(policy)


def _turnaround(entry: dict[str, Any]) -> float:
    value = entry["mean_turnaround"]
    if not isinstance(value, (int, float)) or value <= 0:
        raise MillraceError(f"under {entry['scheduler']} no job of {entry['workload']} has taken time, so there is nothing to compare")
    return float(value)


# ---- an improvement ----


def _compared(suite: suites.Suite, mine: dict[tuple[Path, int], float], theirs: dict[tuple[Path, int], float]) -> dict[str, Any]:
    """Returns the ratio of turnarounds with its interval: a bootstrap over the seeds within each workload, whose deviations are widened by
    sqrt(n / (n - 1)) for n seeds. Each workload counts alike."""
    logs = {path.stem: [math.log(theirs[path, seed] / mine[path, seed]) for seed in suite.seeds] for path in suite.workloads}
    value = mean([mean(each) for each in logs.values()])
    low, high = interval(list(logs.values()))
    return {"suite": suite.name, "ratio": math.exp(value), "low": math.exp(low), "high": math.exp(high), "pairs": len(mine),
            "by_workload": {name: math.exp(mean(each)) for name, each in logs.items()}}


def interval(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Returns an interval for the mean of the groups' means, from resamples within each group. It is as wide as all numbers if a group has
    a single value, which says nothing of how far values are apart."""
    if any(len(group) < 2 for group in groups):
        return -math.inf, math.inf
    chance = random.Random(1)
    centers = [mean(group) for group in groups]
    value = mean(centers)
    found = []
    for _ in range(_RESAMPLES):
        deviations = [
            (mean(chance.choices(group, k=len(group))) - center) * math.sqrt(len(group) / (len(group) - 1))
            for group, center in zip(groups, centers)
        ]
        found.append(value + mean(deviations))
    found.sort()
    tail = int(_RESAMPLES * (1 - CONFIDENCE) / 2)
    return found[tail], found[-1 - tail]


def _judge(training: dict[str, Any], held: dict[str, Any]) -> tuple[str, str]:
    there, here = (f"{each['ratio']:.3f} ({each['low']:.3f} to {each['high']:.3f})" for each in (training, held))
    both = f"turnaround is better by a factor of {there} on {training['suite']} and {here} on {held['suite']}"
    if training["low"] <= 1:
        return "cannot be told", f"{both}: there may be no improvement on {training['suite']} that could hold"
    if held["low"] > 1:
        return "holds", f"{both}: the whole interval is above 1"
    if held["high"] < 1 + PRACTICAL:
        return "does not hold", f"{both}: it is at most {PRACTICAL:.0%} there"
    return "cannot be told", f"{both}: the interval has 1 in it; more seeds would make it narrower"
