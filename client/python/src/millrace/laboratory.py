# SPDX-License-Identifier: Apache-2.0
"""Simulations and comparisons of schedulers, from Python. The work is done by `millrace sim` and `millrace compare`, so results are theirs:
the same figures, verdicts and report."""

from __future__ import annotations

import csv
import importlib.util
import inspect
import json
import os
import shlex
import stat
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from . import program
from .errors import UsageError
from .policy import Policy

if TYPE_CHECKING:
    import pandas

Scheduler = Union[str, "os.PathLike[str]", type[Policy]]
"""A class of this package's, a path of a program, or an expression of Millrace's own schedulers ("fair+delay")."""


class Simulation:
    """One scheduler's run."""

    def __init__(self, scheduler: str, directory: Path) -> None:
        self.scheduler = scheduler
        self.summary: dict[str, Any] = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
        with (directory / "jobs.csv").open(encoding="utf-8", newline="") as file:
            self.jobs: list[dict[str, Any]] = [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(file)]

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the jobs as a DataFrame of pandas."""
        import pandas

        return pandas.DataFrame(self.jobs)

    def __repr__(self) -> str:
        return f"<Simulation of {len(self.jobs)} jobs under {self.scheduler}>"


def simulate(
    scheduler: Scheduler, workload: Union[str, os.PathLike[str]], *, seed: Optional[int] = None, settings: str = "", think: str = "", words: Iterable[str] = ()
) -> Simulation:
    """Simulates the workload (a file of `millrace sim`) under one scheduler.

    seed      of all random choices; that of the file if it is not given
    settings  a scheduler file
    think     how long a program thinks in the time of the simulation: "5ms", "measured"; no time if it is not given
    words     further words of `millrace sim`: ["--nodes", "16"]
    """
    with tempfile.TemporaryDirectory(prefix="millrace-") as directory:
        label, word = _word(scheduler, Path(directory))
        output = Path(directory) / "output"
        program.run(["sim", os.fspath(workload), "--scheduler", word, "-o", str(output), *_options(seed, settings), *(["--think", think] if think else []), *words])
        return Simulation(label, next(path.parent for path in output.glob("*/summary.json")))


def compare(
    schedulers: Iterable[Scheduler], workload: Union[str, os.PathLike[str]], *, repeat: int = 10, seed: Optional[int] = None, settings: str = "", output: str = "",
    words: Iterable[str] = (),
) -> Any:
    """Compares schedulers over the workload, as `millrace compare` does: each `repeat` times, over pairs of equal jobs. Returns its
    document (docs/schedulers/comparison.md); `output` is a directory for the report."""
    with tempfile.TemporaryDirectory(prefix="millrace-") as directory:
        named = [_word(scheduler, Path(directory))[1] for scheduler in schedulers]
        into = output or str(Path(directory) / "output")
        program.run(["compare", os.fspath(workload), "--scheduler", ",".join(named), "--repeat", str(repeat), "-o", into, *_options(seed, settings), *words])
        return json.loads((Path(into) / "comparison.json").read_text(encoding="utf-8"))


def load(path: str, name: str) -> type[Policy]:
    """Returns a class of a file of Python, which is loaded as a module and not as the main program."""
    directory = str(Path(path).resolve().parent)
    if directory not in sys.path:
        sys.path.insert(0, directory)
    spec = importlib.util.spec_from_file_location("millrace_policy", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    made = getattr(module, name, None)
    if not (isinstance(made, type) and issubclass(made, Policy)):
        raise UsageError(f"{path} has no policy {name} at its top level")
    return made


def file_of(policy: type[Policy]) -> str:
    """Returns the file of a class. Raises UsageError if it is none from which a process of its own could load the class."""
    if not issubclass(policy, Policy):
        raise UsageError(f"{policy.__name__} is not a class that is made from millrace.Policy")
    try:
        source = inspect.getsourcefile(policy)
    except TypeError:
        source = None
    if source is None or not os.path.isfile(source) or "." in policy.__qualname__:
        raise UsageError(
            f"{policy.__qualname__} is not at the top level of a file, from which a process of its own could load it: write it into one, and import it")
    return source


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _options(seed: Optional[int], settings: str) -> list[str]:
    return [*(["--seed", str(seed)] if seed is not None else []), *(["--settings", settings] if settings else [])]


def _word(scheduler: Scheduler, directory: Path) -> tuple[str, str]:
    """Returns the label of the scheduler and its word for --scheduler; a class becomes a program in the directory."""
    if isinstance(scheduler, str) and "/" not in scheduler and not scheduler.endswith(".py"):
        return scheduler, scheduler
    if not isinstance(scheduler, type):
        path = os.fspath(scheduler)
        return Path(path).stem, f"external:{path}"
    source = file_of(scheduler)
    label = scheduler.__name__.lower()
    script = directory / f"{label}.py"
    package = str(Path(__file__).resolve().parent.parent)
    script.write_text(
        f"#!/bin/sh\n''':'\nexec {shlex.quote(sys.executable)} \"$0\"\n'''\nimport sys\nsys.path.insert(0, {package!r})\n"
        f"from millrace.laboratory import load\nfrom millrace.policy import serve\nserve(load({os.path.abspath(source)!r}, {scheduler.__name__!r}))\n", encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return label, f"{label}=external:{script}"
