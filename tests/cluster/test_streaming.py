# SPDX-License-Identifier: Apache-2.0
"""Streaming: scripts and tools as the map and reduce of jobs of a cluster; their outputs are those of native jobs, or of Python."""

import collections
import json
import os
import re
import select
import subprocess
import tarfile
import tempfile
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster, words

MAP = """#!/usr/bin/env python3
import os, sys
for line in sys.stdin.buffer:
    for word in line.split():
        sys.stdout.buffer.write(word + b"\\t1\\n")
print("reporter:counter:words,maps,1", file=sys.stderr)
"""
REDUCE = """#!/usr/bin/env python3
import itertools, sys
pairs = (line.rstrip(b"\\n").split(b"\\t", 1) for line in sys.stdin.buffer)
for word, group in itertools.groupby(pairs, lambda pair: pair[0]):
    sys.stdout.buffer.write(b"%s\\t%d\\n" % (word, sum(int(n) for _, n in group)))
"""
INDEX = """import itertools, os, sys
if sys.argv[1] == "map":
    found = {word for line in sys.stdin for word in line.split()}
    sys.stdout.writelines(f"{word}\\t{os.environ['millrace_input_name']}\\n" for word in found)
else:
    pairs = (line.rstrip("\\n").split("\\t") for line in sys.stdin)
    for word, group in itertools.groupby(pairs, lambda pair: pair[0]):
        print(word, " ".join(sorted({name for _, name in group})), sep="\\t")
"""


class StreamingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2, map_slots=2)
        cls.cluster.__enter__()
        cls.text = words(1, 400_000)
        lines = cls.text.splitlines(keepends=True)
        for n in range(3):
            cls.cluster.run("fs", "put", "-", f"/text/{n}", input=b"".join(lines[n::3]))
        cls.scripts = tempfile.TemporaryDirectory(prefix="millrace-streaming-")
        for name, text in (("map.py", MAP), ("reduce.py", REDUCE)):
            with open(os.path.join(cls.scripts.name, name), "w", encoding="ascii") as f:
                f.write(text)

    @classmethod
    def tearDownClass(cls):
        cls.scripts.cleanup()
        cls.cluster.__exit__(None, None, None)

    def stream(self, *args, status=0, environment=None):
        """Runs `millrace stream` where the scripts lie, and gives what it said."""
        done = subprocess.run([MILLRACE, "--master", self.cluster.address, "stream", *args], cwd=self.scripts.name, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})}, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_words_as_the_native_job_counts_them(self):
        self.cluster.run("run", "wordcount", "/text", "-o", "/native", "--reducers", "3")
        native = self.cluster.output("/native")
        said = self.stream("-input", "/text", "-output", "/streamed", "-mapper", "map.py", "-combiner", "reduce.py", "-reducer", "reduce.py",
                           "-numReduceTasks", "3")
        self.assertEqual(self.cluster.output("/streamed"), native)
        self.assertRegex(said, r"words maps \d+\n")
        self.stream("-input", "/text", "-output", "/awk", "-numReduceTasks", "3", "-mapper", r"""awk '{for (i = 1; i <= NF; ++i) print $i "\t1"}'""",
                    "-reducer", r"""awk -F '\t' '$1 != k {if (NR > 1) print k "\t" n; k = $1; n = 0} {n += $2} END {if (NR) print k "\t" n}'""")
        self.assertEqual(self.cluster.output("/awk"), native)

    def test_an_inverted_index_as_the_native_job_makes_it(self):
        self.cluster.run("run", "invertedindex", "/text", "-o", "/native-index", "--reducers", "3")
        native = self.cluster.output("/native-index")
        by_awk = r"""awk '{for (i = 1; i <= NF; ++i) if (!seen[$i]++) print $i "\t" ENVIRON["millrace_input_name"]}'"""
        gather = r"""LC_ALL=C sort -u | awk -F '\t' '$1 != k {if (NR > 1) print k "\t" n; k = $1; n = $2; next} {n = n " " $2} END {if (NR) print k "\t" n}'"""
        self.stream("-input", "/text", "-output", "/awk-index", "-numReduceTasks", "3", "-mapper", by_awk, "-reducer", gather)
        self.assertEqual(self.cluster.output("/awk-index"), native)
        with open(os.path.join(self.scripts.name, "index.py"), "w", encoding="ascii") as f:
            f.write(INDEX)
        self.stream("-input", "/text", "-output", "/python-index", "-numReduceTasks", "3", "-mapper", "python3 index.py map",
                    "-reducer", "python3 index.py reduce")
        self.assertEqual(self.cluster.output("/python-index"), native)

    def test_a_join_as_the_native_job_makes_it(self):
        for side, count in (("users", 300), ("orders", 2000)):
            rows = "".join(f"{n * 7919 % 400}\t{side}{n}\n" for n in range(count))
            self.cluster.run("fs", "put", "-", f"/{side}/part-r-00000", input=rows.encode())
        self.cluster.run("run", os.path.join(os.environ["MILLRACE_TEST_JOBS"], "join"), "/users", "/orders", "-o", "/native-join", "--reducers", "3")
        native = self.cluster.output("/native-join")
        self.assertTrue(all(native[part] for part in native if part.startswith("part-")))
        mark = r"""awk -F '\t' '{print $1 "\t" ENVIRON["millrace_input_index"] $2 " " ENVIRON["mapreduce_map_input_file"]}'"""
        join = (r"""awk -F '\t' 'function flush(i, j) {for (i = 1; i <= l; ++i) for (j = 1; j <= r; ++j) print k "\t" left[i] "\t" right[j]; l = r = 0} """
                r"""($1 "") != k {flush(); k = $1 ""} $2 ~ /^0/ {left[++l] = substr($2, 2)} $2 ~ /^1/ {right[++r] = substr($2, 2)} END {flush()}'""")
        self.stream("-input", "/users", "-input", "/orders", "-output", "/awk-join", "-numReduceTasks", "3", "-mapper", mark, "-reducer", join)
        self.assertEqual(self.cluster.output("/awk-join"), native)

    def test_files_archives_and_the_environment(self):
        with open(os.path.join(self.scripts.name, "side.txt"), "w", encoding="ascii") as f:
            f.write("of a file\n")
        with tarfile.open(os.path.join(self.scripts.name, "more.tar.gz"), "w:gz") as tar:
            tar.add(os.path.join(self.scripts.name, "side.txt"), "deep/inside.txt")
        self.stream("-input", "/text/0", "-output", "/shipped", "-numReduceTasks", "0", "-file", "side.txt#renamed", "-archive", "more.tar.gz#more",
                    "-cmdenv", "GREETING=hello world", "-D", "my.parameter=7",
                    "-mapper", 'cat > /dev/null; cat renamed more/deep/inside.txt; echo "$GREETING $my_parameter $mapreduce_map_input_file"')
        self.assertEqual(self.cluster.output("/shipped")["part-m-00000"], b"of a file\nof a file\nhello world 7 /text/0\n")

    def test_the_secondary_sort_of_the_page(self):
        visits = [(f"user{n % 5}", n * 7919 % 1000, f"page{n}") for n in range(500)]
        self.cluster.run("fs", "put", "-", "/visits", input="".join(f"{u}\t{t}\t{p}\n" for u, t, p in visits).encode())
        self.stream("-input", "/visits", "-output", "/sorted", "-mapper", "cat", "-reducer", "cat", "-numReduceTasks", "3",
                    "-D", "stream.num.map.output.key.fields=2", "-partitioner", "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner",
                    "-D", "mapreduce.partition.keypartitioner.options=-k1,1", "-D", "mapreduce.partition.keycomparator.options=-k1,1 -k2,2nr")
        seen = collections.defaultdict(list)
        for part in self.cluster.output("/sorted").values():
            users = [line.split("\t")[0] for line in part.decode().splitlines()]
            self.assertEqual(users, sorted(users))
            for line in part.decode().splitlines():
                user, time, page = line.split("\t")
                seen[user].append((int(time), page))
        self.assertEqual(sum(map(len, seen.values())), len(visits))
        for user, stays in seen.items():
            self.assertEqual([time for time, _ in stays], sorted((t for u, t, _ in visits if u == user), reverse=True))

    def test_a_failure_says_what_and_where(self):
        with open(os.path.join(self.scripts.name, "bad.py"), "w", encoding="ascii") as f:
            f.write("import sys\nfor line in sys.stdin:\n    raise ValueError('no such ' + 'luck')\n")
        said = self.stream("-input", "/text/0", "-output", "/failed", "-mapper", "python3 bad.py", "-D", "job.max_attempts=1", status=1)
        self.assertRegex(said.splitlines()[-1], r'the mapper "python3 bad.py" ended with status 1; it (had been given|stopped reading) "/text/0" (up to|after) byte \d+; '
                                                r"the end of its standard error: Traceback .* \| ValueError: no such luck")
        said = self.stream("-input", "/text/0", "-output", "/endless", "-mapper", "sleep 100000", "-D", "mapreduce.task.timeout=1500",
                           "-D", "job.max_attempts=1", status=1)
        self.assertIn("no progress", said)

    def test_a_job_that_is_killed_leaves_no_process(self):
        mark = "12345.6789"
        started = self.cluster.path("started")
        os.mkfifo(started)
        run = subprocess.Popen([MILLRACE, "--master", self.cluster.address, "stream", "-input", "/text/0", "-output", "/killed", "-mapper",
                                f"setsid sleep {mark} > /dev/null 2>&1 & echo yes > {started}; sleep {mark}"], stderr=subprocess.PIPE, text=True)
        job = re.search(r"job(\d+)", run.stderr.readline()).group(1)
        with open(started, encoding="ascii") as f:
            self.assertEqual(f.read(), "yes\n")
        found = subprocess.run(["pgrep", "-f", f"^sleep {mark}"], stdout=subprocess.PIPE, check=True).stdout.split()
        ends = [os.pidfd_open(int(pid)) for pid in found]
        self.cluster.run("job", "kill", job)
        for end in ends:
            self.assertTrue(select.select([end], [], [], LIMIT_SECONDS)[0], "a process of a killed job goes on")
            os.close(end)
        run.wait()
        run.stderr.close()

    def test_a_packed_job_runs_without_its_scripts(self):
        packed = os.path.join(self.scripts.name, "counts")
        self.stream("--pack", packed, "-mapper", "map.py", "-reducer", "reduce.py")
        expected = b"".join(b"%s\t%d\n" % pair for pair in sorted(collections.Counter(self.text.split()).items()))
        self.cluster.run("run", packed, "/text", "-o", "/packed")
        self.assertEqual(self.cluster.output("/packed"), {"part-r-00000": expected})
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "in"), "wb") as f:
                f.write(self.text)
            scripts = ["-mapper", "map.py", "-reducer", "reduce.py"]
            for extra, command in (("process", ["local", "run", "--in-process", packed, place + "/in", "-o", place + "/out-process"]),
                                   ("local", ["local", "--workers", "1", "stream", "-input", place + "/in", "-output", place + "/out-local", *scripts])):
                done = subprocess.run([MILLRACE, *command], cwd=self.scripts.name, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                with open(os.path.join(place, "out-" + extra, "part-r-00000"), "rb") as f:
                    self.assertEqual(f.read(), expected, extra)

    def test_wrong_words(self):
        for args, says in ((["-input", "/text", "-output", "/x"], "-mapper"), (["-mapper", "cat", "-output", "/x"], "-input"),
                           (["-mapper", "cat", "-input", "/text"], "-output"),
                           (["-mapper", "cat", "-input", "/text", "-output", "/x", "-libjars", "a.jar"], "Hadoop's alone"),
                           (["-mapper", "cat", "-input", "/text", "-output", "/x", "-inputformat", "NLineInputFormat"], "it reads lines"),
                           (["-mapper", "cat", "-input", "/text", "-output", "/x", "-file", "missing.py"], "missing.py"),
                           (["-mapper", "cat", "-input", "/text", "-output", "/x", "-D", "stream.no.such=1"], "stream.no.such")):
            said = self.stream(*args, status=2)
            self.assertIn(says, said)
            self.assertEqual(len(said.splitlines()), 1, said)


class ConfinedTest(unittest.TestCase):
    """Children are confined as their task is."""

    def test_a_child_is_in_the_sandbox(self):
        with Cluster(workers=1, settings=["worker.sandbox=auto"]) as cluster, tempfile.TemporaryDirectory() as place:
            parts = json.loads(cluster.run("node", "list", "--json")[0])[0]["sandbox"]
            cluster.run("fs", "put", "-", "/in", input=b"b a\na\n")
            for name, text in (("map.py", MAP), ("reduce.py", REDUCE)):
                with open(os.path.join(place, name), "w", encoding="ascii") as f:
                    f.write(text)
            subprocess.run([MILLRACE, "--master", cluster.address, "stream", "-input", "/in", "-output", "/out", "-mapper", "map.py", "-reducer", "reduce.py"],
                           cwd=place, check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(cluster.output("/out"), {"part-r-00000": b"a\t2\nb\t1\n"})
            subprocess.run([MILLRACE, "--master", cluster.address, "stream", "-input", "/in", "-output", "/seen", "-numReduceTasks", "0", "-mapper",
                            f"cat >/dev/null; ls {cluster.directory} 2>&1 | tail -n 1; ls -d /proc/[0-9]* | wc -l; (: > /usr/mark) 2>/dev/null || echo refused"],
                           check=True, stdout=subprocess.DEVNULL)
            listed, processes, written = cluster.output("/seen")["part-m-00000"].decode().splitlines()
            if "mounts" in parts:
                self.assertNotIn("master", listed)
                self.assertEqual(written, "refused")
            if "processes" in parts:
                self.assertLess(int(processes), 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
