# SPDX-License-Identifier: Apache-2.0
"""Jobs: how they are put together, what Job.test takes and gives, and what is refused with which advice."""

import bz2
import gzip
import os
import tempfile
import unittest
from pathlib import Path
from typing import List

import stand_in  # noqa: F401
from millrace.jobs import Reads, reads_of

import millrace


@millrace.job
def wordcount(line: str):
    """Counts words."""
    for word in line.split():
        yield word, 1


@wordcount.combine
@wordcount.reduce
def total(word, counts):
    yield word, sum(counts)


class Parts(unittest.TestCase):
    def test_what_a_map_takes_is_its_annotation(self):
        def plain(line): ...
        def text(line: str): ...
        def data(line: bytes): ...
        def batch(lines: "list[str]"): ...
        def old_batch(lines: List[str]): ...  # noqa: UP006
        def raw_batch(lines: list[bytes]): ...
        def file(f: millrace.File): ...
        def table(batch: "pa.RecordBatch"): ...  # noqa: F821
        def record(key, value): ...
        def raw(key: bytes, value: bytes): ...
        def with_default(line, sep=" "): ...

        expected = [Reads("lines"), Reads("lines"), Reads("lines", raw=True), Reads("lines", batch=True), Reads("lines", batch=True),
                    Reads("lines", batch=True, raw=True), Reads("files"), Reads("tables", batch=True), Reads("records"), Reads("records", raw=True), Reads("lines")]
        self.assertEqual([reads_of(f) for f in (plain, text, data, batch, old_batch, raw_batch, file, table, record, raw, with_default)], expected)
        for wrong in (lambda: None, lambda a, b, c: None):
            with self.assertRaisesRegex(millrace.UsageError, "takes one parameter"):
                reads_of(wrong)

    def test_a_job_can_be_called_and_named(self):
        self.assertEqual(list(wordcount("a b")), [("a", 1), ("b", 1)])
        self.assertEqual(list(total("a", [1, 2])), [("a", 3)])
        self.assertEqual((wordcount.name, repr(wordcount)), ("wordcount", "<millrace.Job wordcount>"))
        self.assertEqual(millrace.job(name="other")(lambda line: None).name, "other")

    def test_parts_that_do_not_fit_are_refused(self):
        for parts, what in [({"output": "xml"}, "no output format"), ({"group": -1}, "group"), ({"outputs": ["a b"]}, "letters"), ({"outputs": ["part"]}, "part"), ({"options": {"task.timeout": 1}}, "small letter"),
                            ({"options": {"PATH": ""}}, "small letter")]:
            with self.assertRaisesRegex(millrace.UsageError, what):
                millrace.job(**parts)(lambda line: None)
        job = millrace.job(lambda line: None)
        job.combine(lambda key, values: None)
        with self.assertRaisesRegex(millrace.UsageError, "no reduce"):
            job.test([])
        with self.assertRaisesRegex(millrace.UsageError, "no map"):
            millrace.Job([]).check()

    def test_options_have_the_types_of_their_defaults(self):
        job = millrace.job(options={"n": 1, "rate": 0.5, "on": False, "text": "x", "must": str})(lambda line: None)
        self.assertEqual(job.set_options({"must": "y", "n": "7", "on": "true"}), {"n": 7, "rate": 0.5, "on": True, "text": "x", "must": "y"})
        for wrong, what in [({}, "needs the option 'must'"), ({"must": "", "n": "x"}, "of the type int"), ({"must": "", "other": 1}, "no option 'other'"),
                            ({"must": "", "on": "maybe"}, "of the type bool")]:
            with self.assertRaisesRegex(millrace.UsageError, what):
                job.set_options(wrong)


