# SPDX-License-Identifier: Apache-2.0
"""Environments of jobs: what a requirements.txt names, installed once into a directory of this machine, which then goes with the job."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .errors import UsageError

NAME = "environment"  # of the directory where the tasks start


def build(requirements: str) -> str:
    """Returns the directory of the packages that this file names, for this version of Python and kind of machine.

    It is made by pip unless there is one for the same content, in $XDG_CACHE_HOME/millrace (~/.cache/millrace). So a file whose
    versions are not fixed gives what they were when it was first used. Raises UsageError if pip fails.
    """
    try:
        wanted = Path(requirements).read_bytes()
    except OSError as error:
        raise UsageError(f"{requirements} cannot be read: {error.strerror}") from None
    target = f"python {sys.version_info[0]}.{sys.version_info[1]} {platform.machine()}\n"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "millrace" / "environments"
    place = cache / hashlib.sha256(target.encode() + wanted).hexdigest()[:32]
    if not place.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        _install(os.path.abspath(requirements), place)
    return str(place)


def _install(requirements: str, place: Path) -> None:
    made = tempfile.mkdtemp(prefix=".new-", dir=place.parent)
    try:
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", made, "-r", requirements]
        done = subprocess.run(
            words, cwd=os.path.dirname(requirements), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            told = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()[-1:]
            raise UsageError(f"pip could not install {requirements}: {' '.join(told)}")
        if not place.is_dir():  # somebody else may have been faster
            os.rename(made, place)
    finally:
        shutil.rmtree(made, ignore_errors=True)
