# SPDX-License-Identifier: Apache-2.0
"""The wheel with the programs inside: of this build's programs, or that of MILLRACE_WHEEL. tests/package/wheel tries it in other systems."""

import collections
import importlib.machinery
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "cluster"))
import pages  # noqa: E402

SCRIPT = os.path.join(ROOT, "deploy", "build-wheel")
TEXT = "to be or\tnot to be\n" * 500 + "that is the question\n" * 7
COUNTS = collections.Counter(TEXT.split())


def script():
    """deploy/build-wheel as a module."""
    loader = importlib.machinery.SourceFileLoader("build_wheel", SCRIPT)
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for needed in (("strip", "binutils"), ("readelf", "binutils")):
            if shutil.which(needed[0]) is None:
                raise unittest.SkipTest(f"the program {needed[0]} of {needed[1]} is missing")
        if sys.version_info < (3, 11):
            raise unittest.SkipTest("deploy/build-wheel reads pyproject.toml by Python 3.11")
        cls.tmp = tempfile.TemporaryDirectory(prefix="millrace-wheel-")
        cls.addClassCleanup(cls.tmp.cleanup)
        cls.given = os.environ.get("MILLRACE_WHEEL")
        if cls.given:
            cls.wheel, cls.said = cls.given, ""
        else:
            cls.wheel, cls.said = cls.built("first")
        venv = os.path.join(cls.tmp.name, "venv")
        made = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise unittest.SkipTest(f"no venv can be had (Debian's python3-venv): {made.stdout}{made.stderr}")
        cls.bin = os.path.join(venv, "bin")
        subprocess.run([os.path.join(cls.bin, "pip"), "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", cls.wheel], check=True)
        [cls.programs] = [os.path.join(at, "_bin") for at, inner, _ in os.walk(venv) if os.path.basename(at) == "millrace" and "_bin" in inner]
        cls.text = os.path.join(cls.tmp.name, "book.txt")
        with open(cls.text, "w", encoding="utf-8") as f:
            f.write(TEXT)

    @classmethod
    def built(cls, name):
        """Builds the wheel of this build; returns its path and what was said besides."""
        given = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "TMPDIR": cls.tmp.name}
        done = subprocess.run([sys.executable, SCRIPT, "--build", os.environ["MILLRACE_BUILD"], os.path.join(cls.tmp.name, name)], env=given, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout.splitlines()[-1], done.stderr

    def environment(self):
        """Nothing of the build, nor of a Millrace that is installed, is to be found."""
        return {"PATH": "/usr/bin:/bin", "HOME": self.tmp.name, "TMPDIR": self.tmp.name, "LANG": "C.UTF-8"}

    def run_command(self, *command):
        done = subprocess.run(command, cwd=self.tmp.name, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_a_job_by_the_command(self):
        self.run_command(os.path.join(self.bin, "millrace"), "local", "--workers", "1", "run", "wordcount", self.text, "-o", "counts")
        with open(os.path.join(self.tmp.name, "counts", "part-r-00000"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "".join(f"{word}\t{number}\n" for word, number in sorted(COUNTS.items())))

    def test_the_job_in_python_of_the_readme(self):
        job = os.path.join(self.tmp.name, "job.py")
        with open(job, "w", encoding="utf-8") as f:
            f.write(pages.blocks(os.path.join(ROOT, "README.md"), "python")[0])
        said = self.run_command(os.path.join(self.bin, "python"), job)
        self.assertEqual(said, "".join(f"{word} {number}\n" for word, number in sorted(COUNTS.items())))

    def test_the_command_becomes_the_program(self):
        program = os.path.join(self.programs, "millrace")
        statuses = []
        for command in (program, os.path.join(self.bin, "millrace")):
            with subprocess.Popen([command, "local", "--workers", "1", "--", "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env=self.environment(), cwd=self.tmp.name, text=True) as started:
                self.assertEqual(started.stdout.readline(), "ready\n")
                self.assertEqual(os.readlink(f"/proc/{started.pid}/exe"), os.path.realpath(program))
                with open(f"/proc/{started.pid}/status", encoding="utf-8") as f:
                    ignored = int(re.search(r"SigIgn:\s*(\w+)", f.read())[1], 16)
                ignored &= ~(1 << (signal.SIGTTOU - 1))  # the program ignores it from the moment at which it waits for the command
                started.send_signal(signal.SIGTERM)
                started.wait(timeout=60)  # its input stays open until then, since `cat` would end with it
            statuses.append((started.returncode, ignored))
        self.assertEqual(statuses[0], statuses[1])
        self.assertNotEqual(statuses[0][0], 0)
        for command in (program, os.path.join(self.bin, "millrace")):
            self.assertEqual(subprocess.run([command, "nonsense"], stderr=subprocess.DEVNULL, check=False).returncode, 2)

    def test_the_same_bytes_twice(self):
        if self.given:
            self.skipTest("the wheel was given")
        again, _ = self.built("second")
        with open(self.wheel, "rb") as one, open(again, "rb") as two:
            self.assertTrue(one.read() == two.read())

    def test_the_name_is_true(self):
        module = script()
        programs = [module.Path(self.programs, name) for name in module.PROGRAMS]
        tag, reasons = module.judge(programs, os.uname().machine)
        self.assertTrue(self.wheel.endswith(f"-py3-none-{tag}.whl"), (self.wheel, tag))
        with zipfile.ZipFile(self.wheel) as archive:
            [info] = [name for name in archive.namelist() if name.endswith(".dist-info/WHEEL")]
            self.assertIn(f"Tag: py3-none-{tag}\n", archive.read(info).decode())
        if "manylinux" in tag:
            self.assertEqual(reasons, [])
        else:
            for reason in reasons:
                self.assertTrue(self.given or reason in self.said, self.said)

    def test_what_a_program_needs_is_noticed(self):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no cc")
        module, machine = script(), os.uname().machine

        def judged(name, source, *options):
            path = module.Path(self.tmp.name, name)
            subprocess.run([compiler, "-x", "c", "-", "-o", path, *options], input=source, text=True, check=True)
            return module.judge([path], machine)

        tag, reasons = judged("plain", "#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }")
        self.assertEqual((tag, reasons), (f"manylinux_2_34_{machine}", []))
        tag, reasons = judged("young", "extern int _dl_find_object(void *, void *);\nint main(void) { char room[256]; return _dl_find_object(main, room); }")
        self.assertEqual((tag, reasons), (f"manylinux_2_35_{machine}", ["young needs _dl_find_object (GLIBC_2.35)"]))
        tag, reasons = judged("linked", "extern const char *zlibVersion(void);\nint main(void) { return zlibVersion() == 0; }", "-lz")
        self.assertEqual((tag, reasons), (f"linux_{machine}", ["linked needs libz.so.1"]))


if __name__ == "__main__":
    unittest.main()
