# SPDX-License-Identifier: Apache-2.0
"""An environment of Gymnasium in which an agent gives out the slots of a simulated cluster. Needs the packages gymnasium and numpy
(`pip install "millrace[gym]"`).

    env = millrace.gym.SlotEnv("toy.toml", jobs=16)
    observation, info = env.reset(seed=1)
    while True:
        observation, reward, terminated, truncated, info = env.step(agent(observation, env.action_masks()))
        if terminated or truncated:
            break

The simulator is a child of this process, and asks a policy of kind "assignment" (policy.py), whose answers are the agent's. That policy
is two `cat`s, which join the simulator with this process; they end with either. docs/schedulers/learning.md tells what an agent sees.
"""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import subprocess
import tempfile
import weakref
from pathlib import Path
from typing import Any, Optional, Union

try:
    import gymnasium
    import numpy
except ImportError as error:
    raise ImportError('millrace.gym needs gymnasium and numpy: pip install "millrace[gym]"') from error

from . import apart, program
from .errors import UsageError
from .policy import VERSION, Cluster, Job, Kind, Mirror

FEATURES = (
    "there", "may_take", "map", "maps_pending", "maps_running", "reduces_pending", "reduces_running", "work", "task_time", "age", "share",
    "order",
)
"""What is known of each job, in the order of the columns; each is between 0 and 1.

there, may_take           1 if the row has a job, and if that may take the slot
map                       1 if the slot is one for maps
..._pending, ..._running  ln(1 + tasks) / 10
work, task_time, age      ln(1 + seconds) / 15: of the tasks that are not done (known times, else 1 s each), of a task of this kind, since
                          its submission
share                     of the slots that the cluster has of this kind, those that the job holds
order                     its place among the jobs that are there, by submission, over `jobs`
"""

Observation = numpy.ndarray[Any, numpy.dtype[numpy.float32]]
Mask = numpy.ndarray[Any, numpy.dtype[numpy.int8]]


