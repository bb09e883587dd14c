# SPDX-License-Identifier: Apache-2.0
"""What travels with a job, and what is refused because it would be missing on workers."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock
import zipfile
from io import BytesIO
from pathlib import Path

import stand_in
from millrace import bundle

import millrace

try:
    import cloudpickle
except ImportError:
    cloudpickle = None

JOB = """
import millrace

@millrace.job
def shout(line: str):
    yield line.upper()
"""


def names(made):
    return zipfile.ZipFile(BytesIO(made.data)).namelist()


def about(made):
    return json.loads(zipfile.ZipFile(BytesIO(made.data)).read("job.json"))


class Bundles(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        sys.path.insert(0, self.place)
        self.addCleanup(sys.path.remove, self.place)
        self.before = set(sys.modules)
        self.addCleanup(lambda: [sys.modules.pop(name) for name in set(sys.modules) - self.before if not name.startswith("millrace")])

    def write(self, name, text):
        path = Path(self.place, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return str(path)

    def test_a_module_travels_as_source_and_the_same_each_time(self):
        self.write("shouting.py", JOB)
        import shouting

        made = bundle.build(shouting.shout)
        self.assertEqual((made.by, about(made)["module"], about(made)["attribute"]), ("source", "shouting", "shout"))
        self.assertIn("shouting.py", names(made))
        self.assertIn("millrace/child.py", names(made))
        self.assertEqual(made.data, bundle.build(shouting.shout).data)

    def test_a_package_travels_as_a_whole(self):
        self.write("pack/__init__.py", "")
        self.write("pack/help.py", "def loud(text): return text.upper()\n")
        self.write("pack/deep/__init__.py", "")
        self.write("pack/deep/jobs.py", JOB.replace("import millrace", "import millrace\nfrom ..help import loud").replace("line.upper()", "loud(line)"))
        import pack.deep.jobs

        made = bundle.build(pack.deep.jobs.shout)
        self.assertEqual(about(made)["module"], "pack.deep.jobs")
        self.assertLessEqual({"pack/__init__.py", "pack/help.py", "pack/deep/jobs.py"}, set(names(made)))
        import ways

        self.assertEqual(ways.in_child(pack.deep.jobs.shout, [["a"]]).items, [("A",)])

    def test_a_module_beside_must_be_named(self):
        self.write("helping.py", "def loud(text): return text.upper()\n")
        self.write("asking.py", JOB.replace("yield line.upper()", "import helping\n    yield helping.loud(line)"))
        import asking

        with self.assertRaisesRegex(millrace.UsageError, r"files=\['helping.py'\]"):
            bundle.build(asking.shout)
        asking.shout.files = ["helping.py"]
        self.assertIn("helping.py", names(bundle.build(asking.shout)))
        import ways

        self.assertEqual(ways.in_child(asking.shout, [["a"]]).items, [("A",)])
        asking.shout.files = ["helping.py", "nowhere.py"]
        with self.assertRaisesRegex(millrace.UsageError, "nowhere.py cannot be read"):
            bundle.build(asking.shout)

    def test_a_job_of_a_function_travels_by_cloudpickle_or_is_refused(self):
        factor = 3

        @millrace.job
        def times(line: str):
            yield int(line) * factor

        if cloudpickle is None:
            with self.assertRaisesRegex(millrace.UsageError, "install cloudpickle"):
                bundle.build(times)
            return
        made = bundle.build(times)
        self.assertEqual((made.by, about(made)["python"]), ("cloudpickle", list(sys.version_info[:2])))
        self.assertIn("cloudpickle/__init__.py", names(made))
        import ways

        self.assertEqual(ways.in_child(times, [["1", "2"]]).items, [("3",), ("6",)])
        with unittest.mock.patch.dict(sys.modules, {"cloudpickle": None}), self.assertRaisesRegex(millrace.UsageError, "install cloudpickle"):
            bundle.build(times)

    def script(self, text, *args, how=()):
        """Runs a script over the stand-in of the program."""
        path = self.write("script.py", text)
        env = {**os.environ, "PYTHONPATH": os.path.join(stand_in.PACKAGE, "src"), "MILLRACE_BIN": stand_in.make_program(self.place), "FAKE_DFS": self.place}
        return subprocess.run([sys.executable, *(how or (path,)), *args], cwd=self.place, env=env, capture_output=True, text=True, check=False)

    def test_a_script_travels_without_being_run_again(self):
        self.write("in/a", "x\ny\n")
        text = JOB + '\nif __name__ == "__main__":\n    print(list(shout.local("in", "out", quiet=True)))\n'
        for how in ((), ("-m", "script")):
            done = self.script(text, how=how)
            self.assertEqual((done.stdout, done.stderr), ("[('X',), ('Y',)]\n", ""))
            subprocess.run(["rm", "-r", os.path.join(self.place, "out")], check=True)

    def test_values_may_be_of_classes_of_the_script(self):
        self.write("in/a", "x\nyy\n")
        done = self.script(
            """
            import dataclasses, millrace

            @dataclasses.dataclass
            class Size:
                n: int

            @millrace.job
            def sizes(line: str):
                yield "all", Size(len(line))

            @sizes.reduce
            def total(key, all_sizes):
                yield key, sum(size.n for size in all_sizes)

            if __name__ == "__main__":
                print(list(sizes.local("in", "out", quiet=True)))
            """
        )
        self.assertEqual((done.stdout, done.stderr), ("[('all', '3')]\n", ""))

    @unittest.skipIf(cloudpickle is None, "cloudpickle is not here")
    def test_a_prompt_travels_by_cloudpickle(self):
        self.write("in/a", "x\n")
        done = self.script("", how=("-c", JOB + 'print(list(shout.local("in", "out", quiet=True)))'))
        self.assertEqual((done.stdout, done.stderr), ("[('X',)]\n", ""))


if __name__ == "__main__":
    import unittest.mock

    unittest.main()
