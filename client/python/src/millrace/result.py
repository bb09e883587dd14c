# SPDX-License-Identifier: Apache-2.0
"""Jobs on a cluster: submitting them, watching them, and reading what they left."""

from __future__ import annotations

import contextlib
import html
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Optional, Union

from . import bundle, environment, formats, fs, interpreters, program
from .errors import CommandFailed, JobFailed, UsageError, failure_in, job_failed
from .jobs import Job

if TYPE_CHECKING:
    import pandas
    import polars

_FORMS = {"lines": "lines", "records": "records", "files": "files", "tables": "tables"}
_ENDED = ("succeeded", "failed", "killed", "lost")
_FIRST_POLL_SECONDS, _POLL_SECONDS = 0.1, 1.0  # between looks at a job: more and more, since most short jobs end soon


def submit(
    job: Job,
    inputs: Union[str, Iterable[str]],
    output: str,
    *,
    reducers: int = 1,
    options: Optional[Mapping[str, Any]] = None,
    settings: Optional[Mapping[str, Any]] = None,
    files: Iterable[str] = (),
    archives: Iterable[str] = (),
    env: Optional[Mapping[str, str]] = None,
    requirements: str = "",
    python: str = "python3",
    name: str = "",
    pool: str = "",
    priority: str = "",
    deadline: str = "",
    after: Iterable[Union[int, Result]] = (),
) -> Result:
    """Submits a job to the cluster of MILLRACE_MASTER.

    inputs     a path of the file system, or several; a map for each if the job has several maps
    output     a directory of the file system that does not exist yet
    reducers   how many reduces (and parts of the output) there are
    options    options of the job, by name
    settings   options of the engine, as for `millrace run -D`: {"task.memory_limit": "2GiB"}
    files, archives, env   more of what the job has
    requirements   a requirements.txt; its packages are installed once, on this machine, and go with the job
    python     the command of Python on the workers. Of python3 they say the version, and a job that none can run is refused
    after      jobs that have to succeed first
    The others are those of `millrace run`. Raises UsageError before anything is sent, CommandFailed if the cluster refuses the job.
    """
    more: list[str] = ["--detach", "--json"]
    for flag, value in (("--pool", pool), ("--priority", priority), ("--deadline", deadline)):
        more += [flag, value] if value else []
    first = ",".join(str(each.number if isinstance(each, Result) else each) for each in after)
    more += ["--after", first] if first else []
    with _words(job, inputs, output, reducers, options, settings, files, archives, env, requirements, python, name, True) as words:
        said = program.run(["stream", *words, *more])
    return Result(int(json.loads(said)["job"]), DfsOutput(output), job)


def local(
    job: Job,
    inputs: Union[str, Iterable[str]],
    output: str,
    *,
    workers: int = 2,
    reducers: int = 1,
    options: Optional[Mapping[str, Any]] = None,
    settings: Optional[Mapping[str, Any]] = None,
    files: Iterable[str] = (),
    archives: Iterable[str] = (),
    env: Optional[Mapping[str, str]] = None,
    requirements: str = "",
    python: str = sys.executable,
    quiet: bool = False,
) -> Result:
    """Runs a job over local files, on a cluster of this machine that lives as long as the job.

    `inputs` are local files and directories, `output` is a directory that does not exist yet; the rest is as for `submit`. Tasks run
    with this Python. Raises JobFailed.
    """
    with _words(job, inputs, output, reducers, options, settings, files, archives, env, requirements, python, "", False) as words:
        command = ["local", "--workers", str(workers), "stream", *words, "--json"]
        with (
            tempfile.TemporaryFile() as said,
            program.start(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.PIPE) as process,
        ):
            assert process.stderr is not None
            told = []
            for line in process.stderr:  # progress
                told.append(line)
                if not quiet:
                    sys.stderr.write(line.decode("utf-8", "replace"))
            status = process.wait()
            said.seek(0)
            state = _json_of(said.read())
    if status != 0:
        raise _failure_of_local(output, state, program.failed(command, status, b"".join(told)))
    return Result(int(state.get("job", 0)), LocalOutput(output), job, state)


def attach(number: int, job: Optional[Job] = None) -> Result:
    """Returns the result of a job of the cluster by its number; with `job`, its output is read in that job's format."""
    state = program.run_json(["job", "status", str(number), "--json"])
    return Result(number, DfsOutput(state["output"]), job, state)


