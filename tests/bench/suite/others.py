# SPDX-License-Identifier: Apache-2.0
"""Benchmarks that are no contest of outputs: the cost of tasks and jobs, growth."""

import os
import statistics

from suite import filesystem, measure
from suite.contest import summary
from suite.setting import daemons_of, files_below


def _run(cluster, job, inputs, output, *more):
    return [os.path.join(os.environ["MILLRACE_BIN"], "millrace"), "run", job, *inputs, "-o", output, *more]


def _repeat(cluster, make, repeat):
    """Medians of make(i), a command that the cluster runs."""
    runs = [measure.timed([make(i)], daemons_of(cluster), cluster.environment()) for i in range(repeat)]
    return runs


def empty_maps(setting, size, repeat, _):
    """2,000 maps that do nothing (fewer with small sizes)."""
    maps = 2000 if size >= 1 << 28 else 20
    with setting.cluster() as cluster:
        runs = _repeat(cluster, lambda i: _run(cluster, "sleep", [], f"/out{i}", "--reducers", "0", "-D", f"input.maps={maps}"), repeat)
    figures = summary(runs, 0)
    figures["ms_per_map"] = figures["wall"] * 1000 / maps
    return {f"{maps} maps": figures}


def small_jobs(setting, size, repeat, _):
    """Word counts of 1 MB one after another, and at once (fewer with small sizes)."""
    path = setting.file("text", 1_000_000)
    in_turn, at_once = (100, 50) if size >= 1 << 28 else (3, 3)
    with setting.cluster() as cluster:
        cluster.run("fs", "put", "--replication", "1", "--progress", "none", path, "/data")
        runs = _repeat(cluster, lambda i: _run(cluster, "wordcount", ["/data"], f"/out{i}"), in_turn)
        all_ = measure.timed([_run(cluster, "wordcount", ["/data"], f"/all{i}") for i in range(at_once)], daemons_of(cluster), cluster.environment())
    one = summary(runs, 1_000_000)
    one["p50_ms"] = statistics.median(run["wall"] for run in runs) * 1000
    together = summary([all_], 1_000_000 * at_once)
    together["jobs_per_s"] = at_once / all_["wall"]
    return {f"{in_turn} in turn": one, f"{at_once} at once": together}


def _wordcount(setting, size, repeat, reducers=2, workers=1):
    path = setting.file("text", size)
    with setting.cluster(workers=workers, slots=2 if workers == 1 else 1) as cluster:
        cluster.run("fs", "put", "--replication", "1", "--progress", "none", path, "/data")
        runs = []
        for i in range(repeat):
            with measure.settle(files_below(cluster.directory), measure.warm_for(size)):
                runs.append(measure.timed([_run(cluster, "wordcount", ["/data"], f"/out{i}", "--reducers", str(reducers))], daemons_of(cluster), cluster.environment()))
    figures = summary(runs, size)
    figures["s_per_gib"] = figures["wall"] / (size / (1 << 30))
    return figures


def growth(setting, size, repeat, most):
    """wordcount of growing inputs, 4 x from one to the next."""
    sizes = [s for s in (size >> 4, size >> 2, size, size << 2, size << 4) if s <= most]
    return {f"{s >> 20} MiB": _wordcount(setting, s, repeat) for s in sizes}


def sweeps(setting, size, repeat, _):
    """wordcount by number of reducers, and of workers with one slot each."""
    large = size >= 1 << 28
    figures = {f"{n} reducers": _wordcount(setting, size, repeat, reducers=n) for n in ((1, 4, 16, 64, 256) if large else (1, 8))}
    figures.update({f"{n} workers": _wordcount(setting, size, repeat, workers=n) for n in ((1, 2, 4, 8, 16) if large else (2,))})
    return figures


OTHERS = {"dfsio": filesystem.dfsio, "replicas": filesystem.replicas, "empty-maps": empty_maps, "small-jobs": small_jobs, "growth": growth, "sweeps": sweeps}
