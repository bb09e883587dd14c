# SPDX-License-Identifier: Apache-2.0
"""The twelve jobs of client/python/examples, each against plain Python, in every way there is (ways.py)."""

import collections
import csv
import io
import itertools
import json
import random
import unittest

import ways

try:
    import numpy
except ImportError:
    numpy = None
try:
    import pyarrow
except ImportError:
    pyarrow = None

WORDS = "the quick brown fox jumps over a lazy dog and na\u00efve caf\u00e9 \u4e16\u754c \u0434\u0430 tea".split()


def lines_of_words(source, count):
    return [" ".join(source.choices(WORDS, weights=range(len(WORDS), 0, -1), k=source.randrange(12))) for _ in range(count)]


class Examples(unittest.TestCase):
    maxDiff = 2000
    way = ""
    reducers = (1, 3)

    def each_way(self, job, inputs, **how):
        for name, way in ways.WAYS.items():
            for reducers in self.reducers:
                self.way = f"{name}, {reducers} reduces"
                yield way(job, inputs, reducers=reducers, **how)
        self.way = ""

    def _formatMessage(self, msg, standard):
        return super()._formatMessage(msg, standard) + (f" ({self.way})" if self.way else "")

    def test_wordcount(self):
        from wordcount import wordcount, wordcount_batch

        lines = lines_of_words(random.Random(1), 400)
        expected = collections.Counter(word for line in lines for word in line.split())
        for job in (wordcount, wordcount_batch):
            for found in self.each_way(job, [lines]):
                self.assertEqual(dict(found.items), {word: str(count) for word, count in expected.items()})
                self.assertEqual(len(found.items), len(expected))
                for file in found.files.values():
                    part = file.splitlines()
                    self.assertEqual(part, sorted(part))

    def test_join(self):
        from orders_join import orders_join

        source = random.Random(2)
        users = {f"u{n}": f"name {n}" for n in range(40)}
        orders = [(f"u{source.randrange(60)}", f"item{source.randrange(9)}") for _ in range(200)]
        inputs = [[f"{user} {name}" for user, name in users.items()], [f"{user} {item}" for user, item in orders]]
        expected = sorted((users[user], item) for user, item in orders if user in users)
        for found in self.each_way(orders_join, inputs):
            self.assertEqual(sorted(found.items), expected)

    def test_sessions(self):
        from sessions import sessions

        source = random.Random(3)
        visits = [(source.randrange(40000), f"user{source.randrange(12)}", f"/p{n}") for n in range(600)]
        expected = []
        for user, own in itertools.groupby(sorted(visits, key=lambda v: (v[1], v[0])), lambda v: v[1]):
            runs = []
            for time, _, _ in own:
                if not runs or time - runs[-1][-1] >= 900:
                    runs.append([])
                runs[-1].append(time)
            expected += [(user, str(run[0]), str(run[-1] - run[0]), str(len(run))) for run in runs]
        for found in self.each_way(sessions, [[f"{time} {user} {page}" for time, user, page in visits]], options={"gap": 900}):
            self.assertEqual(sorted(found.items), sorted(expected))

    def test_top_k(self):
        from top_k import top_k

        numbers = random.Random(4).sample(range(10**9), 500)
        expected = sorted(((f"a name {n}", str(n)) for n in numbers), key=lambda item: -int(item[1]))[:7]
        for found in self.each_way(top_k, [[f"a name {n} {n}" for n in numbers]], options={"k": 7}):
            self.assertEqual(found.items, expected)

    def test_distinct(self):
        from distinct import distinct

        source = random.Random(5)
        seen = [(page, source.randrange(size)) for page, size in (("/a", 30), ("/b", 3000), ("/c", 1)) for _ in range(2 * size)]
        source.shuffle(seen)
        exact = collections.Counter(page for page, _ in set(seen))
        for found in self.each_way(distinct, [[f"{page} {visitor}" for page, visitor in seen]]):
            self.assertEqual(sorted(page for page, _ in found.items), sorted(exact))
            for page, count in found.items:  # 3.2 percent is one standard deviation of 1,024 registers
                self.assertLessEqual(abs(int(count) - exact[page]), 0.13 * exact[page])

    def test_components(self):
        from components import components, until_stable

        source = random.Random(6)
        edges = [(f"n{source.randrange(60)}", f"n{source.randrange(60)}") for _ in range(45)] + [(f"c{i}", f"c{i + 1}") for i in range(7)]
        around = collections.defaultdict(set)
        for a, b in edges:
            around[a].add(b)
            around[b].add(a)
        label = {}
        for node in sorted(around):
            waiting = [node]
            while waiting:
                each = waiting.pop()
                if each not in label:
                    label[each] = node
                    waiting += around[each]
        first = ["\t".join([node, node, *sorted(around[node])]) for node in around]
        for name, way in ways.WAYS.items():
            with self.subTest(way=name):
                lines = [first]

                def run_round(number, way=way, lines=lines):
                    found = way(components, [lines[-1]], reducers=2)
                    lines.append(["\t".join(item) for item in found.items])
                    return found.counters

                self.assertGreater(until_stable(run_round), 4)
                self.assertEqual({line.split("\t")[0]: line.split("\t")[1] for line in lines[-1]}, label)

    def test_csv(self):
        from csv_sums import csv_sums

        source = random.Random(7)
        rows = [(source.choice(["Oslo", 'The "Rock"', "Rome, Italy"]), source.choice(["Main St", "5, Quay", ""]), f"{source.randrange(9999)}.{source.randrange(100):02}")
                for _ in range(300)]
        text = io.StringIO()
        csv.writer(text).writerows([("city", "street", "amount"), *rows])
        cents = collections.Counter()
        for city, street, amount in rows:
            cents[city, street] += round(float(amount) * 100)
        for found in self.each_way(csv_sums, [text.getvalue().replace("\r\n", "\n").splitlines()]):
            self.assertEqual({(city, street): round(float(amount) * 100) for city, street, amount in found.items}, dict(cents))
            self.assertEqual(found.counters, {("csv", "headings"): 1})

    def test_json(self):
        from json_events import json_events

        source = random.Random(8)
        events = [{"kind": source.choice("abc"), "seconds": source.randrange(100)} for _ in range(200)]
        broken = ["{", "[]", '{"kind": "a"}', "\u00e9 no json", ""]
        lines = [json.dumps(event) for event in events] + broken
        source.shuffle(lines)
        times = collections.defaultdict(list)
        for event in events:
            times[event["kind"]].append(event["seconds"])
        expected = [{"kind": kind, "count": len(all_), "mean": round(sum(all_) / len(all_), 6)} for kind, all_ in sorted(times.items())]
        for found in self.each_way(json_events, [lines]):
            self.assertEqual(sorted(found.items, key=lambda item: item["kind"]), expected)
            self.assertEqual(sorted(found.named["broken"]), sorted((line,) for line in broken))
            self.assertEqual(found.counters, {("events", "bad"): len(broken)})

    def test_ngrams(self):
        from ngrams import ngrams

        lines = lines_of_words(random.Random(9), 150)
        counts = collections.Counter()
        for line in lines:
            words = [word for word in line.split() if word not in ("the", "a")]
            counts.update(" ".join(words[i : i + 3]) for i in range(len(words) - 2))
        expected = {words: str(count) for words, count in counts.items() if count >= 2}
        for found in self.each_way(ngrams, [lines], options={"n": 3, "least": 2}, files={"stop.txt": "the a\n"}):
            self.assertEqual(dict(found.items), expected)

    @unittest.skipIf(numpy is None, "numpy is not here")
    def test_matrix(self):
        from matrix import gram

        source = random.Random(10)
        rows = [[source.randrange(-9, 10) for _ in range(5)] for _ in range(200)]
        expected = [[sum(row[i] * row[j] for row in rows) for j in range(5)] for i in range(5)]
        for found in self.each_way(gram, [[" ".join(map(str, row)) for row in rows]]):
            self.assertEqual([row["values"] for row in sorted(found.items, key=lambda row: row["row"])], expected)

    @unittest.skipIf(pyarrow is None, "pyarrow is not here")
    def test_parquet(self):
        import pyarrow.parquet
        from parquet_sales import parquet_sales

        source = random.Random(11)
        sales = [{"shop": f"shop {source.randrange(6)}", "amount": source.randrange(1000)} for _ in range(500)]
        files = {}
        for number in range(3):
            out = io.BytesIO()
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(sales[number::3]), out, row_group_size=50)
            files[f"{number}.parquet"] = out.getvalue()
        expected = collections.defaultdict(lambda: [0, 0])
        for sale in sales:
            expected[sale["shop"]][0] += sale["amount"]
            expected[sale["shop"]][1] += 1
        for found in self.each_way(parquet_sales, [files]):
            self.assertEqual(sorted((row["shop"], [row["amount"], row["sales"]]) for row in found.items), sorted(expected.items()))

    def test_images(self):
        from images import images

        source = random.Random(12)
        pictures = {}
        for number in range(5):
            width, height, most = source.randrange(1, 30), source.randrange(1, 30), source.choice([40, 256])
            pictures[f"{number}.pgm"] = (width, height, bytes(source.randrange(most) for _ in range(width * height)))
        files = {name: b"P5\n%d %d\n255\n" % (width, height) + grey for name, (width, height, grey) in pictures.items()}
        expected = [(name, str(width), str(height), round(sum(grey) / len(grey), 2)) for name, (width, height, grey) in pictures.items()]
        dark = sorted(
            b"P5 %d %d 255\n" % (-(-width // 4), -(-height // 4)) + b"".join(grey[row * width : row * width + width][::4] for row in range(0, height, 4))
            for width, height, grey in pictures.values()
            if sum(grey) / len(grey) < 64
        )
        for found in self.each_way(images, [files]):
            self.assertEqual(sorted((*item[:3], float(item[3])) for item in found.items), expected)
            self.assertEqual(sorted(found.named["thumbnails"]), dark)


if __name__ == "__main__":
    unittest.main()
