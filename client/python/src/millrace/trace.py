# SPDX-License-Identifier: Apache-2.0
"""Traces of other laboratories in and out: what `millrace trace` runs. docs/schedulers/traces.md is its page.

    python3 -m millrace.trace import FORMAT FILE [-o OUT]     a trace as a workload of `millrace sim`
    python3 -m millrace.trace export FORMAT WHAT [-o OUT]     a run, or a workload, in the format of another program

What is written goes to standard output or OUT; what was assumed and left out to standard error. Exit status: 0 done, 1 failed, 2 wrong
usage. OUT is whole or not there: it is written aside first.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import itertools
import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Callable, NoReturn, Optional, TextIO, cast

from .errors import MillraceError, UsageError
from .traces import alibaba2018, batsim, google2019, run, sls, swf, swim, synth, table, workload
from .traces.job import FAILED, KILLED, MOST_JOBS, TraceJob, fault_of
from .traces.source import Notes, Source, TraceError, printable

FAILED_STATUS, WRONG_USAGE = 1, 2
_PROGRAM = "millrace trace"


@dataclasses.dataclass(frozen=True)
class Reader:
    one_line: str
    read: Callable[..., Iterator[TraceJob]]
    in_order: bool = False  # of submission, so that reading ends with the last job that is wanted


@dataclasses.dataclass(frozen=True)
class Writer:
    one_line: str
    write: Callable[[Iterable[run.RunJob], TextIO, Notes], None]
    of_runs: bool = False  # it has nothing for a workload that did not run


READERS = {
    "swf": Reader("Standard Workload Format, of the Parallel Workloads Archive", swf.read, in_order=True),
    "sls": Reader("jobs of YARN's Scheduler Load Simulator (JSON)", sls.read),
    "synth": Reader("distributions of YARN's Scheduler Load Simulator (JSON)", synth.read),
    "batsim": Reader("a workload of Batsim (JSON)", batsim.read),
    "alibaba2018": Reader("batch_task.csv of Alibaba's cluster-trace-v2018", alibaba2018.read),
    "google2019": Reader("instance_events of Google's cluster traces of 2019 (CSV or JSON lines)", google2019.read),
    "csv": Reader("a CSV file with a header; --columns names its columns", table.read),
}
WRITERS = {
    "swf": Writer("Standard Workload Format", swf.write),
    "sls": Writer("YARN's Scheduler Load Simulator, so that it judges the same jobs", sls.write),
    "batsim": Writer("a workload of Batsim", batsim.write),
    "batsim-jobs": Writer("the columns of Batsim's jobs.csv, which evalys reads", batsim.write_results, of_runs=True),
    "csv": Writer("a CSV file that `import csv` reads", table.write),
}


# The command line -----------------------------------------------------------------------------------------------------
class _Parser(argparse.ArgumentParser):
    def __init__(self, **how: Any) -> None:
        super().__init__(allow_abbrev=False, **how)

    def _print_message(self, message: str, file: Any = None) -> None:
        (file or sys.stderr).write(message)  # the base class keeps quiet about a lost output

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USAGE, f"{self.prog.replace('millrace ', 'millrace: ', 1)}: {message}; {self.prog} --help shows its words\n")


def _formats(of: dict[str, Any]) -> str:
    return "formats:\n" + "\n".join(f"  {name:<13}{each.one_line}" for name, each in of.items())


def _parser() -> argparse.ArgumentParser:
    both = (
        _formats(READERS).replace("formats:", "formats for import:") + "\n\n" + _formats(WRITERS).replace("formats:", "formats for export:")
    )
    raw = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog=_PROGRAM, description="Traces of other laboratories as workloads, and back.", epilog=both, formatter_class=raw)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="import|export")
    words = verbs.add_parser("import", help="make a workload of `millrace sim` from a trace", epilog=_formats(READERS), formatter_class=raw)
    words.add_argument("format", metavar="FORMAT", choices=READERS)
    words.add_argument("file", metavar="FILE", help="may be compressed by gzip; - is standard input")
    words.add_argument("-o", "--output", dest="output", metavar="OUT", help="the file to write (default: standard output)")
    words.add_argument("--to", choices=("toml", "swim"), default="toml", help="a workload file, or a SWIM trace, which has bytes only")
    words.add_argument("--jobs", type=_count, metavar="N", help="the first N jobs that are left after all else")
    words.add_argument(
        "--from", dest="begin", type=_seconds, default=0.0, metavar="SECONDS", help="jobs from then on, after the first of the trace"
    )
    words.add_argument("--until", type=_seconds, metavar="SECONDS", help="jobs before then, after the first of the trace")
    words.add_argument("--skip-odd", action="store_true", help="leave out lines that are wrong, and count them")
    words.add_argument("--keep-failed", action="store_true", help="keep jobs that failed or were killed")
    words.add_argument("--flops", type=_above_zero, metavar="N", help="batsim: operations a second of a host")
    words.add_argument("--collections", metavar="FILE", help="google2019: collection_events, for the names of users")
    words.add_argument(
        "--columns", type=_columns, metavar="FIELD=COLUMN,...", help=f"csv: names of columns; fields: {', '.join(table.COLUMNS)}"
    )
    words.add_argument("--rate", type=_above_zero, metavar="BYTES", help="--to swim: for how many bytes a second of a task stands")
    words = verbs.add_parser("export", help="write a run or a workload in another format", epilog=_formats(WRITERS), formatter_class=raw)
    words.add_argument("format", metavar="FORMAT", choices=WRITERS)
    words.add_argument(
        "what", metavar="WHAT", help="a directory with jobs.csv, from `millrace sim -o DIR`, or a workload of plain numbers (TOML)"
    )
    words.add_argument("-o", "--output", dest="output", metavar="OUT", help="the file to write (default: standard output)")
    return parser


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:10]) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {MOST_JOBS}")
    return int(text)


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= float(text) < 1e12:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")


def _above_zero(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) < 1e300:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")


def _columns(text: str) -> dict[str, str]:
    pairs = [word.partition("=") for word in text.split(",")]
    for field, equals, column in pairs:
        if field not in table.COLUMNS or not equals or not column:
            raise argparse.ArgumentTypeError(f"{field!r} is no FIELD=COLUMN of a field that there is ({', '.join(table.COLUMNS)})")
    return {field: column for field, _, column in pairs}


def main(words: Sequence[str]) -> int:
    parser = _parser()
    try:
        parsed = parser.parse_args(list(words))
        {"import": _import, "export": _export}[parsed.verb](parsed)
        sys.stdout.flush()
    except SystemExit as done:  # of argparse, after --help or a wrong word
        return _flushed(int(done.code or 0))
    except MillraceError as error:
        print(f"millrace: trace {parsed.verb}: {printable(str(error))}", file=sys.stderr)
        return WRONG_USAGE if isinstance(error, UsageError) else FAILED_STATUS
    except OSError as error:
        return _lost(error)
    return 0


def _flushed(status: int) -> int:
    try:
        sys.stdout.flush()
    except OSError as error:
        return _lost(error)
    return status


def _lost(error: OSError) -> int:
    """Says that standard output is lost; what is still held for it goes nowhere, so that nothing is said of it twice."""
    print(f"millrace: trace: standard output cannot be written: {error.strerror}", file=sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return FAILED_STATUS


# The verbs ------------------------------------------------------------------------------------------------------------
def _import(words: argparse.Namespace) -> None:
    notes = Notes(words.skip_odd)
    others = {"flops": ("batsim", words.flops), "collections": ("google2019", words.collections), "columns": ("csv", words.columns)}
    options: dict[str, Any] = {}
    for option, (of, value) in others.items():
        if value is not None and of != words.format:
            raise UsageError(f"--{option} is of the format {of}, and the trace is said to be {words.format}; leave it out")
        if value is not None:
            options[option] = value
    if words.rate is not None and words.to != "swim":
        raise UsageError("--rate is of SWIM traces; give --to swim, too")
    reader = READERS[words.format]
    with contextlib.ExitStack() as files:
        source = files.enter_context(Source(words.file, notes))
        if words.collections is not None:
            options["collections"] = files.enter_context(Source(words.collections, notes))
        jobs = _selected(reader.read(source, notes, **options), source, notes, words, reader.in_order)
    if not jobs:
        raise TraceError(f"{source.name}: no job is left{_but(notes)}; look at --from, --until and --keep-failed")
    with _output(words.output) as out:
        if words.to == "swim":
            swim.write(jobs, words.rate or 0, out, notes)
        else:
            heading = [f"Made from {os.path.basename(source.name)} ({words.format}) by `millrace trace import`.", *notes.lines()]
            workload.write(jobs, notes.cluster, heading, os.path.basename(source.name), out)
    _tell(f"{len(jobs)} {'job' if len(jobs) == 1 else 'jobs'} from {source.name}", notes)


def _selected(jobs: Iterable[TraceJob], source: Source, notes: Notes, words: argparse.Namespace, in_order: bool) -> list[TraceJob]:
    """Returns the jobs that are asked for, by their times, which count from the first of them."""
    usable = _usable(jobs, source, notes, words.keep_failed)
    if in_order:
        return _cut(usable, notes, words)
    taken = list(itertools.islice(usable, MOST_JOBS + 1))
    if len(taken) > MOST_JOBS:
        raise TraceError(f"{source.name} has more than {MOST_JOBS} jobs, the most of a workload; cut the file first")
    return _cut(iter(sorted(taken, key=lambda job: job.submit)), notes, words)


def _usable(jobs: Iterable[TraceJob], source: Source, notes: Notes, keep_failed: bool) -> Iterator[TraceJob]:
    for job in jobs:
        fault = fault_of(job)
        if fault:
            source.odd(job.line, f"the job {job.name[:60]}: {fault}")
        elif job.state in (FAILED, KILLED) and not keep_failed:
            notes.leave_out(f"jobs left out that {'failed' if job.state == FAILED else 'were killed'}; --keep-failed keeps them")
        else:
            yield job


def _cut(jobs: Iterator[TraceJob], notes: Notes, words: argparse.Namespace) -> list[TraceJob]:
    first, kept = None, list[TraceJob]()
    fit = MOST_JOBS if words.to == "swim" else min(MOST_JOBS, workload.MOST_FILE // workload.LEAST_SECTION)
    most = min(words.jobs or fit, fit)
    for job in jobs:
        first = job.submit if first is None else first
        after = job.submit - first
        if words.until is not None and after >= words.until:
            break
        if after < words.begin:
            notes.leave_out("jobs left out that come before --from")
            continue
        if len(kept) == most:
            if words.jobs is None or words.jobs > fit:
                raise TraceError(f"there are more than {fit} jobs, the most that a workload can hold; take fewer by --jobs or --until")
            break
        kept.append(job)
    if not kept:
        return []
    notes.fact(f"time 0 is the first submission, which was at {run.plain(kept[0].submit)} s of the trace's clock")
    return [job._replace(submit=job.submit - kept[0].submit) for job in kept]


def _export(words: argparse.Namespace) -> None:
    notes = Notes()
    writer = WRITERS[words.format]
    if os.path.isdir(words.what):
        jobs = run.read_run(words.what, notes)
    elif writer.of_runs:
        raise TraceError(
            f"{words.what} is no directory of a run, and {words.format} has results; run `millrace sim -o DIR`, and name one below DIR"
        )
    else:
        with Source(words.what, notes) as source:
            jobs = list(run.planned(workload.read(words.what, source)))
    if not jobs:
        raise TraceError(f"{words.what} has no jobs")
    _name_apart(jobs)
    with _output(words.output) as out:
        writer.write(jobs, out, notes)
    _tell(f"{len(jobs)} {'job' if len(jobs) == 1 else 'jobs'} of {words.what}", notes)


def _name_apart(jobs: Iterable[run.RunJob]) -> None:
    """Gives jobs of the same name their number, too, where others tell jobs by their names."""
    known = set[str]()
    for job in jobs:
        if job.name in known:
            job.name = f"{job.name}.{job.number}"
        known.add(job.name)


def _but(notes: Notes) -> str:
    return f" ({'; '.join(notes.lines()[:4])})" if notes.lines() else ""


def _tell(what: str, notes: Notes) -> None:
    for line in (what, *notes.lines()):
        print(f"{_PROGRAM}: {printable(line)}", file=sys.stderr)


@contextlib.contextmanager
def _output(path: Optional[str]) -> Iterator[TextIO]:
    """The file to write, or standard output. A file gets its name when it is whole. What goes to standard output is held until then, so
    that a trace that is refused leaves nothing there."""
    if path is None:
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as held:
            yield cast(TextIO, held)
            held.seek(0)
            while block := held.read(1 << 16):
                sys.stdout.write(block)
        return
    to_device = os.path.exists(path) and not os.path.isfile(path)  # a pipe or a device is written as it is
    aside = path if to_device else os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}")
    try:
        with open(aside, "w" if to_device else "x", encoding="utf-8", newline="") as out:
            yield out
        if not to_device:
            os.replace(aside, path)
    except OSError as error:
        raise TraceError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        if not to_device:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(aside)


if __name__ == "__main__":
    for ending in (signal.SIGPIPE, signal.SIGINT):  # a reader that wants no more, and Ctrl-C, end it without a word
        signal.signal(ending, signal.SIG_DFL)
    if sys.stdout is None:
        sys.exit("millrace: trace: standard output is closed, so there is nowhere to write to")
    cast(io.TextIOWrapper, sys.stdout).reconfigure(encoding="utf-8", newline="")
    sys.exit(main(sys.argv[1:]))
