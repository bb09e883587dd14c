"""Simulates the jobs with what the calibration has measured."""

import csv
import dataclasses
import os
import subprocess
import tempfile

from live.clusters import RACKS, REPLICATION, SETTINGS


@dataclasses.dataclass
class SimulatedJob:
    submitted: float
    ended: float


def text(options, jobs, costs, slowness=1.0, places=None, plain=False):
    """A simulation file. places: of each job, by map, the nodes of the data. plain: without what the tasks of a machine cost one
    another, and what each costs beside its work."""
    lines = [f"seed = {options.seed}", f"block_size = {options.block}", "[cluster]", f"nodes = {options.workers}", f"racks = {RACKS}",
             f"datacenters = {RACKS}", f"map_slots = {options.map_slots}", f"reduce_slots = {options.reduce_slots}", "rack_bandwidth = 0",
             f"node_bandwidth = {0 if plain else costs.node_bandwidth / slowness:.0f}"]
    if not plain:
        lines += [f"nodes_per_machine = {options.workers}", f"cores = {costs.cores:.3f}",
                  f'task_latency = "{costs.task_latency * slowness:.6f}s"', f'process_start = "{costs.process_start * slowness:.6f}s"']
    for node in range(options.workers):
        lines += ["[[cluster.groups]]", f"first = {node}", f'rack = "r{node % RACKS}"', f'datacenter = "dc{node % RACKS}"']
    lines += ["[placement]", f"replication = {REPLICATION}"]
    for number, job in enumerate(jobs):
        shape, cost = job.shape, costs.shapes[job.shape.name]
        slow = 1.0 if shape.sleeps else slowness
        lines += ["[[jobs]]", f'name = "j{number}"', f'user = "{job.user}"', f'program = "{shape.program}"',
                  f'arrival = {{ kind = "batch", at = {job.at} }}', f"maps = {shape.maps}", f"reduces = {shape.reduces}",
                  "tell_times = true", f"estimate_bias = {1 / slow:.6f}",  # users tell what the calibration has measured
                  f"map_time = {cost.map_seconds * slow:.6f}", f"reduce_time = {cost.reduce_seconds * slow:.6f}",
                  f"map_cores = {cost.map_cores:.3f}", f"reduce_cores = {cost.reduce_cores:.3f}"]
        lines += [f"deadline = {job.deadline}"] if job.deadline else []
        if shape.sleeps:
            lines += ["located = false", "map_output = 0"]
            continue
        lines += [f'data = "{shape.data}"', f'input_type = "{shape.data}"', f"map_output = {cost.map_output:.6f}"]
        lines += [f"places = {places[number]}"] if places else []
    return "\n".join(lines) + "\n"


def run(setting, scheduler, content, keep=None):
    """The jobs in the order of their arrival. keep: what the command writes goes there, with the file."""
    with tempfile.TemporaryDirectory(dir=setting.scratch) as scratch:
        directory = keep or scratch
        os.makedirs(directory, exist_ok=True)
        file, settings, out = (os.path.join(directory, name) for name in ("simulation.toml", "scheduler.toml", "out"))
        for path, of_file in ((file, content), (settings, SETTINGS)):
            with open(path, "w", encoding="utf-8") as f:
                f.write(of_file)
        command = [os.path.join(setting.bin, "millrace"), "sim", file, "--scheduler", scheduler, "--settings", settings, "-o", out]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (jobs,) = [os.path.join(at, "jobs.csv") for at, _, names in os.walk(out) if "jobs.csv" in names]
        with open(jobs, encoding="utf-8") as f:
            rows = {row["name"]: row for row in csv.DictReader(f)}
    return [SimulatedJob(float(row["submit"]), float(row["end"])) for row in (rows[f"j{n}-0"] for n in range(len(rows)))]
