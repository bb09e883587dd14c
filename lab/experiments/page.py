"""Puts the results of experiments into a page: tables between its marks, and a picture of each beside it."""

import csv
import math
import os
import re
import statistics

from forest import forest_plot
from plan import AGAINST_ITSELF, BIASED, EXPERIMENTS, UNBIASED

T_95 = {6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262, 12: 2.201}  # Student's t for an interval of 95%, by the number of pairs
BYTES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1))


def amount(value, unit):
    """VALUE as the tables of `millrace compare` have it."""
    if value is None:
        return "-"
    if unit == "s":
        return f"{value:.3g} s"
    if unit == "share":
        return f"{100 * value:.1f}%"
    if unit == "bytes":
        name, size = next(((name, size) for name, size in BYTES if value >= size), BYTES[-1])
        return f"{value / size:.3g} {name}"
    return f"{value:.3g}"


def interval(found, value=True):
    if found is None:
        return "-"
    ends = f"[{found['low']:.2f}, {found['high']:.2f}]"
    return f"{found['value']:.2f} {ends}" if value else ends


def mean(document, scheduler, metric):
    values = [run["metrics"][metric] for run in document["runs"] if run["scheduler"] == scheduler and not run["second"]]
    return sum(values) / len(values) if values and None not in values else None


def shift(found, unit):
    if found is None:
        return "-"
    low, value, high = (("-" if x < 0 else "+") + amount(abs(x), unit) for x in (found["low"], found["value"], found["high"]))
    return f"{value} [{low}, {high}]"


def rows_of(document, shown):
    """A row for each metric that decides or is shown and each rival: what the table and the picture say."""
    metrics = {metric["key"]: metric for metric in document["metrics"]}
    for key in [*document["design"]["headline"], *(key for key in shown if key in metrics)]:
        for found in document["comparisons"]:
            if found["metric"] != key:
                continue
            yield {"metric": metrics[key], "baseline": mean(document, document["design"]["baseline"], key), "scheduler": document["schedulers"][found["scheduler"]],
                   "mean": mean(document, found["scheduler"], key), "found": found, "itself": document["same_against_same"].get(key)}


def errors_of(document):
    """(scheduler, metric) -> error of the simulation; empty if it was not simulated."""
    simulated = document.get("simulated") or {"metrics": {}}
    return {(document["schedulers"][row["scheduler"]], key): row for key, rows in simulated["metrics"].items() for row in rows}


def table(document, shown):
    lines = ["| metric | " + document["schedulers"][document["design"]["baseline"]] + " | scheduler | | ratio, 95% interval | verdict | baseline against itself |",
             "|---|---:|---|---:|---:|---|---:|"]
    for row in rows_of(document, shown):
        unit, found = row["metric"]["unit"], row["found"]
        effect = interval(found["ratio"]) if found["ratio"] else shift(found["shift"], unit)
        itself = interval(row["itself"], value=False) if found["ratio"] and row["itself"] else "-"
        verdict = found["verdict"] if row["metric"]["headline"] else f"({found['verdict']})"
        lines.append(f"| {row['metric']['name']} | {amount(row['baseline'], unit)} | {row['scheduler']} | {amount(row['mean'], unit)} | {effect} | {verdict} | {itself} |")
    return lines


def sources(document):
    """Sentences on where the difference in mean turnaround comes from."""
    for source in document["sources"]:
        phases = [f"{phase['name']} {phase['difference']:+.2f} s" for phase in source["phases"] if abs(phase["difference"]) >= 0.005]
        groups = [f"{group['name']} {group['difference']:+.2f} s" for group in source["groups"] if abs(group["difference"]) >= 0.005]
        if phases:
            yield (f"- `{document['schedulers'][source['scheduler']]}`, difference in the mean turnaround by phases of a job: {', '.join(phases)}"
                   + (f"; by classes of jobs: {', '.join(groups)}." if len(groups) > 1 else "."))


def experiment_lines(experiment, results):
    for setup in experiment.setups:
        for directory, words in zip(setup.directories(experiment), setup.commands(experiment)):
            document = results.document(directory)
            if document is None:
                yield f"(`{directory}` has not been run.)"
                continue
            yield f"`millrace {' '.join(words)}` on `testbeds/{setup.testbed}.toml`: {document['design']['repeat']} runs of each scheduler."
            yield ""
            yield from table(document, experiment.shown)
            yield ""
            said = list(sources(document))
            yield from said
            if said:
                yield ""


def classes_of(results, directory):
    """(scheduler, class) -> seed -> (mean turnaround in s, share of node-local maps), of first runs."""
    sums = {}
    for job in csv.DictReader(results.jobs(directory)):
        if job["second"] == "0":
            cell = sums.setdefault((job["scheduler"], job["class"]), {}).setdefault(job["seed"], [0, 0.0, 0, 0])
            for i, value in enumerate((1, float(job["turnaround"]), int(job["maps_node"]), int(job["maps"]))):
                cell[i] += value
    return {key: {seed: (turnaround / jobs, local / maps) for seed, (jobs, turnaround, local, maps) in seeds.items()} for key, seeds in sums.items()}


def paired_ratio(ours, theirs):
    """Geometric mean of the ratios of the seeds, with the interval by Student's t of their logarithms."""
    logs = [math.log(ours[seed][0] / theirs[seed][0]) for seed in ours]
    middle, half = statistics.mean(logs), T_95[len(logs)] * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(middle):.2f} [{math.exp(middle - half):.2f}, {math.exp(middle + half):.2f}]"


