# SPDX-License-Identifier: Apache-2.0
"""The jobs of the PUMA suite over real daemons, compared with a computation of the same in Python."""

import collections
import itertools
import math
import os
import random
import subprocess
import unittest

from cluster import BIN, LIMIT_SECONDS, Cluster, words


def ratings(seed, movies, users=400):
    """Movies of a few tastes, so that they have clusters: number to {user: rating}."""
    rng = random.Random(seed)
    tastes = [[rng.randint(0, 5) for _ in range(users)] for _ in range(4)]
    made = {}
    for movie in range(movies):
        taste = rng.choice(tastes)
        fans = rng.sample([user for user in range(users) if taste[user] > 0], rng.randint(0, 60))
        made[seed * 1_000_000 + movie] = {10_000 + user: max(1, taste[user] - rng.randint(0, 1)) for user in fans}
    return made


def rating_lines(movies):
    return b"".join(b"%d:%s\n" % (movie, b",".join(b"%d_%d" % pair for pair in of.items())) for movie, of in movies.items())


def nearest(movie, centroids):
    """Of {cluster: {user: weight}}: the cluster with the greatest cosine, by the movie's dict of ratings."""
    best, closest = min(centroids), 0
    for cluster in sorted(centroids):
        weights = centroids[cluster]
        norm = math.sqrt(sum(float(w) * float(w) for w in weights.values()))
        cosine = sum(rating * weights.get(user, 0) for user, rating in movie.items()) / norm if norm else 0
        if cosine > closest:
            best, closest = cluster, cosine
    return best


