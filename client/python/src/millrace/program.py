# SPDX-License-Identifier: Apache-2.0
"""The program `millrace`, through which this package does all that concerns a cluster: it finds the master, and has TLS, rights
and retries. Its `--json` is described in docs/use/json.md."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import CommandFailed, UsageError

UNREACHABLE = 3


def find() -> str:
    """Returns the path of the program: that of MILLRACE_BIN (the program, or its directory), else that which came with this
    package, else that on PATH. Raises UsageError if there is none."""
    named = os.environ.get("MILLRACE_BIN")
    if named:
        path = os.path.join(named, "millrace") if os.path.isdir(named) else named
        if not os.access(path, os.X_OK):
            raise UsageError(f"MILLRACE_BIN names {named!r}, where there is no program millrace")
        return path
    beside = Path(__file__).parent / "_bin" / "millrace"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("millrace")
    if found is None:
        raise UsageError("the program millrace is not installed: put its directory on PATH, or its path into MILLRACE_BIN")
    return found


def start(words: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Starts the program with these words; `how` goes to subprocess.Popen."""
    return subprocess.Popen([find(), *words], **how)


def run(words: Sequence[str]) -> bytes:
    """Runs the program and returns its standard output. Raises CommandFailed with its last line if its exit status is not 0."""
    done = subprocess.run([find(), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise failed(words, done.returncode, done.stderr)
    return done.stdout


def run_json(words: Sequence[str]) -> Any:
    """Runs the program, whose words have --json among them, and returns what it prints."""
    return json.loads(run(words))


def failed(words: Sequence[str], status: int, stderr: bytes) -> CommandFailed:
    """Returns the exception for a command that ended so."""
    lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return CommandFailed(lines[-1] if lines else f"millrace {' '.join(words[:2])} ended with status {status} and said nothing", status)
