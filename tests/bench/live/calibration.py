"""What tasks cost on this machine, and how much of it the machine does at once.

There are two clusters with as many workers as the one that is predicted. In the first only one worker has slots, one of maps and one
of reduces, and jobs run one at a time: no two tasks run at once, and reduces copy when all maps have ended. It tells what a task
costs. What a reduce copies costs cores too, and is taken for a part of its computation; simulated copies take no time. The second
cluster has all slots, and runs two jobs of each shape at once under fifo. The number of cores is the one with which the simulation of
these jobs takes as long as they do.

The speed of the machine changes from minute to minute. So between any two of these steps, and before and after each run that is
predicted, the second cluster runs a few small jobs, the reference. What it takes is the machine's slowness at that time, and times
are divided by it.
"""

import dataclasses
import statistics
import threading
import time

from live import simulation, workload
from live.clusters import LiveCluster, machine_seconds
from live.workload import Shape

SLEEPS = Shape("sleep", 12, 2, (), "", 0.2, 0.2)
LEAST_REMOTE = 0.05  # of a map's time: a smaller difference between remote and local maps is noise
ROUNDS = 2
REFERENCE_SECONDS = 3  # at least: a second alone varies by 7%


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
    load_cpu: float = 1  # how many times as much CPU time tasks use under load as alone: they share caches and memory
    shapes: dict = dataclasses.field(default_factory=dict)  # by name: Cost

    def cpu(self, jobs):
        """Seconds of cores that these jobs use, each alone."""
        total = 0.0
        for shape in (job.shape for job in jobs):
            cost = self.shapes[shape.name]
            total += shape.maps * cost.map_seconds * cost.map_cores + shape.reduces * cost.reduce_seconds * cost.reduce_cores
        return total


class Usage:
    """Samples what the machine's cores have done, so that the use between two moments is known afterwards."""

    def __init__(self):
        self.samples, self.stopped = [], threading.Event()
        self.thread = threading.Thread(target=self._sample)

    def _sample(self):
        while True:
            self.samples.append((time.time(), machine_seconds()[0]))
            if self.stopped.wait(0.05):
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        time.sleep(0.1)  # so that a sample comes after the last end
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


@dataclasses.dataclass
class Alone:
    """A job that ran alone."""

    run: object  # journal.JobRun
    usage: Usage
    slowness: float = 1

    def seconds(self, attempt):
        return (attempt.ended - attempt.launched) / self.slowness

    def warm_maps(self):
        """All but the first, whose process starts."""
        return self.run.of(is_map=True)[1:]

    def local(self, attempt):
        return attempt.node in self.run.replicas[attempt.index] or not self.run.replicas[attempt.index]


class Reference:
    """Small jobs of each kind, two of each at once. What they take tells how slow the machine is. It is 1 s if all jobs sleep."""

    def __init__(self, cluster, shapes):
        self.cluster, self.jobs = cluster, workload.reference(shapes)
        self.seconds = []

    def measure(self):
        """Returns the seconds, as a mean over some runs."""
        if not self.jobs:
            return 1.0
        taken = [self._once()]
        while sum(taken) < REFERENCE_SECONDS:
            taken.append(self._once())
        self.seconds.append(mean(taken))
        return self.seconds[-1]

    def _once(self):
        run = self.cluster.run_jobs(self.jobs)
        self.cluster.sweep()
        return run.makespan


def mean(values):
    return statistics.mean(values)


def process_start(alones, task_latency):
    """What the first attempt of a job takes longer than the others, on average."""
    starts = []
    for alone in alones:
        maps = alone.run.of(is_map=True)
        others = [a for a in maps[1:] if alone.local(a)]
        if others and alone.local(maps[0]):
            starts.append(alone.seconds(maps[0]) - mean(map(alone.seconds, others)))
    return max(0.0, statistics.median(starts)) if starts else task_latency


def remote_rate(kinds, block):
    """Bytes/s that explain what a remote map takes longer than a local one."""
    more, of_local = [], []
    for alones in kinds:
        tasks = [(alone, a) for alone in alones for a in alone.warm_maps()]
        local, remote = ([alone.seconds(a) for alone, a in tasks if alone.local(a) == wanted] for wanted in (True, False))
        if local and remote:
            more.append(statistics.median(remote) - statistics.median(local))
            of_local.append(statistics.median(local))
    if not more or mean(more) <= LEAST_REMOTE * mean(of_local):
        return 0
    return block / mean(more)


