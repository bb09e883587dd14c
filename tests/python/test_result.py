# SPDX-License-Identifier: Apache-2.0
"""Jobs through the program `millrace`: which words it is given, what comes back, and how failures are told. A stand-in is the program."""

import json
import os
import sys
import tempfile
import unittest
import unittest.mock
import warnings
import zipfile
from pathlib import Path

import stand_in
import wordcount
from millrace import interpreters, program, result

import millrace

try:
    import pandas
except ImportError:
    pandas = None
try:
    import polars
except ImportError:
    polars = None


class WithFake(unittest.TestCase):
    """A stand-in of the program, with an empty file system in self.place."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.log = os.path.join(self.place, "calls")
        self.program = stand_in.make_program(self.place)
        change = {"MILLRACE_BIN": self.program, "FAKE_DFS": os.path.join(self.place, "dfs"), "FAKE_LOG": self.log}
        patch = unittest.mock.patch.dict(os.environ, change)
        patch.start()
        self.addCleanup(patch.stop)

    def put(self, path, text):
        to = Path(self.place, "dfs", path.strip("/"))
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(text if isinstance(text, bytes) else text.encode())

    def calls(self):
        return [json.loads(line) for line in Path(self.log).read_text().splitlines()]


class Submitting(WithFake):
    def test_a_job_from_submission_to_its_output(self):
        self.put("/in/a", "b a\na\n")
        res = wordcount.wordcount.submit("/in", "/out", reducers=2, pool="etl", deadline="10m", after=[3, 4], settings={"task.memory_limit": "1GiB"}, name="words")
        self.assertEqual((res.number, res.state, res.progress()), (7, "succeeded", (1.0, 1.0)))
        self.assertEqual(sorted(res), [("a", "2"), ("b", "1")])
        self.assertEqual(sorted(res.wait().read()), sorted(res.watch()))
        [words] = [call for call in self.calls() if call[0] == "stream"]
        for flag, value in [("-io", "frames"), ("-mapper", "python3 job.zip"), ("-reducer", "python3 job.zip"), ("-numReduceTasks", "2"), ("-name", "words"), ("-input", "/in"),
                            ("-output", "/out"), ("-inputformat", "lines"), ("--pool", "etl"), ("--deadline", "10m"), ("--after", "3,4"), ("-D", "task.memory_limit=1GiB")]:
            self.assertEqual(words[words.index(flag) + 1], value)

    def test_counters_logs_status_and_kill(self):
        @millrace.job(options={"n": 1, "on": True}, env={"WHO": "me"})
        def job(line: str):
            millrace.counter("g", "lines").add()
            print("saw", line, os.environ["WHO"], millrace.option("n"), millrace.option("on"))

        if "cloudpickle" not in sys.modules and not _has("cloudpickle"):
            self.skipTest("cloudpickle is not here")
        self.put("/in", "x\n")
        res = job.submit("/in", "/out", options={"n": 5}, python=sys.executable)
        self.assertEqual(res.counters(), {("g", "lines"): 1})
        self.assertEqual(res.logs(), "saw x me 5 True\n")
        self.assertEqual(res.status()["name"], "job")
        again = result.attach(7, job)
        again.kill()
        self.assertEqual(self.calls()[-1], ["job", "kill", "7"])
        self.assertEqual((result.attach(7).state, again.state), ("killed", "succeeded"))
        with self.assertRaisesRegex(millrace.JobFailed, "job 7 killed: by me"):
            result.attach(7).wait()

    def test_the_failing_record_and_the_traceback_come_to_the_caller(self):
        self.put("/in/a", "oslo 5\nrome\n")
        from top_k import top_k

        with self.assertRaises(millrace.JobFailed) as caught:
            top_k.run("/in", "/out")
        error = caught.exception
        self.assertEqual((error.job, error.record, error.offset), (7, "'rome'", 7))
        self.assertTrue(error.path.endswith("/in/a"))
        self.assertIn("job 7 failed", str(error))
        self.assertIsInstance(error.__cause__, millrace.TaskError)
        self.assertIn("in top_k", str(error.__cause__))

    def test_what_the_program_refuses_is_said(self):
        self.put("/in", "x\n")
        for how, what, status in [({"pool": "nobodys"}, "there is no pool", 1), ({}, "/gone", 1)]:
            with self.assertRaisesRegex(millrace.CommandFailed, what) as caught:
                wordcount.wordcount.submit("/in" if how else "/gone", "/out", **how)
            self.assertEqual(caught.exception.status, status)
        with unittest.mock.patch.dict(os.environ, {"FAKE_UNREACHABLE": "1"}), self.assertRaises(millrace.CommandFailed) as caught:
            wordcount.wordcount.submit("/in", "/out")
        self.assertEqual(caught.exception.status, program.UNREACHABLE)

    def test_what_cannot_run_is_refused_before_anything_is_sent(self):
        def lines(line: str): ...

        for call, what in [(lambda: wordcount.wordcount.submit("/in", "/out", options={"x": 1}), "no option"),
                           (lambda: millrace.job(inputs=[lines, lines]).submit("/in", "/out"), "2 maps")]:
            with self.assertRaisesRegex(millrace.UsageError, what):
                call()
        self.assertFalse(os.path.exists(self.log))

    def test_each_input_has_a_form_and_a_map_of_its_own(self):
        self.put("/prices/p.csv", "item,price\ntea,3\npen,2\n")
        self.put("/orders", "ann tea\nbob pen\nann pen\n")
        Path(self.place, "mixed.py").write_text(
            "import millrace\n"
            "def prices(file: millrace.File):\n    for row in file.data.decode().splitlines()[1:]:\n"
            "        item, price = row.split(',')\n        yield (item, 0), price\n"
            "def orders(line: str):\n    user, item = line.split()\n    yield (item, 1), user\n"
            "@millrace.job(inputs=[prices, orders], group=1)\ndef mixed(item, records):\n    price = None\n"
            "    for (_, is_order), text in records:\n        if is_order:\n            yield text, item, price\n"
            "        else:\n            price = text\n"
        )
        with unittest.mock.patch.object(sys, "path", [*sys.path, self.place]):
            import mixed
        self.addCleanup(sys.modules.pop, "mixed")
        expected = [("ann", "pen", "2"), ("ann", "tea", "3"), ("bob", "pen", "2")]
        self.assertEqual(sorted(mixed.mixed.submit(["/prices", "/orders"], "/out").wait()), expected)
        [words] = [call for call in self.calls() if call[0] == "stream"]
        self.assertEqual(words[words.index("-inputformat") + 1], "files,lines")
        ran = mixed.mixed.test({"p.csv": "item,price\ntea,3\npen,2\n"}, ["ann tea", "bob pen", "ann pen"])
        self.assertEqual(sorted(ran), expected)

    def test_a_python_that_no_node_has_is_refused_before_anything_is_sent(self):
        self.put("/in", "x\n")

        def nodes(*pythons):
            return json.dumps([{"node": number, "state": "alive", "python": python} for number, python in enumerate(pythons, 1)])

        def submitted(*pythons, job=wordcount.wordcount, **how):
            Path(self.log).write_text("")
            with unittest.mock.patch.dict(os.environ, {"FAKE_NODES": nodes(*pythons)}), warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                output = f"/out{len(os.listdir(self.place))}"
                Path(self.place, output[1:]).touch()
                try:
                    job.submit("/in", output, **how)
                except millrace.UsageError as error:
                    self.assertEqual([call[0] for call in self.calls()], ["node"], "nothing was sent")
                    return str(error)
            return "".join(str(each.message) for each in told)

        self.assertEqual(submitted("/usr/bin/python3.9", "/usr/bin/python3.13"), "", "source runs on both")
        old = submitted("/usr/bin/python3.8", "/opt/python3.7")
        self.assertIn("1 of 2 nodes (2) has Python 3.7 and 1 of 2 nodes (1) has Python 3.8, and the job wordcount needs 3.9 or later", old)
        self.assertIn("Tasks fail there", submitted("/usr/bin/python3.8", "/usr/bin/python3.10"))
        self.assertIn("1 of 2 nodes (1) has Python 3.8", submitted("/usr/bin/python3.8", None), "what is not known may fit")
        self.assertEqual(submitted("/usr/bin/python3.8", python=sys.executable), "", "of another command nothing is known")
        with unittest.mock.patch.object(interpreters, "needs", lambda by, environment: ((3, 99), f"{by} {environment}")):
            said = submitted("/usr/bin/python3.11", "/usr/bin/python3.11")
            self.assertIn("2 of 2 nodes (1, 2) have Python 3.11, and the job wordcount needs 3.99, because source False", said)
            self.assertEqual(submitted("/opt/python3.99"), "")

    def test_what_a_job_needs_is_this_python_if_it_is_pickled_or_has_packages(self):
        self.assertIsNone(interpreters.needs("source", False))
        for by, environment, why in [("cloudpickle", False, "put it into a file"), ("cloudpickle", True, "put it into a file"), ("source", True, "requirements=")]:
            version, reason = interpreters.needs(by, environment)
            self.assertEqual(version, sys.version_info[:2])
            self.assertIn(why, reason)
        for said, version in [("/usr/bin/python3.11", (3, 11)), ("python3.9", (3, 9)), (None, None), ("/usr/bin/python3", None), ("", None), (7, None), ("/python3.1111", None), ("/python3.x", None)]:
            self.assertEqual(interpreters.version_of(said), version, said)
        gone = [{"node": 1, "state": "lost", "python": "/python3.2"}, {"node": 2, "state": "alive", "python": "/python3.11"}]
        self.assertEqual(interpreters.verdict("x", None, gone), (False, ""), "a node that is lost counts for nothing")
        self.assertEqual(interpreters.verdict("x", ((3, 9), "y"), []), (False, ""))

    def test_the_program_is_found_or_its_lack_is_said(self):
        self.assertEqual(program.find(), self.program)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "millrace").symlink_to(self.program)
            with unittest.mock.patch.dict(os.environ, {"MILLRACE_BIN": folder}):
                self.assertEqual(program.find(), os.path.join(folder, "millrace"))
            with unittest.mock.patch.dict(os.environ, {"PATH": folder}):
                del os.environ["MILLRACE_BIN"]
                self.assertEqual(program.find(), os.path.join(folder, "millrace"))
                os.environ["PATH"] = "/nonexistent"
                with self.assertRaisesRegex(millrace.UsageError, "MILLRACE_BIN"):
                    program.find()
            with unittest.mock.patch.dict(os.environ, {"MILLRACE_BIN": "/nonexistent"}), self.assertRaisesRegex(millrace.UsageError, "MILLRACE_BIN"):
                program.find()

    def test_a_notebook_gets_a_picture_without_scripts(self):
        self.put("/in", "x\n")
        res = wordcount.wordcount.submit("/in", "/out")
        res._state = {"state": "running", "name": "<job>", "reason": "a & b", "maps": {"total": 4, "done": 1, "running": 2, "fraction": 0.5}, "reduces": {"total": 0}}
        with unittest.mock.patch.object(res, "status", lambda: res._state):
            shown = res._repr_html_()
        for part in ("&lt;job&gt;: running", "a &amp; b", 'width="120"', "maps: 1 of 4, 2 running"):
            self.assertIn(part, shown)
        self.assertNotIn("<script", shown)
        self.assertNotIn("reduces", shown)

    def test_waiting_has_an_end(self):
        res = result.Result(9, result.DfsOutput("/out"))
        with unittest.mock.patch.object(result.Result, "status", lambda self: {"state": "running"}), self.assertRaises(TimeoutError):
            res.wait(timeout=0)


class Environments(WithFake):
    def setUp(self):
        super().setUp()
        patch = unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": os.path.join(self.place, "cache")})
        patch.start()
        self.addCleanup(patch.stop)

    def requirements(self, version):
        """A requirements.txt that names a package of a wheel beside it."""
        about = f"little-{version}.dist-info"
        with zipfile.ZipFile(os.path.join(self.place, f"little-{version}-py3-none-any.whl"), "w") as wheel:
            wheel.writestr("little.py", f"VERSION = {version!r}\n")
            wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: little\nVersion: {version}\n")
            wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{about}/RECORD", "")
        path = Path(self.place, "requirements.txt")
        path.write_text(f"--no-index\n--find-links {self.place}\nlittle=={version}\n")
        return str(path)

    def test_what_a_file_names_is_there_in_tasks_and_made_once(self):
        if not _has("pip"):
            self.skipTest("pip is not here")
        self.put("/in", "x\n")
        Path(self.place, "wanting.py").write_text("import millrace\n@millrace.job\ndef job(line: str):\n    import little\n    yield line, little.VERSION\n")
        with unittest.mock.patch.object(sys, "path", [*sys.path, self.place]):
            import wanting
        self.addCleanup(sys.modules.pop, "wanting")
        for number, version in enumerate(["1.0", "1.0", "2.0"]):
            result = wanting.job.submit("/in", f"/out{number}", requirements=self.requirements(version), python=sys.executable)
            self.assertEqual(list(result.wait()), [("x", version)])
            made = os.listdir(os.path.join(self.place, "cache", "millrace", "environments"))
            self.assertEqual(len(made), 2 if version == "2.0" else 1)
        with self.assertRaisesRegex(millrace.UsageError, "pip could not install.*little==3"):
            path = self.requirements("2.0")
            Path(path).write_text("--no-index\nlittle==3\n")
            wanting.job.submit("/in", "/out9", requirements=path)
        with self.assertRaisesRegex(millrace.UsageError, "nowhere"):
            wanting.job.submit("/in", "/out9", requirements="nowhere.txt")


class Local(WithFake):
    def test_local_files_in_and_out(self):
        Path(self.place, "in.txt").write_text("b a\na\n")
        output = os.path.join(self.place, "out")
        res = wordcount.wordcount_batch.local(os.path.join(self.place, "in.txt"), output, workers=3, quiet=True)
        self.assertEqual((list(res), res.output, res.state), ([("a", "2"), ("b", "1")], output, "succeeded"))
        self.assertEqual(self.calls()[0][:4], ["local", "--workers", "3", "stream"])
        self.assertIn(f"{sys.executable} job.zip", self.calls()[0], "tasks run with this Python")

    def test_a_failure_is_found_in_the_log_beside_the_output(self):
        from csv_sums import csv_sums

        Path(self.place, "in.txt").write_text("Oslo,Main,12\nRome,Via,many\n")
        with self.assertRaises(millrace.JobFailed) as caught:
            csv_sums.local(os.path.join(self.place, "in.txt"), os.path.join(self.place, "out"), quiet=True)
        self.assertEqual(caught.exception.__cause__.kind, "InvalidOperation")
        with self.assertRaises(millrace.CommandFailed):
            csv_sums.local("in", "out", workers=1, quiet=True, settings={}) if unittest.mock.patch.dict(os.environ, {"FAKE_UNREACHABLE": "1"}).start() else None

    def test_named_outputs_side_files_and_modules(self):
        from ngrams import ngrams

        Path(self.place, "stop.txt").write_text("the")
        Path(self.place, "in.txt").write_text("the quick brown the fox\n")
        res = ngrams.local(os.path.join(self.place, "in.txt"), os.path.join(self.place, "out"), files=[os.path.join(self.place, "stop.txt")], quiet=True)
        self.assertEqual(list(res), [("brown fox", "1"), ("quick brown", "1")])
        from json_events import json_events

        Path(self.place, "in.json").write_text('{"kind": "a", "seconds": 2}\nno\n')
        res = json_events.local(os.path.join(self.place, "in.json"), os.path.join(self.place, "out2"), quiet=True)
        self.assertEqual((list(res), list(res.read("broken"))), ([{"kind": "a", "count": 1, "mean": 2.0}], [("no",)]))

    def test_data_frames(self):
        Path(self.place, "in.txt").write_text("b a\na\n")
        res = wordcount.wordcount.local(os.path.join(self.place, "in.txt"), os.path.join(self.place, "out"), quiet=True)
        if pandas is not None:
            frame = res.df(columns=["word", "count"])
            self.assertEqual(frame.astype({"count": int}).to_dict("list"), {"word": ["a", "b"], "count": [2, 1]})
        if polars is not None:
            self.assertEqual(res.to_polars(columns=["word", "count"]).to_dict(as_series=False), {"word": ["a", "b"], "count": ["2", "1"]})


def _has(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    unittest.main()
