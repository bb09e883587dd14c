# SPDX-License-Identifier: Apache-2.0
"""The file system against cat and dd: one replica on one worker, and three on three workers that share the machine's disk."""

import glob
import os
import statistics
from dataclasses import dataclass

from suite import measure
from suite.contest import summary
from suite.setting import daemons_of, files_below


@dataclass
class _Member:
    commands: list      # run at once
    limit: str = ""     # the member whose speed is its limit
    before: tuple = ()  # a call of millrace that comes first, untimed: it removes what the last turn wrote
    aside: str = ""     # local files that begin so are what it writes
    said: str = ""      # the file in which the script dfsio says what it measured


def _throughput(path):
    """MB by the sum of the times that tasks waited for the file system, in s."""
    with open(path) as f:
        said = dict((part.strip() for part in line.split(":")) for line in f)
    return float(said["Throughput MB/s"])


def _hold(cluster, members, reads, size, repeat):
    """The members in turn, `repeat` times; their figures by name."""
    runs, wrote = {name: [] for name in members}, {name: 0 for name in members}
    for _ in range(repeat):
        for name, member in members.items():
            there = measure.bytes_below(cluster.directory)
            if member.before:
                cluster.run(*member.before)
            for old in glob.glob(member.aside + "*") if member.aside else []:
                os.unlink(old)
            measure.forget(cluster.directory, there - wrote[name] + measure.PROGRAMS)
            there = measure.bytes_below(cluster.directory)
            blocks = [file for n in cluster.workers for file in files_below(cluster.path(f"worker{n}"))]
            with measure.settle([*reads, *blocks], measure.warm_for(size)):
                run = measure.timed(member.commands, daemons_of(cluster), cluster.environment())
            if member.said:
                run["throughput"] = _throughput(member.said)
            runs[name].append(run)
            wrote[name] = measure.bytes_below(cluster.directory) - there
    figures = {name: summary(of_one, size) for name, of_one in runs.items()}
    for name, member in members.items():
        if member.limit:
            figures[name]["speed_over_limit"] = figures[member.limit]["wall"] / figures[name]["wall"]
        if member.said:
            figures[name]["throughput"] = statistics.median(run["throughput"] for run in runs[name])
    return figures


def _dfsio(setting, kind, *arguments):
    said = os.path.join(setting.scratch, "dfsio-" + kind)
    return f"{setting.bin}/dfsio {kind} {' '.join(map(str, arguments))} > {said} 2> {said}.err || {{ cat {said}.err >&2; exit 1; }}", said


def _put(setting, replication, path, target):
    return [os.path.join(setting.bin, "millrace"), "fs", "put", "-f", "--replication", str(replication), "--progress", "none", path, target]


def dfsio(setting, size, repeat, _):
    """fs cat and dfsio read against cat; fs put and dfsio write, with one replica, against dd conv=fsync. In turn."""
    path, aside = setting.file("records", size), os.path.join(setting.scratch, "copy")
    write, written = _dfsio(setting, "write", "/io", 2, size // 2, "-D", "output.replication=1")
    read, was_read = _dfsio(setting, "read", "/io", "/io-read")
    remove = ("fs", "rm", "-r", "-f")
    with setting.cluster() as cluster:
        cluster.run("fs", "put", "--replication", "1", "--progress", "none", path, "/data")
        return _hold(cluster, {
            "read: fs cat": _Member([[os.path.join(setting.bin, "millrace"), "fs", "cat", "/data"]], "read: cat"),
            "read: cat": _Member([f"cat {path} > /dev/null"]),
            "write: fs put": _Member([_put(setting, 1, path, "/copy")], "write: dd", (*remove, "/copy")),
            "write: dfsio": _Member([write], "write: dd", (*remove, "/io"), written),
            "write: dd": _Member([f"dd if={path} of={aside} bs=1M conv=fsync 2> /dev/null"], aside=aside),
            "read: dfsio": _Member([read], "read: cat", (*remove, "/io-read"), was_read),
        }, [path], size, repeat)


def replicas(setting, size, repeat, _):
    """fs put and dfsio write with three replicas, by three workers on one disk, against three dd conv=fsync at once."""
    path, aside = setting.file("records", size), os.path.join(setting.scratch, "copy")
    write, written = _dfsio(setting, "write", "/io", 3, size // 3, "-D", "output.replication=3")
    with setting.cluster(workers=3, slots=1) as cluster:
        return _hold(cluster, {
            "fs put": _Member([_put(setting, 3, path, "/copy")], "dd", ("fs", "rm", "-f", "/copy")),
            "dfsio write": _Member([write], "dd", ("fs", "rm", "-r", "-f", "/io"), written),
            "dd": _Member([f"dd if={path} of={aside}{n} bs=1M conv=fsync 2> /dev/null" for n in range(3)], aside=aside),
        }, [path], size, repeat)