@contextlib.contextmanager
def _words(
    job: Job,
    inputs: Union[str, Iterable[str]],
    output: str,
    reducers: int,
    options: Optional[Mapping[str, Any]],
    settings: Optional[Mapping[str, Any]],
    files: Iterable[str],
    archives: Iterable[str],
    env: Optional[Mapping[str, str]],
    requirements: str,
    python: str,
    name: str,
    on_cluster: bool,
) -> Iterator[list[str]]:
    """Gives the words of `millrace stream` for a job; the files that they name exist within the context."""
    if bundle.is_task():
        raise UsageError(f'the job {job.name} is run while a task imports its file: put the call under `if __name__ == "__main__":`')
    job.check()
    paths = [inputs] if isinstance(inputs, str) else [str(path) for path in inputs]
    if len(job.mappers) > 1 and len(paths) != len(job.mappers):
        raise UsageError(f"the job {job.name} has {len(job.mappers)} maps, so it takes as many inputs, and not {len(paths)}")
    forms = [_FORMS[mapper.reads.unit] for mapper in job.mappers]
    chosen = job.set_options(options)
    all_files, all_archives = [*job.files, *files], [*job.archives, *archives]
    with tempfile.TemporaryDirectory(prefix="millrace-job-") as place:
        zipped = os.path.join(place, bundle.NAME)
        made = bundle.build(job, all_files, all_archives, bool(requirements))
        Path(zipped).write_bytes(made.data)
        if on_cluster:
            interpreters.check(job.name, made.by, bool(requirements), python)
        form = forms[0] if len(set(forms)) == 1 else ",".join(forms)
        command = f"{shlex.quote(python)} {bundle.NAME}"
        words = ["-io", "frames", "-mapper", command, "-inputformat", form, "-output", output, "-name", name or job.name]
        for path in paths:
            words += ["-input", path]
        if job.reducer is not None:
            words += ["-reducer", command, "-numReduceTasks", str(reducers)]
        else:
            words += ["-numReduceTasks", "0"]
        if requirements:
            words += ["-file", f"{environment.build(requirements)}#{environment.NAME}"]
        for path in [zipped, *(path for path in all_files if not path.endswith(".py"))]:
            words += ["-file", path]
        for path in all_archives:
            words += ["-archive", path]
        for key, value in {**job.env, **(env or {})}.items():
            words += ["-cmdenv", f"{key}={value}"]
        for key, value in {**{key: _option_text(value) for key, value in chosen.items()}, **(settings or {})}.items():
            words += ["-D", f"{key}={value}"]
        yield words


def _pauses() -> Iterator[float]:
    pause = _FIRST_POLL_SECONDS
    while True:
        yield pause
        pause = min(pause * 1.5, _POLL_SECONDS)


def _option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _json_of(said: bytes) -> dict[str, Any]:
    try:
        found = json.loads(said)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _failure_of_local(output: str, state: dict[str, Any], error: CommandFailed) -> Exception:
    """Returns the exception for a local run: a JobFailed if a job ran, with what its task told in OUTPUT.log."""
    if error.status != 1:
        return error
    logs = sorted(Path(output).parent.glob(Path(output).name + "*.log"), key=lambda path: path.stat().st_mtime)
    told = failure_in(logs[-1].read_text("utf-8", "replace")) if logs else None
    reason = state.get("reason") or str(error)
    return job_failed(told, reason=reason) if told else JobFailed(reason)


class LocalOutput:
    """The output of a job in a local directory."""

    def __init__(self, place: str) -> None:
        self.place = place

    def names(self) -> list[str]:
        return sorted(os.listdir(self.place))

    def open(self, name: str) -> BinaryIO:
        return open(os.path.join(self.place, name), "rb")


class DfsOutput:
    """The output of a job in the file system of the cluster."""

    def __init__(self, place: str) -> None:
        self.place = place

    def names(self) -> list[str]:
        return sorted(os.path.basename(entry["path"]) for entry in fs.ls(self.place))

    def open(self, name: str) -> BinaryIO:
        return fs.cat(f"{self.place.rstrip('/')}/{name}")


