# SPDX-License-Identifier: Apache-2.0
"""Users of a cluster with TLS: who may do what with another's jobs, with pools and with the cluster; the access file; the audit log."""

import json
import os
import re
import unittest

from cluster import await_line
from secure_cluster import SecureCluster, ca

ACCESS = """
administrators = ["admin"]
[groups]
ops = ["carl"]
[pools.production]
submit = ["ann"]
administer = ["@ops"]
"""


class RightsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = SecureCluster(workers=1, map_slots=4, users=("bob", "carl", "admin"), settings=["master.heartbeat=100ms", "dfs.replication=1"])
        cls.access = cls.cluster.path("access.toml")
        cls.write(ACCESS)
        cls.cluster.settings += [f"access.file={cls.access}"]
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    @classmethod
    def write(cls, text):
        with open(cls.access + ".new", "w") as f:
            f.write(text)
        os.rename(cls.access + ".new", cls.access)

    def take(self, text, says):
        """Replaces the access file; returns when the master has said what it thinks of it."""
        seen = os.path.getsize(self.cluster.path("master.log"))
        self.write(text)
        await_line(self.cluster.path("master.log"), says, seen)

    def by(self, user, *args, status=0):
        return self.cluster.by(user, *args, status=status)

    def start_long_job(self, user="ann", pool="production"):
        self.jobs = getattr(RightsTest, "jobs", 0) + 1
        RightsTest.jobs = self.jobs
        return "job" + self.by(user, "run", "sleep", "-o", f"/long{self.jobs}", "-D", "input.maps=1", "-D", "sleep.map_time=1h", "--pool", pool, "--detach").split()[-1]

    def audit(self):
        with open(self.cluster.path("master", "audit.log")) as f:
            return f.read()

    def job(self, job):
        return json.loads(self.by("bob", "job", "status", job, "--json"))

    def test_a_job_is_its_owner_s(self):
        job = self.start_long_job()
        for what, words in (("kill", ("job", "kill", job)), ("change the priority of", ("job", "priority", job, "HIGH")), ("read the logs of", ("job", "logs", job, "m.0.0"))):
            err = self.by("bob", *words, status=1)
            self.assertIn(f"client:bob may not {what} {job}: it is ann's; ask its owner, those who administer its pool \"production\" (@ops) or an administrator (admin)", err)
        self.assertIn(self.job(job)["state"], ("waiting", "running"), "bob may look, and nothing has become of his tries")
        self.by("ann", "job", "priority", job, "HIGH")
        self.by("ann", "job", "kill", job)
        self.assertEqual(self.job(job)["reason"], "killed on request by ann")

    def test_who_administers_the_pool_or_the_cluster_manages_its_jobs_and_the_reason_says_who_did(self):
        job = self.start_long_job()
        self.by("carl", "job", "priority", job, "LOW")
        self.by("carl", "job", "kill", job, "--reason", "wrong input")
        self.assertEqual(self.job(job)["reason"], "wrong input (killed by carl)")
        self.assertIn(f"{job}: wrong input (killed by carl)", self.cluster.log("master"))
        other = self.start_long_job("bob", "bobs")
        self.assertIn("may not kill", self.by("carl", "job", "kill", other, status=1))
        self.assertIn("may not kill", self.by("ann", "job", "kill", other, status=1))
        self.by("admin", "job", "kill", other)
        self.assertEqual(self.job(other)["reason"], "killed on request by admin")
        audit = self.audit()
        self.assertIn(f" allowed client:carl 127.0.0.1 kill {job}\n", audit)
        self.assertIn(f" denied client:ann 127.0.0.1 kill {other}: client:ann may not kill {other}: it is bob's;", audit)
        self.assertIn(f" allowed client:bob 127.0.0.1 submit {other}, \"sleep\" to pool \"bobs\"\n", audit)

    def test_the_cluster_is_for_administrators(self):
        for words in (("node", "decommission", "1", "--force"), ("node", "maintenance", "1", "--for", "1m", "--force"), ("scheduler", "set", "fair"), ("master", "backup", self.cluster.path("backup")), ("fs", "balance")):
            self.assertIn("that is for administrators (admin)", self.by("ann", *words, status=1))
        self.assertEqual(json.loads(self.by("ann", "node", "list", "--json"))[0]["state"], "alive")
        self.by("admin", "scheduler", "set", "fair")
        self.by("admin", "master", "backup", self.cluster.path("backup"))
        audit = self.audit()
        self.assertIn(" denied client:ann 127.0.0.1 setScheduler: client:ann may not call Master.setScheduler: that is for administrators (admin)\n", audit)
        self.assertIn(" allowed client:admin 127.0.0.1 setScheduler \"fair\"\n", audit)
        self.assertIn(" allowed client:admin 127.0.0.1 backUp ", audit)

    def test_a_pool_is_for_those_it_names_and_the_file_is_taken_over_while_the_master_runs(self):
        words = ("run", "sleep", "-D", "input.maps=1", "--reducers", "0", "--pool", "production")
        err = self.by("bob", *words, "-o", "/refused", status=1)
        self.assertIn("client:bob may not submit to pool \"production\": that is for ann, for those who administer the pool (@ops)", err)
        self.assertIn("denied client:bob 127.0.0.1 submit \"sleep\" to pool \"production\": ", self.audit())
        who = json.loads(self.by("bob", "whoami", "--json"))
        self.assertEqual((who["user"], who["administrator"], who["groups"]), ("bob", False, []))
        self.assertEqual(who["pools"], {"production": {"submit": False, "administer": False}, "*": {"submit": True, "administer": False}})
        self.take(ACCESS.replace('["carl"]', '["bob", "carl"]'), b"is in force")
        try:
            self.by("bob", *words, "-o", "/let-in")
            self.assertEqual(json.loads(self.by("bob", "whoami", "--json"))["groups"], ["ops"])
            self.take(ACCESS.replace("@ops", "@opps"), b"the access file has been refused since ")
            status = json.loads(self.by("ann", "cluster", "status", "--json"))
            self.assertTrue(status["healthy"])
            warning, = (warning for warning in status["warnings"] if warning["code"] == "access-file")
            self.assertRegex(warning["text"], r"^the access file has been refused since 20\d\d-\S+Z: " + re.escape(self.access + ":7: pools.production.administer: \"@opps\" is not a group"))
            self.assertIn("its earlier contents stay in force", warning["text"])
            self.by("bob", *words, "-o", "/let-in-still")
        finally:
            self.take(ACCESS, b"is in force")
        self.by("bob", *words, "-o", "/refused-again", status=1)

    def test_whoami_in_words(self):
        out = self.by("carl", "whoami")
        self.assertEqual([line.split() for line in out.splitlines()],
                         [["user", "carl,", "from", "127.0.0.1"], ["administrator:", "no"], ["groups:", "ops"], ["pool", "submit", "administer"],
                          ["production", "yes", "yes"], ["others", "yes", "no"]])


