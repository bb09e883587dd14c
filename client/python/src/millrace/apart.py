# SPDX-License-Identifier: Apache-2.0
"""Simulates a policy that nobody trusts. It runs as a child of `millrace sim`, never in this process, which takes what the simulator prints
and nothing that the policy writes.

The policy is a copy of its file in a directory of its own, beside a package `millrace` that has only what a policy needs. Its working
directory is empty, and new for each run; its environment says nothing of who evaluates it. With `--confine` it can read no other file of
the user's, leave none behind, reach nobody and see no other process (docs/schedulers/evaluate.md).
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Optional

from . import program
from .errors import CommandFailed, UsageError
from .laboratory import file_of
from .policy import Policy

PACKAGE = ("policy.py", "errors.py")  # of this package: what a policy needs
LABEL = "policy"  # of the policy, wherever the simulator names it
_INIT = """\
from .errors import UsageError
from .policy import Cluster, Job, Node, Policy, serve
"""
_LONGEST = 4000  # characters of a failure


class Failed(Exception):
    """The policy has failed; the text says how."""


@dataclass(frozen=True)
class Source:
    """A policy as a single file: a program, or a file of Python that serves a policy when it is run."""

    name: str  # for people
    content: bytes
    suffix: str = ".py"
    executable: bool = False


def source_of_file(path: str) -> Source:
    """Returns the policy of a file."""
    if not os.path.isfile(path):
        raise UsageError(f"{path!r} is no file: a policy is evaluated from its file, which a process of its own runs")
    return Source(path, Path(path).read_bytes(), Path(path).suffix, os.access(path, os.X_OK))


def source_of_class(policy: type[Policy]) -> Source:
    """Returns the policy of a class: its file, whose main part is not run, and a line that serves the class."""
    text = Path(file_of(policy)).read_text(encoding="utf-8")
    script = (
        "import sys, types\nfrom millrace import serve\nmodule = sys.modules['millrace_policy'] = types.ModuleType('millrace_policy')\n"
        f"exec(compile({text!r}, 'policy.py', 'exec'), module.__dict__)\nserve(getattr(module, {policy.__name__!r}))\n"
    )
    return Source(policy.__name__, script.encode())


class Place:
    """A policy's file, laid where it can be run apart; it is removed at the end of the `with`.

    tolerate  refused parts of answers and missed limits within a minute, after one more of which the policy has failed
    confined  the simulator confines the policy
    limit     seconds of a run; a policy that has not ended then has failed
    """

    def __init__(self, source: Source, *, tolerate: int, confined: bool, limit: float) -> None:
        self.confined, self.limit = confined, limit
        self._made = tempfile.TemporaryDirectory(prefix="millrace-")
        self._place = Path(self._made.name)
        self._laid = self._place / "laid"  # what the policy may read
        self._lay(source)
        self._settings = self._place / "settings.toml"
        self._settings.write_text(f"[external]\ntolerate = {tolerate}\n", encoding="utf-8")

    def __enter__(self) -> Place:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self._made.cleanup()

    def _lay(self, source: Source) -> None:
        package = self._laid / "package" / "millrace"
        package.mkdir(parents=True)
        for name in PACKAGE:
            shutil.copyfile(Path(__file__).with_name(name), package / name)
        (package / "__init__.py").write_text(_INIT, encoding="utf-8")
        made = self._laid / ("policy.py" if source.suffix == ".py" else "policy")
        made.write_bytes(source.content)
        made.chmod(0o555 if source.executable else 0o444)
        python = os.path.abspath(sys.executable)
        variables = {
            "PATH": os.pathsep.join((os.path.dirname(python), "/usr/bin", "/bin")), "HOME": "/tmp", "LANG": "C.UTF-8",
            "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "PYTHONNOUSERSITE": "1",
        }
        run = [*(f"{name}={value}" for name, value in variables.items()), *([] if source.executable else [python]), str(made)]
        self._start = self._laid / f"{LABEL}.sh"
        self._start.write_text(f"#!/bin/sh\nexec env -i {shlex.join(run)}\n", encoding="utf-8")
        self._start.chmod(0o555)

    def simulate(self, workload: Path, seed: int) -> dict[str, Any]:
        """Returns what the simulator says of a run of the policy. Raises Failed if the policy was relieved, refused or not there, or has
        not ended in time."""
        with tempfile.TemporaryDirectory(prefix="empty-", dir=self._place) as empty:
            words = ["--scheduler", f"{LABEL}=external:{self._start}", "--settings", str(self._settings)]
            words += self._confinement() if self.confined else []
            status, printed, said = _run(_words(workload, seed, words), cwd=empty, env={"PATH": "/usr/bin:/bin"}, limit=self.limit)
            left = sorted(os.listdir(empty))
        if status != 0:
            raise Failed(_without_prefix(said))
        if left:
            raise Failed(f"it left files for a later run: {', '.join(left)}")
        return _only(printed)

    def _confinement(self) -> list[str]:
        pythons = {sys.prefix, sys.base_prefix} - {"/usr"}  # that of the system can be read anyway
        return ["--confine", *(word for path in (str(self._laid), *sorted(pythons)) for word in ("--readable", path))]


@functools.lru_cache(maxsize=4096)
def reference(command: str, version: int, workload: Path, text: str, seed: int, scheduler: str) -> dict[str, Any]:
    """Returns what the simulator says of one of its own schedulers. `version` and `text` are the program's and the workload's: what was
    computed once is taken again as long as both are as they were. Raises CommandFailed if it cannot be simulated."""
    words = _words(workload, seed, ["--scheduler", scheduler])
    status, printed, said = _run(words, cwd=None, env=None, limit=None)
    if status != 0:
        raise program.failed(words, status, said.encode())
    return _only(printed)


def simulate_reference(workload: Path, seed: int, scheduler: str) -> dict[str, Any]:
    """Returns what the simulator says of one of its own schedulers, such as "fair+delay"."""
    command = program.find()
    return reference(command, os.stat(command).st_mtime_ns, workload, workload.read_text(encoding="utf-8"), seed, scheduler)


def why_not_confined() -> str:
    """Returns why policies cannot be confined here, which is tried; empty if they can."""
    command = program.find()
    return _try_confinement(command, os.stat(command).st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _try_confinement(command: str, version: int) -> str:
    if b"--confine" not in program.run(["sim", "--help"]):
        return "this release of millrace has no --confine"
    with tempfile.TemporaryDirectory(prefix="millrace-") as directory:
        workload = Path(directory, "one.toml")
        workload.write_text("[cluster]\nnodes = 1\n[[jobs]]\nmaps = 1\nmap_time = 1\n", encoding="utf-8")
        nothing = Source("nothing", b"import millrace\nmillrace.serve(millrace.Policy)\n")
        try:
            with Place(nothing, tolerate=0, confined=True, limit=60) as place:
                place.simulate(workload, 1)
        except Failed as failed:
            return str(failed).partition("\n")[0]
    return ""


def _words(workload: Path, seed: int, words: Sequence[str]) -> list[str]:
    return ["sim", str(workload), "--seed", str(seed), *words, "--json"]


def _only(printed: bytes) -> dict[str, Any]:
    try:
        (entry,) = json.loads(printed)
    except ValueError as error:
        raise CommandFailed("millrace sim has not printed the result of one run", 0) from error
    assert isinstance(entry, dict)
    return entry


def _without_prefix(said: str) -> str:
    text = said.strip().removeprefix("millrace: sim: ")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}\n...\n{text[-_LONGEST // 2 :]}"


def _run(words: Sequence[str], *, cwd: Optional[str], env: Optional[dict[str, str]], limit: Optional[float]) -> tuple[int, bytes, str]:
    """Returns the exit status and what was printed. Raises Failed if the time is over; nothing of what was started is left then."""
    started = program.start(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=env, start_new_session=True)
    try:
        printed, said = started.communicate(timeout=limit)
    except BaseException as error:
        end(started)
        if isinstance(error, subprocess.TimeoutExpired):
            raise Failed(f"the simulation has not ended within {limit:g} s") from None
        raise
    return started.returncode, printed, said.decode("utf-8", "replace")


def end(started: subprocess.Popen[bytes]) -> None:
    """Ends a program and all that it has started and that is still below it, and waits for its end."""
    with contextlib.suppress(ProcessLookupError):
        if started.poll() is None:
            os.kill(started.pid, signal.SIGSTOP)  # so that it starts nothing meanwhile
            for pid in descendants(started.pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            started.kill()
    for pipe in (started.stdin, started.stdout, started.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    started.wait()


def descendants(pid: int) -> list[int]:
    """Returns the processes below this one, those of lower generations first."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                stat = Path("/proc", name, "stat").read_text(encoding="utf-8", errors="replace")
                children.setdefault(int(stat[stat.rindex(")") + 2 :].split()[1]), []).append(int(name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found[:0:-1]
