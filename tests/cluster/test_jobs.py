# SPDX-License-Identifier: Apache-2.0
"""The bundled jobs over real daemons, compared with what coreutils and mawk make of the same files."""

import json
import os
import unittest

from cluster import Cluster, shell, words

WORDCOUNT = "cat {files} | tr -s ' \\t\\n\\v\\f\\r' '\\n' | sed '/^$/d' | sort | uniq -c | mawk '{{c=$1; sub(/^ *[0-9]+ /, \"\"); print $0 \"\\t\" c}}' | sort"


def sorted_lines(parts):
    return b"".join(sorted(line for part in parts.values() for line in part.splitlines(keepends=True)))


class JobsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=3, racks=2)
        cls.cluster.__enter__()
        cls.text = cls.cluster.path("text")
        os.mkdir(cls.text)
        for n in range(3):
            with open(os.path.join(cls.text, f"words {n}.txt"), "wb") as f:
                f.write(words(n, 300_000))
        cls.cluster.run("fs", "put", "--block-size", "1M", "--replication", "2", cls.text, "/text")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def check_sorted(self, parts):
        for name, part in parts.items():
            keys = [line.split(b"\t")[0] for line in part.splitlines()]
            self.assertEqual(keys, sorted(keys), name)

    def test_wordcount(self):
        expected = shell(WORDCOUNT.format(files="*"), cwd=self.text)
        for reducers in (1, 7):
            with self.subTest(reducers=reducers):
                out = f"/wordcount{reducers}"
                self.cluster.run("run", "wordcount", "/text", "-o", out, "--reducers", str(reducers))
                parts = self.cluster.output(out)
                self.assertEqual(sorted(parts), [f"part-r-{n:05}" for n in range(reducers)])
                self.check_sorted(parts)
                self.assertEqual(sorted_lines(parts), b"".join(sorted(expected.splitlines(keepends=True))))

    def test_grep_counts_matches(self):
        self.cluster.run("run", "grep", "/text", "-o", "/grep", "-D", "grep.pattern=[a-g][a-z]*ing?", "--reducers", "2")
        expected = shell("cat * | grep -oE '[a-g][a-z]*ing?' | sort | uniq -c | mawk '{print $2 \"\\t\" $1}' | sort", cwd=self.text)
        self.assertEqual(sorted_lines(self.cluster.output("/grep")), expected)

    def test_grep_of_patterns_that_are_searched_for_in_different_ways(self):
        for pattern in ("an", "(?i)E[a-z]*AN", "[aeiou]{2,}|z$", "^[a-m][^n ]*", "[^ ]*er$"):
            with self.subTest(pattern=pattern):
                self.cluster.run("fs", "rm", "-r", "-f", "/ways")
                self.cluster.run("run", "grep", "/text", "-o", "/ways", "-D", f"grep.pattern={pattern}")
                expected = shell(f"cat * | grep -oP '{pattern}' | sort | uniq -c | mawk '{{print $2 \"\\t\" $1}}' | sort", cwd=self.text)
                self.assertGreater(len(expected), 0)
                self.assertEqual(sorted_lines(self.cluster.output("/ways")), expected)

    def test_grep_gives_lines(self):
        self.cluster.run("run", "grep", "/text", "-o", "/lines", "-D", "grep.pattern=^a.*z$", "-D", "grep.lines=true")
        expected = shell("cat * | grep '^a.*z$' | sort", cwd=self.text)
        self.assertGreater(len(expected), 0)
        self.assertEqual(sorted_lines(self.cluster.output("/lines")), expected)

    def test_invertedindex(self):
        self.cluster.run("run", "invertedindex", "/text", "-o", "/index", "--reducers", "3")
        expected = {}
        for name in sorted(os.listdir(self.text)):
            with open(os.path.join(self.text, name), "rb") as f:
                for word in set(f.read().split()):
                    expected.setdefault(word, []).append(name.encode())
        lines = b"".join(sorted(word + b"\t" + b" ".join(files) + b"\n" for word, files in expected.items()))
        self.assertEqual(sorted_lines(self.cluster.output("/index")), lines)

    def test_little_memory_gives_the_same(self):
        with open(self.cluster.path("big"), "wb") as f:
            f.write(words(7, 1_500_000))  # one block, one map, more than its memory
        self.cluster.run("fs", "put", self.cluster.path("big"), "/big")
        every_line = ("-D", "grep.pattern=", "-D", "grep.lines=true")
        self.cluster.run("run", "grep", "/big", "-o", "/roomy", *every_line)
        self.cluster.run("run", "grep", "/big", "-o", "/tight", *every_line, "-D", "task.memory=4MiB")
        self.assertEqual(self.cluster.output("/tight"), self.cluster.output("/roomy"))
        counters = self.cluster.run("job", "counters", str(max(self.jobs())))[0].decode()
        spilled = [int(line.split()[-1]) for line in counters.splitlines() if "spilled_records" in line]
        self.assertGreater(spilled[0], 0, "the maps did not fit into memory")

    def test_compressed_map_output_gives_the_same(self):
        self.cluster.run("run", "invertedindex", "/text", "-o", "/plain", "--reducers", "2")
        self.cluster.run("run", "invertedindex", "/text", "-o", "/zstd", "--reducers", "2", "-D", "map.compress=zstd")
        self.assertEqual(self.cluster.output("/zstd"), self.cluster.output("/plain"))
        plain, packed = (self.jobs()[n]["bytes_shuffled"] for n in sorted(self.jobs())[-2:])
        self.assertLess(packed, plain)

    def test_map_outputs_that_cross_no_network_are_not_compressed_by_themselves(self):
        with open(self.cluster.path("lines"), "wb") as f:
            f.write(words(5, 400_000))
        with Cluster(workers=1, map_slots=2, reduce_slots=2) as alone:
            alone.run("fs", "put", "--block-size", "1M", self.cluster.path("lines"), "/lines")
            stored = {}
            for mode in ("none", "zstd", "auto", "auto"):
                out = f"/out{sum(map(len, stored.values()))}"
                alone.run("run", "grep", "/lines", "-o", out, "--reducers", "2", "-D", "grep.pattern=", "-D", "grep.lines=true",
                          "-D", f"map.compress={mode}", "-D", "job.pack=0")
                job = max(job["job"] for job in json.loads(alone.run("job", "list", "--json")[0]))
                counters = alone.run("job", "counters", str(job))[0].decode()
                stored.setdefault(mode, []).append(next(line.split()[-1] for line in counters.splitlines() if "map_stored_bytes" in line))
            self.assertEqual(stored["auto"], stored["none"] * 2)
            self.assertNotEqual(stored["zstd"], stored["none"])

    def jobs(self):
        return {job["job"]: job for job in json.loads(self.cluster.run("job", "list", "--json")[0])}

    def test_a_job_that_names_no_pool_is_in_its_users(self):
        run = ("run", "grep", "/text/words 1.txt", "-D", "grep.pattern=a", "--user", "ann")
        self.cluster.run(*run, "-o", "/own", "--name", "own pool")
        self.cluster.run(*run, "-o", "/named", "--name", "named pool", "--pool", "ads")
        listed = lambda *args: {job["name"]: job["pool"] for job in json.loads(self.cluster.run("job", "list", *args, "--json")[0]) if job["name"].endswith(" pool")}
        self.assertEqual(listed(), {"own pool": "ann", "named pool": "ads"})
        self.assertEqual(listed("--pool", "ann"), {"own pool": "ann"})
        number = next(str(job["job"]) for job in self.jobs().values() if job["name"] == "own pool")
        self.assertIn(b'pool "ann"', self.cluster.run("job", "status", number)[0])

    def test_the_most_reducers_that_are_allowed(self):
        self.cluster.run("run", "wordcount", "/text/words 1.txt", "-o", "/thousand", "--reducers", "1000")
        expected = shell(WORDCOUNT.format(files="'words 1.txt'"), cwd=self.text)
        parts = self.cluster.output("/thousand")
        self.assertEqual(len(parts), 1000)
        self.assertEqual(sorted_lines(parts), b"".join(sorted(expected.splitlines(keepends=True))))

    def test_nasty_inputs(self):
        rng_words = words(9, 200_000)
        long_line = b"x" * 2_500_000 + b" y " + b"z" * 1_200_000
        files = {
            "crlf": rng_words.replace(b"\n", b"\r\n"),
            "no final newline": rng_words.rstrip(b"\n") + b" last",
            "empty": b"",
            "only newlines": b"\n" * 1000,
            "nul bytes": b"a\0b \0 c\n" * 1000,
            "three blocks in a line": b"first line\n" + long_line + b"\nlast line\n",
            "one line without an end": long_line,
            "new\nline in its name": b"name\n",
            "ends at a block": b"w" * ((1 << 20) - 1) + b"\n" + b"next\n",
        }
        local = self.cluster.path("nasty")
        os.mkdir(local)
        for name, data in files.items():
            with open(os.path.join(local, name), "wb") as f:
                f.write(data)
        self.cluster.run("fs", "put", "--block-size", "1M", local, "/nasty")
        counts = {}
        for data in files.values():
            for word in data.split():
                counts[word] = counts.get(word, 0) + 1
        expected = b"".join(sorted(word + b"\t%d\n" % count for word, count in counts.items()))
        self.cluster.run("run", "wordcount", "/nasty", "-o", "/nasty-out", "--reducers", "2")
        self.assertEqual(sorted_lines(self.cluster.output("/nasty-out")), expected)
        # Every line once, as it is.
        self.cluster.run("run", "grep", "/nasty", "-o", "/nasty-lines", "-D", "grep.pattern=", "-D", "grep.lines=true")
        lines = sorted(line for data in files.values() for line in data.split(b"\n")[: -1 if data.endswith(b"\n") or not data else None])
        got = b"".join(self.cluster.output("/nasty-lines").values())
        self.assertEqual(got, b"".join(line + b"\n" for line in lines))

    def test_small_files_share_maps(self):
        local = self.cluster.path("shared")
        counts, index = {}, {}
        for n in range(200):
            name, data = f"d{n % 3}/f{n}", words(n, 50 * (n % 30), vocabulary=400)
            os.makedirs(os.path.join(local, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(local, name), "wb") as f:
                f.write(data)
            for word in data.split():
                counts[word] = counts.get(word, 0) + 1
                index.setdefault(word, set()).add(name.encode())
        self.cluster.run("fs", "put", "--replication", "2", local, "/shared")
        expected = {
            "wordcount": sorted(word + b"\t%d" % count for word, count in counts.items()),
            "invertedindex": sorted(word + b"\t" + b" ".join(sorted(files)) for word, files in index.items()),
        }
        size = sum(os.path.getsize(os.path.join(local, directory, name)) for directory, _, names in os.walk(local) for name in names)
        # Two maps for each of three slots at least.
        for options, least, most in ((), 6, 20), (("-D", "job.pack=0"), 200, 200):
            for job, lines in expected.items():
                with self.subTest(job=job, options=options):
                    output = "/shared-" + job + str(len(options))
                    self.cluster.run("run", job, "/shared", "-o", output, "--reducers", "2", *options)
                    self.assertEqual(sorted_lines(self.cluster.output(output)).splitlines(), lines)
                    status = self.jobs()[max(self.jobs())]
                    self.assertTrue(least <= status["maps"]["total"] <= most, status["maps"])
                    self.assertEqual(status["input_bytes"], size)
                    counters = self.cluster.run("job", "counters", str(status["job"]))[0].decode()
                    self.assertIn(str(size), [line.split()[-1] for line in counters.splitlines() if "map_input_bytes" in line])

    def test_thousands_of_small_files(self):
        local = self.cluster.path("small")
        os.mkdir(local)
        for n in range(1500):
            with open(os.path.join(local, f"f{n}"), "w") as f:
                f.write(f"common w{n % 7}\n")
        self.cluster.run("fs", "put", local, "/small")
        self.cluster.run("run", "wordcount", "/small", "-o", "/small-out")
        got = dict(line.split(b"\t") for line in sorted_lines(self.cluster.output("/small-out")).splitlines())
        self.assertEqual(got[b"common"], b"1500")
        self.assertEqual(int(got[b"w0"]) + int(got[b"w6"]), 215 + 214)

    def test_no_reducers_and_many(self):
        self.cluster.run("run", "grep", "/text/words 1.txt", "-o", "/maponly", "-D", "grep.pattern=zz", "-D", "grep.lines=true", "--reducers", "0")
        expected = shell("grep zz 'words 1.txt' | sort", cwd=self.text)
        parts = self.cluster.output("/maponly")
        self.assertTrue(all(name.startswith("part-m-") for name in parts))
        self.assertEqual(sorted_lines(parts), expected)
        self.cluster.run("run", "wordcount", "/text/words 1.txt", "-o", "/many", "--reducers", "100")
        parts = self.cluster.output("/many")
        self.assertEqual(len(parts), 100)
        expected = shell(WORDCOUNT.format(files="'words 1.txt'"), cwd=self.text)
        self.assertEqual(sorted_lines(parts), b"".join(sorted(expected.splitlines(keepends=True))))


if __name__ == "__main__":
    unittest.main()
