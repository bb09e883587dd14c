"""Results of experiments as they are published with a release: one archive, from which anyone computes the rows of the page again."""

import gzip
import io
import json
import math
import os
import random
import statistics
import tarfile

FILES = ("comparison.json", "jobs.csv")  # of each comparison: what the page is made of
RESAMPLES = 9_999
LEAST_DEVIATION = 0.25  # of a resample, as a share of that of the values (lab/measure/estimate.h)


class Results:
    """What a directory of results, or an archive of them, holds."""

    def __init__(self, path):
        self.path, self.packed = path, {}
        if os.path.isfile(path):
            with tarfile.open(path, "r:gz") as archive:
                self.packed = {member.name.split("/", 1)[1]: archive.extractfile(member).read() for member in archive if member.isfile() and "/" in member.name}

    def bytes(self, directory, name):
        """The file NAME of the comparison DIRECTORY, or None if there is none yet."""
        if os.path.isfile(self.path):
            return self.packed.get(f"{directory}/{name}")
        try:
            with open(os.path.join(self.path, directory, name), "rb") as f:
                return f.read()
        except FileNotFoundError:
            return None

    def document(self, directory):
        found = self.bytes(directory, "comparison.json")
        return None if found is None else json.loads(found)

    def jobs(self, directory):
        """Lines of jobs.csv."""
        return self.bytes(directory, "jobs.csv").decode().splitlines()


def pack(results, directories, path):
    """Writes the archive PATH. Equal results make equal archives. Returns the comparisons that have not been run."""
    inside = os.path.basename(path).split(".tar")[0]
    missing = []
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for directory in directories:
            if results.document(directory) is None:
                missing.append(directory)
                continue
            for name in FILES:
                data = results.bytes(directory, name)
                member = tarfile.TarInfo(f"{inside}/{directory}/{name}")
                member.size, member.mode = len(data), 0o644
                archive.addfile(member, io.BytesIO(data))
    with open(path, "wb") as f:
        f.write(packed.getvalue())
    return missing


def ratio_of(ours, theirs):
    """(geometric mean of the ratios of pairs, its 95% interval by the bootstrap-t), as millrace compare has them but for the resamples drawn."""
    logs = [math.log(a / b) for a, b in zip(ours, theirs)]
    mean, count = statistics.fmean(logs), len(logs)
    error = statistics.stdev(logs) / math.sqrt(count)
    if error == 0:
        return math.exp(mean), math.exp(mean), math.exp(mean)
    draw = random.Random(1)
    t = []
    for _ in range(RESAMPLES):
        resample = draw.choices(logs, k=count)
        t.append((statistics.fmean(resample) - mean) / max(statistics.stdev(resample) / math.sqrt(count), LEAST_DEVIATION * error))
    t.sort()
    rank = (RESAMPLES + 1) // 40
    return math.exp(mean), math.exp(mean - t[-rank] * error), math.exp(mean - t[rank - 1] * error)


def runs_of(document, scheduler, metric):
    """The values of the first runs by block."""
    return [value for _, value in sorted((run["block"], run["metrics"][metric]) for run in document["runs"] if run["scheduler"] == scheduler and not run["second"])]


def recompute(document, shown, amount):
    """(lines, differences): a line for each row of the table, from the runs alone, and what is another than the document says. A ratio has to
    be the same; the ends of an interval may differ by a tenth of it, since other resamples are drawn."""
    metrics = {metric["key"]: metric for metric in document["metrics"]}
    baseline = document["design"]["baseline"]
    lines, differences = [], []
    for found in document["comparisons"]:
        key, name = found["metric"], document["schedulers"][found["scheduler"]]
        if key not in (*document["design"]["headline"], *shown):
            continue
        ours, theirs = runs_of(document, found["scheduler"], key), runs_of(document, baseline, key)
        row = f"{metrics[key]['name']}: {document['schedulers'][baseline]} {amount(statistics.fmean(theirs), metrics[key]['unit'])}, " \
              f"{name} {amount(statistics.fmean(ours), metrics[key]['unit'])}"
        if min(ours + theirs) > 0:
            value, low, high = ratio_of(ours, theirs)
            row += f", ratio {value:.2f} [{low:.2f}, {high:.2f}]"
            said = found["ratio"] or {"value": math.nan, "low": math.nan, "high": math.nan}
            room = 0.1 * (said["high"] - said["low"]) + 1e-9
            if not (math.isclose(value, said["value"], rel_tol=1e-6) and abs(low - said["low"]) <= room and abs(high - said["high"]) <= room):
                differences.append(f"{metrics[key]['name']}, {name}: the document has {said['value']:.4f} [{said['low']:.4f}, {said['high']:.4f}], "
                                   f"its runs give {value:.4f} [{low:.4f}, {high:.4f}]")
        elif found["ratio"]:
            differences.append(f"{metrics[key]['name']}, {name}: the document has a ratio, and some run has none")
        lines.append(row + f"; {len(ours)} pairs; verdict {found['verdict']}")
    return lines, differences
