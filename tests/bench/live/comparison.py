"""The errors of predictions, and their table. An error is (simulated - live) / live, in percent."""

import dataclasses
import statistics


SLOWER = 0.05


@dataclasses.dataclass
class Comparison:
    """One live run and its simulation. Jobs have a time of submission and of their end, in seconds."""

    live: list
    simulated: list
    plain: list  # simulated without what the tasks of a machine cost one another
    slower: list  # simulated on a machine that is slower by SLOWER
    slowness: float
    work: float  # error of the CPU time that all tasks together use
    others: float  # of the cores' time, what others than the cluster used, in percent


def makespan(jobs):
    return max(end for _, end in jobs) - min(submit for submit, _ in jobs)


def turnarounds(jobs):
    return [end - submit for submit, end in jobs]


def turnaround(jobs):
    return statistics.mean(turnarounds(jobs))


def error(simulated, live):
    return 100 * (simulated - live) / live


def row(mix, scheduler, comparisons):
    """Medians over the live runs, each with the simulation of its own."""
    def median(of):
        return statistics.median(map(of, comparisons))

    def spread(of):
        return [min(map(of, comparisons)), max(map(of, comparisons))]

    jobs = list(zip(*([error(a, b) for a, b in zip(turnarounds(c.simulated), turnarounds(c.live))] for c in comparisons)))
    each = sorted(abs(statistics.median(errors)) for errors in jobs)
    out = {"mix": mix, "scheduler": scheduler, "jobs": len(jobs), "runs": len(comparisons), "job_median": statistics.median(each),
           "job_most": each[-1], "slowness": spread(lambda c: c.slowness), "others": max(c.others for c in comparisons),
           "work": median(lambda c: c.work), "slower": median(lambda c: error(turnaround(c.slower), turnaround(c.simulated))),
           "plain": median(lambda c: error(makespan(c.plain), makespan(c.live)))}
    for name, figure in (("makespan", makespan), ("turnaround", turnaround)):
        out[name] = median(lambda c: figure(c.live))
        out[f"simulated_{name}"] = median(lambda c: figure(c.simulated))
        out[f"{name}_error"] = median(lambda c: error(figure(c.simulated), figure(c.live)))
        out[f"{name}_errors"] = spread(lambda c: error(figure(c.simulated), figure(c.live)))
    return out


HEAD = ["mix", "scheduler", "makespan, live", "simulated", "error", "mean turnaround, live", "simulated", "error", "a job: median", "most",
        "5% slower", "CPU time", "plain", "slowness", "others"]


def cells(of):
    def one(name):
        least, most = of[f"{name}_errors"]
        spread = f" ({least:+.1f} to {most:+.1f})" if of["runs"] > 1 else ""
        return [f"{of[name]:.2f} s", f"{of[f'simulated_{name}']:.2f} s", f"{of[f'{name}_error']:+.1f}%{spread}"]

    slowness = " to ".join(sorted({f"{slowness:.2f}" for slowness in of["slowness"]}))
    return [of["mix"], of["scheduler"], *one("makespan"), *one("turnaround"), f"{of['job_median']:.1f}%", f"{of['job_most']:.1f}%",
            f"{of['slower']:+.0f}%", f"{of['work']:+.0f}%" if of["work"] else "", f"{of['plain']:+.0f}%", slowness, f"{of['others']:.0f}%"]


def table(rows):
    lines = [HEAD, ["---"] * len(HEAD), *map(cells, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
