"""What is compared with what: the experiments of lab/experiments/run, in the order of the page."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Setup:
    """A cluster, and what is added to the command on it. The results of an experiment with several setups are beside each other."""

    testbed: str
    label: str = ""
    options: tuple = ()
    times: int = 1  # that the whole comparison is made, with other seeds

    def directories(self, experiment):
        name = experiment.name + ("-" + self.label if self.label else "")
        return [name] if self.times == 1 else [f"{name}-{i + 1}" for i in range(self.times)]

    def commands(self, experiment):
        for i, directory in enumerate(self.directories(experiment)):
            seed = ("--seed", str(1000 * (i + 1))) if self.times > 1 else ()
            yield ["compare", experiment.workload + ".toml", "--scheduler", ",".join(experiment.schedulers), "--metric", ",".join(experiment.metrics),
                   "--repeat", str(experiment.repeat), "--on", "testbed", *(("--simulate",) if experiment.simulated else ()), *experiment.options,
                   *self.options, *seed, "-o", directory]


@dataclasses.dataclass(frozen=True)
class Experiment:
    name: str
    workload: str
    schedulers: tuple  # the first is the baseline
    metrics: tuple  # that decide
    setups: tuple
    repeat: int = 8
    options: tuple = ()
    shown: tuple = ()  # further metrics that the table shows
    simulated: bool = True  # each run is simulated beside, too


EXPERIMENTS = {experiment.name: experiment for experiment in (
    Experiment("sticky-slots", "sticky-slots", ("fair", "fair+delay"), ("turnaround", "makespan", "node_local"), (Setup("one-rack"),)),
    Experiment("small-jobs", "small-jobs", ("fair", "fair+delay"), ("turnaround", "makespan", "node_local"), (Setup("two-racks"),)),
    Experiment("copy-compute", "copy-compute", ("fair", "fair+ccs"), ("turnaround", "makespan", "wait"), (Setup("slots-2-2"),)),
    Experiment("slots", "slots", ("fair", "fresh-dynamic"), ("makespan", "turnaround", "utilisation"),
               tuple(Setup(f"slots-{m}-{r}", f"{m}-{r}", ("--slots", f"{m},{r}")) for m, r in ((2, 2), (3, 1), (1, 3)))),
    Experiment("two-datacenters", "two-datacenters", ("fair", "joss-t", "joss-j"), ("datacenter_bytes", "turnaround", "node_local"), (Setup("two-datacenters"),),
               shown=("makespan",)),
    Experiment("deadlines", "deadlines", ("edf", "cp"), ("late",), (Setup("slots-1-1"),), repeat=12, shown=("turnaround", "makespan")),
    Experiment("assignment", "assignment", ("dl", "lsap"), ("node_local", "rack_bytes", "turnaround"), (Setup("four-racks"),)),
)}

# Biasing is in the workload (what each job waits), not in the scheduler: two comparisons with the same seeds.
BIASED = Experiment("hot-file", "hot-file", ("fair", "fair+delay"), ("turnaround", "makespan", "node_local"), (Setup("one-rack"),))
UNBIASED = Experiment("hot-file-unbiased", "hot-file-unbiased", ("fair", "fair+delay"), ("turnaround", "makespan", "node_local"), (Setup("one-rack"),),
                      options=("--no-same-against-same",))
EXPERIMENTS.update({experiment.name: experiment for experiment in (BIASED, UNBIASED)})

AGAINST_ITSELF = Experiment("against-itself", "against-itself", ("fair", "fair"), ("turnaround", "makespan", "wait"), (Setup("slots-2-1", times=20),),
                            options=("--no-same-against-same",), simulated=False)
