"""The jobs of the PUMA suite over real daemons, compared with a computation of the same in Python."""

import collections
import os
import unittest

from cluster import Cluster, words


def lines_of(parts):
    return sorted(line for part in parts.values() for line in part.splitlines())


class PumaTest(unittest.TestCase):
    runs = 0

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=3, racks=2)
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def put(self, name, files):
        """Files, name to bytes, in blocks of 1 MiB, so that each of the larger ones has several splits."""
        local = self.cluster.path(name)
        os.mkdir(local)
        for file, data in files.items():
            with open(os.path.join(local, file), "wb") as f:
                f.write(data)
        self.cluster.run("fs", "put", "--block-size", "1M", "--replication", "2", local, "/" + name)

    def job(self, *args):
        """Runs a job; its output's lines, sorted, after a look at the order of keys in each part."""
        PumaTest.runs += 1
        output = f"/out{PumaTest.runs}"
        self.cluster.run("run", args[0], *args[1:], "-o", output)
        parts = self.cluster.output(output)
        for name, part in parts.items():
            keys = [line.split(b"\t")[0] for line in part.splitlines()]
            self.assertEqual(keys, sorted(keys), name)
        return lines_of(parts)

    def test_sequencecount(self):
        files = {f"text{n}": words(n, 300_000, vocabulary=300) for n in range(3)}
        files["no words"] = b"\n\n  \n"
        files["two words"] = b"one\ntwo"
        files["long"] = b"a b " + b"x" * 2_500_000 + b" c d\n"  # a word over three blocks
        self.put("sequences", files)
        by_file = collections.Counter()
        for name, data in files.items():
            w = data.split()
            by_file.update((b"|".join(w[i:i + 3]), name.encode()) for i in range(len(w) - 2))
        counts = collections.Counter()
        for (sequence, name), count in by_file.items():
            counts[sequence] += count
        self.assertEqual(self.job("sequencecount", "/sequences", "--reducers", "3"), sorted(b"%s\t%d" % c for c in counts.items()))
        self.assertEqual(self.job("sequencecount", "/sequences", "-D", "sequencecount.by_file=true"),
                         sorted(b"%s|%s\t%d" % (*key, count) for key, count in by_file.items()))


if __name__ == "__main__":
    unittest.main()
