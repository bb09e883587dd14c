#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py (same | figures | measure) : exported and streaming jobs beside Hadoop Streaming on YARN, Spark, and mapper | sort | reducer.

    compare.py same     --millrace DIR --jars JARS [--spark SPARK_HOME]     are the outputs of exported jobs those of Millrace?
    compare.py figures  --millrace DIR --jars JARS [--spark SPARK_HOME] [--mb 64] [--rounds 3] [--only streams,python,export]
    compare.py measure  COMMAND...                                          seconds and processor seconds of a command, as JSON

DIR has millrace and the bundled jobs; JARS are those of pom.xml; SPARK_HOME is that of a pyspark that this Python imports. The ways
run one after the other, in rounds; the medians are printed, and the ratios to the first. Processor seconds are those of all processes
that a way starts, also of those that it leaves behind; YARN's are those of its two daemons, the containers, and the client, less what
the daemons use before the job. Outputs are compared in every round: a way that gives another one fails.
"""

import argparse
import ctypes
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import yarn

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PACKAGE = os.path.join(ROOT, "client", "python", "src")
EXAMPLES = os.path.join(ROOT, "client", "python", "examples")
PR_SET_CHILD_SUBREAPER = 36

AWK_MAP = "awk '{for (i = 1; i <= NF; ++i) print $i \"\\t1\"}'"
AWK_SUM = "awk -F '\\t' '$1 != last && NR > 1 {print last \"\\t\" sum; sum = 0} {last = $1; sum += $2} END {if (NR) print last \"\\t\" sum}'"
SHELL = {
    "awk_map": "#!/bin/sh\nLC_ALL=C exec " + AWK_MAP + "\n",
    "awk_sum": "#!/bin/sh\nLC_ALL=C exec " + AWK_SUM + "\n",
}
PYTHON = {
    "map": "#!/usr/bin/env python3\nimport sys\nfor line in sys.stdin:\n    for word in line.split():\n        print(word, 1, sep='\\t')\n",
    "reduce": "#!/usr/bin/env python3\nimport itertools, sys\npairs = (line.rstrip('\\n').split('\\t', 1) for line in sys.stdin)\n"
    "for word, group in itertools.groupby(pairs, lambda pair: pair[0]):\n    print(word, sum(int(count) for _, count in group), sep='\\t')\n",
    "rdd": "import sys\nfrom pyspark import SparkContext\ncontext = SparkContext()\n"
    "context.textFile(sys.argv[1]).flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b, 2)"
    ".map(lambda pair: f'{pair[0]}\\t{pair[1]}').saveAsTextFile(sys.argv[2])\n",
    "ours": "import sys\nimport wordcount\ngetattr(wordcount, sys.argv[1]).local(sys.argv[2], sys.argv[3], reducers=2, quiet=True)\n",
}


def script(name):
    return name + ".py"


def measure(command):
    """Runs a command and waits for everything that it starts. Returns its seconds and the processor seconds of all."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    status = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    seconds = time.monotonic() - begun
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"status": status, "seconds": seconds, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


