#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comparison documents (docs/schedulers/comparison.md) of made-up runs, for looking at the report and for testing it.

  tests/lab/report/documents.py NAME >DOCUMENT.json      # NAME: small, large or one of the hard cases; --list names all

A document comes from its name alone: each run of this program writes the same bytes. The runs in it are of a toy cluster with
slots, jobs that arrive, and three orders of jobs, so that the pictures look like those of a cluster; the estimates are of the
right form, and no more is claimed of them.
"""

import argparse
import heapq
import itertools
import json
import math
import random
import statistics
import sys

HOSTILE = "</script><script>alert('x')</script>\"quoted\" & <img src=x onerror=alert(1)> \u2028\u2029 ﷽ 日本語 " + "long" * 20

METRICS = [
    {"key": "mean_turnaround", "name": "Mean turnaround", "unit": "s", "better": "lower", "headline": True,
     "says": "Time from a job's submission to its end, the mean over the jobs of a run."},
    {"key": "makespan", "name": "Makespan", "unit": "s", "better": "lower", "headline": True,
     "says": "Time from the first submission to the last end."},
    {"key": "node_local", "name": "Maps on the node of their data", "unit": "share", "better": "higher", "headline": True,
     "says": "Share of the launched maps that read their split from their own node."},
    {"key": "p95_turnaround", "name": "95% of turnarounds within", "unit": "s", "better": "lower", "headline": False,
     "says": "The time within which 95% of the jobs of a run ended."},
    {"key": "rack_bytes", "name": "Bytes across racks", "unit": "bytes", "better": "lower", "headline": False,
     "says": "Bytes of the maps' input and of the shuffle that crossed from one rack to another."},
    {"key": "late", "name": "Late jobs", "unit": "share", "better": "lower", "headline": False,
     "says": "Share of the jobs with a deadline that missed it."},
    {"key": "fairness", "name": "Fairness", "unit": "ratio", "better": "higher", "headline": False,
     "says": "Jain's index over the jobs that run, the mean over the run; 1 is perfectly fair."},
]
GROUPS = [("small", 0.72, 4, 12), ("medium", 0.22, 30, 90), ("large", 0.06, 150, 500)]
POOLS = ["reports", "adhoc", "research"]


class Toy:
    """One run of the toy cluster: slots are given to jobs in the policy's order, the locality of a map is drawn."""

    def __init__(self, seed, policy, nodes, jobs):
        self.random = random.Random(f"{seed}/{policy}")
        self.policy, self.nodes, self.jobs = policy, nodes, jobs
        self.local = {"fifo": 0.35, "fair": 0.55, "fair+delay": 0.93}.get(policy, 0.6)
        self.running = [0] * len(jobs)
        self.tasks = {name: [] for name in ("job", "kind", "task", "attempt", "node", "slot", "locality", "start", "read", "compute",
                                            "end", "how", "speculative")}
        self.samples = {name: [] for name in ("time", "running_maps", "running_reduces", "capacity_maps", "capacity_reduces",
                                              "pending_maps", "jobs", "fairness", "distance")}
        self.pools = {"names": POOLS, "time": [], "slots": [[] for _ in POOLS], "share": [[] for _ in POOLS]}
        self.bytes = {"node": 0, "rack": 0, "datacenter": 0, "beyond": 0}

    def run(self):
        free = {"m": [(n, s) for n, node in enumerate(self.nodes) for s in range(node["map_slots"])],
                "r": [(n, s) for n, node in enumerate(self.nodes) for s in range(node["reduce_slots"])]}
        for slots in free.values():
            self.random.shuffle(slots)
        left = [[job["maps"], job["reduces"]] for job in self.jobs]
        undone = [job["maps"] for job in self.jobs]
        done = [0] * len(self.jobs)
        self.start = [None] * len(self.jobs)
        self.maps_ended = [None] * len(self.jobs)
        self.end = [None] * len(self.jobs)
        events = [(job["submit"], 0, j, None) for j, job in enumerate(self.jobs)]
        heapq.heapify(events)
        live, count, next_sample = [], itertools.count(1), 0.0
        step = max(1.0, sum(job["maps"] for job in self.jobs) / 2000)
        while events:
            time, _, j, slot = heapq.heappop(events)
            if slot is None:
                live.append(j)
            else:
                kind, place = slot
                free[kind].append(place)
                self.running[j] -= 1
                done[j] += 1
                if kind == "m":
                    undone[j] -= 1
                    if undone[j] == 0:
                        self.maps_ended[j] = time
                if done[j] == self.jobs[j]["maps"] + self.jobs[j]["reduces"]:
                    self.end[j] = time
                    live.remove(j)
            for kind, which in (("m", 0), ("r", 1)):
                while free[kind]:
                    ready = [k for k in live if left[k][which] > 0 and (kind == "m" or undone[k] * 4 <= self.jobs[k]["maps"])]
                    if not ready:
                        break
                    k = ready[0] if self.policy == "fifo" else min(ready, key=lambda k: (self.running[k], k))
                    place = free[kind].pop()
                    end = self.launch(time, k, kind, self.jobs[k]["maps" if kind == "m" else "reduces"] - left[k][which], place, undone[k])
                    left[k][which] -= 1
                    self.running[k] += 1
                    heapq.heappush(events, (end, next(count), k, (kind, place)))
            if time >= next_sample:
                self.sample(time, live, left, free)
                next_sample = time + step
        self.makespan = max(self.end) - min(job["submit"] for job in self.jobs)
        return self

    def launch(self, time, j, kind, task, place, waiting):
        draw = self.random.random()
        level = 0 if draw < self.local else 1 if draw < self.local + (1 - self.local) * 0.6 else 2 if draw < self.local + (1 - self.local) * 0.85 else 3
        start = time
        if self.start[j] is None:
            self.start[j] = time
        if kind == "m":
            read = start + (0.6, 1.3, 2.4, 4.5)[level] * self.random.uniform(0.7, 1.4)
            compute, end = None, read + self.jobs[j]["work"] * self.random.lognormvariate(0, 0.25)
            self.bytes[("node", "rack", "datacenter", "beyond")[level]] += 64 * 2 ** 20
        else:
            read = start + 2 + waiting * 0.05 + self.random.uniform(0, 3)
            compute = read + (self.random.expovariate(1.0) if draw > 0.6 else 0)
            end = compute + self.jobs[j]["work"] * self.random.uniform(0.6, 1.5)
            self.bytes["rack"] += int(20 * 2 ** 20 * self.random.random())
        how = "succeeded" if self.random.random() > 0.01 else self.random.choice(["failed", "killed", "lost", "preempted"])
        values = {"job": j, "kind": kind, "task": task, "attempt": 0, "node": place[0], "slot": place[1], "locality": level if kind == "m" else None,
                  "start": start, "read": read, "compute": compute, "end": end, "how": how, "speculative": self.random.random() < 0.01}
        for name, value in values.items():
            self.tasks[name].append(round(value, 3) if isinstance(value, float) else value)
        return end

    def sample(self, time, live, left, free):
        slots = {kind: sum(node[name] for node in self.nodes) for kind, name in (("m", "map_slots"), ("r", "reduce_slots"))}
        held = [sum(self.running[k] for k in live if self.jobs[k]["pool"] == pool) for pool in POOLS]
        wanted = [any(self.jobs[k]["pool"] == pool for k in live) for pool in POOLS]
        share = [(sum(slots.values()) / max(1, sum(wanted))) if want else 0 for want in wanted]
        running = [self.running[k] for k in live if self.running[k] > 0] or [1]
        values = {"time": time, "running_maps": slots["m"] - len(free["m"]), "running_reduces": slots["r"] - len(free["r"]),
                  "capacity_maps": slots["m"], "capacity_reduces": slots["r"], "pending_maps": sum(left[k][0] for k in live), "jobs": len(live),
                  "fairness": sum(running) ** 2 / (len(running) * sum(x * x for x in running)),
                  "distance": statistics.mean([abs(h - s) / s for h, s in zip(held, share) if s] or [0])}
        for name, value in values.items():
            self.samples[name].append(round(value, 4))
        self.pools["time"].append(round(time, 3))
        for p in range(len(POOLS)):
            self.pools["slots"][p].append(held[p])
            self.pools["share"][p].append(round(share[p], 2))


