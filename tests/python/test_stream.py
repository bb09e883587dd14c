# SPDX-License-Identifier: Apache-2.0
"""Jobs in Python where lines are all that is carried (millrace.stream), and what `millrace export` asks of the package."""

import contextlib
import io
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import stand_in  # isort: skip  (finds the package and its examples)
import orders_join
import sessions
import wordcount
from millrace import bundle, export, keys, stream
from millrace.errors import UsageError


def parts_of(files, reducers):
    return [files.get(f"part-r-{number:05}", b"") for number in range(reducers)]


class Lines(unittest.TestCase):
    def test_escaped_bytes_have_no_separators_come_back_and_keep_their_order(self):
        around = b"\x00\x01\x03\x07\x08\t\n\x0b\x0c\r\x0e a\xff"
        texts = sorted(bytes(text) for size in range(4) for text in itertools.product(around, repeat=size))
        escaped = [stream.escape(text) for text in texts]
        self.assertFalse([each for each in escaped if set(each) & set(b"\t\n\r")])
        self.assertEqual([stream.unescape(each) for each in escaped], texts)
        self.assertTrue(all(a < b for a, b in zip(escaped, escaped[1:])))
        for wrong in (b"\x08", b"a\x08\x04", b"\x0cq", b"\x0c\x03"):
            with self.assertRaisesRegex(UsageError, "none that this job writes"):
                stream.unescape(wrong)

    def test_keys_are_sorted_as_python_sorts_them(self):
        some = [-300, -1, 0, 1, 9, 10, 13, 2**70, 0.5, "", "a\tb", "a", "a\n", "\x08", b"x", (1, "b"), (1, "a\x0c"), None]
        of_numbers = sorted((key for key in some if isinstance(key, (int, float))), key=lambda key: stream.escape(keys.encode(key)))
        self.assertEqual(of_numbers, sorted(of_numbers))
        of_texts = [key for key in some if isinstance(key, str)]
        self.assertEqual(sorted(of_texts, key=lambda key: stream.escape(keys.encode(key))), sorted(of_texts))

    def test_hadoop_sends_each_place_to_its_reduce(self):
        for reduces in (2, 3, 7, 30, 31, 32, 93, 94, 500, 999, 1000):
            for reduce in range(reduces):
                place = stream.place_of(reduce, reduces)
                self.assertTrue(len(place) == 2 and all(33 <= byte <= 126 for byte in place))
                self.assertEqual((31 * place[0] + place[1]) % reduces, reduce)

    def test_files_are_found_among_the_inputs(self):
        for file, inputs, found in (
            ("hdfs://nn:8020/in/a/b.txt", "hdfs://nn:8020/other,hdfs://nn:8020/in", ("/in/a/b.txt", "a/b.txt", 1)),
            ("file:/in/a.txt", "file:/in/a.txt", ("/in/a.txt", "a.txt", 0)),
            ("hdfs://nn/2026/11/a", "/2025/*,/2026/*", ("/2026/11/a", "a", 1)),
            ("hdfs://nn/a,b/c", "hdfs://nn/x,hdfs://nn/a\\,b", ("/a,b/c", "c", 1)),
            ("hdfs://nn/in-more/a", "hdfs://nn/in", None),
        ):
            self.assertEqual(stream.find_map_file(file, inputs), found, (file, inputs))