class Bench:
    def __init__(self, words, place, cluster):
        self.words, self.place, self.cluster = words, place, cluster
        self.home = yarn.make_home(words.jars, os.path.join(place, "home"))
        self.input = os.path.join(place, "input")
        self.runs = 0
        os.makedirs(self.input)
        for name, text in (SHELL | {script(name): text for name, text in PYTHON.items()}).items():
            with open(os.path.join(place, name), "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(os.path.join(place, name), 0o755)
        self.env = {
            **os.environ,
            "PATH": f"{words.millrace}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([PACKAGE, EXAMPLES, os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HADOOP_CONF_DIR": cluster.conf,
            "LC_ALL": "C.UTF-8",
        }
        if words.spark:
            self.env |= {"SPARK_HOME": words.spark, "PYSPARK_PYTHON": sys.executable}

    def write_words(self, megabytes, files=4):
        """Writes text whose words are as frequent as those of a language: the n-th of 50,000 about as 1 / n."""
        rng = random.Random(5)
        words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(50_000)]
        weights, total = [], 0.0
        for rank in range(1, len(words) + 1):
            total += 1 / rank
            weights.append(total)
        block = []
        while sum(map(len, block)) < 1 << 20:
            block.append(" ".join(rng.choices(words, cum_weights=weights, k=rng.randint(5, 15))) + "\n")
        text = "".join(block)
        for number in range(files):
            with open(os.path.join(self.input, f"text{number}"), "w", encoding="ascii") as f:
                for _ in range(max(1, megabytes // files)):
                    f.write(text)

    def run(self, name, command, output="", on_yarn=False):
        """Runs a way and returns (seconds, processor seconds, its output as sorted lines)."""
        self.runs += 1
        out = os.path.join(self.place, f"out{self.runs}")
        command = command.replace("OUT", out)
        before = self.cluster.cpu_seconds() if on_yarn else 0
        log = os.path.join(self.place, "log")
        with open(log, "wb") as said:
            done = subprocess.run([sys.executable, os.path.abspath(__file__), "measure", "/bin/sh", "-c", command], cwd=self.place, env=self.env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, check=True)  # fmt: skip
        told = json.loads(done.stdout.splitlines()[-1])
        if told["status"] != 0:
            with open(log, encoding="utf-8", errors="replace") as f:
                sys.exit(f"{name} ended with status {told['status']}: {f.read()[-3000:]}")
        cpu = told["cpu"] + (self.cluster.cpu_seconds() - before if on_yarn else 0)
        parts = {}
        for part in sorted(os.listdir(out)) if os.path.isdir(out) else [""]:
            if part == "" or part.startswith("part-"):
                with open(os.path.join(out, part) if part else out, "rb") as f:
                    parts[part[-5:]] = f.read()
        shutil.rmtree(out, ignore_errors=True)
        return told["seconds"], cpu, parts

    # Commands --------------------------------------------------------------------------------------------------------
    def hadoop(self, mapper, reducer, combiner="", reduces=2):
        files = ",".join(os.path.join(self.place, each) for each in (mapper, reducer))
        more = f" -combiner {combiner}" if combiner else ""
        return (f"{self.home}/bin/mapred streaming -D mapreduce.job.reduces={reduces} -files {files} -input file://{self.input} "
                f"-output file://OUT -mapper {mapper} -reducer {reducer}{more} >&2")  # fmt: skip

    def exported(self, job, inputs, *more, reduces=2):
        """The command that `millrace export hadoop` prints, by the mapred of this Hadoop."""
        words = ["export", "hadoop", "-r", str(reduces), *more, job, *(f"file://{each}" for each in inputs), "file://OUT"]
        done = subprocess.run(["millrace", *words], env=self.env, cwd=self.place, capture_output=True, text=True, check=True)
        return f"{self.home}/bin/{done.stdout} >&2"

    def spark_submit(self, *words):
        return f"{self.words.spark}/bin/spark-submit --master local[2] --conf spark.ui.enabled=false {' '.join(words)} >&2"

    def spark_program(self, job):
        done = subprocess.run(["millrace", "export", "spark", job], env=self.env, cwd=self.place, capture_output=True, text=True, check=True)
        program = os.path.join(self.place, "exported_spark.py")
        with open(program, "w", encoding="utf-8") as f:
            f.write(done.stdout)
        zipped = os.path.basename(job.partition(":")[0]).rpartition(".")[0] + ".zip"
        return self.spark_submit("--py-files", os.path.join(self.place, zipped), program, f"file://{self.input}", "file://OUT", "-r", "2")


def lines_of(parts):
    return sorted(b"".join(parts.values()).splitlines())


def check_same(bench):
    """Runs each exported job on YARN, or on Spark, and compares it with Millrace, part by part where they are native jobs."""
    bench.write_words(2, files=3)
    sides = [os.path.join(bench.place, side) for side in ("users", "orders")]
    for side, count in zip(sides, (500, 5000)):
        os.makedirs(side)
        with open(os.path.join(side, "part-r-00000"), "w", encoding="ascii") as f:
            f.writelines(f"{(n * 7919) % 600} {os.path.basename(side)}{n}\n" for n in range(count))
    failed = 0

    def compare(name, own, other, by_parts):
        nonlocal failed
        same = own == other if by_parts else lines_of(own) == lines_of(other)
        failed += not same
        how = "part by part, byte by byte" if by_parts else "the same lines"
        print(f"{name}: {how if same else 'DIFFERENT'} ({sum(map(len, own.values()))} bytes, {len(own)} parts)", flush=True)

    for job, more in (("wordcount", ()), ("invertedindex", ()), ("grep", ("-D", "grep.pattern=th[a-z]*")), ("grep", ("-D", "grep.pattern=the", "-D", "grep.lines=true"))):
        given = " ".join(more)
        own = bench.run(job, f"millrace local run --in-process {job} {bench.input} -o OUT --reducers 3 {given}")[2]
        other = bench.run(job, bench.exported(job, [bench.input], *more, reduces=3), on_yarn=True)[2]
        compare(f"{job} {given} on YARN", own, other, by_parts=True)
    for job, inputs in (("wordcount.py:wordcount", [bench.input]), ("orders_join.py:orders_join", sides)):
        path = os.path.join(EXAMPLES, job)
        own = bench.run(job, f"{sys.executable} -m millrace.export run {path} OUT 3 -- {' '.join(inputs)}")[2]
        other = bench.run(job, bench.exported(path, inputs, reduces=3), on_yarn=True)[2]
        compare(f"{job} on YARN", own, other, by_parts=job.startswith("wordcount"))
    if bench.words.spark:
        for job in ("wordcount", "wordcount_batch"):
            own = bench.run(job, f"{sys.executable} -m millrace.export run {EXAMPLES}/wordcount.py:{job} OUT 2 -- {bench.input}")[2]
            other = bench.run(job, bench.spark_program(f"{EXAMPLES}/wordcount.py:{job}"))[2]
            compare(f"wordcount.py:{job} on Spark", own, other, by_parts=True)
    return failed


def groups_of(bench):
    """The ways that are compared, by group: name, command, whether it runs on YARN. The first of a group is ours."""
    text, python, ours = bench.input, sys.executable, script("ours")
    streams = [
        ("millrace local stream, awk", f"millrace local --workers 2 stream -input {text} -output OUT -mapper awk_map -reducer awk_sum -file awk_map -file awk_sum -numReduceTasks 2 >&2", False),
        ("mapper | sort | reducer, awk", f"cat {text}/* | ./awk_map | LC_ALL=C sort | ./awk_sum > OUT", False),
        ("Hadoop Streaming on YARN, awk", bench.hadoop("awk_map", "awk_sum"), True),
    ]  # fmt: skip
    in_python = [
        ("millrace, Python generator", f"{python} {ours} wordcount {text} OUT", False),
        ("millrace, Python batches", f"{python} {ours} wordcount_batch {text} OUT", False),
        ("Hadoop Streaming on YARN, Python", bench.hadoop(script("map"), script("reduce"), combiner=script("reduce")), True),
    ]
    export = [
        ("millrace local run wordcount", f"millrace local --workers 2 run wordcount {text} -o OUT --reducers 2 >&2", False),
        ("wordcount exported to YARN", bench.exported("wordcount", [text]), True),
        ("wordcount.py:wordcount, millrace", f"{python} {ours} wordcount {text} OUT", False),
    ]
    if bench.words.spark:
        in_python.insert(2, ("PySpark RDD API", bench.spark_submit(script("rdd"), f"file://{text}", "file://OUT"), False))
        export.append(("wordcount.py:wordcount exported to Spark", bench.spark_program(f"{EXAMPLES}/wordcount.py:wordcount"), False))
    return {"streams": streams, "python": in_python, "export": export}


def print_figures(bench):
    bench.write_words(bench.words.mb)
    size = sum(os.path.getsize(os.path.join(bench.input, name)) for name in os.listdir(bench.input)) / 1e6
    groups = {name: ways for name, ways in groups_of(bench).items() if name in bench.words.only.split(",")}
    taken, first = {}, None
    for number in range(bench.words.rounds):
        for ways in groups.values():
            for name, command, on_yarn in ways:
                seconds, cpu, parts = bench.run(name, command, on_yarn=on_yarn)
                taken.setdefault(name, []).append((seconds, cpu))
                print(f"round {number + 1}: {name}: {seconds:.1f} s, {cpu:.1f} s of processor", file=sys.stderr, flush=True)
                first = first or lines_of(parts)
                if lines_of(parts) != first:
                    sys.exit(f"{name} gives another output")
    print(f"word count of {size:.0f} MB in {len(os.listdir(bench.input))} files; medians of {bench.words.rounds} rounds; all outputs the same lines")
    for group, ways in groups.items():
        base = [statistics.median(each) for each in zip(*taken[ways[0][0]])]
        print(f"\n| {group} | seconds | MB/s | times ours | processor seconds | times ours |\n|---|---|---|---|---|---|")
        for name, _, _ in ways:
            seconds, cpu = (statistics.median(each) for each in zip(*taken[name]))
            print(f"| {name} | {seconds:.1f} | {size / seconds:.1f} | {seconds / base[0]:.2f} | {cpu:.1f} | {cpu / base[1]:.2f} |")


def main():
    if sys.argv[1:2] == ["measure"]:
        told = measure(sys.argv[2:])
        print("\n" + json.dumps(told))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("same", "figures"))
    parser.add_argument("--millrace", required=True)
    parser.add_argument("--jars", required=True)
    parser.add_argument("--spark", default="")
    parser.add_argument("--mb", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="streams,python,export")
    words = parser.parse_args()
    words.millrace = os.path.abspath(words.millrace)
    os.environ["PATH"] = words.millrace + os.pathsep + os.environ["PATH"]
    with tempfile.TemporaryDirectory(prefix="millrace-export-bench-") as place:
        daemons = os.path.join(place, "yarn")
        os.makedirs(daemons)
        with yarn.Yarn(words.jars, daemons) as cluster:
            bench = Bench(words, place, cluster)
            return check_same(bench) if words.what == "same" else print_figures(bench) or 0


if __name__ == "__main__":
    sys.exit(main())