def make_jobs(rng, count, tasks, slots):
    """`count` jobs with about `tasks` tasks in all, arriving so fast that `slots` are nearly always busy."""
    jobs, shape = [], []
    for _ in range(count):
        name, _, low, high = rng.choices(GROUPS, [share for _, share, _, _ in GROUPS])[0]
        shape.append((name, rng.randint(low, high)))
    scale = tasks * 0.9 / sum(maps for _, maps in shape)
    time, work = 0.0, 6.0
    for j, (group, maps) in enumerate(shape):
        maps = max(1, round(maps * scale))
        pool = rng.choices(POOLS, [5, 3, 2])[0]
        job = {"name": f"{group}-{j}", "user": rng.choice(["ann", "bob", "cem"]), "pool": pool, "group": group, "maps": maps,
               "reduces": max(1, round(maps / 9)), "submit": round(time, 3), "work": rng.uniform(0.6, 1.6) * work}
        job["deadline"] = round(time + 40 + maps * rng.uniform(0.5, 3), 3) if rng.random() < 0.3 else None
        jobs.append(job)
        time += rng.expovariate(1 / (maps * (work + 1.5) / slots * 0.95))
    return jobs


def estimate(values, ratio):
    """The mean of paired values with a t interval, of their logarithms if they are ratios."""
    logs = [math.log(v) for v in values] if ratio else values
    mean = statistics.mean(logs)
    reach = 2.365 * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0
    undo = math.exp if ratio else float
    return {"value": round(undo(mean), 5), "low": round(undo(mean - reach), 5), "high": round(undo(mean + reach), 5)}


