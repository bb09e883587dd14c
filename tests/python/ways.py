# SPDX-License-Identifier: Apache-2.0
"""The ways to run a job that a test compares: in this process, in a child that was started as a task starts it (from the job's zip file,
without this package on its path), and on a cluster of this machine, if its programs are there."""

import collections
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import stand_in  # noqa: F401  (finds the package)
from millrace import bundle, formats, solo

Outcome = collections.namedtuple("Outcome", "items named counters files")


def outcome(job, files, counters):
    """What the files hold, by the formats of the job; parts in their order."""
    read = collections.defaultdict(list)
    for name in sorted(files):
        output = name.rpartition("-")[0].rpartition("-")[0]
        kind = formats.find(job.output if output == "part" else job.outputs[output])
        read[output] += list(kind.read(io.BytesIO(files[name])))
    return Outcome(read.pop("part", []), dict(read), {key: value for key, value in counters.items() if key[0] not in ("millrace", "outputs")}, files)


def in_process(job, inputs, *, reducers=1, options=None, files=None):
    ran = job.test(*inputs, reducers=reducers, options=options, splits=3, files=files)
    return outcome(job, ran.files, ran.counters)


def in_child(job, inputs, *, reducers=1, options=None, files=None, python=sys.executable):
    splits = []
    for index, given in enumerate(inputs):
        splits += solo.splits_of(index, given, job.mappers[index if len(job.mappers) > 1 else 0].reads, 3)
    with tempfile.TemporaryDirectory() as place:
        paths = write_side_files(place, files)
        Path(place, bundle.NAME).write_bytes(bundle.build(job, [*job.files, *paths]).data)
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with open(os.path.join(place, "log"), "w+b") as log, solo.InChild([python, bundle.NAME], cwd=place, env=env, log=log) as child:
            try:
                finished = solo.run(job, splits, child, reducers=reducers, options=options)
            except Exception as error:
                log.seek(0)
                error.log = log.read().decode("utf-8", "replace")
                raise
            assert child.close() == 0, "the child ends well when its channel is closed"
    return outcome(job, finished.files, finished.counters)


def write_side_files(place, files):
    paths = []
    for name, content in (files or {}).items():
        paths.append(os.path.join(place, name))
        Path(paths[-1]).write_bytes(content if isinstance(content, bytes) else content.encode())
    return paths


def cluster_is_there():
    """The programs of Millrace, with the streaming job, are named by MILLRACE_BIN."""
    folder = os.environ.get("MILLRACE_BIN", "")
    program = os.path.join(folder, "millrace")
    return os.access(program, os.X_OK) and subprocess.run([program, "stream", "--help"], capture_output=True, check=False).returncode == 0


def on_cluster(job, inputs, *, reducers=1, options=None, files=None):
    """Runs the job on a cluster of this machine, over files that are written from what `Job.test` takes."""
    with tempfile.TemporaryDirectory() as place:
        paths = []
        for index, given in enumerate(inputs):
            folder = os.path.join(place, f"in{index}")
            os.mkdir(folder)
            contents = given if isinstance(given, dict) else {"lines": "".join(line + "\n" for line in given)}
            for name, content in contents.items():
                Path(folder, name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
            paths.append(folder)
        side = write_side_files(place, files)
        output = os.path.join(place, "out")
        result = job.local(paths, output, reducers=reducers, options=options, files=side, quiet=True)
        found = {name: Path(output, name).read_bytes() for name in os.listdir(output) if not name.startswith("_")}
    return outcome(job, found, result.counters())


WAYS = {"in this process": in_process, "in a child": in_child}
if cluster_is_there():
    WAYS["on a cluster"] = on_cluster
