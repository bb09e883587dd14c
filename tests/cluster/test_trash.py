# SPDX-License-Identifier: Apache-2.0
"""The trash and quotas, as people at a terminal, scripts and jobs meet them."""

import getpass
import json
import os
import pty
import re
import subprocess
import unittest

from cluster import MILLRACE, Cluster, await_line, words

MIB = 1 << 20


class TrashTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=3, racks=3, settings=["dfs.block_size=1MiB", "master.heartbeat=200ms"])
        cls.cluster.__enter__()
        with open(cls.cluster.path("text"), "wb") as f:
            f.write(words(1, 600_000)[: 5 * MIB // 2])

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def fs(self, *args, **more):
        return self.cluster.run("fs", *args, **more)[0].decode()

    def refused(self, *args):
        return self.cluster.run("fs", *args, status=1)[1].decode()

    def at_a_terminal(self, *args):
        """Runs the command with a terminal as its standard output, and returns what it wrote there."""
        control, terminal = pty.openpty()
        done = subprocess.run([MILLRACE, "fs", *args], env=self.cluster.environment(), stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE)
        os.close(terminal)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = b""
        try:
            while piece := os.read(control, 4096):
                shown += piece
        except OSError:
            pass  # that is how the end of a terminal is told
        os.close(control)
        return shown.decode().replace("\r\n", "\n")

    def quota(self, *args):
        return json.loads(self.fs("quota", "show", "--json", *args))[0]

    def test_what_is_removed_at_a_terminal_comes_back(self):
        self.fs("put", self.cluster.path("text"), "/a/b/text")
        shown = self.at_a_terminal("rm", "-r", "/a")
        said = re.fullmatch(r'"/a" is in the trash until .* UTC, as "(/\.trash/.*/a)"; millrace fs undelete "/a" brings it back\n', shown)
        self.assertTrue(said, shown)
        self.assertIn("no such file", self.refused("ls", "/a"))
        self.assertIn("(drwx------", "(" + self.fs("ls", "/.trash"))
        self.assertIn("trash", self.fs("df"))
        self.assertEqual(self.fs("undelete", "/a"), '"/a" is back\n')
        with open(self.cluster.path("text"), "rb") as f:
            self.assertEqual(self.cluster.run("fs", "cat", "/a/b/text")[0], f.read())
        self.assertEqual(self.fs("trash"), "nothing is in the trash\n")
        self.assertEqual(self.at_a_terminal("rm", "-r", "--skip-trash", "/a"), "")
        self.assertEqual(self.fs("trash"), "nothing is in the trash\n")

    def test_a_script_removes_at_once(self):
        self.fs("put", self.cluster.path("text"), "/script")
        self.assertEqual(self.fs("rm", "/script", input=b""), "")
        self.assertEqual(json.loads(self.fs("trash", "--json")), [])

    def test_the_trash_survives_a_restart_and_is_emptied(self):
        self.fs("put", self.cluster.path("text"), "/old")
        self.fs("rm", "--trash", "/old")
        self.cluster.stop_master()
        self.cluster.start_master()
        self.fs("put", self.cluster.path("text"), "/old")
        self.assertIn('"/old": exists', self.refused("undelete", "/old"))
        deletion = json.loads(self.fs("trash", "--json"))[0]
        self.assertAlmostEqual(deletion["expires_at"] - deletion["deleted_at"], 72 * 3600, places=5)
        self.assertEqual(deletion["bytes_with_replicas"], 3 * os.path.getsize(self.cluster.path("text")))
        self.assertTrue(self.fs("trash", "--empty", "--older-than", "1h").startswith("0 files"))
        self.assertTrue(self.fs("trash", "--empty").startswith("1 file or directory removed"))
        self.assertIn("is not in the trash", self.refused("undelete", "/old", "--at", deletion["stamp"]))
        self.fs("rm", "/old")

    def test_nothing_else_goes_into_the_trash(self):
        self.fs("put", self.cluster.path("text"), "/in")
        self.fs("rm", "--trash", "/in")
        for args in (("mkdir", "/.trash/x"), ("put", self.cluster.path("text"), "/.trash/x"), ("quota", "set", "/.trash", "--files", "1")):
            self.assertIn("trash", self.refused(*args))
        self.fs("undelete", "/in")
        self.assertIn("nothing is put into the trash by hand", self.refused("mv", "/in", "/.trash"))
        self.fs("rm", "/in")

    def test_a_full_quota_is_told_and_what_cleans_up_goes_on(self):
        self.fs("mkdir", "/team")
        self.fs("quota", "set", "/team", "--bytes", "10M", "--files", "3")
        self.fs("put", self.cluster.path("text"), "/team/one")
        error = self.refused("put", self.cluster.path("text"), "/team/two")
        self.assertIn('the quota of directory "/team" is 10 MiB with all replicas', error)
        self.assertIn("fs quota set", error)
        self.assertEqual(error.count("\n"), 1)
        state = self.quota("/team")
        self.assertEqual(state["bytes_with_replicas"]["used"], 3 * os.path.getsize(self.cluster.path("text")))
        self.assertEqual((state["bytes_with_replicas"]["reserved"], state["files_and_directories"]["used"]), (0, 1))
        self.fs("mkdir", "/team/d1", "/team/d2")
        self.assertIn("3 files and directories", self.refused("mkdir", "/team/d3"))
        self.fs("mv", "/team/one", "/team/d1/one")
        self.fs("rm", "--trash", "/team/d1/one")
        self.assertEqual(self.quota("/team")["bytes_with_replicas"]["used"], 0)
        self.fs("put", self.cluster.path("text"), "/team/two")
        self.assertIn("quota of directory", self.refused("undelete", "/team/d1/one"))
        self.cluster.stop_master()
        self.cluster.start_master()
        self.assertEqual(self.quota("/team")["files_and_directories"], {"quota": 3, "used": 3, "reserved": 0})
        size = os.path.getsize(self.cluster.path("text"))
        left = (10 << 20) - 3 * size
        self.assertEqual(self.fs("count", "-q", "/team").split(), ["3", "0", str(10 << 20), str(left), "3", "1", str(size), "/team"])
        self.assertEqual(self.fs("count", "-q", "/team/two").split(), ["none", "inf", "none", "inf", "0", "1", str(size), "/team/two"], "that of the path itself")
        self.assertEqual(json.loads(self.fs("count", "-q", "--json", "/team"))[0]["quota"],
                         {"files_and_directories": {"quota": 3, "left": 0}, "bytes_with_replicas": {"quota": 10 << 20, "left": left}})
        noted = self.cluster.run("cluster", "status", status=None)[0].decode()
        self.assertRegex(noted, r'(?m)^note +quota: the quota of "/team" is full: 3 of 3 files and directories$')
        self.assertRegex(noted, r"(?m)^note +trash: .* with replicas wait in the trash")
        self.assertEqual({note["code"] for note in json.loads(self.cluster.run("cluster", "status", "--json", status=None)[0])["notes"]}, {"quota", "trash"})
        self.fs("quota", "clear", "/team")
        self.fs("undelete", "/team/d1/one")
        self.fs("rm", "-r", "/team")

    def test_a_rename_across_quotas_asks_both_sides(self):
        self.fs("mkdir", "/from", "/to")
        self.fs("put", self.cluster.path("text"), "/from/f")
        self.fs("quota", "set", "/from", "--bytes", "1K")
        self.fs("quota", "set", "/to", "--bytes", "1M")
        self.fs("mv", "/from/f", "/from/g")
        self.assertIn('move "/from/g" to "/to/g": the quota of directory "/to"', self.refused("mv", "/from/g", "/to"))
        self.fs("quota", "set", "/to", "--bytes", "20M")
        self.fs("mv", "/from/g", "/to")
        self.assertEqual(self.quota("/from")["bytes_with_replicas"]["used"], 0)
        self.assertIn('the quota of directory "/from"', self.refused("mv", "/to/g", "/from"))
        self.fs("rm", "-r", "/from", "/to")

    def test_a_users_quota_counts_the_trash(self):
        user = getpass.getuser()
        self.fs("put", self.cluster.path("text"), "/mine")
        used = self.quota("--user", user)["bytes_with_replicas"]["used"]
        self.fs("quota", "set", "--user", user, "--bytes", str(used))
        self.fs("rm", "--trash", "/mine")
        error = self.refused("put", self.cluster.path("text"), "/mine")
        self.assertIn(f'the quota of user "{user}"', error)
        self.assertIn("fs trash --empty", error)
        self.fs("trash", "--empty")
        self.fs("quota", "set", "--user", user, "--bytes", str(used + 9 * MIB))
        self.fs("put", self.cluster.path("text"), "/mine")
        self.fs("quota", "clear", "--user", user)
        self.fs("rm", "/mine")

    def test_a_job_over_its_quota_fails_with_that_sentence(self):
        self.fs("put", self.cluster.path("text"), "/words")
        self.fs("mkdir", "/jobs")
        self.fs("quota", "set", "/jobs", "--bytes", "1M")
        error = self.cluster.run("run", "wordcount", "/words", "-o", "/jobs/out", "--reducers", "1", status=1)[1].decode()
        self.assertIn('the quota of directory "/jobs" is 1 MiB with all replicas', error)
        self.assertIn("is not tried again, since it would fail again", error)
        job = max(one["job"] for one in json.loads(self.cluster.run("job", "list", "--json")[0]))
        attempts = json.loads(self.cluster.run("job", "tasks", str(job), "--json")[0])
        failed = [attempt for attempt in attempts if attempt["state"] == "failed"]
        self.assertEqual(len(failed), 1, failed)
        self.assertEqual(self.quota("/jobs")["files_and_directories"]["used"], 0, "what it had written is gone")
        self.assertEqual(json.loads(self.fs("trash", "--json")), [])
        self.fs("quota", "set", "/jobs", "--bytes", "none", "--files", "0")
        error = self.cluster.run("run", "wordcount", "/words", "-o", "/jobs/out", "--reducers", "1", status=1)[1].decode()
        self.assertIn('make directory "/jobs/out": the quota of directory "/jobs" is 0 files', error)
        self.fs("quota", "set", "/jobs", "--bytes", "2G", "--files", "none")
        self.cluster.run("run", "wordcount", "/words", "-o", "/jobs/out", "--reducers", "1")
        self.fs("rm", "-r", "/jobs", "/words")


class RetentionTest(unittest.TestCase):
    def test_after_the_retention_it_is_gone(self):
        with Cluster(workers=1, settings=["dfs.trash_retention=1s", "master.heartbeat=100ms"]) as cluster:
            cluster.run("fs", "put", "--replication", "1", "-", "/f", input=b"data")
            cluster.run("fs", "rm", "--trash", "/f")
            await_line(cluster.path("master.log"), b"has been in the trash for 1 s and is removed")
            self.assertIn(b"is not in the trash", cluster.run("fs", "undelete", "/f", status=1)[1])


if __name__ == "__main__":
    unittest.main()