class SlotEnv(gymnasium.Env[Observation, numpy.int64]):
    """One slot is given out with each step: the action is the row of the job that gets it.

    workload  a file of `millrace sim`
    jobs      how many jobs the agent sees: the first that were submitted of those that live. Later ones come into view as these end
    tick      seconds of the simulation: time passes in the environment at least so often, also while no slot is in question
    settings  a scheduler file without a section [external]
    words     further words of `millrace sim`: ["--nodes", "16"]

    There is no action for "none": a slot that some job can use is given out. A slot that no job in view can use goes by submission,
    without a step. An action that `action_masks` rules out is replaced by the first that it allows, and `info["replaced"]` is True then.

    The reward of a step is minus the job-seconds that have passed until the next one: the integral of the number of jobs in the system. A
    job that ends while no slot is in question is noticed within a tick; the reward of the last step is settled by what the simulator
    reports, so that the sum of all is minus the sum of the turnarounds.

    An episode is terminated when all jobs have ended. It is truncated if some have not: at `stop_at` of the workload, or as nothing runs
    and nothing will. `reset(seed=N)` simulates `--seed N`; a reset without a seed draws one.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self, workload: Union[str, os.PathLike[str]], jobs: int = 32, *, tick: float = 1.0, settings: str = "", words: tuple[str, ...] = ()
    ) -> None:
        if jobs < 1 or tick <= 0:
            raise UsageError("an environment has a job at least, and a tick above 0")
        self.workload = os.path.abspath(os.fspath(workload))
        if not os.path.isfile(self.workload):
            raise UsageError(f"there is no workload {self.workload!r}")
        self.jobs = jobs
        self._tick, self._settings, self._words = int(tick * 1e6), settings, tuple(words)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (jobs, len(FEATURES)), numpy.float32)
        self.action_space = gymnasium.spaces.Discrete(jobs)
        self._run: Optional[_Run] = None
        self._view: list[Job] = []
        self._kind: Kind = "map"

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict[str, Any]] = None) -> tuple[Observation, dict[str, Any]]:
        """Begins a simulation. Raises CommandFailed if it cannot be made."""
        super().reset(seed=seed)
        self.close()
        of_workload = int(self.np_random.integers(2**31)) if seed is None else seed
        run = self._run = _Run(self.workload, of_workload, self._tick, self._settings, self._words)
        try:
            self._advance()
            if run.over:
                raise UsageError(f"in {self.workload} there is no slot to give out")
        except BaseException:
            self.close()
            raise
        return self._observe(), {"seed": of_workload, "now": run.cluster.now / 1e6}

    def step(self, action: Union[int, numpy.int64]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Gives the slot to a job, and goes on to the next slot."""
        run = self._run
        if run is None or run.over:
            raise UsageError("the episode is over: reset() begins another")
        if not self.action_space.contains(numpy.int64(action)):
            raise UsageError(f"{action!r} is no action: it is from 0 to {self.jobs - 1}")
        mask = self.action_masks()
        replaced = not mask[action]
        job = self._view[int(mask.argmax() if replaced else action)]
        try:
            run.answer(self._kind, job)
            self._advance()
        except BaseException:
            self.close()
            raise
        info: dict[str, Any] = {"now": run.cluster.now / 1e6, "replaced": bool(replaced)}
        if run.over:
            info.update(turnarounds=run.turnarounds, now=run.now)
        return self._observe(), run.reward(), run.over and run.complete, run.over and not run.complete, info

    def action_masks(self) -> Mask:
        """Returns 1 for each row whose job may take the slot, else 0. After the end all are 0."""
        mask = numpy.zeros(self.jobs, dtype=numpy.int8)
        if self._run is not None and not self._run.over:
            for row, job in enumerate(self._view):
                mask[row] = job.may_take(self._kind)
        return mask

    def close(self) -> None:
        """Ends the simulation, and the processes that make it."""
        if self._run is not None:
            self._run.close()
            self._run = None

    def _advance(self) -> None:
        """Goes on to a slot that a job in view can use, or to the end."""
        run = self._run
        assert run is not None
        while run.ask():
            self._view = run.cluster.jobs[: self.jobs]
            wanted = self._wanted(run.cluster)
            if wanted is not None:
                self._kind = wanted
                if any(job.may_take(wanted) for job in self._view):
                    return
            run.answer(self._kind, None)
        self._view = []

    @staticmethod
    def _wanted(cluster: Cluster) -> Optional[Kind]:
        """Returns the kind of the slot that is given out next: one that is free, and that a job may take. Maps come first."""
        free: dict[Kind, int] = {
            "map": sum(node.free_maps for node in cluster.nodes.values()),
            "reduce": sum(node.free_reduces for node in cluster.nodes.values()),
        }
        return next((kind for kind, slots in free.items() if slots and any(job.may_take(kind) for job in cluster.jobs)), None)

    def _observe(self) -> Observation:
        found = numpy.zeros((self.jobs, len(FEATURES)), dtype=numpy.float32)
        run = self._run
        if run is None or not self._view:
            return found
        cluster, kind = run.cluster, self._kind
        slots = max(1, cluster.slots[kind])
        for row, job in enumerate(self._view):
            found[row] = (
                1, job.may_take(kind), kind == "map", job.maps_pending, job.maps_running, job.reduces_pending, job.reduces_running,
                _work(job) / 1e6, (job.task_time(kind) or 0) / 1e6, (cluster.now - job.submitted) / 1e6,
                job.running(kind) / slots, row / self.jobs,
            )
        found[:, 3:7] = numpy.log1p(found[:, 3:7]) / 10
        found[:, 7:10] = numpy.log1p(found[:, 7:10]) / 15
        return numpy.clip(found, 0, 1, out=found)


def _work(job: Job) -> int:
    """Returns the time of the tasks that are not done, in microseconds."""
    maps, reduces = ((job.remaining(kind), job.task_time(kind) or 1_000_000) for kind in ("map", "reduce"))
    return maps[0] * maps[1] + reduces[0] * reduces[1]