def sign_flip(differences):
    observed, n = abs(sum(differences)), len(differences)
    return sum(abs(sum(s * d for s, d in zip(signs, differences))) >= observed - 1e-12 for signs in itertools.product((1, -1), repeat=n)) / 2 ** n


def compared(first, second, metric, practical, joint):
    """One scheduler against the baseline, as a row of the document: by ratios, or by differences where a value is 0."""
    differences = [b - a for a, b in zip(first, second)]
    ratios = [b / a for a, b in zip(first, second)] if min(first + second) > 0 else None
    judged = estimate(ratios, True) if ratios else estimate(differences, False)
    low, high = (1 - practical, 1 + practical) if ratios else (-0.01, 0.01)
    left, right = ("better", "worse") if metric["better"] == "lower" else ("worse", "better")
    verdict = ("same" if judged["low"] > low and judged["high"] < high else left if judged["high"] < low else right if judged["low"] > high else "undecided")
    p = sign_flip([math.log(r) for r in ratios] if ratios else differences)
    return {"runs": len(first), "ratio": judged if ratios else None, "difference": estimate(differences, False), "shift": estimate(differences, False),
            "p": round(p, 5), "p_adjusted": round(min(1, p * joint), 5), "verdict": verdict, "no_verdict": None,
            "more_runs": 6 if verdict == "undecided" else None}


def compare(runs, schedulers, repeat, practical):
    rows = []
    for s, _ in list(enumerate(schedulers))[1:]:
        for metric in METRICS:
            key = metric["key"]
            first = [r["metrics"][key] for r in runs if r["scheduler"] == 0 and not r["second"]]
            second = [r["metrics"][key] for r in runs if r["scheduler"] == s and not r["second"]]
            rows.append({"scheduler": s, "metric": key, **compared(first, second, metric, practical, 6)})
    return rows


