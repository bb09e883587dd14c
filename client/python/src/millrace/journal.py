# SPDX-License-Identifier: Apache-2.0
"""Journals of runs as tables: what was decided, of what there was to choose from, and what became of it. For offline learning, and for
questions that no report answers.

    python3 -m millrace.journal to-parquet JOURNAL... -o DIRECTORY        # decisions.parquet, tasks.parquet, jobs.parquet

A journal is a file of `millrace sim --journal`. to-parquet needs pyarrow (`pip install "millrace[arrow]"`). docs/schedulers/learning.md has
the columns.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union
from urllib.parse import unquote

from .errors import MillraceError, UsageError

KINDS = {"m": "map", "r": "reduce"}
Row = dict[str, Any]


@dataclass
class Tables:
    """The rows of a run, in the order in which they began. Times are in microseconds of the run's clock."""

    decisions: list[Row] = field(default_factory=list)
    tasks: list[Row] = field(default_factory=list)
    jobs: list[Row] = field(default_factory=list)


def read(path: Union[str, os.PathLike[str]], run: str = "") -> Tables:
    """Returns the tables of a journal; `run` is what they call it, the file's name if it is not given. Raises UsageError if the file is no
    journal."""
    name = os.fspath(path)
    reader = _Reader(run or Path(name).stem)
    with open(name, encoding="utf-8", errors="surrogateescape") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                try:
                    reader.take(line.rstrip("\n"))
                except (KeyError, ValueError, IndexError) as error:
                    raise UsageError(f"{name}:{number} is no line of a journal: {line.strip()[:80]!r}") from error
    return reader.tables


