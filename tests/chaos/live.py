# SPDX-License-Identifier: Apache-2.0
"""Live chaos: a cluster of real daemons under jobs and clients, and faults from a seed.

  tests/chaos/run live --minutes 20 --seed 7
  tests/chaos/run live --seed 7 --spell 3        # spell 3 of that run alone

Each spell of a minute draws which kinds of faults are on (swarm testing: no kind hides another for long) and strikes every few
seconds. A quiet spell follows, in which everything has to finish: every job has ended with the output that coreutils, mawk or Python
compute, every acknowledged byte is read back, fsck is content, and nothing is left behind. Exit status 1 if anything was not so.
Seeds decide what strikes and when; how it meets the daemons is the machine's doing, so a seed shows again what it showed often,
but not always. Full disks and cut links need root. The daemons' logs are kept in --logs when something was wrong.
"""

import argparse
import collections
import os
import random
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    parser = argparse.ArgumentParser(prog="tests/chaos/run live", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="how long (default 5)")
    parser.add_argument("--seed", type=int, default=None, help="default: from the system")
    parser.add_argument("--spell", type=int, help="only this spell of the run with that seed")
    parser.add_argument("--seconds", type=float, default=60, help="length of a spell with faults (default 60)")
    parser.add_argument("--every", type=float, default=3, help="mean seconds between faults (default 3)")
    parser.add_argument("--kinds", help="draw from these kinds alone, separated by commas, and use them all")
    parser.add_argument("--schedulers", default="fifo,fair+delay,capacity,fifo+ccs", help="one for each spell is drawn from these")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=3, help="jobs at once (default 3)")
    parser.add_argument("--clients", type=int, default=3, help="clients of the file system at once (default 3)")
    parser.add_argument("--bound", type=float, default=120, help="seconds after the last fault in which all has to finish (default 120)")
    parser.add_argument("--build", default="build/dev")
    parser.add_argument("--tls", action="store_true", help="daemons and clients have certificates")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the daemons")
    parser.add_argument("--logs", default="chaos-logs", help="where logs go if something was wrong (default chaos-logs)")
    options = parser.parse_args()
    options.seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
    return options


MOST_OUTPUTS = 250  # of a spell: they stay until it ends, and the disks are small


class Load:
    """Threads that run jobs and clients until they are told to rest."""

    def __init__(self, ground, jobs, files, rng, spell):
        self.resting = threading.Event()
        self.failures = []
        self.threads = [threading.Thread(target=self._guard, args=(self._run_jobs, jobs, random.Random(rng.random()), f"s{spell}w{n}"), daemon=True)
                        for n in range(jobs.at_once)]
        self.threads += [threading.Thread(target=self._guard, args=(self._run_files, each), daemon=True) for each in files]
        for thread in self.threads:
            thread.start()

    def _guard(self, what, *rest):
        try:
            what(*rest)
        except Exception as error:  # a fault of this program's: said, not swallowed
            self.failures.append(f"the load broke: {error!r}")

    def _run_jobs(self, jobs, rng, name):
        number = 0
        while not self.resting.is_set() and len(jobs.open) < MOST_OUTPUTS:
            work = rng.choice(list(jobs.works.values()))
            jobs.run_one(work, f"{work.name}-{name}n{number}")
            number += 1
            self.resting.wait(0.05)

    def _run_files(self, files):
        while not self.resting.is_set():
            files.step()
            self.resting.wait(0.02)