def scaled(runs, practical):
    """The metrics, each with its scale: those with a 0 somewhere have no ratios."""
    metrics = []
    for metric in METRICS:
        zero = min(run["metrics"][metric["key"]] for run in runs) <= 0
        size = 0.01 if zero else 1 + practical
        metrics.append({**metric, "scale": "difference" if zero else "ratio", "practical": size, "region": size * 1.01, "over_runs": "mean"})
    return metrics


def groups_of(kind, work, turnarounds, practical):
    """turnarounds: by scheduler and run, of each job."""
    rows = []
    for name in sorted({job[kind] for job in work}):
        own = [j for j, job in enumerate(work) if job[kind] == name]
        by_run = [[statistics.mean(run[j] for j in own) for run in runs] for runs in turnarounds]
        rows.append({"name": name, "jobs": len(own), "means": [round(statistics.mean(runs), 4) for runs in by_run],
                     "comparisons": [{"scheduler": s, **compared(by_run[0], by_run[s], {"better": "lower"}, practical, 9)} for s in range(1, len(by_run))]})
    return {"kinds": [{"group": "class"}.get(kind, kind)], "groups": len(rows), "rows": rows}


def winners(key, comparisons, count):
    """Those that beat the baseline; if none does, all that do not lose to it."""
    verdicts = {c["scheduler"]: c["verdict"] for c in comparisons if c["metric"] == key}
    return [s for s, verdict in verdicts.items() if verdict == "better"] or [s for s in range(count) if verdicts.get(s) != "worse"]


def spread_of(median):
    return {"median": round(median, 6), "lowest": round(median * 0.9, 6), "highest": round(median * 1.4, 6)}


def detail_of(scheduler, picture, toy, nodes):
    """One run in full."""
    alone = [5 + job["work"] * (1.5 + job["maps"] / (nodes * 4)) for job in toy.jobs]
    return {"scheduler": scheduler, "block": picture["block"], "seed": picture["seed"], "makespan": round(toy.makespan, 3), "tasks": toy.tasks, "samples": toy.samples,
            "pools": toy.pools, "bytes": toy.bytes,
            "jobs": {**{k: [job[k] for job in toy.jobs] for k in ("name", "user", "pool", "group", "maps", "reduces", "submit", "deadline")},
                     "start": [round(t, 3) for t in toy.start], "maps_ended": [round(t, 3) for t in toy.maps_ended], "end": [round(t, 3) for t in toy.end],
                     "slowdown": [round(max(1, (end - job["submit"]) / a), 3) for end, job, a in zip(toy.end, toy.jobs, alone)], "outcome": ["succeeded"] * len(toy.jobs)}}