class Tests(unittest.TestCase):
    def test_the_result_is_a_list_with_more(self):
        ran = wordcount.test(["b a", "a"])
        self.assertEqual(ran, [("a", 2), ("b", 1)])
        self.assertEqual(ran.text, "a\t2\nb\t1\n")
        self.assertEqual(ran.files, {"part-r-00000": b"a\t2\nb\t1\n"})
        self.assertEqual(wordcount.test([]), [])

    def test_parts_keep_their_order_and_hold_each_key_once(self):
        ran = wordcount.test(["a b c d e f g h"] * 3, reducers=3, splits=2)
        self.assertEqual(sorted(ran), [(letter, 3) for letter in "abcdefgh"])
        self.assertEqual(len([name for name in ran.files if ran.files[name]]), 3)

    def test_a_partition_gives_an_order_over_all_reduces(self):
        ordered = millrace.job(partition=lambda key, reducers: min(key // 10, reducers - 1))(lambda line: (int(line), None))
        ordered.reduce(lambda key, values: [key])
        ran = ordered.test([str(n * 7 % 30) for n in range(30)], reducers=3)
        self.assertEqual(ran, list(range(30)))
        self.assertEqual([len(data.split()) for data in ran.files.values()], [10, 10, 10])

    def test_inputs_of_all_kinds(self):
        with tempfile.TemporaryDirectory() as place:
            Path(place, "b.txt").write_text("b\n")
            Path(place, "a.txt.gz").write_bytes(gzip.compress(b"a a\n"))
            Path(place, "_SUCCESS").write_text("no\n")
            expected = [("a", 2), ("b", 1)]
            for given in (["a a", "b\n"], [b"a a", "b"], "a a\nb", b"a a\nb\n", {"x": "a a\n", "y": b"b"}, Path(place), {"a.gz": gzip.compress(b"a a\n"), "x": bz2.compress(b"b")}):
                self.assertEqual(wordcount.test(given), expected, given)
        with self.assertRaisesRegex(millrace.UsageError, "zstd"):
            wordcount.test({"x": b"\x28\xb5\x2f\xfd..."})
        for wrong in ([1], ["a\nb"]):
            with self.assertRaises(millrace.UsageError):
                wordcount.test(wrong)

    def test_the_exception_of_a_function_is_the_cause(self):
        @millrace.job
        def divide(line: str):
            yield 1 / int(line)

        with self.assertRaises(millrace.JobFailed) as caught:
            divide.test(["1", "0"])
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
        self.assertEqual((caught.exception.record, caught.exception.offset, caught.exception.path), ("'0'", 2, "input-0"))
        frames = []
        trace = caught.exception.__cause__.__traceback__
        while trace:
            frames.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        self.assertEqual(frames[-1], "divide", "a debugger finds the frame of the function")

    def test_options_side_files_archives_and_the_task(self):
        seen = {}

        @millrace.job(options={"n": 3}, archives=["box.zip"])
        def job(line: str):
            seen.update(n=millrace.option("n"), text=millrace.file("f.txt").read_text(), data=millrace.file("g").read_bytes(),
                        inside=(millrace.file("box.zip") / "in" / "it").read_text(), task=(millrace.task().kind, millrace.task().path, millrace.task().offset))
            with self.assertRaisesRegex(FileNotFoundError, "files="):
                millrace.file("other")
            with self.assertRaisesRegex(KeyError, "options="):
                millrace.option("other")

        with tempfile.TemporaryDirectory() as place:
            import zipfile

            with zipfile.ZipFile(os.path.join(place, "box.zip"), "w") as box:
                box.writestr("in/it", "inside")
            job.archives = [os.path.join(place, "box.zip")]
            Path(place, "g").write_bytes(b"\xff")
            job.test(["x"], options={"n": 4}, files={"f.txt": "text", "g": Path(place, "g")})
        self.assertEqual(seen, {"n": 4, "text": "text", "data": b"\xff", "inside": "inside", "task": ("map_only", "input-0", 0)})
        self.assertEqual(millrace.task().kind, "none", "outside of jobs there is a task of no job")
        millrace.counter("g", "n").add()
        millrace.status("nobody hears it")

    def test_a_join_takes_a_map_for_each_input(self):
        @millrace.job(inputs=[lambda line: [(line[0], line)], lambda line: [(line[0], line.upper())]])
        def join(key, values):
            yield key, "+".join(sorted(values))

        self.assertEqual(join.name, "join")
        self.assertEqual(join.test(["ax", "by"], ["az"]), [("a", "AZ+ax"), ("b", "by")])
        with self.assertRaisesRegex(millrace.UsageError, "2 maps"):
            join.test(["ax"])

    def test_records_of_one_job_are_the_input_of_another(self):
        @millrace.job(output="records")
        def first(line: str):
            yield (line, 1.5), {"x": [line]}

        @millrace.job
        def second(key, value):
            yield key, str(value)

        ran = first.test(["a", "b"])
        with tempfile.TemporaryDirectory() as place:
            Path(place, "part-m-00000").write_bytes(ran.files["part-m-00000"])
            self.assertEqual(second.test(Path(place)), [(("a", 1.5), "{'x': ['a']}"), (("b", 1.5), "{'x': ['b']}")])
        self.assertEqual(second.test([(1, 2)]), [(1, "2")])

    def test_the_type_of_a_number_key_is_that_of_the_annotation(self):
        def made(annotation):
            @millrace.job
            def job(line: str):
                yield eval(line), 1

            def reduce(key, values):
                yield repr(key)

            reduce.__annotations__ = {"key": annotation} if annotation else {}
            job.reduce(reduce)
            return job

        self.assertEqual(made(None).test(["True", "1.0", "2"]), ["1", "2"])
        self.assertEqual(made(float).test(["True", "1.0", "2"]), ["1.0", "2.0"])
        self.assertEqual(made(bool).test(["True", "0"]), ["False", "True"])
        self.assertEqual(made(tuple[str, float]).test(["('a', 1)", "('a', 2.5)"]), ["('a', 1.0)", "('a', 2.5)"])

    def test_ways_to_give_items(self):
        def made(function):
            return millrace.job(function)

        for given, items in [(None, []), ("ab", ["ab"]), (("k", 1), [("k", 1)]), ([("k", 1), ("l", 2)], [("k", 1), ("l", 2)]), ({"a": 1}, [{"a": 1}]), (5, [5])]:
            self.assertEqual(made(lambda line, given=given: given).test(["x"]), items, given)
        counted = made(lambda line: {"a": 1, "b": 2})
        counted.reduce(lambda key, values: [(key, sum(values))])
        self.assertEqual(counted.test(["x", "y"]), [("a", 2), ("b", 4)])


if __name__ == "__main__":
    unittest.main()
