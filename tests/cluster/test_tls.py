# SPDX-License-Identifier: Apache-2.0
"""A cluster with TLS: what works as without it, who is refused, and certificates that are renewed while jobs run."""

import json
import os
import shutil
import socket
import ssl
import stat
import subprocess
import time
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster, await_line, shell, words
from secure_cluster import SecureCluster, ca


def read(path):
    with open(path) as f:
        return f.read()


class SecuredTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = SecureCluster(workers=3, settings=["worker.log_level=debug"])
        cls.cluster.__enter__()
        cls.text = cls.cluster.path("text")
        with open(cls.text, "wb") as f:
            f.write(words(1, 400_000))
        cls.cluster.run("fs", "put", "--block-size", "1M", "--replication", "2", cls.text, "/text")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def check_wordcount(self, out):
        expected = shell("tr -s ' ' '\\n' <text | sed '/^$/d' | sort | uniq -c | mawk '{print $2 \"\\t\" $1}' | sort", cwd=self.cluster.directory)
        lines = b"".join(self.cluster.output(out).values()).splitlines(keepends=True)
        self.assertEqual(b"".join(sorted(lines)), expected)

    def port_of_master(self):
        return int(self.cluster.address.split(":")[1])

    def test_a_job_gives_what_it_gives_without_tls(self):
        self.cluster.run("run", "wordcount", "/text", "-o", "/counts", "--reducers", "3")
        self.check_wordcount("/counts")
        self.assertNotIn("without TLS", self.cluster.log("master"))

    def test_files_and_jobs_are_the_certificate_s_user_s(self):
        self.cluster.run("fs", "mkdir", "/mine")
        self.cluster.run("run", "wordcount", "/text", "-o", "/owned")
        listed = {file["path"]: file["owner"] for file in json.loads(self.cluster.run("fs", "ls", "--json", "/", "/owned")[0])}
        self.assertEqual((listed["/mine"], listed["/owned/part-r-00000"]), ("ann", "ann"))
        jobs = json.loads(self.cluster.run("job", "list", "--json")[0])
        self.assertEqual({job["owner"] for job in jobs}, {"ann"})

    def test_another_implementation_agrees_on_what_is_spoken(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.cluster.tls + "/ca.pem")
        context.load_cert_chain(self.cluster.tls + "/cert.pem", self.cluster.tls + "/key.pem")
        with socket.create_connection(("127.0.0.1", self.port_of_master()), LIMIT_SECONDS) as plain, context.wrap_socket(plain) as s:
            self.assertEqual(s.version(), "TLSv1.3")
            self.assertIn("GCM", s.cipher()[0])
            self.assertEqual(s.recv(1), b"\x01")  # our certificate is accepted
            self.assertIn((("commonName", "master"),), s.getpeercert()["subject"])
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with socket.create_connection(("127.0.0.1", self.port_of_master()), LIMIT_SECONDS) as plain, self.assertRaises(ssl.SSLError):
            context.wrap_socket(plain)

    def test_who_has_no_certificate_is_refused(self):
        err = self.cluster.run_as("", "fs", "ls", "/", status=3)
        self.assertIn("it wants TLS; give a directory with ca.pem, cert.pem and key.pem", err)

    def test_who_has_one_of_another_authority_is_refused(self):
        other = self.cluster.path("other")
        ca("init", other)
        ca("issue", other, "client:ann")
        shutil.copy(self.cluster.tls + "/ca.pem", other + "/client-ann/ca.pem")  # it believes our master
        err = self.cluster.run_as(other + "/client-ann", "fs", "ls", "/", status=3)
        self.assertIn("refuses us: our certificate was issued by another authority", err)
        self.assertNotEqual(self.cluster.run_as(self.cluster.path("nothing"), "fs", "ls", "/", status=2), "")

    def test_a_worker_s_certificate_does_no_client_s_work_and_the_other_way_round(self):
        err = self.cluster.run_as(self.cluster.path("ca", "worker-w0"), "job", "list", status=1)
        self.assertIn("Master.jobs is refused: it needs the certificate of a client, and this is that of worker:w0", err)
        directory = self.cluster.path("no worker")
        own = self.cluster.tls
        done = subprocess.run([MILLRACE, "worker", "--set", f"worker.master={self.cluster.address}", "--set", f"worker.directory={directory}", "--set", "worker.port=0",
                               "--set", f"tls.ca={own}/ca.pem", "--set", f"tls.certificate={own}/cert.pem", "--set", f"tls.key={own}/key.pem"],
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is the certificate of client:ann, and a worker needs one of a worker", done.stderr)

    def test_a_block_is_not_had_without_a_certificate(self):
        nodes = json.loads(self.cluster.run("node", "list", "--json")[0])
        with socket.create_connection(("127.0.0.1", nodes[0]["port"]), LIMIT_SECONDS) as s:
            s.sendall(bytes([2, 1, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0]) + bytes(24))  # how a request to read a block begins
            s.settimeout(LIMIT_SECONDS)
            answer = b""
            while piece := s.recv(4096):
                answer += piece
            self.assertEqual(answer[:2], b"\x15\x03")  # a TLS alert, and the end
            self.assertLess(len(answer), 16)

    def test_a_part_of_a_handshake_keeps_nobody_out(self):
        held = [socket.create_connection(("127.0.0.1", self.port_of_master()), LIMIT_SECONDS) for _ in range(50)]
        for s in held:
            s.sendall(b"\x16\x03\x01")
        self.cluster.run("fs", "ls", "/")
        for s in held:
            s.close()



class ConfinedTest(unittest.TestCase):
    def test_confined_tasks_reach_every_worker_with_certificates_of_their_own(self):
        with SecureCluster(workers=3, settings=["worker.sandbox=auto", "worker.map_slots=1"]) as cluster:
            os.chmod(cluster.directory, 0o711)  # tasks have a user of their own, if the worker is root
            text = cluster.path("text")
            with open(text, "wb") as f:
                f.write(words(2, 1_000_000))
            cluster.run("fs", "put", "--block-size", "1M", "--replication", "1", text, "/text")
            cluster.run("run", "wordcount", "/text", "-o", "/counts", "--reducers", "3")
            expected = shell("tr -s ' ' '\\n' <text | sed '/^$/d' | sort | uniq -c | mawk '{print $2 \"\\t\" $1}' | sort", cwd=cluster.directory)
            lines = b"".join(cluster.output("/counts").values()).splitlines(keepends=True)
            self.assertEqual(b"".join(sorted(lines)), expected)
            job = json.loads(cluster.run("job", "list", "--json")[0])[0]
            self.assertEqual(job["failed_attempts"], 0)
            for worker in ("worker0", "worker1", "worker2"):
                self.assertIn("tasks are confined", cluster.log(worker))

class RenewalTest(unittest.TestCase):
    def test_certificates_are_renewed_while_jobs_run(self):
        with SecureCluster(workers=3) as c:
            with open(c.path("text"), "wb") as f:
                f.write(words(2, 1_000_000))
            c.run("fs", "put", "--block-size", "1M", "--replication", "2", c.path("text"), "/text")
            jobs = [c.start("run", "wordcount", "/text", "-o", f"/out{n}", "--reducers", "2") for n in range(4)]
            old = read(c.path("ca", "master", "cert.pem"))
            ca("renew", c.path("ca"), "--new-key")
            self.assertNotEqual(read(c.path("ca", "master", "cert.pem")), old)
            jobs += [c.start("run", "wordcount", "/text", "-o", f"/out{n}", "--reducers", "2") for n in range(4, 8)]
            for n, job in enumerate(jobs):
                err = job.communicate(timeout=LIMIT_SECONDS)[1]
                self.assertEqual(job.returncode, 0, (n, err))
            first = c.output("/out0")
            for n in range(1, 8):
                self.assertEqual(c.output(f"/out{n}"), first)
            for name in ("master", "worker0", "worker1", "worker2"):
                self.assertIn("was renewed", c.log(name))
                self.assertNotIn("lost", c.log("master"))

    def test_a_broken_certificate_is_told_of_and_the_old_one_stays(self):
        with SecureCluster(workers=1) as c:
            file = c.path("ca", "master", "cert.pem")
            seen = len(c.log("master"))
            with open(file + ".new", "w") as f:
                f.write("no certificate")
            os.rename(file + ".new", file)
            c.run("fs", "ls", "/")
            await_line(c.path("master.log"), b"stays in force", seen)
            ca("renew", c.path("ca"), "master")
            c.run("fs", "ls", "/")
            await_line(c.path("master.log"), b"the certificate of master was renewed", seen)


class AuthorityTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(workers=0)  # for its directory
        self.directory = self.cluster.path("ca")

    def tearDown(self):
        shutil.rmtree(self.cluster.directory)

    def test_keys_are_for_their_owner_and_nothing_is_replaced_unasked(self):
        out = ca("init", self.directory)
        self.assertRegex(out, r"^authority: .*, valid until \d{4}-")
        self.assertIn("ca-key.pem exists already", ca("init", self.directory, status=1))
        out = ca("issue", self.directory, "client:ann")
        self.assertIn("copy " + self.directory + "/client-ann/{ca,cert,key}.pem to a directory of that user's", out)
        for key in ("ca-key.pem", "client-ann/key.pem"):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.directory, key)).st_mode), 0o600)
        key = read(self.directory + "/client-ann/key.pem")
        self.assertIn("has a certificate of client:ann", ca("issue", self.directory, "client:ann", status=1))
        ca("renew", self.directory)
        self.assertEqual(read(self.directory + "/client-ann/key.pem"), key)
        ca("issue", "--force", self.directory, "client:ann")
        self.assertNotEqual(read(self.directory + "/client-ann/key.pem"), key)
        self.assertIn("no key.pem", ca("renew", self.directory, "client:bob", status=1))
        for role in ("task:ann", "client:", "root"):
            ca("issue", self.directory, role, status=2)
        self.assertIn("make an authority by `millrace ca init", ca("issue", self.cluster.path("none"), "master", status=1))

    def test_days_and_json(self):
        ca("init", "--days", "100", self.directory)
        issued = json.loads(ca("issue", "--days", "10", "--json", self.directory, "worker:w1"))
        self.assertEqual((issued["name"], issued["directory"]), ("worker:w1", self.directory + "/worker-w1"))
        left = (issued["ends_at"] - time.time()) / 86400
        self.assertAlmostEqual(left, 10, delta=0.1)
        longer = json.loads(ca("issue", "--json", self.directory, "master"))["ends_at"]
        own = json.loads(ca("renew", "--json", self.directory, "authority", "--days", "100"))["ends_at"]
        self.assertLessEqual(longer, own)  # not after its authority

    def test_a_daemon_that_others_reach_without_tls_says_so(self):
        directory, file = self.cluster.path("master"), self.cluster.path("address")
        self.cluster.init_master()
        process = self.cluster._spawn("master", ["master", "--set", "master.bind=0.0.0.0:0", "--set", f"master.directory={directory}", "--set", f"master.address_file={file}"])
        await_line(self.cluster.path("master.log"), b"without TLS, anyone who reaches 0.0.0.0 can read and change everything")
        process.terminate()
        process.wait(LIMIT_SECONDS)


if __name__ == "__main__":
    unittest.main()
