# SPDX-License-Identifier: Apache-2.0
"""A job against its limit and its peers: in turn, several times, each on warm memory; outputs compared."""

import glob
import os
import shutil
import statistics
import subprocess
from dataclasses import dataclass, field

from suite import measure
from suite.setting import daemons_of, files_below


@dataclass
class Contest:
    """One entry of the suite. In commands {input} is the local input and {output} a path to write to."""
    name: str
    job: str
    kind: str = "text"
    share: float = 1.0  # of --size
    pieces: int = 0     # the input in so many files
    reducers: int = 2
    parameters: list = field(default_factory=list)
    limit: str = ""     # the limit program and its arguments
    peers: dict = field(default_factory=dict)
    ordered: bool = False  # parts one behind the other are the output; else lines, each part sorted


def _digest(paths, ordered):
    if not any(os.path.getsize(path) for path in paths):
        raise SystemExit("an output is empty: there is nothing to compare")
    quoted = " ".join(f"'{p}'" for p in paths)
    merge = f"cat {quoted}" if ordered else f"sort -m {quoted}"
    return subprocess.run(["sh", "-c", merge + " | md5sum"], env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, check=True).stdout


def _present(command):
    """Programs of a pipe that the machine must have."""
    return all(shutil.which(part.split()[0]) for part in command.split("|"))


class _Field:
    """All who take part in one contest, by name."""

    def __init__(self, contest, setting, cluster, size, peers):
        self.contest, self.setting, self.cluster = contest, setting, cluster
        self.input = setting.pieces(contest.kind, size, contest.pieces) if contest.pieces else setting.file(contest.kind, size)
        self.output = os.path.join(setting.scratch, "output")
        cluster.run("fs", "put", "--replication", "1", "--progress", "none", self.input, "/input")
        self.reads = (files_below(self.input) if contest.pieces else [self.input]) + files_below(cluster.path("worker0"))
        self.kept = measure.bytes_below(cluster.directory) + measure.PROGRAMS
        self.size = size
        self.members = {"millrace": None}
        program = setting.limit(contest.limit.split()[0]) if contest.limit else None
        if program:
            self.members["limit"] = " ".join([program, *contest.limit.split()[1:]])
        if peers:
            self.members.update({name: command for name, command in contest.peers.items() if _present(command)})

    def _sweep(self):
        """No output of an earlier run is left to be removed in the next one."""
        self.cluster.run("fs", "rm", "-r", "-f", "/output")
        for old in glob.glob(self.output + "*"):
            os.unlink(old)
        measure.forget(self.cluster.directory, self.kept)

    def run(self, name):
        self._sweep()
        if name == "millrace":
            arguments = [a for p in self.contest.parameters for a in ("-D", p)]
            command = [os.path.join(self.setting.bin, "millrace"), "run", self.contest.job, "/input", "-o", "/output", "--reducers", str(self.contest.reducers), *arguments]
            daemons, env = daemons_of(self.cluster), self.cluster.environment()
        else:
            inputs = self.input + "/*" if self.contest.pieces else self.input
            command = self.members[name].replace("{input}", inputs).replace("{output}", self.output)
            daemons, env = (), {**os.environ, "LC_ALL": "C"}
        with measure.settle(self.reads, measure.warm_for(self.size)):
            return measure.timed([command], daemons, env)

    def digest(self, name):
        if name != "millrace":
            return _digest(sorted(glob.glob(self.output + "*")), self.contest.ordered)
        got = os.path.join(self.setting.scratch, "got")
        self.cluster.run("fs", "get", "--progress", "none", "/output", got)
        digest = _digest(sorted(glob.glob(got + "/part-*")), self.contest.ordered)
        shutil.rmtree(got)
        return digest


def _median(runs, key):
    return statistics.median(run[key] for run in runs)


def summary(runs, size):
    walls = [run["wall"] for run in runs]
    wall = statistics.median(walls)
    return {"wall": wall, "least": min(walls), "most": max(walls), "cpu": _median(runs, "cpu"), "memory": max(run["memory"] for run in runs),
            "mb_per_s": size / 1e6 / wall, "runs": len(runs)}


def hold(contest, setting, size, repeat, peers=True):
    """The figures of everyone by name, with what millrace takes in wall and CPU time as a ratio to theirs; stops when an output differs."""
    size = int(size * contest.share)
    with setting.cluster() as cluster:
        field_ = _Field(contest, setting, cluster, size, peers)
        runs = {name: [] for name in field_.members}
        wanted = None
        for turn in range(repeat):
            for name in reversed(runs):
                runs[name].append(field_.run(name))
                if turn > 0:
                    continue
                digest = field_.digest(name)
                if wanted not in (None, digest):
                    raise SystemExit(f"{contest.name}: the output of {name} differs from that of the others")
                wanted = digest
    if len(runs) == 1:
        print(f"{contest.name}: nobody to compare with, the output was not checked; build the target limits")
    figures = {name: summary(of_one, size) for name, of_one in runs.items()}
    for name, other in figures.items():
        other["wall_ratio"] = figures["millrace"]["wall"] / other["wall"]
        other["cpu_ratio"] = figures["millrace"]["cpu"] / max(other["cpu"], 0.001)
    return figures
