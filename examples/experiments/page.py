"""Puts the results of experiments into a page: tables between its marks, and a picture of each beside it."""

import json
import os
import re

from forest import forest_plot
from plan import AGAINST_ITSELF, EXPERIMENTS

BYTES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1))


def read(directory):
    """The comparison document of DIRECTORY, or None if there is none yet."""
    try:
        with open(os.path.join(directory, "comparison.json")) as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def amount(value, unit):
    """VALUE as the tables of `millrace compare` have it."""
    if value is None:
        return "-"
    if unit == "s":
        return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"
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
            document = read(os.path.join(results, directory))
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


def predicted_lines(results):
    """Live beside simulated: a row for each pair of a workload and a scheduler."""
    yield "| workload | scheduler | makespan live | simulated | error, 95% interval | mean turnaround live | simulated | error, 95% interval |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    taus = []
    for experiment in EXPERIMENTS.values():
        for setup in experiment.setups:
            for directory in setup.directories(experiment):
                document = read(os.path.join(results, directory))
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
    documents = [document for document in (read(os.path.join(results, directory)) for directory in directories) if document]
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
    """Replaces what stands between `<!-- table NAME -->` and `<!-- end of table -->` in PAGE, and draws pictures into a folder of its name."""
    made = {name: lambda experiment=experiment: experiment_lines(experiment, results) for name, experiment in EXPERIMENTS.items()}
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
                document = read(os.path.join(results, directory))
                for row in rows_of(document, experiment.shown) if document else ():
                    if row["found"]["ratio"]:
                        rows.append((" ".join(filter(None, (row["scheduler"], setup.label.replace("-", ":"), row["metric"]["name"]))), row["metric"]["better"],
                                     row["found"]["ratio"], row["itself"]))
        if rows:
            baseline = experiment.schedulers[0]
            with open(os.path.join(pictures, name + ".svg"), "w") as f:
                f.write(forest_plot(rows, f"{name}: ratio to {baseline}, with 95% interval"))
