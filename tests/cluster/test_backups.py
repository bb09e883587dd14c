# SPDX-License-Identifier: Apache-2.0
"""Backups of the master's database that are made again and again, copied, checked, and restored after a loss."""

import json
import os
import random
import re
import shlex
import shutil
import subprocess
import time
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster
from test_full_disk import SmallDisk

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1s"]
SHIM = os.environ["MILLRACE_TEST_REFUSED_SYNC"]
SYSTEMD = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "deploy", "systemd")
FIRST_AFTER_A_GAP = 1_000_000


def service_command(**settings):
    """The command of millrace-backup.service, with the settings of its file and these."""
    with open(os.path.join(SYSTEMD, "backup.env")) as f:
        values = dict(line.rstrip("\n").split("=", 1) for line in f if re.match("[A-Z_]+=", line))
    values = {name: shlex.split(value)[0] if value else "" for name, value in values.items()} | settings
    with open(os.path.join(SYSTEMD, "millrace-backup.service.in")) as f:
        command = re.search(r"(?m)^ExecStart=@MILLRACE_BIN@/millrace (.*)$", f.read())[1]
    return [re.sub(r"[$][{]([A-Z_]+)[}]", lambda name: values[name[1]], word) for word in command.split()]


class BackupsTest(unittest.TestCase):
    def offline(self, cluster, *args, status=0):
        """Runs the master's program on the cluster's directory and gives what it says."""
        setting = ["--set", f"master.directory={cluster.path('master')}", "--set", "master.bind=127.0.0.1:0"]
        done = subprocess.run([MILLRACE, "master", *args, *setting], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout.decode()

    def verify(self, cluster, directory, status=0):
        return self.offline(cluster, "restore", "--verify", directory, status=status)

    def status(self, cluster):
        return json.loads(cluster.run("cluster", "status", "--json", status=None)[0])

    def codes(self, cluster):
        return {warning["code"] for warning in self.status(cluster)["warnings"]}

    def tree(self, directory):
        found = {}
        for place, _, names in os.walk(directory):
            for name in names:
                with open(os.path.join(place, name), "rb") as f:
                    found[os.path.join(place, name)] = f.read()
        return found

    def test_the_command_of_the_timers_service_keeps_as_many_as_it_is_told(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            backups = cluster.path("backups")
            self.assertIsNone(self.status(cluster)["backup"])
            self.assertIn(b"none is known", cluster.run("cluster", "status", status=None)[0])
            for n in range(4):
                cluster.run("fs", "mkdir", f"/d{n}")
                out, _ = cluster.run(*service_command(BACKUP_DIRECTORY=backups, BACKUP_KEEP="2"))
                self.assertEqual(b"1 older removed" in out, n >= 2, out)
            self.assertEqual(sorted(os.listdir(os.path.join(backups, "meta"))), ["3", "4"])
            backup = self.status(cluster)["backup"]
            self.assertEqual(backup["directory"], backups)
            self.assertLess(backup["age_s"], LIMIT_SECONDS)
            self.assertIsNone(backup["copy"])
            cluster.stop_master()
            cluster.start_master()
            self.assertEqual(self.status(cluster)["backup"]["made_at"], backup["made_at"], "it outlives a restart")
            self.assertIn("5 directories", self.verify(cluster, backups))

    def test_a_copy_is_made_by_a_command_and_its_failure_is_told(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            backups, elsewhere = cluster.path("back ups"), cluster.path("elsewhere")
            cluster.run(*service_command(BACKUP_DIRECTORY=backups, BACKUP_COPY=f"cp -a {{}} {elsewhere}"))
            self.verify(cluster, elsewhere)
            self.assertTrue(self.status(cluster)["backup"]["copy"]["ok"])
            self.assertNotIn("backup-copy", self.codes(cluster))
            _, error = cluster.run("master", "backup", backups, "--copy", "echo no route to the vault >&2; exit 7; :", status=1)
            self.assertIn(b"the backup is in " + backups.encode() + b", but it is not copied elsewhere", error)
            self.assertIn(b"status 7: no route to the vault", error)
            self.assertEqual(sorted(os.listdir(os.path.join(backups, "seal"))), ["1", "2"], "the backup itself is there")
            self.verify(cluster, backups)
            cluster.stop_master()
            cluster.start_master()
            self.assertIn("backup-copy", self.codes(cluster))
            self.assertIn(b"NOT copied", cluster.run("cluster", "status", status=None)[0])
            self.assertIn("no route to the vault", self.status(cluster)["backup"]["copy"]["problem"])
            cluster.run("master", "backup", backups, "--copy", "test -d")
            self.assertNotIn("backup-copy", self.codes(cluster))

    def test_an_old_backup_is_warned_of(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            self.assertNotIn("backup-age", self.codes(cluster))
            cluster.stop_master()
            cluster.settings = [*FAST, "master.backup_age=1ms"]
            cluster.start_master()
            self.assertIn("backup-age", self.codes(cluster), "there is none, and the age is set")
            cluster.run("master", "backup", cluster.path("backups"))
            while "backup-age" not in self.codes(cluster):
                pass
            cluster.stop_master()
            cluster.settings = [*FAST, "master.backup_age=1h"]
            cluster.start_master()
            self.assertNotIn("backup-age", self.codes(cluster))

    def test_damage_of_a_backup_is_found_and_nothing_is_touched(self):
        seed = int(os.environ.get("MILLRACE_SEED", time.time_ns() % 10**9))
        chance = random.Random(seed)
        with Cluster(workers=1, settings=FAST) as cluster, self.subTest(seed=seed):
            backups = cluster.path("backups")
            cluster.run("fs", "put", "--replication", "1", "-", "/file", input=b"some words\n" * 1000)
            cluster.run("run", "wordcount", "/file", "-o", "/out")
            cluster.run("master", "backup", backups)
            whole = self.tree(backups)
            before = self.tree(cluster.path("master", "database"))
            said = self.verify(cluster, backups)
            self.assertIn(f"a whole backup of cluster {cluster.id}", said)
            self.assertIn("1 job (0 live)", said)
            self.assertEqual(self.tree(backups), whole)
            self.assertEqual(self.tree(cluster.path("master", "database")).keys(), before.keys())
            for _ in range(40):
                path = chance.choice(sorted(whole))
                at, bit = chance.randrange(len(whole[path])), 1 << chance.randrange(8)
                with open(path, "r+b") as f:
                    f.seek(at)
                    f.write(bytes([whole[path][at] ^ bit]))
                self.verify(cluster, backups, status=1)
                with open(path, "wb") as f:
                    f.write(whole[path])
            self.verify(cluster, backups)
            self.verify(cluster, cluster.path("nothing"), status=1)
            target = cluster.path("restored")
            done = subprocess.run([MILLRACE, "master", "restore", cluster.path("nothing"), "--set", f"master.directory={target}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                                  timeout=LIMIT_SECONDS)
            self.assertEqual((done.returncode, os.path.exists(target)), (1, False))

    def restore(self, cluster, backups):
        cluster.kill_master()
        shutil.rmtree(cluster.path("master", "database"))
        said = self.offline(cluster, "restore", backups)
        cluster.start_master()
        return said

    def test_a_backup_that_was_killed_midway_is_not_taken_for_a_whole_one(self):
        seed = int(os.environ.get("MILLRACE_SEED", time.time_ns() % 10**9))
        chance = random.Random(seed)
        with Cluster(workers=0, settings=FAST) as cluster, self.subTest(seed=seed):
            backups = cluster.path("backups")
            for n in range(8):
                cluster.run("fs", "mkdir", f"/d{n}")
                cluster.run("master", "backup", backups)
                cluster.run("fs", "mkdir", f"/later{n}")
                backup = cluster.start("master", "backup", backups, "--keep", "3")
                try:
                    backup.wait(chance.uniform(0, 0.15))
                except subprocess.TimeoutExpired:
                    pass
                cluster.kill_master()
                backup.kill()
                backup.communicate()
                said = subprocess.run([MILLRACE, "master", "restore", "--verify", backups], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS)
                self.assertTrue(said.returncode == 0 or b"has no seal" in said.stdout, said.stdout)
                with_it = cluster.path(f"restored{n}")
                os.mkdir(with_it)
                subprocess.run([MILLRACE, "master", "restore", backups, "--set", f"master.directory={with_it}"], check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_SECONDS)
                cluster.start_master()
                out, _ = cluster.run("fs", "ls", "/")
                self.assertIn(b"later%d" % n, out)
            cluster.run("master", "backup", backups, "--keep", "1")
            self.verify(cluster, backups)

    def test_a_full_disk_of_backups_costs_that_backup_alone(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            disk = SmallDisk(cluster.path("disk"), "8m")
            self.addCleanup(disk.unmount)
            backups = os.path.join(disk.path, "backups")
            cluster.run("fs", "mkdir", "/first")
            cluster.run("master", "backup", backups)
            disk.fill(leave=0)
            for n in range(50):
                cluster.run("fs", "mkdir", f"/d{n}")
            _, error = cluster.run("master", "backup", backups, "--keep", "1", status=1)
            self.assertIn(b"No space left on device", error)
            log = cluster.log("master")
            self.assertEqual(log.count(f"the database is backed up to {backups}"), 1, "the second one failed")
            self.assertIn(f"the database is not backed up to {backups}: ", log)
            self.verify(cluster, backups)
            cluster.run("fs", "mkdir", "/the-master-goes-on")
            disk.clear()
            cluster.run("master", "backup", backups, "--keep", "1")
            self.assertIn("53 directories", self.verify(cluster, backups))
            disk.unmount()

    def test_a_disk_of_backups_that_refuses_syncs_costs_that_backup_alone(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            cluster.stop_master()
            os.environ.update(LD_PRELOAD=SHIM, REFUSED_FSYNC="/refusing/")
            try:
                cluster.start_master()
            finally:
                del os.environ["LD_PRELOAD"], os.environ["REFUSED_FSYNC"]
            _, error = cluster.run("master", "backup", cluster.path("refusing", "backups"), status=1)
            self.assertIn(b"Input/output error", error)
            self.assertIsNone(self.status(cluster)["backup"])
            self.verify(cluster, cluster.path("refusing", "backups"), status=1)
            cluster.run("fs", "mkdir", "/the-master-goes-on")
            cluster.run("master", "backup", cluster.path("backups"))
            self.verify(cluster, cluster.path("backups"))

    def jobs(self, cluster):
        return {job["job"]: job for job in json.loads(cluster.run("job", "list", "--json")[0])}

    def submit(self, cluster, name, time="1ms", *flags):
        out, _ = cluster.run("run", "sleep", "-o", f"/{name}", "-D", "input.maps=1", "--reducers", "0", "-D", f"sleep.map_time={time}", "--detach", *flags)
        return int(re.search(rb"(\d+)\s*$", out)[1])

    def history_of_all_has(self, cluster, jobs):
        """What reads the history of all jobs goes on without those that are lost, which have none."""
        history = cluster.run("job", "history")[0].decode()
        archive = cluster.path("support.tar.gz")
        cluster.run("support", "-o", archive)
        events = subprocess.run(["tar", "-xzOf", archive, "events.txt"], check=True, capture_output=True, timeout=LIMIT_SECONDS).stdout.decode()
        for job in jobs:
            self.assertIn(f" JobSubmitted job=job{job} ", history)
            self.assertIn(f" JobSubmitted job=job{job} ", events)
        self.assertIn(f"The history has {len(jobs)} jobs".encode(), cluster.run("advise")[0])
        cluster.run("history", "export", "-o", cluster.path("workload.toml"))

    def test_numbers_of_lost_jobs_are_never_given_again(self):
        with Cluster(workers=1, settings=FAST) as cluster:
            backups = cluster.path("backups")
            first = self.submit(cluster, "first")
            cluster.run("job", "wait", str(first))
            cluster.run("master", "backup", backups)
            ended = self.submit(cluster, "ended")
            cluster.run("job", "wait", str(ended))
            long = self.submit(cluster, "long", "1h")
            while not self.jobs(cluster)[long]["maps"]["running"]:
                pass
            self.assertIn("from the backup of 2", self.restore(cluster, backups))
            # The worker's only slot is free once the attempt of the lost job is ended.
            between = self.submit(cluster, "between")
            cluster.run("job", "wait", "--timeout", "2m", str(between))
            self.assertGreater(between, FIRST_AFTER_A_GAP)
            jobs = self.jobs(cluster)
            self.assertEqual(jobs[first]["state"], "succeeded")
            self.assertEqual(jobs[long]["state"], "lost")
            self.assertRegex(jobs[long]["reason"], "submitted after the backup of .* UTC, from which the database was restored, and is lost .worker 1,")
            self.assertIn(b" lost", cluster.run("job", "list")[0])
            told = cluster.run("job", "status", str(long))[0]
            self.assertRegex(told, rb"^job%d: lost, it was submitted after the backup .*\n$" % long)
            self.assertIsNone(jobs[long]["submitted_at"])
            _, error = cluster.run("job", "wait", str(long), status=1)
            self.assertIn(b"lost: it was submitted after the backup", error)
            for lost in (long + 1, long + 2, 500_000):  # nothing is known of these
                _, error = cluster.run("job", "status", str(lost), status=1)
                self.assertIn(b"if it was submitted, that was after the backup of ", error)
                self.assertIn(b"and it is lost", error)
            _, error = cluster.run("job", "status", str(between + 1000), status=1)
            self.assertIn(b"no such job", error)
            _, error = cluster.run("job", "kill", str(long), status=1)
            self.assertIn(b"it is lost", error)
            self.history_of_all_has(cluster, [first, between])

            # The same backup again: what was given in between is not given again.
            again = self.submit(cluster, "again", "1h")
            while not self.jobs(cluster)[again]["maps"]["running"]:
                pass
            self.restore(cluster, backups)
            last = self.submit(cluster, "last")
            cluster.run("job", "wait", "--timeout", "2m", str(last))
            self.assertGreater(last, again)
            self.assertEqual(self.jobs(cluster)[again]["state"], "lost")
            cluster.stop_master()
            cluster.start_master()
            self.assertEqual(self.jobs(cluster)[again]["state"], "lost", "it outlives a restart")
            self.assertIn("database-doubt", self.codes(cluster))

    def test_the_audit_log_tells_of_lost_jobs(self):
        with Cluster(workers=1, settings=FAST) as cluster:
            cluster.stop_master()
            cluster.settings = [*FAST, f"audit.log={cluster.path('audit.log')}"]
            cluster.start_master()
            backups = cluster.path("backups")
            kept = self.submit(cluster, "kept")
            cluster.run("job", "wait", str(kept))
            cluster.run("master", "backup", backups)
            ended = self.submit(cluster, "ended", "1ms", "--name", "of the night")
            cluster.run("job", "wait", str(ended))
            self.restore(cluster, backups)
            jobs = self.jobs(cluster)
            self.assertEqual({number: job["state"] for number, job in jobs.items()}, {kept: "succeeded", ended: "lost"})
            self.assertIn("the audit log has its submission, at 2", jobs[ended]["reason"])
            self.assertEqual(jobs[ended]["name"], "of the night")
            told = cluster.run("job", "status", str(ended))[0].decode()
            self.assertRegex(told, rf"^job{ended} \"of the night\" of \S+: lost, it was submitted after the backup ")


if __name__ == "__main__":
    unittest.main()
