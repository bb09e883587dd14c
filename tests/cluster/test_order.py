# SPDX-License-Identifier: Apache-2.0
"""Jobs whose output is in order over all reduces, compared with `sort`, and how evenly the reduces share the work."""

import gzip
import os
import random
import unittest

from cluster import Cluster, shell

JOBS = os.environ["MILLRACE_TEST_JOBS"]
ORDER = os.path.join(JOBS, "order")


def texts(seed, lines):
    rng = random.Random(seed)
    return b"".join(bytes(rng.choices(b"abcdefghijklmnop", k=rng.randint(4, 30))) + b"\n" for _ in range(lines))


class OrderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2, map_slots=2, reduce_slots=2)
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def put(self, name, files):
        """Files in the file system, in blocks of 1 MiB, and as one local file of what they hold; its path."""
        for file, data in files.items():
            self.cluster.run("fs", "put", "--block-size", "1M", "--replication", "1", "-", f"/{name}/{file}", input=data)
        local = self.cluster.path(name)
        with open(local, "wb") as f:
            for file, data in files.items():
                f.write(gzip.decompress(data) if file.endswith(".gz") else data)
        return local

    def sorted_parts(self, name, local, reducers, *args):
        """Runs the job; checks the parts, one after the other, against sort; gives them."""
        out = f"/{name}-out{len(args)}"
        self.cluster.run("run", ORDER, f"/{name}", "-o", out, "--reducers", str(reducers), *args)
        parts = self.cluster.output(out)
        self.assertEqual(len(parts), reducers)
        self.assertTrue(b"".join(parts[part] for part in sorted(parts)) == shell(f"sort {local}"), name)
        return parts

    def balance(self, what, parts):
        counts = [part.count(b"\n") for part in parts.values()]
        ratio = max(counts) * len(counts) / sum(counts)
        print(f"{what}: {len(counts)} reduces, largest/mean {ratio:.3f}, {sorted(counts)}")
        return ratio

    def test_random_lines(self):
        local = self.put("random", {str(n): texts(n, 60_000) for n in range(3)})
        parts = self.sorted_parts("random", local, 5)
        self.assertLess(self.balance("random lines", parts), 1.15)
        self.assertEqual(self.sorted_parts("random", local, 5, "-D", "order.sample=0"), parts, "the same input, the same cuts")
        self.sorted_parts("random", local, 3, "-D", "order.cuts=c,mmm", "--name", "by hand")

    def test_sorted_input(self):
        lines = b"".join(sorted(texts(7, 150_000).splitlines(keepends=True)))
        self.assertLess(self.balance("sorted input", self.sorted_parts("ordered", self.put("ordered", {"a": lines}), 4)), 1.15)

    def test_skewed_keys(self):
        rng = random.Random(5)
        lines = [b"common" if rng.random() < 0.3 else b"k%07d" % int(rng.paretovariate(1) * 1000) for _ in range(200_000)]
        parts = self.sorted_parts("skewed", self.put("skewed", {"a": b"\n".join(lines) + b"\n"}), 6)
        counts = sorted(part.count(b"\n") for part in parts.values())
        self.balance("30% of the records have one key", parts)
        self.assertEqual(counts[-1], lines.count(b"common"), "it is the only one of its reduce")
        self.assertLess(counts[-2] * 5 / sum(counts[:-1]), 1.2, "the others share the rest")

    def test_compressed_input(self):
        files = {f"{n}.gz": gzip.compress(texts(20 + n, 100_000)) for n in range(3)}
        files["plain"] = texts(30, 60_000)
        self.assertLess(self.balance("gzip", self.sorted_parts("packed", self.put("packed", files), 4)), 1.2)

    def test_fewer_keys_than_reduces(self):
        local = self.put("few", {"a": b"yes\nno\nno\n" * 1000})
        parts = self.sorted_parts("few", local, 7)
        self.assertEqual([name for name, part in sorted(parts.items()) if part], ["part-r-00000", "part-r-00001"])

    def test_no_input(self):
        local = self.put("none", {"a": b"", "b.gz": gzip.compress(b"")})
        self.assertEqual(set(self.sorted_parts("none", local, 3).values()), {b""})

    def test_terasort_of_compressed_records(self):
        rng = random.Random(6)
        records = [rng.randbytes(10) + b"%090d" % n for n in range(30_000)]
        for n in range(3):
            self.cluster.run("fs", "put", "--block-size", "1M", "-", f"/tera/{n}.gz", input=gzip.compress(b"".join(records[n::3])))
        self.cluster.run("run", "terasort", "/tera", "-o", "/tera-out", "--reducers", "4")
        parts = self.cluster.output("/tera-out")
        self.assertTrue(b"".join(parts[name] for name in sorted(parts)) == b"".join(sorted(records)))
        sizes = [len(part) for part in parts.values()]
        print(f"terasort of .gz: largest/mean {max(sizes) * 4 / sum(sizes):.3f}")
        self.assertLess(max(sizes) * 4 / sum(sizes), 1.2)

    def test_what_goes_wrong(self):
        self.put("wrong", {"a": b"throw\n"})
        said = self.cluster.run("run", ORDER, "/wrong", "-o", "/x", "--reducers", "2", status=1)[1].decode()
        self.assertIn("sample the keys of the input: the job's map threw an exception: a line that it does not like", said)
        said = self.cluster.run("run", ORDER, "/wrong", "-o", "/x", "-D", "order.cuts=b,a", status=2)[1].decode()
        self.assertIn('the cuts "b" and "a" do not rise', said)
        said = self.cluster.run("run", ORDER, "/wrong", "-o", "/x", "--reducers", "2", "-D", "order.cuts=a,b,c", "-D", "job.max_attempts=1", status=1)[1].decode()
        self.assertIn("order.cuts makes 4 ranges for 2 reduces", said)
        # A job that goes on without bad records does so although they are in its sample.
        self.put("some", {"a": b"b\nthrow\na\n"})
        self.cluster.run("run", ORDER, "/some", "-o", "/some-out", "--reducers", "2", "--skip-bad-records", "1")
        self.assertEqual(b"".join(part for _, part in sorted(self.cluster.output("/some-out").items())), b"a\nb\n")

    def test_in_one_process(self):
        local = self.put("alone", {"a": texts(40, 60_000)})
        out = self.cluster.path("alone-out")
        self.cluster.run("local", "run", ORDER, local, "-o", out, "--reducers", "3", "--in-process")
        self.assertTrue(shell("cat part-r-*", cwd=out) == shell(f"sort {local}"))
        parts = {}
        for name in os.listdir(out):
            if name.startswith("part-"):
                with open(os.path.join(out, name), "rb") as f:
                    parts[name] = f.read()
        self.assertLess(self.balance("in one process", parts), 1.1)


if __name__ == "__main__":
    unittest.main()