class Tasks(unittest.TestCase):
    """The program of a job as Hadoop Streaming runs it: its parts are those that `Job.test` gives."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name

    def run_task(self, words, text, environment, status=0):
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run([sys.executable, "job.zip", "--millrace-stream", *words], cwd=self.place, input=text, capture_output=True,
                              env={**env, **environment}, check=False)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def carried(self, job, inputs, reducers, *options):
        """Carries the lines as Hadoop does: the first two bytes decide which reduce, those before the TAB are sorted."""
        Path(self.place, "job.zip").write_bytes(bundle.build(job).data)
        of_reduce = [[] for _ in range(reducers)]
        for index, text in reversed(list(enumerate(inputs))):
            said = self.run_task(["map", *options], text, {
                "mapreduce_job_reduces": str(reducers),
                "mapreduce_map_input_file": f"hdfs://host/in{index}/f",
                "mapreduce_input_fileinputformat_inputdir": ",".join(f"hdfs://host/in{each}" for each in range(len(inputs))),
            })  # fmt: skip
            for line in said.stdout.split(b"\n")[:-1]:
                of_reduce[(31 * line[0] + line[1]) % reducers if reducers > 1 else 0].append(line)
        parts = []
        for number, lines in enumerate(of_reduce):
            lines.sort(key=lambda line: line.partition(b"\t")[0])
            given = {"mapreduce_job_reduces": str(reducers), "mapreduce_task_partition": str(number)}
            parts.append(self.run_task(["reduce", *options], b"".join(line + b"\n" for line in lines), given).stdout)
        return parts

    def test_word_count(self):
        rng = random.Random(7)
        text = "".join(" ".join(rng.choice(("a", "b\x08", "c\x0c", "é", "zz")) for _ in range(9)) + "\n" for _ in range(300)).encode()
        for job in (wordcount.wordcount, wordcount.wordcount_batch):
            for reducers in (1, 4):
                self.assertEqual(self.carried(job, [text], reducers), parts_of(job.test(text, reducers=reducers).files, reducers))

    def test_a_join_of_two_inputs(self):
        inputs = [b"1 ann\n2 bob\n3 cy\n", b"1 pen\n3 cup\n1 ink\n4 x\n"]
        sorted_orders = sorted(b"".join(self.carried(orders_join.orders_join, inputs, 3)).splitlines())
        self.assertEqual(sorted_orders, [b"ann\tink", b"ann\tpen", b"cy\tcup"])

    def test_a_secondary_sort(self):
        text = b"".join(b"%d u%d /p%d\n" % (time * 977 % 5000, time % 3, time) for time in range(200))
        lines = text.splitlines(keepends=True)
        given = [b"".join(lines[:90]), b"".join(lines[90:])]
        own = sessions.sessions.test(text, reducers=2)
        self.assertEqual(self.carried(sessions.sessions, [b"".join(given)], 2), parts_of(own.files, 2))
        self.assertTrue(own)

    def test_failures_say_what_to_do(self):
        Path(self.place, "job.zip").write_bytes(bundle.build(wordcount.wordcount).data)
        for words, text, environment, told in (
            (["sort"], b"", {}, "followed by map or reduce"),
            (["reduce"], b"b\ti\x01\na\ti\x01\n", {}, "LC_ALL=C sort"),
            (["reduce"], b"a\ti\x01\n", {"mapreduce_job_reduces": "2"}, "KeyFieldBasedPartitioner"),
            (["map"], b"", {"mapreduce_map_input_file": "/a", "mapreduce_input_fileinputformat_inputdir": "/b"}, "which INPUT"),
        ):
            said = self.run_task(words, text, environment, status=1).stderr.decode()
            self.assertIn(told, said)
            self.assertNotIn("Traceback", said)

    def test_an_exception_of_the_job_is_told_with_its_record(self):
        Path(self.place, "fails.py").write_text(
            "import millrace\n@millrace.job\ndef fails(line: str):\n    print('printed')\n    yield 1 // len(line), 1\n"
            "@fails.reduce\ndef total(key, values):\n    yield key\n"
        )
        with in_folder(self.place):
            Path(self.place, "job.zip").write_bytes(bundle.build(export.load("fails.py")).data)
        done = self.run_task(["map"], b"a\n\n", {}, status=1)
        self.assertIn(b"ZeroDivisionError", done.stderr)
        self.assertIn(b"printed", done.stderr)
        self.assertEqual(done.stdout, b"")


@contextlib.contextmanager
def in_folder(place):
    before, path, modules = os.getcwd(), list(sys.path), set(sys.modules)
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if not name.startswith("millrace"):
                del sys.modules[name]


class Export(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.examples = os.path.join(stand_in.PACKAGE, "examples")

    def export(self, *words, status=0):
        out, said = io.StringIO(), io.StringIO()
        with in_folder(self.place), contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            self.assertEqual(export.main(words), status, said.getvalue())
        return out.getvalue() if status == 0 else said.getvalue()

    def test_a_program_is_described(self):
        about = json.loads(self.export("program", os.path.join(self.examples, "wordcount.py") + ":wordcount", "words.zip"))
        self.assertEqual(about["mapper"], "python3 words.zip --millrace-stream map")
        self.assertEqual((about["name"], about["not_in_lines"], about["map_only"], about["mappers"]), ("wordcount", "", False, 0))
        done = subprocess.run(["/bin/sh", "-c", about["mapper"]], cwd=self.place, input=b"b a b\n", capture_output=True, check=True)
        self.assertEqual(done.stdout, b"b\ti\x02\na\ti\x01\n")

    def test_what_lines_cannot_carry_is_refused(self):
        about = json.loads(self.export("program", os.path.join(self.examples, "images.py"), "x.zip"))
        self.assertIn("its input is not lines", about["not_in_lines"])
        self.assertFalse(os.path.exists(os.path.join(self.place, "x.zip")))

    def test_a_job_is_named_if_there_are_several(self):
        told = self.export("program", os.path.join(self.examples, "wordcount.py"), "x.zip", status=export.REFUSED)
        self.assertRegex(told, r"has 2 jobs \(wordcount, wordcount_batch\): name one, as in .*wordcount.py:wordcount$")
        self.assertIn("has no job 'nothing'", self.export("program", os.path.join(self.examples, "top_k.py") + ":nothing", "x", status=3))
        self.assertIn("does not exist", self.export("program", "none.py", "x.zip", status=export.REFUSED))

    def test_the_jobs_own_output_has_all_parts(self):
        Path(self.place, "in").write_text("a b a\n")
        self.export("run", os.path.join(self.examples, "wordcount.py") + ":wordcount", "out", "3", "--", "in")
        read = {path.name: path.read_bytes() for path in Path(self.place, "out").iterdir()}
        self.assertEqual(sorted(read), ["part-r-00000", "part-r-00001", "part-r-00002"])
        self.assertEqual(sorted(b"".join(read.values()).splitlines()), [b"a\t2", b"b\t1"])

    def test_a_program_for_spark_finds_its_job(self):
        text = self.export("spark", os.path.join(self.examples, "wordcount.py") + ":wordcount", "words.zip")
        compile(text, "words_spark.py", "exec")
        found = "from millrace import spark\nspark.main = lambda job: print(job.name, job.test(['a b a']))\n"
        env = {**os.environ, "PYTHONPATH": os.path.join(self.place, "words.zip")}
        done = subprocess.run([sys.executable, "-c", found + text], env=env, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "wordcount [('a', 2), ('b', 1)]\n")


if __name__ == "__main__":
    unittest.main()
