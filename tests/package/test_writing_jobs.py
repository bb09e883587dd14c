# SPDX-License-Identifier: Apache-2.0
"""docs/use/writing-jobs.md: its jobs are built against an installed Millrace, outside of the tree, and its commands run as they are printed.

What MILLRACE_BUILD has built is installed for that; with MILLRACE_PREFIX (/usr, once the packages are installed) what is there is taken.
"""

import collections
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import writing_jobs


class WritingJobsTest(unittest.TestCase):
    """The page is one test, since each of its commands stands on those before it."""

    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="millrace-writing-jobs-")
        self.addCleanup(self.tmp.cleanup)
        self.prefix = os.environ.get("MILLRACE_PREFIX") or self.path("installed")
        if "MILLRACE_PREFIX" not in os.environ:
            subprocess.run(["cmake", "--install", os.environ["MILLRACE_BUILD"], "--prefix", self.prefix], check=True, stdout=subprocess.DEVNULL)
        self.project = self.path("project")
        os.mkdir(self.project)
        self.environment = {**os.environ, "CMAKE_PREFIX_PATH": self.prefix, "LC_ALL": "C", "TMPDIR": self.tmp.name,
                            "PATH": os.path.join(self.prefix, "bin") + os.pathsep + os.environ["PATH"],
                            "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count())}
        self.environment.pop("MILLRACE_MASTER", None)

    def path(self, name):
        return os.path.join(self.tmp.name, name)

    def run_command(self, command):
        done = subprocess.run(["sh", "-ec", command], cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        said = (done.stdout + done.stderr).decode(errors="replace")
        self.assertEqual(done.returncode, 0, command + "\n" + said)
        return said

    def result(self, name, prefix="part-"):
        directory, lines = os.path.join(self.project, name), []
        for part in sorted(os.listdir(directory)):
            if part.startswith(prefix):
                with open(os.path.join(directory, part), encoding="utf-8") as f:
                    lines += f.read().splitlines()
        return lines

    def test_the_page(self):
        inputs = writing_jobs.Inputs()
        inputs.write(self.project)
        said = {}
        commands = writing_jobs.write_project(self.project)
        for tool in ("gdb", "valgrind"):
            self.assertIsNotNone(shutil.which(tool), tool + " is in deploy/packages.txt")
        for command in commands:
            said[command] = self.run_command(command)

        counts = collections.Counter(url for _, url in inputs.visits)
        self.assertEqual(sorted(self.result("top")), sorted(f"{url}\t{n}" for url, n in counts.items() if n >= 30))
        top = next(text for command, text in said.items() if "top_urls" in command)
        self.assertIn(f"top_urls rare {sum(n < 30 for n in counts.values())}\n", top)
        self.assertEqual(sorted(self.result("joined")), sorted(f"{inputs.users[n]}\t{item}" for n, item in inputs.orders if n in inputs.users))
        means = {}
        for city in {city for city, _ in inputs.weather}:
            degrees = [d for c, d in inputs.weather if c == city]
            means[city] = sum(degrees) / len(degrees)
        for name in ("means", "means-in-process", "means-in-gdb", "means-in-valgrind", "means-in-asan"):
            found = dict(line.split("\t") for line in self.result(name))
            self.assertEqual(found.keys(), means.keys(), name)
            for city, mean in means.items():
                self.assertAlmostEqual(float(found[city]), mean, places=9, msg=name)
        self.assertEqual(self.result("upper"), [line.upper() for line in inputs.text])
        sessions, last = collections.Counter(), {}
        for time, user in sorted(inputs.log):
            if user not in last or time - last[user] >= 1800:
                sessions[user] += 1
            last[user] = time
        self.assertEqual(sorted(self.result("sessions")), sorted(f"{user}\t{n}" for user, n in sessions.items()))
        self.assertEqual(sorted(self.result("amounts-by-size")), sorted(f"{customer}\t{amount}" for customer, amount in inputs.amounts if amount < 900))
        self.assertEqual(sorted(self.result("amounts-by-size", "large-r-")), sorted(f"{customer}\t{amount}" for customer, amount in inputs.amounts if amount >= 900))
        sums = collections.Counter()
        for customer, amount in inputs.amounts:
            sums[customer] += amount
        self.assertEqual(sorted(self.result("letters")), sorted(f"Dear {name}\t{sums[customer]}" for customer, name in inputs.names.items() if customer in sums))
        words = collections.Counter(word for line in inputs.text for word in line.split() if word not in ("the", "and"))
        self.assertEqual(sorted(self.result("words")), sorted(f"{word}\t{n}" for word, n in words.items()))
        degrees = [float(line.split("\t")[0]) for line in self.result("ranks")]
        self.assertEqual(degrees, sorted(d for _, d in inputs.weather), "one part after the other")
        self.assertEqual(sorted(self.result("named")), sorted(f"{inputs.users[n]}\t{item}" for n, item in inputs.orders if n in inputs.users))
        counts = collections.Counter(word for line in inputs.text for word in line.split())
        mean = sum(counts.values()) // len(counts)
        ranked = [f"{n}\t{word}" for n, word in sorted((n, word) for word, n in counts.items() if n >= mean)]
        for name in ("frequent", "frequent-in-process"):
            self.assertEqual(self.result(name), ranked, name)

        self.wrong_tests_fail()
        self.rerun_with_a_sanitizer()

    def wrong_tests_fail(self):
        """In a release build, too: by what a test expects, by an assert, and if it expects nothing."""
        with open(os.path.join(self.project, "average_test.cc"), encoding="utf-8") as f:
            text = f.read()
        for right, wrong in ((r"Rome\t20", r"Rome\t777"), ("int main() {", "#include <cassert>\nint main() {\n  assert(2 == 3);"),
                             ("MILLRACE_EXPECT", "(void)")):
            self.assertIn(right, text)
            with open(os.path.join(self.project, "average_test.cc"), "w", encoding="utf-8") as f:
                f.write(text.replace(right, wrong))
            self.run_command("cmake --build build --target average_test")
            self.run_command("! ./build/average_test")

    def test_a_job_is_optimized_if_nothing_is_said(self):
        writing_jobs.write(self.project, "my_job.cc", ["int main() {}"])
        writing_jobs.write(self.project, "CMakeLists.txt", [
            "cmake_minimum_required(VERSION 3.25)", "project(my_job CXX)", "find_package(millrace REQUIRED)", "millrace_add_job(my_job my_job.cc)"])
        for given, expected in (("", "-O3"), ("-DCMAKE_BUILD_TYPE=Debug", "-g"), ("-DCMAKE_CXX_FLAGS=-O1", "-O1")):
            said = self.run_command(f"rm -rf b; cmake -B b -DCMAKE_EXPORT_COMPILE_COMMANDS=ON {given}; cat b/compile_commands.json")
            self.assertIn(f" {expected} ", said)
            self.assertEqual(" -O3 " in said, not given, given)
            self.assertEqual("no CMAKE_BUILD_TYPE is given" in said, not given, given)

    def rerun_with_a_sanitizer(self):
        """A map that failed runs again as another build of its job, which says why it failed."""
        writing_jobs.write(self.project, "freed.cc", [
            '#include "client/api/job.h"',
            "#include <memory>",
            "#include <stdexcept>",
            "struct Freed {",
            "  void Map(std::string_view line, auto& emit) {",
            "    auto number = std::make_unique<int>(static_cast<int>(line.size()));",
            "    volatile int* kept = number.get();",
            '    if (line == "bad") number.reset();',
            '    if (*kept == 3 && !number) throw std::runtime_error("it is not there");',
            '    if (!number) throw std::runtime_error("it is no more");',
            "    emit(line);",
            "  }",
            "};",
            "int main(int argc, char** argv) { return millrace::Run<Freed>(argc, argv); }"])
        writing_jobs.write(self.project, "lines", ["good", "bad"])
        with open(os.path.join(self.project, "CMakeLists.txt"), "a", encoding="utf-8") as f:
            f.write("millrace_add_job(freed freed.cc)\n")
        for build in ("build", "build-asan"):
            self.run_command(f"cmake -B {build} && cmake --build {build} --target freed")
        said = self.run_command("millrace local --workers 1 -- sh -c '"
                                "millrace fs put lines /lines; millrace run ./build/freed /lines -o /out -D job.max_attempts=1; "
                                "millrace job rerun job1.m.0.0 --local; echo status $?; "
                                "millrace job rerun job1.m.0.0 --local --program ./build-asan/freed; echo status $?'")
        self.assertRegex(said, r"freed: job1.m.0.0: the job's Map threw an exception: it is .*; at /lines, byte 5")
        self.assertIn("AddressSanitizer: heap-use-after-free", said)
        self.assertRegex(said, r"freed\.cc:[0-9]+")
        # A sanitizer reserves terabytes, so the default limit of memory is not for it.
        self.run_command("millrace local --workers 1 run ./build-asan/average weather -o means-in-asan-on-a-cluster")


if __name__ == "__main__":
    if sys.version_info < (3, 9):
        sys.exit("Python 3.9 or newer is needed")
    unittest.main()