def document(name, jobs=60, tasks=1500, nodes=10, schedulers=("fair", "fair+delay", "fifo"), repeat=8, seed=7, by_run=True, seeds=3):
    rng = random.Random(name + str(seed))
    places = [{"name": f"worker{n + 1}", "rack": f"rack{n % 4 // 2 + n % 2 * 2}", "datacenter": "east" if n % 4 < 2 else "west", "map_slots": 2, "reduce_slots": 1}
              for n in range(nodes)]
    work = make_jobs(rng, jobs, tasks, nodes * 2)
    toys = [Toy(seed, scheduler, places, work).run() for scheduler in schedulers]
    pictures = [{"block": block, "seed": 100 + block, "of_baseline": what} for what, block in list(zip(("median", "best", "worst"), (1, 0, 3)))[:seeds] if block < repeat]
    runs, turnarounds, slowdowns, details, late, of_runs = [], [], [], [], [], [[] for _ in schedulers]
    hard = [rng.lognormvariate(0, 0.12) for _ in range(repeat)]
    for s, toy in enumerate(toys):
        base = [end - job["submit"] for end, job in zip(toy.end, work)]
        alone = [5 + job["work"] * (1.5 + job["maps"] / (nodes * 4)) for job in work]
        row, slow = [], []
        for block, second in [(b, False) for b in range(repeat)] + ([(b, True) for b in range(repeat)] if s == 0 and len(toys) > 1 else []):
            own = hard[block] * rng.lognormvariate(0, 0.03)
            some = [t * own * rng.lognormvariate(0, 0.1) for t in base]
            if not second:
                of_runs[s].append(some)
                row.append(sorted(round(t, 3) for t in some))
                slow += [{"maps": job["maps"], "slowdown": round(max(1, t / a), 3)} for job, t, a in zip(work, some, alone)] if block < 3 else []
                late += [{"scheduler": s, "seed": 100 + block, "job": job["name"], "deadline": job["deadline"], "end": round(job["submit"] + t, 3)}
                         for job, t in zip(work, some) if job["deadline"] and job["submit"] + t > job["deadline"]]
            ordered = sorted(some)
            runs.append({"scheduler": s, "block": block, "order": (s + block) % len(toys), "seed": 100 + block, "second": second,
                         "disturbed": "9% of the processors were taken by the host" if (s, block, second) == (1, 2, False) else None,
                         "metrics": {"mean_turnaround": round(statistics.mean(some), 4), "makespan": round(toy.makespan * (1 + (own - 1) / 8), 3),
                                     "node_local": round(min(0.99, toy.local * rng.uniform(0.97, 1.03)), 4), "p95_turnaround": round(ordered[int(len(ordered) * 0.95)], 3),
                                     "late": round(max(0, toy.local - 0.5) * rng.random(), 4) if toy.local < 0.9 else 0,
                                     "rack_bytes": round((1 - toy.local) * tasks * 5e7 * own), "fairness": round(statistics.mean(toy.samples["fairness"]) * rng.uniform(0.98, 1.02), 4)}})
        turnarounds.append(row if by_run else sorted(t for run in row for t in run))
        slowdowns.append(slow)
    for picture in pictures:
        jobs_of = make_jobs(random.Random(name + str(picture["seed"])), jobs, tasks, nodes * 2)
        for s, scheduler in enumerate(schedulers):
            details.append(detail_of(s, picture, Toy(picture["seed"], scheduler, places, jobs_of).run(), nodes))
    comparisons = compare(runs, schedulers, repeat, 0.03) if repeat > 1 else []
    groups = [name for name, *_ in GROUPS]
    sources = [{"scheduler": s, "metric": "turnaround",
                "groups": [{"name": g, "jobs": sum(job["group"] == g for job in work),
                            "difference": round(sum(e - f for e, f, job in zip(toy.end, toys[0].end, work) if job["group"] == g) / len(work), 3)} for g in groups],
                "phases": [{"name": p, "difference": round(rng.uniform(-4, 3) * (1.5 - s), 3)} for p in ("wait", "map", "copy", "permit", "compute")]}
               for s, toy in enumerate(toys) if s > 0]
    twice = [r for r in runs if r["second"]]
    once = [r for r in runs if r["scheduler"] == 0 and not r["second"]]
    again = {m["key"]: [(a["metrics"][m["key"]], b["metrics"][m["key"]]) for a, b in zip(once, twice)] if len(twice) > 1 else [] for m in METRICS}
    return {
        "format": "millrace.comparison/1",
        "made": {"millrace": "0.1.0", "at": "2026-11-25T10:15:00Z", "command": ["millrace", "compare", f"{name}.toml", "--scheduler", ",".join(schedulers), "--repeat", str(repeat)],
                 "machine": {"kernel": "Linux 6.1", "processor": "a processor of two cores", "cores": 2, "memory": 8 * 2 ** 30}, "settings": "[delay]\nmode = \"auto\"\n"},
        "workload": {"name": name, "file": f"name = \"{name}\"\n[[class]]\nname = \"small\"\nmaps = [4, 12]\n", "jobs": jobs, "where": "sim"},
        "cluster": {"map_slots": nodes * 2, "reduce_slots": nodes, "nodes": places},
        "design": {"repeat": repeat, "seeds": [100 + b for b in range(repeat)], "baseline": 0, "headline": [m["key"] for m in METRICS if m["headline"]], "practical": 0.03,
                   "confidence": 0.95, "significance": 0.05, "fewest_runs": 6, "same_against_same": bool(twice), "significance_possible": repeat >= 6},
        "schedulers": list(schedulers), "variants": [{"scheduler": s, "settings": "[delay]\nmode = \"auto\"\n"} for s in schedulers], "metrics": scaled(runs, 0.03), "runs": runs, "comparisons": comparisons,
        "same_against_same": {key: estimate([b / a for a, b in of], True) for key, of in again.items() if of and min(map(min, of)) > 0},
        "same_against_same_difference": {key: estimate([b - a for a, b in of], False) for key, of in again.items() if of and min(map(min, of)) <= 0},
        "winners": {m["key"]: winners(m["key"], comparisons, len(schedulers)) for m in METRICS if m["headline"]},
        "groups": [groups_of(kind, work, of_runs, 0.03) for kind in ("group", "pool", "user")] if repeat > 1 else [],
        "sources": sources,
        "deciding": [{"scheduler": s, "runs": repeat, "seconds": spread_of(tasks * (3 + s) * 1e-6), "microseconds_per_event": spread_of(2.1 + 1.3 * s), "master_cpu": spread_of(3.5 + 0.4 * s)}
                     for s in range(len(schedulers))],
        "pictures": pictures, "details": details, "turnarounds": turnarounds, "slowdowns": slowdowns, "late": late, "simulated": None, "warnings": [],
    }


