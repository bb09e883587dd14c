# SPDX-License-Identifier: Apache-2.0
"""Whether the workers' Python can run a job, asked before it is submitted.

Workers say which program `python3` is to their tasks, if the name of that program has the version (docs/use/json.md, `python` of a
node). What they do not say is not held against a job; in a task the version is looked at once more.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Optional

from . import program
from .bundle import OLDEST
from .errors import CommandFailed, UsageError

COMMAND = "python3"  # what workers speak of

Version = tuple[int, int]


def check(job: str, by: str, environment: bool, python: str) -> None:
    """Raises UsageError if no worker has a Python that can run the job, and warns if some have another. See `verdict`."""
    if python != COMMAND:
        return
    try:
        nodes = program.run_json(["node", "list", "--json"])
    except CommandFailed as error:
        if error.status == program.UNREACHABLE:
            raise
        return  # who may not see the nodes finds out in a task
    refused, said = verdict(job, needs(by, environment), nodes)
    if refused:
        raise UsageError(said)
    if said:
        warnings.warn(said, stacklevel=2)


def needs(by: str, environment: bool) -> Optional[tuple[Version, str]]:
    """Returns the version that a job needs, with the reason and what to do about it; None: any from 3.9 on will do."""
    here = sys.version_info[:2]
    if by == "cloudpickle":
        return here, "its code goes by cloudpickle, since it is in no file: put it into a file, whose source runs on 3.9 and later"
    if environment:
        return here, "the packages of requirements= were installed for it: submit the job with a Python of the workers' version"
    return None


def verdict(job: str, wanted: Optional[tuple[Version, str]], nodes: Iterable[Mapping[str, Any]]) -> tuple[bool, str]:
    """Returns whether no node can run the job, and a sentence about the nodes that cannot; it is empty if there are none."""
    gone = ("lost", "decommissioned")
    versions = {node["node"]: version_of(node.get("python")) for node in nodes if node.get("state") not in gone}
    misfits: dict[Version, list[int]] = {}
    for number, version in versions.items():
        if version is not None and (version != wanted[0] if wanted else version < OLDEST):
            misfits.setdefault(version, []).append(number)
    if not misfits:
        return False, ""
    count = sum(map(len, misfits.values()))
    have = " and ".join(
        f"{len(numbers)} of {len(versions)} nodes ({_some(numbers)}) {'has' if len(numbers) == 1 else 'have'} Python {_text(version)}"
        for version, numbers in sorted(misfits.items())
    )
    needed = f"needs {_text(wanted[0])}, because {wanted[1]}" if wanted else "needs 3.9 or later"
    advice = f"{have}, and the job {job} {needed}; or name a command of the workers that is such a Python with python="
    if count == len(versions):
        return True, advice
    return False, f"{advice}. Tasks fail there, and are tried on other nodes"


def version_of(path: Any) -> Optional[Version]:
    """Returns the version that the name of a Python says; None if it says none."""
    found = re.fullmatch(r"(?:.*/)?python(3)\.([0-9]{1,3})", path) if isinstance(path, str) else None
    return (int(found[1]), int(found[2])) if found else None


def _some(numbers: list[int]) -> str:
    shown = ", ".join(map(str, sorted(numbers)[:8]))
    return shown + (f" and {len(numbers) - 8} more" if len(numbers) > 8 else "")


def _text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"
