"""The jobs that are run live and simulated: seeded, so that equal arguments give equal workloads."""

import dataclasses
import random

USERS = ("ann", "bob", "cid")


@dataclasses.dataclass(frozen=True)
class Shape:
    """What all jobs of one sort have in common. Times are measured for each shape alone (calibration.py)."""

    program: str
    maps: int
    reduces: int
    options: tuple = ()
    data: str = ""  # kind of generated data that it reads; nothing: it sleeps
    map_seconds: float = 0  # of a job that sleeps
    reduce_seconds: float = 0
    memory: float = 0  # blocks that a map and its share of the reduces allocate, file pages on a tmpfs included

    @property
    def name(self):
        words = [option.partition("=")[2] for option in self.options if not self.sleeps]
        return "-".join([self.program, *words, f"{self.maps}x{self.reduces}"])

    @property
    def kind(self):
        """Shapes of one kind have the same maps, but not as many."""
        return self.program, self.options

    @property
    def sleeps(self):
        return not self.data

    def arguments(self, blocks):
        """Of millrace run. `blocks`: the files of its data, of one block each."""
        told = [f for option in (*self.options, "job.pack=0") for f in ("-D", option)]
        if self.sleeps:
            told += ["-D", f"input.maps={self.maps}", "-D", f"sleep.map_time={self.map_seconds}s"]
            told += ["-D", f"sleep.reduce_time={self.reduce_seconds}s"]
        return [self.program, *blocks[:self.maps], "--reducers", str(self.reduces), *told]


@dataclasses.dataclass(frozen=True)
class Job:
    shape: Shape
    at: float  # seconds from the start
    user: str
    deadline: float  # seconds from its submission; 0: none


def sizes(program, data, options=(), of=((2, 1), (4, 2), (10, 4)), memory=1.0):
    return [Shape(program, maps, reduces, tuple(options), data, memory=memory) for maps, reduces in of]


def sleeping(scale):
    return [Shape("sleep", maps, reduces, (), "", map_seconds * scale, reduce_seconds * scale)
            for maps, reduces, map_seconds, reduce_seconds in ((2, 1, 1, 1), (6, 2, 1.5, 1), (12, 2, 1, 2))]


LOADS = (("loadgen.keep_map=10", "loadgen.map_work=100"), ("loadgen.keep_map=30", "loadgen.reduce_work=100"), ("loadgen.keep_map=1",))

# Shapes, number of jobs, mean time between arrivals in seconds.
MIXES = {
    "wordcount": (lambda: sizes("wordcount", "text"), 14, 0.4),
    "grep": (lambda: sizes("grep", "text", ["grep.pattern=[a-e][a-z]*ing?[^a-z]"]), 30, 0.15),
    "terasort": (lambda: sizes("terasort", "records", of=((2, 1), (4, 2), (8, 4)), memory=5), 10, 0.4),
    "loadgen": (lambda: [shape for load in LOADS for shape in sizes("loadgen", "text", load, of=((2, 1), (8, 3)), memory=1.25)], 14, 0.4),
    "sleep": (lambda: sleeping(1), 10, 0.5),
}


def load(shapes):
    """Two jobs of each shape, all at once: what the machine does when it has more to do than it can."""
    return [Job(shape, 0, USERS[0], 0) for shape in shapes * 2]


def reference(shapes):
    """Two jobs of the smallest shape of each kind, all at once."""
    smallest = {}
    for shape in shapes:
        if not shape.sleeps and (shape.kind not in smallest or shape.maps < smallest[shape.kind].maps):
            smallest[shape.kind] = shape
    return load(list(smallest.values()))


def mix(name, seed, jobs=None):
    """The shapes of the mix and its jobs, in the order of their arrival. Small jobs are as frequent as all others together."""
    shapes, count, mean = MIXES[name]
    shapes, rng = shapes(), random.Random(f"{name} {seed}")
    small = [shape for shape in shapes if shape.maps == 2]
    large = [shape for shape in shapes if shape.maps != 2]
    at, out = 0.0, []
    for number in range(jobs or count):
        shape = rng.choice((small, large)[number % 2])
        out.append(Job(shape, round(at, 3), USERS[number % len(USERS)], round(rng.uniform(5, 20), 1)))
        at += rng.expovariate(1 / mean)
    return shapes, out