def kmeans_round(movies, centroids):
    sums = collections.defaultdict(collections.Counter)
    for movie in movies.values():
        norm = math.sqrt(sum(rating * rating for rating in movie.values()))
        if norm:
            cluster = nearest(movie, centroids)
            for user, rating in movie.items():
                sums[cluster][user] += int(1_000_000 * rating / norm + 0.5)
    return {cluster: dict(sorted(weights.items())) for cluster, weights in sums.items()}


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

    def job(self, *args, order=bytes):
        """Runs a job; its output's lines, sorted, after a look at the order of keys in each part."""
        PumaTest.runs += 1
        output = f"/out{PumaTest.runs}"
        self.cluster.run("run", args[0], *args[1:], "-o", output)
        parts = self.cluster.output(output)
        for name, part in parts.items():
            keys = [order(line.split(b"\t")[0]) for line in part.splitlines()]
            self.assertEqual(keys, sorted(keys), name)
        return lines_of(parts)

    def counter(self, name):
        job = self.cluster.run("job", "list")[0].decode().split("\n")
        newest = max(int(line.split()[0]) for line in job if line[:1].isdigit())
        lines = self.cluster.run("job", "counters", str(newest))[0].decode().splitlines()
        return [int(line.split()[-1]) for line in lines if name in line]

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

    def test_permu(self):
        rng = random.Random(3)
        files = {f"dna{n}": b"".join(bytes(rng.choices(b"ACGT", k=rng.randint(1, 90))) + b"\n" for _ in range(30_000 * n)) for n in (1, 2)}
        self.put("dna", files)
        expected = []
        for data in files.values():
            sequences = data.split()
            expected += [b"|".join(sequences[i:i + 3]) for i in range(len(sequences) - 2)]
        got = self.job("permu", "/dna", "--reducers", "4")
        self.assertEqual(got, sorted(expected))
        size = sum(map(len, files.values()))
        self.assertAlmostEqual(sum(len(line) + 1 for line in got) / size, 3, delta=0.01)

    def test_termvector(self):
        files = {f"host{n}": words(n, 100_000 * n, vocabulary=2000) for n in (1, 2, 3)}
        files["rare"] = b"one two three\n"
        files["host"] = b"same same same\n same\n"  # the beginning of other names
        self.put("hosts", files)
        for least, reducers in ((10, 1), (3, 3)):
            expected = []
            for name, data in files.items():
                terms = sorted(((-count, word) for word, count in collections.Counter(data.split()).items() if count >= least))
                if terms:
                    expected.append(name.encode() + b"\t" + b" ".join(b"%s:%d" % (word, -count) for count, word in terms))
            self.assertEqual(self.job("termvector", "/hosts", "--reducers", str(reducers), "-D", f"termvector.least={least}"), sorted(expected))

    def test_adjacencylist(self):
        rng = random.Random(4)
        edges = [(b"v%d" % int(rng.paretovariate(0.5)), b"v%d" % rng.randint(0, 20_000)) for _ in range(150_000)]
        data = b"".join(b"%s\t%s\n" % edge if n % 2 else b" %s  %s\n" % edge for n, edge in enumerate(edges))
        self.put("edges", {"all": data + b"one\n\na b c\n"})
        ins, outs = collections.defaultdict(set), collections.defaultdict(set)
        for a, b in edges:
            outs[a].add(b)
            ins[b].add(a)
        expected = [vertex + b"\t" + b",".join(sorted(ins[vertex])) + b"\t" + b",".join(sorted(outs[vertex])) for vertex in {*ins, *outs}]
        self.assertEqual(self.job("adjacencylist", "/edges", "--reducers", "3"), sorted(expected))
        self.assertEqual(self.counter("bad_lines"), [3])

    def test_selfjoin(self):
        rng = random.Random(5)
        lines = {b",".join(b"%03d" % n for n in sorted(rng.sample(range(60), 3))) for _ in range(20_000)}
        data = sorted(lines) * 4  # repeats, over several blocks
        rng.shuffle(data)
        self.put("tuples", {"three": b"\n".join(data), "one": b"x\nz\ny\nx\n\n"})
        groups = collections.defaultdict(set)
        for line in lines:
            beginning, last = line.rsplit(b",", 1)
            groups[beginning].add(last)
        expected = [b",".join((beginning, *pair)) for beginning, lasts in groups.items() for pair in itertools.combinations(sorted(lasts), 2)]
        self.assertEqual(self.job("selfjoin", "/tuples/three", "--reducers", "3"), sorted(expected))
        self.assertEqual(self.job("selfjoin", "/tuples/one"), [b"x,y", b"x,z", b"y,z"])

    def test_histograms(self):
        movies = {**ratings(1, 3000), **ratings(2, 5000)}
        movies[9] = {n: 5 for n in range(7)}
        movies[10] = {n: 1 for n in range(3)}
        movies[11] = {1: 3, 2: 4, 3: 100}
        self.put("histogram", {"movies": rating_lines(movies) + b"no movie\n12:1_2,3\n13: 1_1\r\n"})
        movies[13] = {1: 1}
        bins, values = collections.Counter(), collections.Counter()
        for movie in movies.values():
            values.update(movie.values())
            if movie:
                bins[math.floor(2 * sum(movie.values()) / len(movie)) / 2 + 0.5] += 1
        self.assertEqual(self.job("histogrammovies", "/histogram", "--reducers", "2", order=float), sorted(b"%.1f\t%d" % item for item in bins.items()))
        self.assertEqual(self.counter("bad_lines"), [2])
        self.assertEqual(self.job("histogramratings", "/histogram", "--reducers", "2", order=int), sorted(b"%d\t%d" % item for item in values.items()))
        self.assertEqual(self.counter("bad_lines"), [2])

    def test_classification(self):
        movies = {**ratings(1, 2000), **ratings(2, 3000)}
        chosen = {movie: movies[movie] for movie in sorted(movies)[:200] if len(movies[movie]) > 20}
        chosen = dict(itertools.islice(chosen.items(), 6))
        self.put("classified", {"movies": rating_lines(movies)})
        self.put("chosen", {"a": rating_lines(dict(list(chosen.items())[:2])), "b": rating_lines(dict(list(chosen.items())[2:]))})
        expected = sorted(b"%d\t%d" % (nearest(ratings_of, chosen), movie) for movie, ratings_of in movies.items())
        self.assertEqual(self.job("classification", "/classified", "--reducers", "3", "-D", "classification.centroids=/chosen", order=int), expected)
        error = self.cluster.run("run", "classification", "/classified", "-o", "/nothing", "-D", "classification.centroids=/nowhere",
                                 "-D", "job.max_attempts=1", status=1)[1]
        self.assertIn(b"/nowhere", error)

    def test_kmeans(self):
        movies = ratings(1, 1500)
        first = dict(itertools.islice(((movie, of) for movie, of in movies.items() if len(of) > 20), 4))
        self.put("clustered", {"movies": rating_lines(movies)})
        self.put("first", {"centroids": rating_lines(first)})
        said = self.cluster.run("run", "kmeans-iterate", "/clustered", "-o", "/kmeans", "--reducers", "2", "-D", "kmeans.centroids=/first", "-D", "kmeans.rounds=15")
        centroids, before, rounds = first, None, 0
        while rounds < 15 and centroids != before:
            before, centroids, rounds = centroids, kmeans_round(movies, centroids), rounds + 1
        self.assertEqual(centroids, before, "the test's clusters settle")
        self.assertGreater(rounds, 2)
        self.assertIn(b"\nsettled after %d rounds\n" % rounds, said[1])
        self.assertEqual(lines_of(self.cluster.output("/kmeans/centroids")), sorted(rating_lines(centroids).splitlines()))
        self.assertEqual(said[0].count(b" succeeded\n"), rounds + 1)
        # Two rounds are not enough to settle; their centroids are those that two rounds make.
        said = self.cluster.run("run", "kmeans-iterate", "/clustered", "-o", "/two", "-D", "kmeans.centroids=/first", "-D", "kmeans.rounds=2")
        self.assertIn(b"\nnot settled after 2 rounds\n", said[1])
        twice = kmeans_round(movies, kmeans_round(movies, first))
        self.assertEqual(lines_of(self.cluster.output("/two/centroids")), sorted(rating_lines(twice).splitlines()))
        members = lines_of(self.cluster.output("/kmeans/members"))
        self.assertEqual(members, sorted(b"%d\t%d" % (nearest(of, centroids), movie) for movie, of in movies.items()))


if __name__ == "__main__":
    unittest.main()
