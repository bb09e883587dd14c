# SPDX-License-Identifier: Apache-2.0
"""Where benchmarks run: the build, the data, which is made once, and one master with its workers."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def bytes_of(text):
    match = re.fullmatch(r"(\d+)([KMGT]?)", text.upper())
    if not match:
        raise SystemExit(f"size {text!r}: wanted is a number with K, M, G or T")
    return int(match[1]) << (10 * " KMGT".index(match[2] or " "))


class Setting:
    def __init__(self, build, data, seed=7):
        self.build, self.data, self.seed = os.path.abspath(build), os.path.abspath(data), seed
        self.bin = os.path.join(self.build, "bin")
        if not os.access(os.path.join(self.bin, "millrace"), os.X_OK):
            raise SystemExit(f"{self.bin}/millrace is not there; build it, or name the build directory with --build")
        os.makedirs(self.data, exist_ok=True)
        self.scratch = tempfile.mkdtemp(prefix="run-", dir=self.data)

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def limit(self, name):
        """The limit program, or None when it is not built."""
        path = os.path.join(self.build, "bench", "limits", "limit-" + name)
        return path if os.access(path, os.X_OK) else None

    def file(self, kind, size):
        """A file of generated data, kept from one call of the program to the next."""
        path = os.path.join(self.data, f"{kind}-{size}-{self.seed}")
        if not os.path.exists(path):
            aside = path + ".new"
            if os.path.exists(aside):
                os.unlink(aside)
            subprocess.run([os.path.join(self.bin, "millrace-generate"), kind, "--size", str(size), "--seed", str(self.seed), "-o", aside], check=True)
            os.rename(aside, path)
        return path

    def pieces(self, kind, size, count):
        """A directory with the same data in files of equal size; the generator ends lines at each MiB."""
        path = os.path.join(self.data, f"{kind}-{size}-{self.seed}-in-{count}")
        if not os.path.exists(path):
            shutil.rmtree(path + ".new", ignore_errors=True)
            os.makedirs(path + ".new")
            each = max(size // count >> 20, 1) << 20
            subprocess.run(["split", "-b", str(each), "-d", "-a", "3", self.file(kind, size), path + ".new/doc"], check=True)
            os.rename(path + ".new", path)
        return path

    def cluster(self, workers=1, slots=2, settings=()):
        os.environ["MILLRACE_BIN"] = self.bin
        sys.path.insert(0, os.path.join(HERE, "..", "..", "cluster"))
        sys.dont_write_bytecode = True
        import cluster  # needs MILLRACE_BIN
        tempfile.tempdir = self.scratch
        return cluster.Cluster(workers=workers, map_slots=slots, reduce_slots=slots, settings=settings)


def daemons_of(cluster):
    return [cluster.master.pid, *(worker.pid for worker in cluster.workers.values())]


def files_below(directory):
    return [os.path.join(at, name) for at, _, names in os.walk(directory) for name in names]