class Result:
    """A job of a cluster, and its output.

    Its calls ask the cluster, so they raise CommandFailed if that cannot be reached. In a notebook it shows itself, and `watch`
    keeps the picture up to date.
    """

    def __init__(
        self,
        number: int,
        output: Union[LocalOutput, DfsOutput],
        job: Optional[Job] = None,
        state: Optional[dict[str, Any]] = None,
    ) -> None:
        self.number, self.output = number, output.place
        self._output, self._job = output, job
        self._state = state or {}
        self._over = isinstance(output, LocalOutput)  # its cluster has ended

    def __repr__(self) -> str:
        state = self._state.get("state", "submitted")
        return f"<millrace.Result job {self.number}: {state}, {self.output}>"

    # The job -------------------------------------------------------------------------------------------------------
    def status(self) -> dict[str, Any]:
        """Returns what `millrace job status --json` prints (docs/use/json.md); the last of it once the job has ended."""
        if not self._over and self._state.get("state") not in _ENDED:
            self._state = program.run_json(["job", "status", str(self.number), "--json"])
        return self._state

    @property
    def state(self) -> str:
        """ "waiting", "running", "succeeded", "failed", "killed" or "lost"."""
        return str(self.status().get("state", "succeeded"))

    def progress(self) -> tuple[float, float]:
        """Returns how much of the maps and of the reduces is done, from 0 to 1."""
        status = self.status()
        return _fraction(status, "maps"), _fraction(status, "reduces")

    def wait(self, timeout: Optional[float] = None) -> Result:
        """Waits for the end of the job and returns this. Raises JobFailed if it did not succeed, TimeoutError after `timeout` s."""
        until = None if timeout is None else time.monotonic() + timeout
        pauses = _pauses()
        while self.state not in _ENDED:
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"job {self.number} is {self.state} after {timeout} s")
            pause = next(pauses)
            time.sleep(pause if until is None else max(0.0, min(pause, until - time.monotonic())))
        return self._check()

    def watch(self) -> Result:
        """Waits like `wait` and shows the progress: as a picture in a notebook, as a line at a terminal, else not."""
        display = _notebook_display()
        handle = display(self, display_id=True) if display else None
        line = handle is None and sys.stderr.isatty()
        pauses = _pauses()
        while self.state not in _ENDED:
            if handle is not None:
                handle.update(self)
            elif line:
                maps, reduces = self.progress()
                sys.stderr.write(f"\rjob {self.number} {self._state['state']}: maps {maps:4.0%}, reduces {reduces:4.0%} ")
            time.sleep(next(pauses))
        if handle is not None:
            handle.update(self)
        elif line:
            sys.stderr.write(f"\rjob {self.number} {self.state}" + " " * 40 + "\n")
        return self._check()

    def _check(self) -> Result:
        if self.state == "succeeded":
            return self
        reason = f"job {self.number} {self.state}: {self._state.get('reason', '')}"
        try:
            told = failure_in(self.logs(failed=True)) if self.state == "failed" else None
        except CommandFailed:
            told = None
        raise job_failed(told, reason=reason, job=self.number) if told else JobFailed(reason, job=self.number)

    def kill(self) -> None:
        """Kills the job."""
        program.run(["job", "kill", str(self.number)])

    def counters(self) -> dict[tuple[str, str], int]:
        """Returns the counters by (group, name)."""
        found = self._state.get("counters") if self._over else program.run_json(["job", "counters", str(self.number), "--json"])
        return {(entry["group"], entry["name"]): entry["value"] for entry in found or []}

    def logs(self, failed: bool = False) -> str:
        """Returns what the attempts printed; only those that failed if `failed`."""
        if self._over:
            raise UsageError("the cluster of a local run ends with its job, and its logs with it: Job.test, or print to a file")
        return program.run(["job", "logs", str(self.number), *(["--failed"] if failed else [])]).decode("utf-8", "replace")

    # The output ----------------------------------------------------------------------------------------------------
    def read(self, name: str = "part") -> Iterator[Any]:
        """Returns what the output holds, part after part: pairs of text, JSON values, rows, records, as the format has it
        (`formats`). `name` is that of a named output."""
        job = self._job
        kind = formats.find((job.output if name == "part" else job.outputs[name]) if job else "text")
        for file in self._output.names():
            if file.startswith((f"{name}-r-", f"{name}-m-")):
                with self._output.open(file) as stream:
                    yield from kind.read(stream)

    def __iter__(self) -> Iterator[Any]:
        return self.read()

    def to_pandas(self, columns: Optional[list[str]] = None, name: str = "part") -> pandas.DataFrame:
        """Returns the output as a DataFrame of pandas. Columns of text are texts: `columns` names them, astype converts them."""
        import pandas

        frame: pandas.DataFrame = pandas.DataFrame(list(self.read(name)), columns=columns)
        return frame

    def to_polars(self, columns: Optional[list[str]] = None, name: str = "part") -> polars.DataFrame:
        """Returns the output as a DataFrame of polars."""
        import polars

        rows = list(self.read(name))
        return polars.DataFrame(rows, schema=columns, orient=None if rows and isinstance(rows[0], dict) else "row")

    df = to_pandas

    def _repr_html_(self) -> str:
        status = self.status()
        bars = "".join(_bar(kind, status.get(kind) or {}) for kind in ("maps", "reduces"))
        reason = status.get("reason") or ""
        said = f"<div>{html.escape(str(reason))}</div>" if reason else ""
        title = html.escape(f"job {self.number} {status.get('name', '')}: {self.state}")
        return f'<div style="font-family:sans-serif"><b>{title}</b>{bars}{said}<code>{html.escape(self.output)}</code></div>'


def _fraction(status: dict[str, Any], kind: str) -> float:
    return float((status.get(kind) or {}).get("fraction", 1.0))


def _bar(kind: str, tasks: dict[str, Any]) -> str:
    if not tasks.get("total"):
        return ""
    width = round(240 * float(tasks.get("fraction", 0)))
    text = f"{kind}: {tasks.get('done', 0)} of {tasks['total']}" + (f", {tasks['running']} running" if tasks.get("running") else "")
    return (
        f'<div><svg width="240" height="12" role="img" aria-label="{text}"><rect width="240" height="12" fill="#ddd"/>'
        f'<rect width="{width}" height="12" fill="#2a78b5"/></svg> {text}</div>'
    )


def _notebook_display() -> Any:
    """Returns IPython's display within a notebook, else None."""
    shell = sys.modules.get("IPython")
    current = shell.get_ipython() if shell is not None else None
    if current is None or type(current).__name__ == "TerminalInteractiveShell":
        return None
    from IPython.display import display

    return display
