# SPDX-License-Identifier: Apache-2.0
"""The project of docs/use/writing-jobs.md, and inputs for its jobs."""

import os
import random
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "cluster"))
import pages  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "use", "writing-jobs.md")


def write(directory, name, lines):
    with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in lines)


def write_project(directory):
    """Writes the listings of the page. Returns its commands in order, a line each."""
    for block in pages.blocks(PAGE, "cpp"):
        name = re.match(r"// (\w+\.cc)\n", block)
        assert name is not None, "a listing begins with its file's name:\n" + block
        write(directory, name[1], [block.rstrip("\n")])
    write(directory, "CMakeLists.txt", [block.rstrip("\n") for block in pages.blocks(PAGE, "cmake")])
    return [line for block in pages.blocks(PAGE, "sh") for line in block.splitlines()]


class Inputs:
    """What the commands of the page read; the same for each seed."""

    def __init__(self, seed=20):
        rng = random.Random(seed)
        self.visits = [(f"u{rng.randrange(50)}", f"/page/{int(rng.paretovariate(1.1))}") for _ in range(3000)]
        self.users = {n: f"name {n}" for n in range(40)}
        self.orders = [(rng.randrange(60), f"item {n}") for n in range(500)]
        self.weather = [(rng.choice(["Oslo", "Rome", "Lima"]), rng.randrange(-40, 160) / 4) for _ in range(1000)]
        self.text = [" ".join(rng.choice(["the", "and", "Cat", "dog", "ran"]) for _ in range(8)) for _ in range(200)]
        self.log = [(rng.randrange(100_000), f"u{rng.randrange(20)}") for _ in range(2000)]
        self.amounts = [(f"c{rng.randrange(60)}", rng.randrange(1000)) for _ in range(1500)]
        self.names = {f"c{n}": f"Customer {n}" for n in range(20, 80)}

    def write(self, directory):
        write(directory, "visits", [f"{user} {url}" for user, url in self.visits])
        write(directory, "users", [f"{n} {name}" for n, name in self.users.items()])
        write(directory, "orders", [f"{n} {item}" for n, item in self.orders])
        write(directory, "weather", [f"{city} {degrees}" for city, degrees in self.weather])
        write(directory, "text", self.text)
        write(directory, "stop.txt", ["the and"])
        write(directory, "log", [f"{time} {user}" for time, user in self.log])
        write(directory, "amounts", [f"{customer} {amount}" for customer, amount in self.amounts])
        write(directory, "names", [f"{customer} {name}" for customer, name in self.names.items()])
