# SPDX-License-Identifier: Apache-2.0
"""Suites of workloads over which policies are evaluated: the two that come with this package, and directories of the user's own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from .errors import UsageError

SEEDS: dict[str, tuple[int, ...]] = {"training": tuple(range(1, 4)), "held-out": tuple(range(1001, 1009))}
"""The seeds of the suites of this package. Those of a directory are 1 to 3."""


@dataclass(frozen=True)
class Suite:
    """Workload files (docs/schedulers/simulator.md), each of which is drawn once for each seed."""

    name: str
    workloads: tuple[Path, ...]
    seeds: tuple[int, ...]

    def pairs(self) -> list[tuple[Path, int]]:
        """Returns each workload with each seed, the first seed of all workloads first, so that a policy that fails does so early."""
        return [(workload, seed) for seed in self.seeds for workload in self.workloads]


def find(suite: Union[str, os.PathLike[str]], seeds: Optional[Iterable[int]] = None) -> Suite:
    """Returns the suite of this name, or that of the workload files (*.toml) of this directory. `seeds` are taken in place of the declared
    ones. Raises UsageError if there is no such suite, or if it has no workloads or seeds."""
    name = os.fspath(suite)
    directory = Path(__file__).parent / "suites" / name if name in SEEDS else Path(name)
    if not directory.is_dir():
        raise UsageError(f"{name!r} is neither a suite ({', '.join(SEEDS)}) nor a directory of workload files")
    workloads = tuple(sorted(path.resolve() for path in directory.glob("*.toml")))
    if not workloads:
        raise UsageError(f"the directory {name!r} has no workload file (*.toml)")
    chosen = SEEDS.get(name, SEEDS["training"]) if seeds is None else tuple(dict.fromkeys(seeds))
    if not chosen:
        raise UsageError("a suite needs a seed")
    return Suite(name, workloads, chosen)