class Spell:
    """One spell: faults, then quiet."""

    def __init__(self, number, seed, options, ground, kinds, say):
        self.number, self.options, self.ground, self.say = number, options, ground, say
        self.rng = random.Random(f"{seed} {number}")
        able = [kind for kind in kinds if ground.private or kind not in faults.NEED_ROOT]
        chosen = options.kinds.split(",") if options.kinds else [kind for kind in able if self.rng.random() < 0.5]
        self.on = {kind: kinds[kind] for kind in chosen or able[:2]}
        self.scheduler = self.rng.choice(options.schedulers.split(","))
        self.struck = collections.Counter()
        self.dead = set()
        self.wrong = []

    def strike(self):
        holding, begin, end = [], time.monotonic(), time.monotonic() + self.options.seconds
        following = begin + self.rng.expovariate(1 / self.options.every)
        while True:
            now = time.monotonic()
            for fault in [each for each in holding if each.until <= now]:
                holding.remove(fault)
                fault.heal()
            self._look_at_daemons(holding)
            if now >= end:
                break
            if now >= following:
                following += self.rng.expovariate(1 / self.options.every)
                kind = self.rng.choice(sorted(self.on))
                fault = self.on[kind](self.ground, random.Random(self.rng.random()))
                if fault is not None:
                    fault.until, fault.kind = now + fault.seconds, kind
                    holding.append(fault)
                    self.struck[kind] += 1
                    self.say(f"  {now - begin:5.1f} s  {fault.what}")
            time.sleep(0.05)
        for fault in holding:
            fault.heal()

    def _look_at_daemons(self, holding):
        """A daemon that ended by itself is a violation; it is started again."""
        expected = " ".join(fault.what for fault in holding if "killed" in fault.what)
        for name, process, start in [("master", self.ground.master, self.ground.start_master),
                                     *((f"worker {n}", p, lambda n=n: self.ground.start_worker(n, wait=False)) for n, p in self.ground.workers.items())]:
            if process.poll() is not None and f"{name} killed" not in expected:
                self.wrong.append(f"{name} ended by itself with status {process.returncode}")
                start()

    def quiet(self, load, jobs, files):
        bound, ground = self.options.bound, self.ground
        load.resting.set()
        self.wrong += quiet.workers_are_back(ground, bound)
        self.wrong += quiet.jobs_end(ground, jobs, bound)
        self.wrong += quiet.clients_end(ground, load.threads, bound)
        self.wrong += load.failures
        for pid in list(ground.clients):  # of jobs that hung and were killed, or of clients that hung
            faults._signal([pid], faults.signal.SIGKILL)
        for thread in load.threads:
            thread.join(bound)
        self.wrong += jobs.settle(self.struck["kill-worker"])
        for each in files:
            self.wrong += each.settle()
        self.wrong += quiet.blocks_are_healthy(ground, bound)
        self.wrong += quiet.nothing_is_left(ground, min(bound, 30))
        self._look_at_daemons([])


def table(spells, jobs, counts, seconds):
    struck = sum((spell.struck for spell in spells), collections.Counter())
    total = sum(struck.values())
    rows = [("faults", total), *((f"  {kind}", n) for kind, n in sorted(struck.items())),
            ("faults a minute of trouble", f"{total / max(seconds, 1) * 60:.1f}"), ("", ""),
            *((f"jobs {state}", n) for state, n in sorted(jobs.counts.items())), ("", ""), *sorted(counts.items())]
    return "\n".join(f"{name:<34}{value:>14}" for name, value in rows)


def main():
    options = arguments()
    os.environ["MILLRACE_BIN"] = os.path.join(os.path.abspath(options.build), "bin")
    global faults, quiet
    import faults
    import ground as grounds
    private = grounds.enter()
    import files as file_clients
    import jobs as job_clients
    import quiet

    def say(line):
        print(line, flush=True)

    say(f"seed {options.seed}" + ("" if private else "; not root: no full disks, no cut links"))
    counts, spells, begin = collections.Counter(), [], time.monotonic()
    kinds = faults.kinds()
    ground_class = grounds.SecureGround if options.tls else grounds.Ground
    with ground_class(options.workers, private, options.set) as ground:
        if not ground.shim:
            say("no C compiler: no jumping clocks")
        rng = random.Random(options.seed)
        jobs = job_clients.Jobs(ground, job_clients.prepare(ground, options.seed))
        jobs.at_once = options.jobs
        ground.run("fs", "mkdir", "/files", "/jobs")
        files = [file_clients.Files(ground, random.Random(rng.random()), n, counts) for n in range(options.clients)]
        first = options.spell or 0
        number = first
        while number == first or (options.spell is None and time.monotonic() - begin + options.seconds < options.minutes * 60):
            spell = Spell(number, options.seed, options, ground, kinds, say)
            say(f"spell {number}, {spell.scheduler}: {', '.join(sorted(spell.on))}")
            ground.run("scheduler", "set", spell.scheduler)
            load = Load(ground, jobs, files, spell.rng, number)
            spell.strike()
            calm = time.monotonic()
            spell.quiet(load, jobs, files)
            say(f"  quiet after {time.monotonic() - calm:.1f} s: " + (f"{len(spell.wrong)} wrong" if spell.wrong else "all is well"))
            for line in spell.wrong:
                say(f"  WRONG: {line}")
            spells.append(spell)
            number += 1
        wrong = [spell for spell in spells if spell.wrong]
        ground.keep = options.logs if wrong else None
    say("")
    say(table(spells, jobs, counts, options.seconds * len(spells)))
    if not wrong:
        say(f"\n{len(spells)} spells, nothing wrong")
        return 0
    for spell in wrong:
        say(f"\nspell {spell.number} went wrong: --seed {options.seed} --spell {spell.number}")
        for line in spell.wrong:
            say(f"  {line}")
    say(f"logs: {options.logs}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