def spoiled(value, rng, share):
    """The same document, in which a share of the members are missing, null or something else: a report must live with any of it."""
    if rng.random() < share:
        return rng.choice([None, None, None, "x", -1, [], {}, True, 1e300, [None], "", 0])
    if isinstance(value, dict):
        return {name: spoiled(member, rng, share) for name, member in value.items() if rng.random() > share}
    if isinstance(value, list):
        return [spoiled(member, rng, share) for member in value[:200]]
    return value


def spoiled_document(seed):
    rng = random.Random(seed)
    made = document("spoiled", jobs=12, tasks=120, nodes=3, repeat=6)
    return {name: spoiled(member, rng, (0.003, 0.02, 0.1)[seed % 3]) for name, member in made.items() if rng.random() > 0.03}


def small():
    made = document("small-jobs")
    metric = {key: [{"scheduler": s, "live": live, "simulated": live * off, "error": {"value": off - 1, "low": off - 1.04, "high": off - 0.97}}
                    for s, (live, off) in enumerate(values)]
              for key, values in {"makespan": [(610, 1.04), (580, 1.02), (640, 0.98)], "mean_turnaround": [(95, 1.1), (83, 1.06), (140, 0.95)]}.items()}
    made["simulated"] = {"metrics": metric, "tau": {"makespan": 1, "mean_turnaround": 1}}
    made["warnings"] = ["the cluster was idle for 12% of the time, in which no scheduler can differ from another."]
    return made


def large():
    return document("thousand-jobs", jobs=1000, tasks=20000, nodes=50, seeds=1)


def hostile():
    made = document("hostile", jobs=12, tasks=120, nodes=3, schedulers=(f"fair {HOSTILE}", f"fifo {HOSTILE}"), repeat=6)
    made["workload"]["name"] = made["workload"]["file"] = made["made"]["settings"] = HOSTILE
    made["warnings"] = [HOSTILE]
    for detail in made["details"]:
        for column in ("name", "user", "pool", "group"):
            detail["jobs"][column] = [HOSTILE] * len(detail["jobs"]["name"])
        detail["pools"]["names"] = [HOSTILE, "b", "c"]
    for node in made["cluster"]["nodes"]:
        node["name"] = HOSTILE
    made["metrics"][0].update(name=HOSTILE, says=HOSTILE)
    for grouping in made["groups"]:
        grouping["rows"][0]["name"] = HOSTILE
    return made