class _Run:
    """A simulation that asks this process, and what it has told so far."""

    def __init__(self, workload: str, seed: int, tick: int, settings: str, words: tuple[str, ...]) -> None:
        self._tick = tick
        self.over = False
        self.complete = False  # all jobs have ended; known once it is over
        self.turnarounds: list[float] = []
        self.now = 0.0  # seconds
        self._mirror = Mirror()
        self._question = 0
        self._counted = 0.0  # job-seconds for which there was a reward
        self._seen: dict[str, int] = {}  # job, since
        self._earned = 0.0
        self._directory = tempfile.mkdtemp(prefix="millrace-")
        mine: list[int] = []
        theirs: list[int] = []
        try:
            read, write = os.pipe()
            mine, theirs = [read], [write]
            read, write = os.pipe()
            mine, theirs = [*mine, write], [*theirs, read]
            relay = Path(self._directory, "relay")
            # What this process says ends with it, and then the simulator waits for nobody.
            relay.write_text(f"#!/bin/sh\n(cat </dev/fd/{theirs[1]}; kill $$) &\nexec cat >/dev/fd/{theirs[0]}\n", encoding="utf-8")
            relay.chmod(0o755)
            file = Path(self._directory, "settings.toml")
            text = Path(settings).read_text(encoding="utf-8") if settings else ""
            text += f'\n[external]\nprogram = "{relay}"\nkind = "assignment"\nfallback = "fifo"\npatience = "24h"\n'
            file.write_text(text, encoding="utf-8")
            self._output = Path(self._directory, "output")
            self._errors = Path(self._directory, "errors").open("w+b")  # noqa: SIM115
            started = program.start(
                ["sim", workload, "--seed", str(seed), "--scheduler", "external", "--settings", str(file), "-o", str(self._output),
                 "--no-tasks", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._errors, pass_fds=theirs, start_new_session=True)
        except BaseException:
            for fd in mine:
                os.close(fd)
            shutil.rmtree(self._directory, ignore_errors=True)
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        self._lines, self._answers = os.fdopen(mine[0], "rb"), os.fdopen(mine[1], "wb")
        self._process = started
        self._finish = weakref.finalize(self, _end, started, self._lines, self._answers, self._errors, self._directory)

    @property
    def cluster(self) -> Cluster:
        """What the simulator has told."""
        return self._mirror.cluster

    def ask(self) -> bool:
        """Reads on to the next question. Returns False when the simulation is over."""
        if self.over:
            return False
        for raw in self._lines:
            line = raw.decode("utf-8", "surrogateescape").rstrip("\n")
            if line.startswith("hello "):
                self._say(f"hello {VERSION} name=gym kind=assignment")
                continue
            question = self._mirror.read(line)
            if question is not None:
                self._question = question
                self._pass(self.cluster.now)
                return True
        self._conclude()
        return False

    def answer(self, kind: Kind, job: Optional[Job]) -> None:
        """Answers the open question: the slot is the job's. None: it goes by submission."""
        rest = [each.id for each in self.cluster.jobs]
        order = ",".join(rest if job is None else [job.id, *(other for other in rest if other != job.id)])
        self._say(f"order {kind}s={order}\nwake at={self.cluster.now + self._tick}\nseen {self._question}")

    def reward(self) -> float:
        """Returns what has been earned since the last call."""
        earned, self._earned = self._earned, 0.0
        return earned

    def close(self) -> None:
        """Ends the simulation."""
        self.over = True
        self._finish()

    def _say(self, text: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # the simulation has ended, which the next question tells
            self._answers.write(text.encode() + b"\n")
            self._answers.flush()

    def _pass(self, now: int) -> None:
        """Counts the time of the jobs that have come, up to now."""
        live = self.cluster.jobs_by_id
        spent = sum(now - self._seen.pop(job) for job in list(self._seen) if job not in live)
        for job in live.values():
            spent += now - self._seen.get(job.id, job.submitted)
            self._seen[job.id] = now
        self._earned -= spent / 1e6
        self._counted += spent / 1e6

    def _conclude(self) -> None:
        self.over = True
        status = self._process.wait()
        rows: list[dict[str, str]] = []
        for path in self._output.glob("*/jobs.csv"):
            with path.open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
        self.complete = all(row["outcome"] != "unfinished" for row in rows)
        self._errors.seek(0)
        said = self._errors.read()
        if not rows or (status != 0 and (self.complete or b"relieved" in said)):
            raise program.failed(["sim"], status, said.partition(b"The last that was said:")[0])
        ends = [float(row["end"]) for row in rows if row["end"]]
        self.now = max(ends, default=self.cluster.now / 1e6)
        self.turnarounds = [float(row["turnaround"]) for row in rows if row["turnaround"]]
        # Those that have not ended have waited up to the last question; what comes later is not known.
        waited = sum(self.cluster.now / 1e6 - float(row["submit"]) for row in rows if not row["turnaround"] and row["submit"])
        self._earned -= sum(self.turnarounds) + max(0.0, waited) - self._counted


def _end(started: Any, lines: Any, answers: Any, errors: Any, directory: str) -> None:
    for file in (lines, answers):
        with contextlib.suppress(OSError):
            file.close()
    apart.end(started)
    errors.close()
    shutil.rmtree(directory, ignore_errors=True)