class StartTest(unittest.TestCase):
    def test_a_master_does_not_start_with_a_wrong_access_file(self):
        with SecureCluster(workers=0, users=("bob",)) as cluster:
            access = cluster.path("access.toml")
            with open(access, "w") as f:
                f.write("administrators = [\"@none\"]\n")
            self.assertEqual(cluster.stop_master(), 0)
            cluster.settings += [f"access.file={access}"]
            with self.assertRaises(AssertionError):
                cluster.start_master()
            self.assertIn(f"millrace: master: access.file: {access}:1: administrators: \"@none\" is not a group", cluster.log("master"))
            with open(access, "w") as f:
                f.write("administrators = [\"bob\"]\n")
            cluster.start_master()
            cluster.tls = cluster.certificate_of("bob")
            cluster.run("scheduler", "set", "fair")

    def test_a_master_starts_with_the_last_good_access_file_and_gives_nobody_more(self):
        with SecureCluster(workers=0, users=("bob", "admin"), settings=["master.heartbeat=100ms"]) as cluster:
            access = cluster.path("access.toml")
            with open(access, "w") as f:
                f.write("administrators = [\"bob\"]\n")
            self.assertEqual(cluster.stop_master(), 0)
            cluster.settings += [f"access.file={access}"]
            cluster.start_master()
            cluster.by("bob", "scheduler", "set", "fair")  # once this is acknowledged, the copy, which was written before, is on disk
            for spoil in (lambda: os.unlink(access), lambda: os.mkdir(access)):
                spoil()
                cluster.kill_master()
                cluster.start_master()
                cluster.by("bob", "scheduler", "set", "fair")
                for other in ("ann", "admin"):
                    self.assertIn("that is for administrators (bob)", cluster.by(other, "scheduler", "set", "fifo", status=1))
                self.assertIn("access-file: the access file has been refused since ", cluster.run("cluster", "status", status=1)[0].decode())
            os.rmdir(access)
            seen = os.path.getsize(cluster.path("master.log"))
            with open(access, "w") as f:
                f.write("administrators = [\"admin\"]\n")
            await_line(cluster.path("master.log"), b"is in force; administrators: admin", seen)
            cluster.by("admin", "scheduler", "set", "fifo")
            self.assertNotIn("access-file", cluster.run("cluster", "status", status=1)[0].decode())

    def test_an_access_file_is_checked(self):
        with SecureCluster(workers=0) as cluster:
            for text, status in ((b"administrators = [\"bob\"]\n", 0), (b"[groups]\nops = [\"ann\"]\n[pools.x]\nsubmit = [\"@opps\"]\n", 1)):
                with open(cluster.path("access.toml"), "wb") as f:
                    f.write(text)
                _, error = cluster.run("access", "check", cluster.path("access.toml"), status=status)
                self.assertIn(b'access.toml:4: pools.x.submit: "@opps" is not a group; [groups] has ops' if status else b"", error)
            self.assertIn(b"access check: ", cluster.run("access", "check", cluster.path("none.toml"), status=1)[1])

    def test_certificates_that_end_soon_are_told(self):
        with SecureCluster(workers=1, users=("bob",), settings=["master.heartbeat=100ms", "master.startup_grace=1s"]) as cluster:
            codes = lambda: {notice["code"]: notice["text"] for notice in json.loads(cluster.run("cluster", "status", "--json")[0])["warnings"]}
            self.assertEqual(codes(), {})
            ca("renew", cluster.path("ca"), "--days", "20", "client:bob")
            cluster.tls = cluster.certificate_of("bob")
            self.assertRegex(codes()["certificate-ends"], r"^1 certificate ends within 30 days: yours \(client:bob\) in (20|19) days \(20")
            self.assertRegex(cluster.run("whoami")[0].decode(), r"\ncertificate: ends in (20|19) days \(20")
            cluster.tls = cluster.certificate_of("ann")
            self.assertEqual(codes(), {})
            ca("renew", cluster.path("ca"), "--days", "3", "master", "worker:w0")
            await_line(cluster.path("master.log"), b"the master's in 2 days (")
            await_line(cluster.path("worker0.log"), b"1 certificate ends within 30 days: this worker's in 2 days (")
            self.assertRegex(codes()["certificate-ends"], r"^2 certificates end within 30 days: .*the master's in .*that of node 1|that of node 1.*the master's in ")
            listed = ca("list", cluster.path("ca")).splitlines()
            self.assertEqual([line.split()[0] for line in listed], ["NAME", "master", "worker:w0", "client:bob", "client:ann", "Millrace"])
            listed = json.loads(ca("list", cluster.path("ca"), "--json"))
            self.assertEqual({entry["name"]: entry["state"] for entry in listed if not entry["name"].startswith("Millrace authority ")},
                             {"master": "ends", "worker:w0": "ends", "client:bob": "ends", "client:ann": "good"})
            self.assertEqual({entry["name"] for entry in json.loads(ca("list", cluster.path("ca", "client-ann"), "--json"))} & {"client:ann", "client:bob"}, {"client:ann"})

    def test_an_audit_log_that_cannot_be_written_stops_nobody_and_is_told(self):
        with SecureCluster(workers=0, users=("admin",), settings=["audit.log=/dev/full"]) as cluster:
            cluster.tls = cluster.certificate_of("admin")
            cluster.run("scheduler", "set", "fair")
            warnings = json.loads(cluster.run("cluster", "status", "--json", status=1)[0])["warnings"]
            self.assertIn("the audit log is not written, 1 line is lost so far: ", {warning["code"]: warning["text"] for warning in warnings}["audit-log"])
            self.assertIn("a line of the audit log is lost: ", cluster.log("master"))


if __name__ == "__main__":
    unittest.main()
