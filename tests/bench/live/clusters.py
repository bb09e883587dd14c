"""Clusters that run the jobs: their daemons and data, the jobs' submission, and what else the machine did meanwhile."""

import dataclasses
import os
import time

from live import journal
from suite import measure

SETTINGS = '[delay]\nrack_wait = "200ms"\ndatacenter_wait = "200ms"\noff_wait = "200ms"\n'
RACKS = 2  # each a datacenter of its own; the workers join them in turn
REPLICATION = 2
TICKS = os.sysconf("SC_CLK_TCK")
LEAST_TOLD = 0.001  # seconds: `millrace run` takes no shorter time of a task


@dataclasses.dataclass
class LiveRun:
    jobs: list  # journal.JobRun, in the order of their arrival
    journal: str
    cpu: float = 0  # seconds of cores that the cluster and its clients used
    others: float = 0  # likewise all other processes, and what the host took

    @property
    def makespan(self):
        return max(job.ended for job in self.jobs) - min(job.submitted for job in self.jobs)


def machine_seconds():
    """Seconds of cores: used by processes, and taken by the host."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _, _, irq, softirq, steal = map(int, f.readline().split()[1:9])
    return (user + nice + system + irq + softirq) / TICKS, steal / TICKS


class LiveCluster:
    """with LiveCluster(...) as c: c.run_jobs(jobs, costs). slots: of maps and reduces, by worker."""

    def __init__(self, setting, slots, scheduler="fifo"):
        file = os.path.join(setting.scratch, "scheduler.toml")
        with open(file, "w", encoding="utf-8") as f:
            f.write(SETTINGS)
        self.setting, self.slots = setting, slots
        self.cluster = setting.cluster(workers=0, settings=[f"master.scheduler={scheduler}", f"master.scheduler_file={file}"])
        self.cluster.racks = self.cluster.datacenters = RACKS
        self.block, self.blocks = 0, {}  # by kind of data, files of one block each
        self.outputs = 0

    def __enter__(self):
        self.cluster.__enter__()
        try:
            for n, slots in enumerate(self.slots):
                self.cluster.slots = slots
                self.cluster.start_worker(n)
        except BaseException:
            self.cluster.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *why):
        self.cluster.__exit__(*why)

    def put_data(self, shapes, block):
        self.block = block
        for kind in sorted({shape.data for shape in shapes if not shape.sleeps}):
            count = max(shape.maps for shape in shapes)
            pieces = self.setting.pieces(kind, count * block, count)
            self.cluster.run("fs", "put", "--replication", str(REPLICATION), "--block-size", str(block), pieces, f"/{kind}")
            self.blocks[kind] = [f"/{kind}/{name}" for name in sorted(os.listdir(pieces))]
        os.sync()  # so that writing them back does not take from what is measured

    def warm(self, shapes):
        """Runs each program on each worker, on data of another type, so that the history of the programs stays empty."""
        programs = sorted({shape.program for shape in shapes if not shape.sleeps})
        if not programs:
            return
        line = b"<p>" + 92 * b"a" + b"</p>\n"  # 100 bytes, as terasort wants
        for n in range(len(self.slots)):
            self.cluster.run("fs", "put", "-", f"/warm/{n}", input=1000 * line)
        options = {shape.program: shape.options for shape in shapes}
        for program in programs:
            told = [f for option in (*options[program], "job.pack=0") for f in ("-D", option)]
            for _ in range(2):
                self.cluster.run("run", program, "/warm", "--reducers", str(len(self.slots)), *told, "-o", self.new_output())

    def new_output(self):
        self.outputs += 1
        return f"/out/{self.outputs}"

    def sweep(self):
        """Removes what jobs have written."""
        self.cluster.run("fs", "rm", "-r", "-f", "/out")

    def memory(self, shapes):
        """Memory that the host has given us, handed out while jobs of these shapes run: they allocate about as much."""
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return measure.Warm(min(int(sum(shape.maps * shape.memory for shape in shapes) * self.block), free // 2))

    def run_alone(self, shape):
        """Its reduces begin when all maps have ended."""
        arguments = [*shape.arguments(self.blocks.get(shape.data, [])), "-D", "job.slow_start=1", "-o", self.new_output()]
        with self.memory([shape]):
            number = self.cluster.run("run", *arguments, "--detach")[0].decode().split()[-1]
            self.cluster.run("job", "wait", number)
        return journal.read(self.cluster.run("job", "history", number)[0].decode())[f"job{number}"]

    def run_jobs(self, jobs, costs=None):
        """Submits them when they are due. Returns a LiveRun when all have ended."""
        with self.memory([job.shape for job in jobs]):
            return self._run_jobs(jobs, costs)

    def _run_jobs(self, jobs, costs):
        roots = [self.cluster.master.pid, *(worker.pid for worker in self.cluster.workers.values())]
        cpu, (used, stolen) = measure.cpu_seconds(roots) + children_seconds(), machine_seconds()
        clients, begin = [], time.monotonic()
        for number, job in enumerate(jobs):
            time.sleep(max(0.0, begin + job.at - time.monotonic()))
            told = ["--user", job.user, "--name", f"j{number}", "--detach", "-o", self.new_output()]
            if costs:
                cost = costs.shapes[job.shape.name]
                told += ["--map-time", f"{max(LEAST_TOLD, cost.map_seconds):.6f}s", "--reduce-time", f"{max(LEAST_TOLD, cost.reduce_seconds):.6f}s"]
            told += ["--deadline", f"{job.deadline}s"] if job.deadline else []
            clients.append(self.cluster.start("run", *job.shape.arguments(self.blocks.get(job.shape.data, [])), *told))
        numbers = []
        for client in clients:
            said, error = client.communicate()
            if client.returncode != 0:
                raise RuntimeError(f"{' '.join(client.args)}: {error.decode(errors='replace')}")
            numbers.append(said.decode().split()[-1])
        for number in numbers:
            self.cluster.run("job", "wait", number)
        cpu = measure.cpu_seconds(roots) + children_seconds() - cpu
        used, stolen = (b - a for a, b in zip((used, stolen), machine_seconds()))
        text = self.cluster.run("job", "history")[0].decode()
        runs = journal.read(text)
        return LiveRun([runs[f"job{number}"] for number in numbers], text, cpu, max(0.0, used - cpu) + stolen)


def children_seconds():
    """CPU time of the processes that this one has started and seen end."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
