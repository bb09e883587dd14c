# SPDX-License-Identifier: Apache-2.0
"""The package over a real cluster: the examples, failures, files, and a word count that is byte for byte that of the native job."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

import stand_in

sys.path.append(os.path.join(stand_in.ROOT, "tests", "cluster"))
import test_examples  # noqa: E402
import ways  # noqa: E402
import wordcount  # noqa: E402
from cluster import LIMIT_SECONDS, Cluster, words  # noqa: E402
from millrace import fs, program, result  # noqa: E402
from secure_cluster import SecureCluster  # noqa: E402
from test_fs import FilesOfTheCluster  # noqa: E402

import millrace  # noqa: E402


class OnACluster(unittest.TestCase):
    """A cluster of two workers for all tests of a class."""

    @classmethod
    def make_cluster(cls):
        return Cluster(workers=2, map_slots=2)

    @classmethod
    def setUpClass(cls):
        if not ways.cluster_is_there():
            raise unittest.SkipTest("MILLRACE_BIN has no program that can stream")
        cls.cluster = cls.make_cluster()
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        patch = unittest.mock.patch.dict(os.environ, cls.cluster.environment())
        patch.start()
        cls.addClassCleanup(patch.stop)
        cls.number = 0

    def setUp(self):
        type(self).number += 1
        self.base = f"/test{self.number}"


class Examples(OnACluster, test_examples.Examples):
    """The examples; what they are checked against is in test_examples."""

    reducers = (3,)

    def setUp(self):
        super().setUp()
        self.runs = 0
        patch = unittest.mock.patch.object(ways, "WAYS", {"on a cluster": self.run_job})
        patch.start()
        self.addCleanup(patch.stop)

    def run_job(self, job, inputs, *, reducers=1, options=None, files=None):
        self.runs += 1
        paths = []
        for index, given in enumerate(inputs):
            paths.append(f"{self.base}/in{self.runs}.{index}")
            contents = given if isinstance(given, dict) else {"lines": "".join(line + "\n" for line in given)}
            for name, content in contents.items():
                with fs.put(f"{paths[-1]}/{name}") as stream:
                    stream.write(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
        with tempfile.TemporaryDirectory() as place:
            output = f"{self.base}/out{self.runs}"
            side = ways.write_side_files(place, files)
            done = job.submit(paths, output, reducers=reducers, options=options, files=side, python=sys.executable).wait()
        found = {os.path.basename(entry["path"]): fs.read(entry["path"]) for entry in fs.ls(output) if not entry["path"].endswith("_SUCCESS")}
        return ways.outcome(job, found, done.counters())


class Files(OnACluster, FilesOfTheCluster):
    pass


class Jobs(OnACluster):
    @classmethod
    def make_cluster(cls):
        """Its workers find a python3 of the version 3.7, which is none; jobs run with this Python."""
        cls.pythons = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.pythons.cleanup)
        os.chmod(cls.pythons.name, 0o755)
        Path(cls.pythons.name, "python3.7").write_text("#!/bin/sh\nexit 1\n")
        Path(cls.pythons.name, "python3.7").chmod(0o755)
        Path(cls.pythons.name, "python3").symlink_to("python3.7")
        patch = unittest.mock.patch.dict(os.environ, {"PATH": cls.pythons.name + os.pathsep + os.environ["PATH"]})
        patch.start()
        cls.addClassCleanup(patch.stop)
        return super().make_cluster()

    def put(self, name, data):
        with fs.put(f"{self.base}/{name}") as stream:
            stream.write(data)
        return f"{self.base}/{name}"

    def parts(self, output):
        return {name: fs.read(f"{output}/{name}") for name in result.DfsOutput(output).names() if name.startswith("part-")}

    def test_a_word_count_is_that_of_the_native_job(self):
        text = words(7, 30_000) + b"invalid \xff\xfe utf8 \xed\xa0\x80\n na\xc3\xafve \xe4\xb8\x96\xe7\x95\x8c " + b"tail" * 5000
        path = self.put("in/a", text)
        self.put("in/b", words(8, 10_000))
        path = os.path.dirname(path)
        program.run(["run", "wordcount", path, "-o", f"{self.base}/native", "--reducers", "3"])
        native = self.parts(f"{self.base}/native")
        self.assertEqual(len(native), 3)
        for job in (wordcount.wordcount, wordcount.wordcount_batch):
            job.run(path, f"{self.base}/{job.name}", reducers=3, python=sys.executable)
            ours = self.parts(f"{self.base}/{job.name}")
            if job is wordcount.wordcount:
                # bytes that are no UTF-8 may go to another reduce
                self.assertEqual(sorted(b"".join(ours.values()).splitlines()), sorted(b"".join(native.values()).splitlines()))
        clean = self.put("clean", words(9, 30_000))
        program.run(["run", "wordcount", clean, "-o", f"{self.base}/native2", "--reducers", "3"])
        wordcount.wordcount.run(clean, f"{self.base}/python2", reducers=3, python=sys.executable)
        self.assertEqual(self.parts(f"{self.base}/python2"), self.parts(f"{self.base}/native2"))

    def test_the_failing_record_comes_to_the_caller(self):
        from top_k import top_k

        text = b"".join(b"name%d %d\n" % (n, n) for n in range(5000))
        path = self.put("in", text + b"broken line\n" + text)
        with self.assertRaises(millrace.JobFailed) as caught:
            top_k.run(path, f"{self.base}/out", python=sys.executable, settings={"job.max_attempts": 1})
        error = caught.exception
        self.assertEqual((error.record, error.offset, error.path), ("'broken line'", len(text), path))
        self.assertEqual(error.__cause__.kind, "ValueError")
        self.assertIn("in top_k", str(error.__cause__))

    def test_a_wrong_python_is_said(self):
        path = self.put("in", b"x\n")
        with self.assertRaises(millrace.JobFailed) as caught:
            wordcount.wordcount.run(path, f"{self.base}/out", python="python-of-nowhere", settings={"job.max_attempts": 1})
        self.assertIn("python-of-nowhere", str(caught.exception))

    def test_a_job_is_killed_and_its_state_read(self):
        path = self.put("in", b"x\n")
        with tempfile.TemporaryDirectory() as place:
            Path(place, "sleeper.py").write_text("import time, millrace\n@millrace.job\ndef sleeper(line: str):\n    time.sleep(1000)\n")
            with unittest.mock.patch.object(sys, "path", [*sys.path, place]):
                import sleeper
            running = sleeper.sleeper.submit(path, f"{self.base}/out", python=sys.executable)
        self.assertIn(running.state, ("waiting", "running"))
        running.kill()
        with self.assertRaisesRegex(millrace.JobFailed, "killed"):
            running.wait()

    def test_a_map_of_records_reads_what_python_and_native_jobs_wrote(self):
        @millrace.job(output="records")
        def write(line: str):
            yield (line, len(line)), [line]

        if not _has("cloudpickle"):
            self.skipTest("cloudpickle is not here")
        path = self.put("in", b"a\nbb\n")
        write.run(path, f"{self.base}/records", python=sys.executable)

        @millrace.job
        def read(key, value):
            yield key, str(value)

        again = read.run(f"{self.base}/records", f"{self.base}/text", python=sys.executable)
        self.assertEqual(sorted(again), [("a", "1", "['a']"), ("bb", "2", "['bb']")])

    def test_more_than_a_message_of_everything(self):
        @millrace.job(group=1)
        def wide(line: str):
            for n in range(300):
                yield (line[:5], n), line * 20

        @wide.reduce
        def sizes(key, records):
            last, size = -1, 0
            for (_, n), text in records:
                assert n >= last
                last, size = n, size + len(text)
            yield key, size

        if not _has("cloudpickle"):
            self.skipTest("cloudpickle is not here")
        path = self.put("in", b"".join(b"key%02d %050d\n" % (n % 7, n) for n in range(200)))
        found = wide.run(path, f"{self.base}/out", reducers=2, python=sys.executable)
        self.assertEqual(sorted(found), sorted((f"key{k:02}", str(len(range(k, 200, 7)) * 300 * 20 * 56)) for k in range(7)))


    def test_row_groups_of_one_file_are_read_by_several_maps_beside_text(self):
        """A join of Parquet, cut at its blocks, with text: each row comes once, and the maps of the text have another form."""
        if not _has("pyarrow"):
            self.skipTest("pyarrow is not here")
        import pyarrow
        import pyarrow.parquet

        source = random.Random(5)
        sales = [(n, f"{source.getrandbits(600):x}") for n in range(20_000)]
        with tempfile.TemporaryDirectory() as place:
            file = os.path.join(place, "sales.parquet")
            table = pyarrow.table({"item": [n % 100 for n, _ in sales], "note": [note for _, note in sales]})
            pyarrow.parquet.write_table(table, file, row_group_size=500, compression="none")
            program.run(["fs", "put", "--block-size", "1M", file, f"{self.base}/sales.parquet"])
            blocks = len(fs.stat(f"{self.base}/sales.parquet")["blocks"])
            self.assertGreaterEqual(blocks, 3)
            Path(place, "mixed_sales.py").write_text(
                "import millrace\nimport pyarrow as pa\n"
                "def sold(batch: pa.RecordBatch):\n    millrace.counter('mixed', millrace.task().attempt).add(batch.num_rows)\n"
                "    for item, note in zip(batch['item'].to_pylist(), batch['note'].to_pylist()):\n        yield (item, 1), note\n"
                "def names(line: str):\n    item, name = line.split()\n    yield (int(item), 0), name\n"
                "@millrace.job(inputs=[sold, names], group=1)\ndef mixed(item, records):\n"
                "    [(_, name), *notes] = records\n    yield name, len(notes), sum(int(note, 16) for _, note in notes)\n"
            )
            with unittest.mock.patch.object(sys, "path", [*sys.path, place]):
                import mixed_sales
            names = self.put("names", b"".join(b"%d name%d\n" % (n, n) for n in range(100)))
            done = mixed_sales.mixed.run([f"{self.base}/sales.parquet", names], f"{self.base}/out", reducers=2, python=sys.executable)
        expected = [(f"name{item}", "200", str(sum(int(note, 16) for n, note in sales if n % 100 == item))) for item in range(100)]
        self.assertEqual(sorted(done), sorted(expected))
        shares = {name: value for (group, name), value in done.counters().items() if group == "mixed"}
        self.assertEqual((sum(shares.values()), len(shares) > 1), (20_000, True), shares)

    def test_nodes_say_their_python_and_a_job_that_none_can_run_is_refused(self):
        said, end = {None}, time.monotonic() + LIMIT_SECONDS
        while None in said and time.monotonic() < end:  # it comes with a heartbeat
            said = {node["python"] for node in program.run_json(["node", "list", "--json"])}
        self.assertEqual(said, {os.path.join(self.pythons.name, "python3.7")})
        path = self.put("in", b"x\n")
        with self.assertRaisesRegex(millrace.UsageError, r"2 of 2 nodes \(1, 2\) have Python 3.7, and the job wordcount needs 3.9 or later"):
            wordcount.wordcount.run(path, f"{self.base}/out")
        self.assertFalse(fs.exists(f"{self.base}/out"))


class ConfinedWithTls(OnACluster):
    """Every daemon and user has a certificate, and tasks are confined as far as this machine can."""

    @classmethod
    def make_cluster(cls):
        return SecureCluster(workers=2, map_slots=2, settings=["worker.sandbox=auto"])

    def test_jobs_with_side_files_and_a_failure(self):
        from ngrams import ngrams

        with fs.put(f"{self.base}/in") as stream:
            stream.write(b"the quick brown the fox\n" * 1000 + b"oslo 5\n")
        with tempfile.TemporaryDirectory() as place:
            [stop] = ways.write_side_files(place, {"stop.txt": "the"})
            done = ngrams.run(f"{self.base}/in", f"{self.base}/out", files=[stop], reducers=2)
        self.assertEqual(sorted(done), [("brown fox", "1000"), ("oslo 5", "1"), ("quick brown", "1000")])
        done = wordcount.wordcount_batch.run(f"{self.base}/in", f"{self.base}/words")
        self.assertEqual(dict(done)["quick"], "1000")
        from top_k import top_k

        with self.assertRaises(millrace.JobFailed) as caught:
            top_k.run(f"{self.base}/in", f"{self.base}/top", settings={"job.max_attempts": 1})
        self.assertEqual(caught.exception.record, "'the quick brown the fox'")


class Local(unittest.TestCase):
    def setUp(self):
        if not ways.cluster_is_there():
            self.skipTest("MILLRACE_BIN has no program that can stream")

    def test_local_files_in_and_out_and_a_failure(self):
        with tempfile.TemporaryDirectory() as place:
            Path(place, "in").write_text("b a\na\n")
            res = wordcount.wordcount.local(os.path.join(place, "in"), os.path.join(place, "out"), quiet=True)
            self.assertEqual(list(res), [("a", "2"), ("b", "1")])
            self.assertEqual(res.counters()["millrace", "map_input_records"], 2)
            from csv_sums import csv_sums

            with self.assertRaises(millrace.JobFailed) as caught:
                csv_sums.local(os.path.join(place, "in"), os.path.join(place, "out2"), quiet=True, settings={"job.max_attempts": 1})
            self.assertEqual(caught.exception.__cause__.kind, "IndexError")

    def test_from_nothing_to_a_first_result(self):
        """As a stranger has it: a script in an empty directory."""
        with tempfile.TemporaryDirectory() as place:
            Path(place, "in.txt").write_text("a b a\n")
            Path(place, "mine.py").write_text(
                "import json, millrace\n@millrace.job\ndef mine(line: str):\n    for word in line.split():\n        yield word, 1\n"
                "@mine.reduce\ndef total(word, ones):\n    yield word, sum(ones)\n"
                "if __name__ == '__main__':\n    print(json.dumps(list(mine.local('in.txt', 'out'))))\n"
            )
            env = {**os.environ, "PYTHONPATH": os.path.join(stand_in.PACKAGE, "src")}
            done = subprocess.run([sys.executable, "mine.py"], cwd=place, env=env, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout), [["a", "2"], ["b", "1"]])


def _has(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    unittest.main()
