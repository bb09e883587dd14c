# SPDX-License-Identifier: Apache-2.0
"""cmake --install: what lies where, and a project that is built and run against it, or that has this tree below it."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "cluster"))
import pages  # noqa: E402
BUILD = os.environ["MILLRACE_BUILD"]


README = os.path.join(ROOT, "README.md")


def readme_job():
    """The job of README.md."""
    return pages.blocks(README, "cpp")[0]


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.TemporaryDirectory(prefix="millrace-install-")
        cls.prefix = os.path.join(cls.tmp.name, "a prefix")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.tmp.cleanup()

    def run_in(self, directory, *command, **environment):
        given = {**os.environ, "LC_ALL": "C", "TMPDIR": self.tmp.name, **environment}
        given.pop("MILLRACE_MASTER", None)
        done = subprocess.run(command, cwd=directory, env=given, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")
        return done.stdout

    def project(self, name, cmake):
        directory = os.path.join(self.tmp.name, name)
        os.mkdir(directory)
        for file, text in (("CMakeLists.txt", cmake), ("my_job.cc", readme_job())):
            with open(os.path.join(directory, file), "w", encoding="utf-8") as f:
                f.write(text)
        return directory

    def test_a_policy_is_built_against_it(self):
        """By the lines of docs/schedulers/external.md."""
        page = os.path.join(ROOT, "docs", "schedulers", "external.md")
        directory = os.path.join(self.tmp.name, "policy")
        os.mkdir(directory)
        with open(os.path.join(directory, "CMakeLists.txt"), "w", encoding="utf-8") as f:
            f.write("cmake_minimum_required(VERSION 3.20)\nproject(mine CXX)\nfind_package(millrace REQUIRED)\nmillrace_add_policy(shortest shortest.cc)\n")
        with open(os.path.join(directory, "shortest.cc"), "w", encoding="utf-8") as f:
            f.write(pages.blocks(page, "cpp")[0])
        self.run_in(directory, "cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_in(directory, "cmake", "--build", "build")
        millrace = os.path.join(self.prefix, "bin", "millrace")
        workload = os.path.join(self.prefix, "share", "millrace", "workloads", "first-steps.toml")
        said = self.run_in(directory, millrace, "sim", workload, "--scheduler", "external:build/shortest,fifo")
        self.assertIn("13 of 13", said.split("shortest", 1)[1])

    def test_programs_are_found_and_jobs_shadow_nothing(self):
        self.assertEqual(sorted(os.listdir(os.path.join(self.prefix, "bin"))), ["millrace", "millrace-experiments", "millrace-generate"])
        text = os.path.join(self.tmp.name, "text")
        with open(text, "w", encoding="utf-8") as f:
            f.write("a b\na\n")
        # bin/millrace is a link whose program finds the minder, the jobs, and itself for the jobs.
        out = os.path.join(self.tmp.name, "grepped")
        self.run_in(self.tmp.name, os.path.join(self.prefix, "bin", "millrace"), "local", "--workers", "1", "run", "grep", text, "-o", out, "-D", "grep.pattern=a")
        with open(os.path.join(out, "part-r-00000"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "a\t2\n")

    def test_jobs_shadow_nothing_in_the_build_tree(self):
        self.assertEqual(sorted(os.listdir(os.path.join(BUILD, "bin"))), ["dfsio", "millrace", "millrace-experiments", "millrace-generate"])
        where = os.path.join(BUILD, "bin")
        found = subprocess.run(["sh", "-c", "for name in grep sleep millrace; do command -v \"$name\"; done"], env={"PATH": where + os.pathsep + os.environ["PATH"]}, capture_output=True, text=True)
        self.assertEqual([os.path.dirname(path) == where for path in found.stdout.split()], [False, False, True])
        jobs = subprocess.run([os.path.join(where, "millrace"), "run", "--list"], capture_output=True, text=True)
        self.assertIn("\ngrep ", jobs.stdout, "which the program finds all the same")

    def test_every_header_of_the_face_compiles_by_itself(self):
        include = os.path.join(self.prefix, "include", "millrace")
        headers = sorted(os.listdir(os.path.join(include, "client", "api")))
        self.assertIn("job.h", headers)
        source = os.path.join(self.tmp.name, "headers.cc")
        with open(source, "w", encoding="utf-8") as f:
            f.writelines(f'#include "client/api/{header}"\n' for header in headers)
        listed = self.run_in(self.tmp.name, os.environ.get("CXX", "c++"), "-std=c++20", "-march=x86-64-v3" if os.uname().machine == "x86_64" else "-O0", "-Wall", "-Wextra",
                             "-Werror", "-I", include, "-M", source)
        for foreign in ("capnp/", "kj/", "rocksdb/", "boost/", "spdlog/", ROOT + "/"):
            self.assertNotIn(foreign, listed, "a job's include path holds what it has no need of")

    def test_the_job_of_the_readme(self):
        directory = self.project("three lines", pages.blocks(README, "cmake")[0])
        with open(os.path.join(directory, "book.txt"), "w", encoding="utf-8") as f:
            f.write("to be or\tnot to be\n" * 1000 + "that is\n")
        # What the README has besides is for other machines, or takes the whole build.
        others = ("python3 -m venv", "deploy/quickstart", "tests/run", "build/release/", "one$", "two$", "three$", "you$")
        commands = [line for line in pages.commands(README) if not line.startswith(others)]
        self.assertEqual(len(commands), 5)
        path = os.path.join(self.prefix, "bin") + os.pathsep + os.environ["PATH"]
        shown = []
        for command in commands:
            given = {"CMAKE_PREFIX_PATH": self.prefix, "PATH": path}
            in_cluster = ["millrace", "local", "--workers", "1", "--"] if "millrace fs" in command else []
            said = self.run_in(directory, *in_cluster, "bash", "-ec", command, **given)
            shown += [line for line in said.splitlines() if re.fullmatch(r"\w+\t\d+", line)]
        wanted = self.run_in(directory, "sh", "-c", r"tr '\t' ' ' <book.txt | tr -s ' ' '\n' | sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)/\2\t\1/'")
        for counts in ("counts", "tally"):
            with open(os.path.join(directory, counts, "part-r-00000"), encoding="utf-8") as f:
                self.assertEqual(f.read(), wanted)
        self.assertTrue(shown and set(shown) <= set(wanted.splitlines()), shown)
        with open(os.path.join(directory, "words", "part-r-00000"), encoding="utf-8") as f:
            self.assertEqual([line.split()[::-1] for line in f], [line.split() for line in wanted.splitlines()])

    def test_this_tree_below_another(self):
        lines = ["cmake_minimum_required(VERSION 3.25)", "project(count CXX)", f'add_subdirectory("{ROOT}" millrace EXCLUDE_FROM_ALL)', "millrace_add_job(my_job my_job.cc)",
                 "if(TARGET client_api_test)", "  message(FATAL_ERROR tests)", "endif()"]
        directory = self.project("below", "\n".join(lines) + "\n")
        self.run_in(directory, "cmake", "-B", "build", "-G", "Ninja")
        # That the job's own source compiles shows that its options are right; to link it would build all of this tree.
        self.run_in(directory, "cmake", "--build", "build", "--target", "CMakeFiles/my_job.dir/my_job.cc.o")


if __name__ == "__main__":
    unittest.main()
