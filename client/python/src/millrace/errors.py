# SPDX-License-Identifier: Apache-2.0
"""What this package raises. Each message is a sentence that says what is wrong and what to do."""

from __future__ import annotations

import json
from typing import Any


class MillraceError(Exception):
    """The base of all exceptions of this package."""


class UsageError(MillraceError):
    """A job, or a call of this package, is wrong. Nothing was run."""


class CommandFailed(MillraceError):
    """A command of the program `millrace` failed. `status` is its exit status: 1 it failed, 2 wrong usage, 3 the cluster
    cannot be reached."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


class TaskError(MillraceError):
    """What a function of the job raised in a task on a worker: its type and message, with the traceback as text.

    It stands in for the exception itself, which stayed on the worker, as the `__cause__` of a JobFailed.
    """

    def __init__(self, kind: str, message: str, traceback: list[str]) -> None:
        super().__init__(kind, message, traceback)
        self.kind, self.message, self.traceback = kind, message, traceback

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}\n" + "\n".join(self.traceback)


class JobFailed(MillraceError):
    """A job did not succeed.

    `reason` is the line that the cluster gives. If a function of the job raised an exception, `record` is the repr of the
    record or key at which it did (cut to 500 characters), `path` and `offset` say where a map found that record, and
    `__cause__` is the exception: itself in `Job.test`, else a TaskError.
    """

    def __init__(
        self,
        reason: str,
        *,
        job: int | None = None,
        record: str = "",
        path: str = "",
        offset: int | None = None,
    ) -> None:
        where = f"\n  at {path}, byte {offset}" if path and offset is not None else f"\n  in {path}" if path else ""
        super().__init__(reason + where + (f"\n  record: {record}" if record else ""))
        self.reason, self.job, self.record, self.path, self.offset = reason, job, record, path, offset


FAILURE_MARK = "millrace-failure: "  # begins the line of an attempt's log that holds its failure as JSON


def failure_in(log: str) -> dict[str, Any] | None:
    """Returns the last failure that a child wrote to its log, or None."""
    for line in reversed(log.splitlines()):
        at = line.find(FAILURE_MARK)
        if at >= 0:
            try:
                found = json.loads(line[at + len(FAILURE_MARK) :])
            except ValueError:
                continue
            return found if isinstance(found, dict) else None
    return None


def job_failed(failure: dict[str, Any], *, reason: str = "", job: int | None = None, cause: BaseException | None = None) -> JobFailed:
    """Returns the exception for a failure (the JSON of the message X); `cause` is the exception itself if it is here."""
    text = f"{failure['type']}: {failure['message']}"
    error = JobFailed(
        reason or text,
        job=job,
        record=failure.get("record") or "",
        path=failure.get("path") or "",
        offset=failure.get("offset"),
    )
    error.__cause__ = cause or TaskError(failure["type"], failure["message"], list(failure.get("traceback") or []))
    return error
