# SPDX-License-Identifier: Apache-2.0
"""What Hadoop's authors know as secondary sort, MultipleOutputs and MultipleInputs: Group, named outputs, a mapper for each input."""

import json
import os
import random
import shutil
import subprocess
import tempfile
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster
from test_faults import FAST

JOBS = os.environ["MILLRACE_TEST_JOBS"]


def job(name):
    return os.path.join(JOBS, name)


def write(path, lines):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in lines)


def put(cluster, lines, directory):
    """Stores the lines as three files, each of them read by one map if none are packed."""
    os.mkdir(cluster.path("put"))
    for n in range(3):
        write(cluster.path("put", f"f{n}"), lines[n::3])
    cluster.run("fs", "put", "--replication", "2", cluster.path("put"), directory)
    shutil.rmtree(cluster.path("put"))


def local(place, *args, status=0):
    done = subprocess.run([MILLRACE, "local", "run", *args], env={**os.environ, "XDG_STATE_HOME": place}, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=LIMIT_SECONDS)
    assert done.returncode == status, (args, done.returncode, done.stdout, done.stderr)
    return (done.stdout + done.stderr).decode()


def local_files(directory):
    files = {}
    for name in os.listdir(directory):
        with open(os.path.join(directory, name), "rb") as f:
            files[name] = f.read()
    return files


def files(cluster, directory):
    """All files of a job's output, each by name."""
    names = [one["path"].rsplit("/", 1)[1] for one in json.loads(cluster.run("fs", "ls", "--json", directory)[0])]
    return {name: cluster.run("fs", "cat", f"{directory}/{name}")[0] for name in names}


class GroupTest(unittest.TestCase):
    def setUp(self):
        rng = random.Random(15)
        times = rng.sample(range(100_000), 3000)
        self.visits = [(time, f"u{int(rng.paretovariate(0.7)) % 200}", f"/p{rng.randrange(30)}") for time in times]
        ways = {}
        for time, user, page in sorted(self.visits):
            ways.setdefault(user, []).append((time, page))
        self.expected = sorted(f"{user}\t{way[0][0]}" + "".join(f" {page}+{time - way[0][0]}" for time, page in way) for user, way in ways.items())

    def lines(self):
        return [f"{time} {user} {page}" for time, user, page in self.visits]

    def result(self, parts):
        """The lines of all parts; within a part they are in order of users."""
        found = []
        for part in parts:
            lines = part.decode().splitlines()
            self.assertEqual([line.split("\t")[0] for line in lines], sorted(line.split("\t")[0] for line in lines))
            found += lines
        return sorted(found)

    def test_a_secondary_sort(self):
        with Cluster(workers=2) as cluster:
            put(cluster, self.lines(), "/visits")
            cluster.run("run", job("ways"), "/visits", "-o", "/out", "-r", "3", "-D", "job.pack=0")
            parts = cluster.output("/out")
            self.assertEqual(sorted(parts), ["part-r-00000", "part-r-00001", "part-r-00002"])
            self.assertTrue(all(parts.values()))
            self.assertEqual(self.result(parts.values()), self.expected)

    def test_in_one_process(self):
        with tempfile.TemporaryDirectory(prefix="millrace-test-") as place:
            write(os.path.join(place, "visits"), self.lines())
            local(place, job("ways"), os.path.join(place, "visits"), "-o", os.path.join(place, "out"), "-r", "2", "--in-process")
            found = local_files(os.path.join(place, "out"))
            self.assertEqual(self.result(found[f"part-r-0000{n}"] for n in range(2)), self.expected)


