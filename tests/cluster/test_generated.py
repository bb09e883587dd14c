# SPDX-License-Identifier: Apache-2.0
"""Jobs that make their data, terasort among them, over real daemons."""

import json
import os
import statistics
import struct
import subprocess
import unittest

from cluster import BIN, LIMIT_SECONDS, Cluster

RECORD = 100
PIECE = 1 << 20  # of a file that dfsio-write makes


def crc32c_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def random_words(seed, count):
    """splitmix64, as its paper gives it."""
    words, mask = [], (1 << 64) - 1
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        words.append(z ^ z >> 31)
    return words


def dfsio_file(number, size, random_piece):
    pieces = (struct.pack("<QQ", number, n) + random_piece[16:] for n in range(-(-size // PIECE)))
    return b"".join(pieces)[:size]


def records(data):
    return [data[i:i + RECORD] for i in range(0, len(data), RECORD)]


class GeneratedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=3, racks=2)
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def status(self):
        return max(json.loads(self.cluster.run("job", "list", "--json")[0]), key=lambda job: job["job"])

    def counter(self, group, name):
        for line in self.cluster.run("job", "counters", str(self.status()["job"]))[0].decode().splitlines():
            if group in line and name in line:
                return int(line.split()[-1])
        raise AssertionError(f"no counter {group} {name}")

    def validate(self, directory, output):
        self.cluster.run("run", "teravalidate", directory, "-o", output)
        return self.cluster.output(output)["part-r-00000"].decode().splitlines()

    def test_sort(self):
        count = 60_000
        self.cluster.run("run", "teragen", "-o", "/tera", "-D", f"input.records={count}", "-D", "input.maps=3",
                         "-D", "output.block_size=1MiB")
        total = self.counter("teragen", "checksum")
        parts = self.cluster.output("/tera")
        self.assertEqual({name: len(part) for name, part in parts.items()}, {f"part-m-0000{n}": count // 3 * RECORD for n in range(3)})
        made = records(b"".join(parts[name] for name in sorted(parts)))
        self.assertEqual([int(record[12:44], 16) for record in made], list(range(count)))
        self.assertEqual(len({record[:10] for record in made}), count)
        self.assertEqual(sum(map(crc32c, made)), total)

        for reducers in (1, 4, 13):
            with self.subTest(reducers=reducers):
                self.cluster.run("run", "terasort", "/tera", "-o", f"/sorted{reducers}", "--reducers", str(reducers))
                parts = self.cluster.output(f"/sorted{reducers}")
                self.assertEqual(len(parts), reducers)
                self.assertEqual(records(b"".join(parts[name] for name in sorted(parts))), sorted(made, key=lambda record: record[:10]))
                sizes = [len(part) for part in parts.values()]
                self.assertLess(max(sizes), 1.3 * sum(sizes) / reducers, "the sample cuts badly")
        self.assertEqual(self.validate("/sorted4", "/valid4"), [f"checksum\t{total}", f"records\t{count}"])
        found = self.validate("/tera", "/valid0")
        self.assertEqual(found[-2:], [f"checksum\t{total}", f"records\t{count}"])
        self.assertGreater(len([line for line in found if line.startswith("misorder\tpart-m-00001\t")]), 0)

    def test_the_seed_decides(self):
        outputs = []
        for n, (maps, seed) in enumerate([(1, 1), (7, 1), (7, 2)]):
            self.cluster.run("run", "teragen", "-o", f"/seed{n}", "-D", "input.records=1000", "-D", f"input.maps={maps}", "-D", f"teragen.seed={seed}")
            parts = self.cluster.output(f"/seed{n}")
            self.assertEqual(len(parts), maps)
            outputs.append(b"".join(parts[name] for name in sorted(parts)))
        self.assertEqual(outputs[0], outputs[1])
        self.assertNotEqual(outputs[1], outputs[2])

    def test_sorted_and_repeated_keys(self):
        local = self.cluster.path("keys")
        with open(local, "wb") as f:
            for n in range(30_000):
                key = b"same key!!" if n % 3 else b"%010d" % n
                f.write(key + b"%090d" % n)
        self.cluster.run("fs", "put", "--block-size", "1M", local, "/keys")
        self.cluster.run("run", "terasort", "/keys", "-o", "/keys-sorted", "--reducers", "5")
        parts = self.cluster.output("/keys-sorted")
        with open(local, "rb") as f:
            self.assertEqual(b"".join(parts[name] for name in sorted(parts)), b"".join(sorted(records(f.read()), key=lambda record: record[:10])))

    def test_what_is_out_of_order_is_told(self):
        local = self.cluster.path("order")
        os.mkdir(local)
        rows = [b"%010d" % n + b"%090d" % n for n in range(12_000)]
        rows[4000], rows[4001] = rows[4001], rows[4000]
        for name, part in {"part-r-00000": rows[:6000], "part-r-00001": rows[8000:], "part-r-00002": rows[6000:8000]}.items():
            with open(os.path.join(local, name), "wb") as f:
                f.write(b"".join(part))
        self.cluster.run("fs", "put", local, "/order")
        self.assertEqual(self.validate("/order", "/order-out"),
                         ["misorder\tpart-r-00000\t1 records after greater ones", "misorder\tpart-r-00002\tbegins before the end of what comes before it",
                          f"checksum\t{sum(map(crc32c, rows))}", "records\t12000"])

    def test_sleep(self):
        self.cluster.run("run", "sleep", "-o", "/sleep", "-D", "input.maps=12", "--reducers", "4", "-D", "sleep.map_time=20ms", "-D", "sleep.reduce_time=50ms")
        self.assertEqual(self.cluster.output("/sleep"), {f"part-r-0000{n}": b"" for n in range(4)})
        status = self.status()
        self.assertEqual((status["maps"]["total"], status["input_bytes"]), (12, 0))
        # On three slots of each kind: four times 20 ms, then two times 50 ms.
        self.assertGreaterEqual(status["ended_at"] - status["first_launched_at"], 0.18)

    def test_loadgen_keeps_a_part(self):
        lines = [b"%063d" % (n * 7919 % 100_003) for n in range(40_000)]  # 64 bytes: a split is 16384 of them
        self.cluster.run("fs", "put", "--block-size", "1M", "-", "/lines", input=b"\n".join(lines) + b"\n")
        splits = [lines[i:i + 16384] for i in range(0, len(lines), 16384)]

        def keep(records, percent):
            kept = []
            for n, record in enumerate(records, 1):
                while len(kept) < n * percent / 100:
                    kept.append(record)
            return kept

        for keep_map, keep_reduce in ((100, 100), (0.2, 500), (37.5, 20), (250, 0)):
            with self.subTest(keep_map=keep_map, keep_reduce=keep_reduce):
                output = f"/load{keep_map}-{keep_reduce}"
                self.cluster.run("run", "loadgen", "/lines", "-o", output, "-D", f"loadgen.keep_map={keep_map}",
                                 "-D", f"loadgen.keep_reduce={keep_reduce}", "-D", "loadgen.map_work=10")
                mapped = [record for split in splits for record in keep(split, keep_map)]
                self.assertEqual(self.cluster.output(output)["part-r-00000"].splitlines(), keep(sorted(mapped), keep_reduce))
        self.cluster.run("run", "loadgen", "/lines", "-o", "/load-maps", "-D", "loadgen.keep_map=50", "--reducers", "0")
        parts = self.cluster.output("/load-maps")
        self.assertEqual([parts[name].splitlines() for name in sorted(parts)], [keep(split, 50) for split in splits])

    def test_loadgen_without_input(self):
        self.cluster.run("run", "loadgen-random", "-o", "/random1", "-D", "input.maps=5", "-D", "input.records=10000", "-D", "loadgen.record_bytes=50",
                         "--reducers", "3")
        lines = b"".join(self.cluster.output("/random1").values()).splitlines()
        self.assertEqual(len(lines), 10_000)
        self.assertEqual({len(line) for line in lines}, {49})
        self.assertEqual(len(set(lines)), 10_000)
        self.cluster.run("run", "loadgen-random", "-o", "/random2", "-D", "input.records=10000", "-D", "loadgen.record_bytes=50")
        self.assertEqual(self.cluster.output("/random2")["part-r-00000"].splitlines(), sorted(lines))

    def dfsio(self, *args, status=0):
        """What the script says, by what comes before the colon."""
        done = subprocess.run([os.path.join(BIN, "dfsio"), *args], env=self.cluster.environment(), capture_output=True, timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, status, done)
        return dict((part.strip() for part in line.split(":")) for line in done.stdout.decode().splitlines())

    def test_dfsio(self):
        size, seed = 5 * PIECE // 2 + 7, 9
        piece = struct.pack(f"<{PIECE // 8}Q", *random_words(seed, PIECE // 8))
        wanted = {f"part-m-0000{n}": dfsio_file(n, size, piece) for n in range(4)}
        crcs = {name: crc32c(data) for name, data in wanted.items()}
        written = self.dfsio("write", "/io", "4", str(size), "-D", "output.block_size=1MiB", "-D", f"dfsio.seed={seed}")
        self.assertEqual(self.cluster.output("/io"), wanted)
        counters = {name: self.counter("dfsio", name + " ") for name in ("files", "bytes", "io_micros", "checksum")}
        self.assertEqual((counters["files"], counters["bytes"], counters["checksum"]), (4, 4 * size, sum(crcs.values())))
        self.assertEqual(written["----- dfsio -----"], "write")
        self.assertEqual(float(written["Throughput MB/s"]), round(4 * size / counters["io_micros"], 2))

        read = self.dfsio("read", "/io", "/io-read", "-D", "job.pack=0")
        rows = [line.split("\t") for part in self.cluster.output("/io-read").values() for line in part.decode().splitlines()]
        self.assertEqual({name: (int(length), int(crc)) for name, length, crc, _ in rows}, {name: (size, crc) for name, crc in crcs.items()})
        micros = [int(row[3]) for row in rows]
        rates = [size / each for each in micros]
        for what, value, error in (("Throughput MB/s", 4 * size / sum(micros), 0.005), ("Average I/O rate MB/s", statistics.mean(rates), 0.006),
                                   ("I/O rate std deviation", statistics.pstdev(rates), 0.006)):
            self.assertAlmostEqual(float(read[what]), value, delta=error, msg=what)
        for of_run in (written, read):
            self.assertEqual((of_run["Number of files"], of_run["Total MB processed"]), ("4", f"{4 * size / 1e6:.2f}"))
            self.assertEqual(of_run["Checksum"], str(sum(crcs.values())))
            # No more than the three slots wait for the file system at a time.
            self.assertLess(4 * size / 1e6 / float(of_run["Throughput MB/s"]), 3 * float(of_run["Wall time s"]))

    def test_dfsio_sees_every_byte(self):
        data = struct.pack("<200000Q", *random_words(3, 200_000))
        sums = []
        for n, at in enumerate((0, 1 << 20, len(data) - 1)):
            other = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
            self.cluster.run("fs", "put", "--block-size", "1M", "-", f"/bytes{n}", input=other)
            sums.append(self.dfsio("read", f"/bytes{n}", f"/bytes{n}-read")["Checksum"])
            self.assertEqual(sums[-1], str(crc32c(other)))
        self.assertEqual(len(set(sums)), 3)

    def test_dfsio_that_fails_gives_no_figures(self):
        self.assertEqual(self.dfsio("read", "/not-there", "/x", status=1), {})
        self.assertEqual(self.dfsio("write", "/x", "2", status=2), {})
        self.assertEqual(self.dfsio(status=2), {})

    def test_2000_empty_maps(self):
        self.cluster.run("run", "sleep", "-o", "/empty", "-D", "input.maps=2000")
        self.assertEqual(self.counter("millrace", "map_input_records"), 2000)

    def test_a_job_that_reads_nothing_takes_no_input(self):
        self.assertIn(b"reads input", self.cluster.run("run", "terasort", "-o", "/x", status=2)[1])
        self.assertIn(b"leave out the input", self.cluster.run("run", "teragen", "/tera", "-o", "/x", "-D", "input.records=1", status=2)[1])
        self.assertIn(b"input.records", self.cluster.run("run", "teragen", "-o", "/x", status=2)[1])
        self.assertIn(b"no reduces", self.cluster.run("run", "teragen", "-o", "/x", "-D", "input.records=1", "--reducers", "2", status=2)[1])
        self.cluster.run("fs", "put", "-", "/one", input=b"x" * RECORD)
        self.assertIn(b"--reducers", self.cluster.run("run", "terasort", "/one", "-o", "/x", "--reducers", "0", status=1)[1])


if __name__ == "__main__":
    unittest.main()
