"""What tasks cost on this machine: measured on a cluster with one map slot and one reduce slot, a job at a time.

The cluster has as many workers as the one that is predicted, so that files are written and read as there, but only the first has
slots: no two tasks run at once, and reduces copy when all maps have ended.
"""

import dataclasses
import statistics
import threading
import time

from live import journal
from live.workload import BLOCK, Shape

SLEEPS = Shape("sleep", 12, 2, (), "", 0.2, 0.2)
TICKS = 100  # a second, of /proc/stat
LEAST_REMOTE = 0.05  # of a map's time: a smaller difference between remote and local maps is noise


@dataclasses.dataclass
class Cost:
    """Of the tasks of one shape, alone on the machine."""

    map_seconds: float = 0
    reduce_seconds: float = 0
    map_cores: float = 0
    reduce_cores: float = 0
    map_output: float = 0  # of the input


@dataclasses.dataclass
class Costs:
    cores: float = 0  # how many times as much work the machine does under load as one task alone
    task_latency: float = 0
    process_start: float = 0
    node_bandwidth: float = 0  # bytes/s at which a remote map waits for its input; 0: it does not
    shapes: dict = dataclasses.field(default_factory=dict)  # by name: Cost


class Usage:
    """Samples what the machine's cores have done, so that the use between two moments is known afterwards."""

    def __init__(self):
        self.samples, self.stopped = [], threading.Event()
        self.thread = threading.Thread(target=self._sample)

    def _sample(self):
        while True:
            with open("/proc/stat", encoding="ascii") as f:
                user, nice, system, _, _, irq, softirq = map(int, f.readline().split()[1:8])
            self.samples.append((time.time(), (user + nice + system + irq + softirq) / TICKS))
            if self.stopped.wait(0.05):
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()

    def at(self, moment):
        """Seconds of cores since the machine started, between samples by interpolation."""
        before = max((s for s in self.samples if s[0] <= moment), default=self.samples[0])
        after = min((s for s in self.samples if s[0] > moment), default=self.samples[-1])
        if after[0] <= before[0]:
            return before[1]
        return before[1] + (after[1] - before[1]) * (moment - before[0]) / (after[0] - before[0])

    def between(self, begin, end):
        return self.at(end) - self.at(begin)


def run_alone(cluster, shape, blocks, output):
    arguments = [*shape.arguments(blocks), "-D", "job.slow_start=1", "-o", output]
    number = cluster.run("run", *arguments, "--detach")[0].decode().split()[-1]
    cluster.run("job", "wait", number)
    return journal.read(cluster.run("job", "history", number)[0].decode())[f"job{number}"]


def seconds(attempt):
    return attempt.ended - (attempt.launched if attempt.is_map else attempt.computing)


def is_local(run, attempt):
    return attempt.node in run.replicas[attempt.index] or run.replicas[attempt.index] == [""]


def latency(run):
    return statistics.median(seconds(a) - SLEEPS.map_seconds for a in run.of(is_map=True)[1:])


def process_start(runs, task_latency):
    """What the first attempt of a job takes longer than the others, on average."""
    starts = []
    for run in runs:
        maps = [a for a in run.of(is_map=True) if is_local(run, a)]
        if len(maps) > 1 and maps[0].name in run.attempts and maps[0] is run.of(is_map=True)[0]:
            starts.append(seconds(maps[0]) - statistics.mean(map(seconds, maps[1:])))
    return max(0.0, statistics.mean(starts)) if starts else task_latency


def cost_of(shape, runs, usage, task_latency):
    """`runs`: all of the shape's kind, whose maps are alike; the first is the shape's own."""
    if shape.sleeps:
        return Cost(shape.map_seconds, shape.reduce_seconds)
    warm = [(run, a) for run in runs for a in run.of(is_map=True)[1:]]
    local = [a for run, a in warm if is_local(run, a)] or [a for _, a in warm]
    own, reduces = runs[0], runs[0].of(is_map=False)
    cost = Cost(map_seconds=statistics.mean(map(seconds, local)) - task_latency, map_output=sum(a.output_bytes for _, a in warm) / sum(a.input_bytes for _, a in warm))
    cost.map_cores = sum(usage.between(a.launched, a.ended) for _, a in warm) / sum(a.ended - a.launched for _, a in warm)
    if reduces:
        cost.reduce_seconds = statistics.mean(map(seconds, reduces))
        cost.reduce_cores = usage.between(reduces[0].computing, own.ended) / (own.ended - reduces[0].computing)
    return cost


def remote_rate(kinds):
    """Bytes/s that explain what a remote map takes longer than a local one."""
    local, remote = [], []
    for runs in kinds:
        for run in runs:
            for a in run.of(is_map=True)[1:]:
                (local if is_local(run, a) else remote).append(seconds(a))
    if not local or not remote:
        return 0
    more = statistics.mean(remote) - statistics.mean(local)
    return BLOCK / more if more > LEAST_REMOTE * statistics.mean(local) else 0


def calibrate(cluster, shapes, blocks):
    """blocks: by kind of data, the files of one block each."""
    with Usage() as usage:
        kinds = {}
        sleep = run_alone(cluster, SLEEPS, [], "/alone/sleep")
        costs = Costs(task_latency=latency(sleep))
        by_shape = {}
        for shape in shapes:
            if shape.sleeps:
                by_shape[shape] = sleep
            else:  # the first run of a program on a machine that has idled is slower by as much as a half
                for turn in ("cold", "warm"):
                    by_shape[shape] = run_alone(cluster, shape, blocks[shape.data], f"/alone/{turn}/{shape.name}")
            kinds.setdefault(shape.kind, []).append(by_shape[shape])
        time.sleep(0.1)  # so that a sample comes after the last end
    for shape in shapes:
        others = [run for run in kinds[shape.kind] if run is not by_shape[shape]]
        costs.shapes[shape.name] = cost_of(shape, [by_shape[shape], *others], usage, costs.task_latency)
    costs.process_start = process_start(by_shape.values(), costs.task_latency)
    costs.node_bandwidth = remote_rate(kinds.values())
    return costs