class NamedOutputsTest(unittest.TestCase):
    def setUp(self):
        rng = random.Random(16)
        self.amounts = [(f"u{int(rng.paretovariate(0.6)) % 3000}", rng.randrange(1, 60)) for _ in range(8000)]
        sums = {}
        for user, amount in self.amounts:
            sums[user] = sums.get(user, 0) + amount
        self.large = {user: n for user, n in sums.items() if n >= 1000}
        self.small = sorted(f"{user}\t{n}" for user, n in sums.items() if n < 100)
        self.others = sorted(f"{user}\t{n}" for user, n in sums.items() if 100 <= n < 1000)
        assert self.large and self.small and self.others

    def put(self, cluster):
        put(cluster, [f"{user} {amount}" for user, amount in self.amounts], "/amounts")

    def check(self, found, reduces):
        """The files of the job accounts."""
        def lines(output):
            return sorted(line for name in found if name.startswith(output + "-r-") for line in found[name].decode().splitlines())
        self.assertEqual({name for name in found if name.startswith("part-")}, {f"part-r-{n:05}" for n in range(reduces)})
        self.assertEqual(lines("part"), self.others)
        self.assertEqual(lines("small"), self.small)
        for name, data in found.items():
            self.assertRegex(name, r"^(_SUCCESS|(part|small|large)-r-\d{5})$")
            if name.startswith("large"):
                self.assertTrue(data.startswith(b"MILLRREC"))
        self.assertTrue(all(found[name] for name in found if not name.startswith(("part-", "_"))), "only what was written to is there")

    def names(self, cluster):
        """The user and sum of each large account, joined with its name by the job letters."""
        put(cluster, [f"{user} name of {user}" for user in sorted({user for user, _ in self.amounts})], "/names")
        cluster.run("run", job("letters"), "/out/large-r-*", "/names", "-o", "/letters", "-r", "2")
        return sorted(line for part in cluster.output("/letters").values() for line in part.decode().splitlines())

    def test_beside_the_parts_and_as_input_of_a_job_with_mappers(self):
        with Cluster(workers=2) as cluster:
            self.put(cluster)
            said, _ = cluster.run("run", job("accounts"), "/amounts", "-o", "/out", "-r", "3", "-D", "job.pack=0")
            self.check(files(cluster, "/out"), 3)
            counters = {(one["group"], one["name"]): one["value"] for one in json.loads(cluster.run("job", "counters", "--json", "1")[0])}
            self.assertEqual(counters["outputs", "large"], len(self.large), said)
            self.assertEqual(counters["outputs", "small"], len(self.small))
            self.assertEqual(counters["millrace", "output_records"], len(self.large) + len(self.small) + len(self.others))
            # Record files and lines in one job, each with a mapper of its own.
            self.assertEqual(self.names(cluster), sorted(f"Dear name of {user}\t{n}" for user, n in self.large.items()))
            _, error = cluster.run("run", job("letters"), "/names", "-o", "/none", status=2)
            self.assertIn(b"the job has 2 mappers, one for each INPUT, and 1 INPUTs are given", error)
            # Without reduces.
            cluster.run("fs", "put", "-", "/mixed/a", input=b"a\n1\n2\nb\n")
            cluster.run("fs", "put", "-", "/mixed/b", input=b"c\n")
            cluster.run("run", job("sift"), "/mixed", "-o", "/sifted", "-D", "job.pack=0")
            self.assertEqual(files(cluster, "/sifted"), {"_SUCCESS": b"", "part-m-00000": b"a\nb\n", "bare-m-00000": b"1\n2\n", "part-m-00001": b"c\n"})

    def test_in_one_process(self):
        with tempfile.TemporaryDirectory(prefix="millrace-test-") as place:
            amounts, out, names = (os.path.join(place, name) for name in ("amounts", "out", "names"))
            write(amounts, [f"{user} {amount}" for user, amount in self.amounts])
            said = local(place, job("accounts"), amounts, "-o", out, "-r", "2", "--in-process")
            self.assertIn(f"outputs large {len(self.large)}\n", said)
            self.check(local_files(out), 2)
            write(names, [f"{user} name of {user}" for user in sorted({user for user, _ in self.amounts})])
            large = os.path.join(place, "large")
            os.mkdir(large)
            for name in os.listdir(out):
                if name.startswith("large"):
                    os.rename(os.path.join(out, name), os.path.join(large, name))
            said = local(place, job("letters"), large, names, "-o", os.path.join(place, "letters"), "--in-process")
            self.assertIn(f"letters names {len(set(user for user, _ in self.amounts))}\n", said)
            found = local_files(os.path.join(place, "letters"))["part-r-00000"].decode().splitlines()
            self.assertEqual(sorted(found), sorted(f"Dear name of {user}\t{n}" for user, n in self.large.items()))
            self.assertIn("the job has 2 mappers", local(place, job("letters"), names, "-o", out + "2", "--in-process", status=2))

    def test_all_files_of_an_attempt_appear_together_whoever_dies(self):
        reduces = 12
        with Cluster(workers=3, reduce_slots=2, settings=FAST) as cluster:
            self.put(cluster)
            cluster.run("run", job("accounts"), "/amounts", "-o", "/out", "-r", str(reduces))
            whole = files(cluster, "/out")
            self.check(whole, reduces)
            sets = {n: {name for name in whole if name.endswith(f"-{n:05}")} for n in range(reduces)}

            def visible():
                """The files that can be seen; of each reduce, all or none."""
                listed = json.loads(cluster.run("fs", "ls", "-R", "--json", "/")[0])
                seen = {one["path"].rsplit("/", 1)[1] for one in listed if one["path"].startswith("/again/")}
                for n in range(reduces):
                    self.assertIn(seen & sets[n], (set(), sets[n]), f"of reduce {n}")
                return seen

            # Reduces that have written all are about to end when their worker dies. Then the master dies whenever an
            # attempt has committed, and another worker with it.
            pipe = cluster.path("pipe")
            os.mkfifo(pipe)
            number = cluster.run("run", job("accounts"), "/amounts", "-o", "/again", "-r", str(reduces), "-D", "accounts.hold=" + pipe,
                                 "--detach")[0].split()[-1].decode()
            with open(pipe, "w", encoding="utf-8"):
                os.unlink(pipe)
                cluster.kill_worker(0)
            kills = known = 0
            while "_SUCCESS" not in (seen := visible()):
                if kills < 3 or (kills < 10 and len(seen) > known):
                    cluster.kill_master()
                    cluster.start_master()
                    kills += 1
                    if kills == 2:
                        cluster.start_worker(0)
                    if kills == 5:
                        cluster.kill_worker(1)
                        cluster.start_worker(1)
                known = len(seen)
            self.assertGreaterEqual(kills, 1)  # on a busy machine the job may be over before the others
            cluster.run("job", "wait", number)
            again = files(cluster, "/again")
            large = {name for name in whole if name.startswith("large-")}  # each file has a marker of its own
            self.assertEqual(again.keys(), whole.keys())
            self.assertEqual({name: data for name, data in again.items() if name not in large},
                             {name: data for name, data in whole.items() if name not in large})
            self.assertEqual({name: len(again[name]) for name in large}, {name: len(whole[name]) for name in large})
            self.assertEqual(cluster.run("fs", "ls", "/again/_temporary", status=1)[0], b"")


if __name__ == "__main__":
    unittest.main()