def to_parquet(journals: Iterable[Union[str, os.PathLike[str]]], directory: Union[str, os.PathLike[str]]) -> None:
    """Writes the tables of the journals into decisions.parquet, tasks.parquet and jobs.parquet of the directory, which is made."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError('to-parquet needs pyarrow: pip install "millrace[arrow]"') from error
    paths = [os.fspath(path) for path in journals]
    names = [Path(path).stem for path in paths]
    found = [read(path, name if names.count(name) == 1 else path) for path, name in zip(paths, names)]
    os.makedirs(directory, exist_ok=True)
    for table, types in _COLUMNS.items():
        rows = [row for tables in found for row in getattr(tables, table)]
        schema = pyarrow.schema([(column, _arrow(pyarrow, of)) for column, of in types.items()])
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), os.path.join(directory, f"{table}.parquet"))


_COLUMNS = {
    "decisions": {"run": "text", "at": "number", "what": "text", "job": "text", "kind": "text", "task": "number", "attempt": "number",
                  "node": "text", "choices": "texts", "reason": "text", "scheduler": "text"},
    "tasks": {"run": "text", "job": "text", "kind": "text", "task": "number", "attempt": "number", "node": "text", "start": "number",
              "copied": "number", "computing": "number", "end": "number", "how": "text", "input_bytes": "number", "output_bytes": "number",
              "cpu": "number", "reason": "text"},
    "jobs": {"run": "text", "job": "text", "name": "text", "user": "text", "pool": "text", "priority": "text", "maps": "number",
             "reduces": "number", "input_bytes": "number", "submit": "number", "deadline": "number", "end": "number", "outcome": "text"},
}


def _arrow(pyarrow: Any, of: str) -> Any:
    return {"text": pyarrow.string(), "number": pyarrow.int64(), "texts": pyarrow.list_(pyarrow.string())}[of]


@dataclass
class _Job:
    row: Row
    pending: dict[str, set[int]]  # by kind: neither running nor done
    done: dict[str, dict[int, str]]  # by kind: task, and the node of its output
    failures: dict[tuple[str, int], int] = field(default_factory=dict)
    most_attempts: int = 4
    may_fail: int = 0  # maps
    failed: int = 0  # maps that were given up
    running: dict[str, Row] = field(default_factory=dict)  # by attempt

    def alive(self) -> bool:
        return self.row["end"] is None


class _Reader:
    """Follows a journal, line by line."""

    def __init__(self, run: str) -> None:
        self.tables = Tables()
        self._run = run
        self._jobs: dict[str, _Job] = {}
        self._scheduler: Optional[str] = None  # the journal does not say which one began
        self._at = 0

    def take(self, line: str) -> None:
        at, event, *words = line.split(" ")
        self._at = int(at)
        values = {key: unquote(value) for key, _, value in (word.partition("=") for word in words)}
        take = getattr(self, "_" + event, None)
        if take is not None:
            take(values)

    def _decided(self, what: str, job: str, **more: Any) -> None:
        row = dict.fromkeys(_COLUMNS["decisions"])
        row.update(run=self._run, at=self._at, what=what, job=job, scheduler=self._scheduler, **more)
        self.tables.decisions.append(row)

    def _end(self, attempt: str, how: str, **more: Any) -> Optional[Row]:
        """Ends a running attempt; the task is pending again unless it has succeeded or another attempt of it runs."""
        job = self._jobs[attempt.partition(".")[0]]
        row = job.running.pop(attempt, None)
        if row is None:
            return None
        row.update(end=self._at, how=how, **more)
        kind, task = row["kind"], row["task"]
        runs = any((of["kind"], of["task"]) == (kind, task) for of in job.running.values())
        if how != "succeeded" and task not in job.done[kind] and not runs:
            job.pending[kind].add(task)
        return row

    def _end_job(self, job: _Job, outcome: str) -> None:
        for attempt in list(job.running):
            self._end(attempt, "killed")
        job.row.update(end=self._at, outcome=outcome)

    # ---- events, by their names ----

    def _JobSubmitted(self, values: dict[str, str]) -> None:
        maps = [int(part.partition(":")[0]) for part in values.get("maps", "").split(";") if part]
        reduces = int(values.get("reduces", "0"))
        user = values.get("user", "")
        row: Row = {
            "run": self._run, "job": values["job"], "name": values.get("name", ""), "user": user, "pool": values.get("pool") or user,
            "priority": values.get("priority", "NORMAL"), "maps": len(maps), "reduces": reduces, "input_bytes": sum(maps),
            "submit": self._at, "deadline": int(values.get("deadline", "0")) or None, "end": None, "outcome": "unfinished",
        }
        self.tables.jobs.append(row)
        self._jobs[values["job"]] = _Job(
            row, {"map": set(range(len(maps))), "reduce": set(range(reduces))}, {"map": {}, "reduce": {}},
            most_attempts=int(values.get("max_attempts", "4")), may_fail=int(values.get("max_failed_maps", "0")))

    def _AttemptLaunched(self, values: dict[str, str]) -> None:
        name, letter, task, number = values["attempt"].split(".")
        job, kind = self._jobs[name], KINDS[letter]
        again = int(task) not in job.pending[kind]
        choices = [key for key, of in self._jobs.items() if of.alive() and of.pending[kind]]
        place = {"kind": kind, "task": int(task), "attempt": int(number), "node": values["node"]}
        self._decided("speculate" if again else "launch", name, choices=None if again else choices, **place)
        row = dict.fromkeys(_COLUMNS["tasks"])
        row.update(run=self._run, job=name, start=self._at, how="running", **place)
        self.tables.tasks.append(row)
        job.running[values["attempt"]] = row
        job.pending[kind].discard(int(task))

    def _AttemptSucceeded(self, values: dict[str, str]) -> None:
        numbers = {key: int(values[key]) for key in ("input_bytes", "output_bytes", "cpu") if key in values}
        row = self._end(values["attempt"], "succeeded", **numbers)
        if row is None:
            return
        job, kind, task = self._jobs[row["job"]], row["kind"], row["task"]
        job.done[kind][task] = row["node"]
        job.pending[kind].discard(task)
        for attempt, other in list(job.running.items()):
            if (other["kind"], other["task"]) == (kind, task):
                self._end(attempt, "killed")
        self._judge(job)

    def _judge(self, job: _Job) -> None:
        last = "reduce" if job.row["reduces"] else "map"
        if job.alive() and len(job.done[last]) + (job.failed if last == "map" else 0) == job.row[f"{last}s"]:
            self._end_job(job, "succeeded")

    def _AttemptFailed(self, values: dict[str, str]) -> None:
        row = self._end(values["attempt"], "failed", reason=values.get("reason", ""))
        if row is None:
            return
        job, task = self._jobs[row["job"]], (row["kind"], row["task"])
        job.failures[task] = job.failures.get(task, 0) + 1
        if job.failures[task] < job.most_attempts and values.get("permanent", "0") in ("0", "false"):
            return
        job.pending[task[0]].discard(task[1])
        job.failed += task[0] == "map"
        if task[0] == "reduce" or job.failed > job.may_fail:
            self._end_job(job, "failed")
        else:
            self._judge(job)

    def _AttemptLost(self, values: dict[str, str]) -> None:
        if self._end(values["attempt"], "lost", reason=values.get("reason", "")) is None:
            name, letter, task, _ = values["attempt"].split(".")
            self._forget(self._jobs[name], KINDS[letter], int(task))

    def _AttemptPreempted(self, values: dict[str, str]) -> None:
        name, letter, task, number = values["attempt"].split(".")
        self._decided("preempt", name, kind=KINDS[letter], task=int(task), attempt=int(number), reason=values.get("reason"))
        self._end(values["attempt"], "preempted", reason=values.get("reason", ""))

    def _NodeLost(self, values: dict[str, str]) -> None:
        for job in self._jobs.values():
            if not job.alive():
                continue
            for attempt, row in list(job.running.items()):
                if row["node"] == values["node"]:
                    self._end(attempt, "lost")
            if job.row["reduces"]:
                for task, node in list(job.done["map"].items()):
                    if node == values["node"]:
                        self._forget(job, "map", task)

    def _forget(self, job: _Job, kind: str, task: int) -> None:
        if job.alive() and job.done[kind].pop(task, None) is not None:
            job.pending[kind].add(task)

    def _OutputMoved(self, values: dict[str, str]) -> None:
        name, letter, task, _ = values["attempt"].split(".")
        done = self._jobs[name].done[KINDS[letter]]
        if int(task) in done:
            done[int(task)] = values["to"]

    def _ReduceCopied(self, values: dict[str, str]) -> None:
        self._mark(values["attempt"], "copied")

    def _ReduceComputing(self, values: dict[str, str]) -> None:
        self._mark(values["attempt"], "copied")
        self._mark(values["attempt"], "computing")

    def _ComputeGranted(self, values: dict[str, str]) -> None:
        name, _, task, number = values["attempt"].split(".")
        self._decided("permit", name, kind="reduce", task=int(task), attempt=int(number))
        self._mark(values["attempt"], "computing")

    def _mark(self, attempt: str, column: str) -> None:
        row = self._jobs[attempt.partition(".")[0]].running.get(attempt)
        if row is not None and row[column] is None:
            row[column] = self._at

    def _JobKilled(self, values: dict[str, str]) -> None:
        self._end_job(self._jobs[values["job"]], "killed")

    def _JobGivenUp(self, values: dict[str, str]) -> None:
        self._end_job(self._jobs[values["job"]], "failed")

    def _JobPrioritySet(self, values: dict[str, str]) -> None:
        self._jobs[values["job"]].row["priority"] = values["priority"]

    def _JobEvicted(self, values: dict[str, str]) -> None:
        job = self._jobs[values["job"]]
        self._decided("evict", values["job"])
        for attempt in list(job.running):
            self._end(attempt, "killed")
        for task in list(job.done["map"]):
            self._forget(job, "map", task)

    def _SchedulerSet(self, values: dict[str, str]) -> None:
        self._scheduler = values["name"]


def main(words: Optional[Sequence[str]] = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m millrace.journal", description="Journals of runs as tables.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("to-parquet", help="writes decisions.parquet, tasks.parquet and jobs.parquet")
    verb.add_argument("journals", metavar="JOURNAL", nargs="+", help="a file of `millrace sim --journal`")
    verb.add_argument("-o", "--output", metavar="DIRECTORY", required=True)
    given = parser.parse_args(words)
    try:
        to_parquet(given.journals, given.output)
    except (MillraceError, OSError) as error:
        print(f"millrace.journal: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