def biasing_lines(results):
    """The same seeds without waits, with equal waits and with biased waits, by kind of job."""
    if not all(results.document(experiment.name) for experiment in (BIASED, UNBIASED)):
        yield "(They have not been run.)"
        return
    for experiment in (BIASED, UNBIASED):
        for words in experiment.setups[0].commands(experiment):
            yield f"`millrace {' '.join(words)}` on `testbeds/{experiment.setups[0].testbed}.toml`."
            yield ""
    biased, unbiased = (classes_of(results, experiment.name) for experiment in (BIASED, UNBIASED))
    yield "| kind | no waits (`fair`): turnaround, node-local | equal waits | biased waits | biased / none, 95% interval | biased / equal, 95% interval |"
    yield "|---|---:|---:|---:|---:|---:|"
    for kind in ("scan", "compute"):
        columns = (biased["fair", kind], unbiased["fair+delay", kind], biased["fair+delay", kind])
        cells = [f"{statistics.mean(t for t, _ in column.values()):.2f} s, {100 * statistics.mean(share for _, share in column.values()):.0f}%" for column in columns]
        yield f"| {kind} | " + " | ".join(cells) + f" | {paired_ratio(columns[2], columns[0])} | {paired_ratio(columns[2], columns[1])} |"
    yield ""
    yield f"{len(biased['fair', 'scan'])} seeds; the ratios are of mean turnarounds, their intervals by Student's t of the logarithms."


def predicted_lines(results):
    """Live beside simulated: a row for each pair of a workload and a scheduler."""
    yield "| workload | scheduler | makespan live | simulated | error, 95% interval | mean turnaround live | simulated | error, 95% interval |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    taus = []
    for experiment in EXPERIMENTS.values():
        for setup in experiment.setups:
            for directory in setup.directories(experiment):
                document = results.document(directory)
                if not document or not document.get("simulated"):
                    continue
                errors = errors_of(document)
                for scheduler in document["schedulers"]:
                    cells = []
                    for key in ("makespan", "turnaround"):
                        row = errors[scheduler, key]
                        found = row["error"]
                        cells += [amount(row["live"], "s"), amount(row["simulated"], "s"), f"{100 * found['value']:+.1f}% [{100 * found['low']:+.1f}, {100 * found['high']:+.1f}]"]
                    yield f"| {directory} | {scheduler} | " + " | ".join(cells) + " |"
                tau = document["simulated"]["tau"]
                taus.append(f"{directory}: " + ", ".join(f"{key} {tau[key]:.2f}" for key in ("makespan", "turnaround") if tau.get(key) is not None))
    yield ""
    yield "Kendall's tau of the schedulers' order, live against simulated: " + "; ".join(taus) + "."


def against_itself_lines(results):
    """What comparisons of a scheduler with itself claim."""
    directories = [directory for setup in AGAINST_ITSELF.setups for directory in setup.directories(AGAINST_ITSELF)]
    documents = [document for document in (results.document(directory) for directory in directories) if document]
    verdicts = {}
    for document in documents:
        for found in document["comparisons"]:
            if found["metric"] in document["design"]["headline"]:
                verdicts.setdefault(found["metric"], []).append(found["verdict"])
    claims = sum(any(found["verdict"] in ("better", "worse") for found in document["comparisons"] if found["metric"] in document["design"]["headline"])
                 for document in documents)
    yield f"Of {len(documents)} comparisons of `{AGAINST_ITSELF.schedulers[0]}` with itself {claims} claim a difference."
    yield ""
    yield "| metric | better | worse | same | undecided |"
    yield "|---|---:|---:|---:|---:|"
    for metric, found in verdicts.items():
        yield f"| {metric} | " + " | ".join(str(found.count(verdict)) for verdict in ("better", "worse", "same", "undecided")) + " |"


def write_page(page, results):
    """From Results, replaces what stands between `<!-- table NAME -->` and `<!-- end of table -->` in PAGE, and draws pictures into a folder of its name."""
    made = {name: lambda experiment=experiment: experiment_lines(experiment, results) for name, experiment in EXPERIMENTS.items()}
    made[BIASED.name] = lambda: biasing_lines(results)
    made["live-and-simulated"] = lambda: predicted_lines(results)
    made[AGAINST_ITSELF.name] = lambda: against_itself_lines(results)
    with open(page) as f:
        text = f.read()

    def replaced(match):
        return match.group(1) + "\n" + "\n".join(made[match.group(2)]()).rstrip() + "\n" + match.group(3)

    text = re.sub(r"(<!-- table ([a-z-]+) -->)\n.*?(<!-- end of table -->)", replaced, text, flags=re.DOTALL)
    with open(page, "w") as f:
        f.write(text)
    pictures = os.path.splitext(page)[0]
    os.makedirs(pictures, exist_ok=True)
    for name, experiment in EXPERIMENTS.items():
        rows = []
        for setup in experiment.setups:
            for directory in setup.directories(experiment):
                document = results.document(directory)
                for row in rows_of(document, experiment.shown) if document else ():
                    if row["found"]["ratio"]:
                        rows.append((" ".join(filter(None, (row["scheduler"], setup.label.replace("-", ":"), row["metric"]["name"]))), row["metric"]["better"],
                                     row["found"]["ratio"], row["itself"]))
        if rows and f"/{name}.svg" in text:
            baseline = experiment.schedulers[0]
            with open(os.path.join(pictures, name + ".svg"), "w") as f:
                f.write(forest_plot(rows, f"{name}: ratio to {baseline}, with 95% interval"))
