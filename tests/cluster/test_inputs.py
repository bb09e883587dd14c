# SPDX-License-Identifier: Apache-2.0
"""A job knows of which of its inputs a record is: joins of two directories whose files bear one name."""

import os
import random
import subprocess
import tempfile
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster

NAME = "part-r-00000"


def table(seed, keys, rows, word):
    rng = random.Random(seed)
    return [(f"k{rng.randrange(keys)}", f"{word}{n}") for n in range(rows)]


def text(rows):
    return "".join(f"{key}\t{value}\n" for key, value in rows).encode()


def join(left, right, left_path, right_path):
    by_key = {}
    for key, value in right:
        by_key.setdefault(key, []).append(value)
    return sorted(f"{key}\t{value} {left_path}\t{other} {right_path}" for key, value in left for other in by_key.get(key, ()))


class InputsTest(unittest.TestCase):
    def setUp(self):
        self.job = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "join")
        self.users, self.orders = table(1, 300, 400, "user"), table(2, 300, 900, "order")
        self.expected = join(self.users, self.orders, "/users/" + NAME, "/orders/" + NAME)
        self.assertGreater(len(self.expected), 500)

    def put(self, cluster):
        for name, rows in (("users", self.users), ("orders", self.orders)):
            cluster.run("fs", "put", "-", f"/{name}/{NAME}", input=text(rows))

    def result(self, parts):
        return sorted(line.decode() for part in parts for line in part.splitlines())

    def test_two_directories_are_joined(self):
        with Cluster(workers=2) as cluster:
            self.put(cluster)
            cluster.run("run", self.job, "/users", "/orders", "-o", "/out", "-r", "2")
            self.assertEqual(self.result(cluster.output("/out").values()), self.expected)
            # The inputs count in the order in which they were given, and files and patterns as directories do.
            cluster.run("run", self.job, f"/orders/{NAME}", "/user[s]", "-o", "/turned", "-D", "job.pack=0")
            turned = join(self.orders, self.users, "/orders/" + NAME, "/users/" + NAME)
            self.assertEqual(self.result(cluster.output("/turned").values()), turned)

    def test_a_master_that_returns_still_knows_them(self):
        with Cluster(workers=1, map_slots=1) as cluster:
            self.put(cluster)
            pipe = cluster.path("pipe")
            os.mkfifo(pipe)
            job = cluster.run("run", self.job, "/users", "/orders", "-o", "/out", "-D", "job.pack=0", "-D", "join.hold=" + pipe,
                              "--detach")[0].split()[-1].decode()
            with open(pipe, "w"):  # once the first map runs; all others run after the restart
                cluster.kill_master()
                cluster.start_master()
                os.unlink(pipe)
            cluster.run("job", "wait", job)
            self.assertEqual(self.result(cluster.output("/out").values()), self.expected)

    def test_local_files_are_joined(self):
        with tempfile.TemporaryDirectory(prefix="millrace-test-") as place:
            sides = []
            for name, rows in (("users", self.users), ("orders", self.orders)):
                sides.append(os.path.join(place, name))
                os.mkdir(sides[-1])
                with open(os.path.join(sides[-1], NAME), "wb") as f:
                    f.write(text(rows))
            out = os.path.join(place, "out")
            done = subprocess.run([MILLRACE, "local", "run", self.job, *sides, "-o", out], env={**os.environ, "XDG_STATE_HOME": place},
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_SECONDS)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(out, NAME), "rb") as f:
                got = f.read()
            self.assertEqual(self.result([got]), join(self.users, self.orders, f"/input/0/users/{NAME}", f"/input/1/orders/{NAME}"))


if __name__ == "__main__":
    unittest.main()
