# SPDX-License-Identifier: Apache-2.0
"""Jobs in Python for other engines: what `millrace export` asks of this package.

    python3 -m millrace.export program JOB.py[:NAME] FILE [-D NAME=VALUE]   writes the job's program, and prints what it is as JSON
    python3 -m millrace.export run JOB.py[:NAME] OUT REDUCES [-D NAME=VALUE] -- IN...   runs the job in this process
    python3 -m millrace.export spark JOB.py[:NAME] FILE [-D NAME=VALUE]     writes the job's program, and prints a PySpark program
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shlex
import sys
import types
from collections.abc import Sequence
from pathlib import Path

from . import bundle, spark, stream
from .errors import MillraceError, UsageError
from .jobs import Job

REFUSED = 3  # the exit status if the job is wrong; a line says why

_SPARK = '''# SPDX-License-Identifier: Apache-2.0
"""{name} on Spark: what the job {name} of {file} does.

    spark-submit --py-files {program} THIS_FILE IN... OUT [--reducers N] [-D NAME=VALUE]

{program} has the job and the package millrace, so that nothing has to be installed. A map's records are placed and sorted by Spark as
Millrace does it (millrace/spark.py), so the output is the same; the functions of the job are called as ever.
"""

{imports}
from millrace import spark

if __name__ == "__main__":
    spark.main({call})
'''


def load(named: str) -> Job:
    """Returns the job of a file, "JOB.py" or "JOB.py:NAME". Raises UsageError if there is none, or more than one without NAME."""
    path, colon, name = named.rpartition(":") if ":" in named and not named.endswith(".py") else (named, "", "")
    module = _import(path)
    jobs = {each: value for each, value in vars(module).items() if isinstance(value, Job)}
    if colon:
        if name not in jobs:
            raise UsageError(f"{path} has no job {name!r}; it has {', '.join(jobs) or 'none'}")
        return jobs[name]
    if len(jobs) != 1:
        raise UsageError(f"{path} has {len(jobs)} jobs ({', '.join(jobs) or 'none'}): name one, as in {path}:{next(iter(jobs), 'NAME')}")
    return next(iter(jobs.values()))


def _import(path: str) -> types.ModuleType:
    stem = os.path.basename(path).removesuffix(".py")
    if not stem.isidentifier():
        raise UsageError(f"{path}: the name of a job's file is that of a module, with letters, digits and _")
    if not os.path.isfile(path):
        raise UsageError(f"{path} does not exist")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module
    spec.loader.exec_module(module)
    return module


def _options(job: Job, given: Sequence[str]) -> dict[str, str]:
    for word in given:
        if "=" not in word:
            raise UsageError(f"-D {word} is not NAME=VALUE")
    options = dict(word.split("=", 1) for word in given)
    job.set_options(options)
    return options


def _program(words: argparse.Namespace) -> None:
    job = load(words.job)
    job.check()
    options = _options(job, words.options)
    why = stream.not_in_lines(job)
    if not why:
        Path(words.file).write_bytes(bundle.build(job).data)
    command = f"python3 {os.path.basename(words.file)} --millrace-stream "
    more = "".join(" " + shlex.quote(f"{name}={value}") for name, value in options.items())
    about = {
        "name": job.name,
        "not_in_lines": why,
        "map_only": job.reducer is None,
        "mappers": len(job.mappers) if len(job.mappers) > 1 else 0,
        "mapper": command + "map" + more,
        "reducer": command + "reduce" + more,
        "files": [os.path.abspath(path) for path in job.files if not path.endswith(".py")],
        "archives": [os.path.abspath(path) for path in job.archives],
        "environment": dict(job.env),
    }
    print(json.dumps(about))


def _run(words: argparse.Namespace) -> None:
    job = load(words.job)
    done = job.test(*map(Path, words.inputs), options=_options(job, words.options), reducers=words.reduces or 1)
    os.mkdir(words.file)
    names = {f"part-r-{number:05}" for number in range(words.reduces)} if job.reducer is not None else set()
    for name in names | set(done.files):
        Path(words.file, name).write_bytes(done.files.get(name, b""))


def _spark(words: argparse.Namespace) -> None:
    job = load(words.job)
    job.check()
    _options(job, words.options)
    why = spark.not_for_spark(job)
    if why:
        raise UsageError(f"the job {job.name} cannot run on Spark: {why}")
    made = bundle.build(job)
    if made.by != "source":
        raise UsageError(f"the job {job.name} is no name of a module with a source file: put it into a file")
    Path(words.file).write_bytes(made.data)
    module, _, attribute = bundle.place_of(job).partition(":")
    head = attribute.partition(".")[0]
    print(
        _SPARK.format(
            name=job.name,
            file=os.path.basename(words.job.partition(":")[0]),
            program=os.path.basename(words.file),
            imports=f"from {module} import {head}",
            call=attribute,
        ),
        end="",
    )


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m millrace.export")
    parser.add_argument("what", choices=("program", "run", "spark"))
    parser.add_argument("job")
    parser.add_argument("file")
    parser.add_argument("reduces", nargs="?", type=int, default=1)
    parser.add_argument("-D", dest="options", action="append", default=[])
    given, inputs = list(words), []
    if "--" in given:
        given, inputs = given[: given.index("--")], given[given.index("--") + 1 :]
    parsed = parser.parse_args(given)
    parsed.inputs = inputs
    try:
        {"program": _program, "run": _run, "spark": _spark}[parsed.what](parsed)
    except MillraceError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