def cost_of(shape, own, kind, task_latency):
    """own: runs of the shape; kind: of all shapes whose maps are alike."""
    if shape.sleeps:
        return Cost(shape.map_seconds, shape.reduce_seconds)
    maps = [(alone, a) for alone in kind for a in alone.warm_maps()]
    local = [(alone, a) for alone, a in maps if alone.local(a)] or maps
    reduces = [(alone, a) for alone in own for a in alone.run.of(is_map=False)]
    cores = [sum(alone.usage.between(a.launched, a.ended) for alone, a in tasks) / sum(a.ended - a.launched for _, a in tasks)
             for tasks in (maps, reduces)]
    # A task that does next to nothing may have taken less than the latency, which other tasks showed.
    return Cost(map_seconds=max(0.0, statistics.median(alone.seconds(a) for alone, a in local) - task_latency),
                reduce_seconds=max(0.0, mean(alone.seconds(a) for alone, a in reduces) - task_latency), map_cores=cores[0], reduce_cores=cores[1],
                map_output=sum(a.output_bytes for _, a in maps) / sum(a.input_bytes for _, a in maps))


class Calibration:
    """Of one mix: costs, and the cluster of the reference, which is kept until it is closed."""

    def __init__(self, setting, options, shapes):
        self.setting, self.options, self.shapes = setting, options, shapes
        self.costs = Costs()
        self.full = LiveCluster(setting, [(options.map_slots, options.reduce_slots)] * options.workers)
        self.reference = Reference(self.full, shapes)

    def __enter__(self):
        self.full.__enter__()
        try:
            self._measure()
        except BaseException:
            self.full.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *why):
        self.full.__exit__(*why)

    def slowness(self, before, after):
        """Of the time between two measurements of the reference, as a multiple of what it was during the calibration."""
        return (before + after) / 2 / self.seconds

    def slowness_around(self, number):
        """Of the time after the reference's measurement with this number. The machine is slower or faster by 7% for seconds, so the
        neighbours of the two measurements count too: what they follow is slower."""
        return mean(self.reference.seconds[max(1, number - 1):number + 3]) / self.seconds if self.reference.jobs else 1.0

    def _measure(self):
        alones, loads = [], []  # each with the reference before and after: (shape, Alone) of all shapes; a LiveRun
        with LiveCluster(self.setting, [(1, 1)] + [(0, 0)] * (self.options.workers - 1)) as alone:
            for cluster in (alone, self.full):
                cluster.put_data(self.shapes, self.options.block)
                cluster.warm(self.shapes)
            for _ in range(2):  # the first fetches the program
                sleeps = alone.run_alone(SLEEPS)
            self.costs.task_latency = statistics.median(a.ended - a.launched - SLEEPS.map_seconds for a in sleeps.of(is_map=True)[1:])
            if all(shape.sleeps for shape in self.shapes):
                self.seconds = 1.0
                self._take([(SLEEPS, Alone(sleeps, None))])
                return
            self.reference.measure()  # the first is slower
            before = self.reference.measure()
            for _ in range(ROUNDS):
                with Usage() as usage:
                    runs = [(shape, Alone(alone.run_alone(shape), usage)) for shape in self.shapes]
                alone.sweep()
                middle = self.reference.measure()
                load = self.full.run_jobs(workload.load(self.shapes))
                self.full.sweep()
                after = self.reference.measure()
                alones.append((runs, before, middle))
                loads.append((load, middle, after))
                before = after
        self.seconds = statistics.median(self.reference.seconds[1:])
        for runs, begin, end in alones:
            for _, each in runs:
                each.slowness = self.slowness(begin, end)
        self._take([each for runs, _, _ in alones for each in runs])
        self.costs.load_cpu = mean(load.cpu / self.slowness(*of) for load, *of in loads) / self.costs.cpu(workload.load(self.shapes))
        self._fit_cores(mean(load.makespan / self.slowness(*of) for load, *of in loads))

    def _take(self, alones):
        """alones: (shape, Alone)."""
        kinds = {}
        for shape, alone in alones:
            kinds.setdefault(shape.kind, []).append(alone)
        for shape in self.shapes:
            own = [alone for each, alone in alones if each == shape]
            self.costs.shapes[shape.name] = cost_of(shape, own, kinds.get(shape.kind), self.costs.task_latency)
        self.costs.process_start = process_start([alone for _, alone in alones], self.costs.task_latency)
        self.costs.node_bandwidth = remote_rate(kinds.values(), self.options.block)

    def _fit_cores(self, makespan):
        few, many = 0.25, 8.0  # it may be more cores than there are: tasks that are alone wait for other things too
        while many - few > 0.005:
            self.costs.cores = (few + many) / 2
            text = simulation.text(self.options, workload.load(self.shapes), self.costs)
            ends = [job.ended for job in simulation.run(self.setting, "fifo", text)]
            few, many = (self.costs.cores, many) if max(ends) > makespan else (few, self.costs.cores)