def variants():
    made = document("waits", schedulers=("fair+delay", "eager"), jobs=20, tasks=300, nodes=4)
    made["variants"][1] = {"scheduler": "fair+delay", "settings": "[delay]\nrack_wait = \"0s\"\n"}
    return made


def without_verdicts():
    """A metric that is 0 somewhere has no ratio; and of some pairs there is no verdict, for each of the reasons."""
    made = document("zeros", jobs=20, tasks=300, nodes=4, schedulers=("fair", "fair+delay"), repeat=6)
    made["design"].update(significance_possible=False, fewest_runs=9)
    for comparison, why in zip((c for c in made["comparisons"]), ("other jobs ended", "one observation", None)):
        comparison.update(verdict="undecided", more_runs=None, no_verdict=why)
        if why is None:
            key = comparison["metric"]
            comparison.update(ratio=None, difference={"value": -0.000116, "low": -0.41, "high": 0.2})
            made["same_against_same"].pop(key, None)
            made["same_against_same_difference"][key] = {"value": 0, "low": 0, "high": 0}
            made["metrics"] = [dict(m, scale="difference", practical=0.01, region=0.01) if m["key"] == key else m for m in made["metrics"]]
    return made


def missing():
    """fair+delay has not run the seed of the baseline's best run, and of that of the worst one nothing of it was kept."""
    made = document("missing", jobs=20, tasks=300, nodes=4, repeat=6)
    best, worst = (picture["block"] for picture in made["pictures"][1:])
    made["runs"] = [run for run in made["runs"] if (run["scheduler"], run["block"]) != (1, best)]
    made["details"] = [run for run in made["details"] if run["scheduler"] != 1 or run["block"] not in (best, worst)]
    return made


def repetitions():
    """Live runs that had no seeds."""
    made = document("repetitions", jobs=20, tasks=300, nodes=4, repeat=6)
    made["workload"]["where"] = "cluster"
    made["design"]["seeds"] = []
    for row in made["runs"] + made["pictures"] + made["details"]:
        del row["seed"]
    return made


def no_jobs():
    made = document("none", jobs=4, tasks=20, nodes=2, repeat=6)
    made["workload"]["jobs"] = 0
    for detail in made["details"]:
        for member in ("jobs", "tasks", "samples"):
            detail[member] = {column: [] for column in detail[member]}
        detail["pools"] = {"names": [], "time": [], "slots": [], "share": []}
        detail["makespan"] = 0
    made["turnarounds"] = [[] for _ in made["schedulers"]]
    made["slowdowns"] = [None for _ in made["schedulers"]]
    made["late"] = []
    return made


CASES = {
    "small": small,
    "large": large,
    "hostile": hostile,
    "no-jobs": no_jobs,
    "without-verdicts": without_verdicts,
    "missing": missing,
    "repetitions": repetitions,
    "one-scheduler": lambda: document("alone", by_run=False, schedulers=("fair",), jobs=20, tasks=300, nodes=4),
    "variants": variants,
    "two-runs": lambda: document("few", repeat=2, jobs=20, tasks=300, nodes=4),
    "many-schedulers": lambda: document("many", schedulers=("fair", "fair+delay", "fifo", "edf", "fresh", "lsap", "joss", "cp", "capacity"), jobs=40, tasks=600, nodes=6),
    "empty": dict,
    **{f"spoiled-{seed}": (lambda seed=seed: spoiled_document(seed)) for seed in range(1, 10)},
}


def main():
    parser = argparse.ArgumentParser(prog="documents.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=CASES)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list or arguments.name is None:
        print("\n".join(CASES))
        return
    json.dump(CASES[arguments.name](), sys.stdout, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
