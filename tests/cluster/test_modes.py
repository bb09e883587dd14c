# SPDX-License-Identifier: Apache-2.0
"""Two users, a group and an administrator on a cluster with TLS: whose files they read, list, change, remove and give to jobs."""

import json
import unittest

from cluster import shell, words
from secure_cluster import SecureCluster

ACCESS = """
administrators = ["admin"]
[groups]
team = ["ann", "carl"]
"""


class ModesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = SecureCluster(workers=2, users=("bob", "carl", "admin"))
        access = cls.cluster.path("access.toml")
        with open(access, "w") as f:
            f.write(ACCESS)
        cls.cluster.settings += [f"access.file={access}"]
        cls.cluster.__enter__()
        with open(cls.cluster.path("text"), "wb") as f:
            f.write(words(1, 20_000))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def by(self, user, *args, status=0):
        return self.cluster.by(user, *args, status=status)

    def put(self, user, path, *args):
        self.by(user, "fs", "put", *args, self.cluster.path("text"), path)

    def refused(self, says, *args):
        """Bob may not, and is told why."""
        self.assertIn(says, self.by("bob", *args, status=1))

    def modes(self, path):
        entry = json.loads(self.by("admin", "fs", "stat", "--json", path))[0]
        return entry["owner"], entry["group"], entry["mode"]

    def jobs(self):
        return len(json.loads(self.by("admin", "job", "list", "--json")))

    def test_nobody_reads_changes_or_removes_another_s(self):
        self.by("ann", "fs", "mkdir", "--mode", "700", "/ann")
        self.put("ann", "/ann/f")
        self.by("ann", "fs", "mkdir", "/open")
        self.put("ann", "/open/secret", "--mode", "600")
        self.put("ann", "/open/told")
        closed = 'bob may not traverse "/ann" (ann, -, rwx------)'
        for command in (("cat", "/ann/f"), ("stat", "/ann/f"), ("stat", "/ann/none"), ("rm", "/ann/f"), ("mv", "/ann/f", "/mine"), ("chmod", "777", "/ann/f"),
                        ("put", "-f", self.cluster.path("text"), "/ann/f"), ("put", self.cluster.path("text"), "/ann/g"), ("mkdir", "/ann/d"), ("setrep", "1", "/ann/f")):
            self.refused(closed, "fs", *command)
        self.refused('bob may not list "/ann" (ann, -, rwx------)', "fs", "ls", "/ann")
        self.refused('bob may not list "/ann"', "fs", "du", "-s", "/")
        self.refused('bob may not read "/open/secret" (ann, -, rw-------)', "fs", "cat", "/open/secret")
        in_open = 'bob may not write in "/open" (ann, -, rwxr-xr-x)'
        for command in (("rm", "/open/told"), ("mv", "/open/told", "/mine"), ("put", self.cluster.path("text"), "/open/new"), ("mkdir", "/open/d"),
                        ("put", "-f", self.cluster.path("text"), "/open/told"), ("rm", "-r", "/open")):
            says = in_open if command != ("rm", "-r", "/open") else 'bob may not remove, rename or replace "/open" (ann, -, rwxr-xr-x): "/" is sticky, and neither is bob\'s'
            self.refused(says, "fs", *command)
        self.refused('bob may not write "/open/told" (ann, -, rw-r--r--)', "fs", "setrep", "1", "/open/told")
        self.refused('bob may not change the mode of "/open/told"', "fs", "chmod", "777", "/open/told")
        self.refused('bob may not change the owner of "/open/told"', "fs", "chown", "bob", "/open/told")
        self.refused('bob may not change the group of "/open/told"', "fs", "chgrp", "team", "/open/told")
        self.by("bob", "fs", "cat", "/open/told")
        self.by("bob", "fs", "ls", "/open")
        # What an administrator does is not refused.
        self.assertEqual(self.by("admin", "fs", "cat", "/ann/f"), self.by("ann", "fs", "cat", "/ann/f"))
        self.by("admin", "fs", "mv", "/ann/f", "/ann/g")
        self.by("admin", "fs", "rm", "-r", "/ann")
        with open(self.cluster.path("master", "audit.log")) as f:
            audit = f.read()
        self.assertIn(f' denied client:bob 127.0.0.1 remove "/ann/f": {closed}\n', audit)
        self.assertIn(' denied client:bob 127.0.0.1 locate "/open/secret": bob may not read "/open/secret" (ann, -, rw-------)\n', audit)
        self.assertIn(' allowed client:ann 127.0.0.1 makeDirectory "/ann" 700\n', audit)
        self.assertIn(' allowed client:admin 127.0.0.1 rename "/ann/f" to "/ann/g"\n', audit)

    def test_modes_owners_and_groups_are_changed_and_shown(self):
        self.by("ann", "fs", "mkdir", "--mode", "u=rwx,g=rx,o=", "/team")
        self.put("ann", "/team/d/f")
        self.assertEqual(self.modes("/team"), ("ann", "", "750"))
        self.assertIn('carl may not list "/team"', self.by("carl", "fs", "ls", "/team", status=1))
        self.assertIn('ann is not of the group "others"', self.by("ann", "fs", "chgrp", "others", "/team", status=1))
        self.by("ann", "fs", "chgrp", "-R", "team", "/team")
        self.assertEqual([self.modes(path)[1] for path in ("/team", "/team/d", "/team/d/f")], ["team"] * 3)
        self.by("carl", "fs", "cat", "/team/d/f")
        self.refused('bob may not list "/team" (ann, team, rwxr-x---)', "fs", "ls", "/team")
        self.put("ann", "/team/later")
        self.assertEqual(self.modes("/team/later"), ("ann", "team", "644"), "the group of the directory")
        self.by("ann", "fs", "chmod", "-R", "g+wX,o-rwx", "/team")
        self.assertEqual([self.modes(path)[2] for path in ("/team", "/team/d", "/team/d/f")], ["770", "770", "660"])
        self.by("carl", "fs", "rm", "/team/d/f")
        listed = self.by("ann", "fs", "ls", "/team").splitlines()
        self.assertRegex(listed[0], r"^drwxrwx---  -  ann      team +0  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  /team/d$")
        self.assertEqual(len({len(line.split()) for line in listed}), 1)
        self.assertRegex(listed[1], r"^-rw-rw----  \d  ann      team ")
        self.assertIn("mode         660 (rw-rw----)", self.by("ann", "fs", "stat", "/team/later"))
        self.by("admin", "fs", "chown", "-R", "bob:others", "/team")
        self.assertEqual(self.modes("/team/later"), ("bob", "others", "660"))
        self.by("bob", "fs", "cat", "/team/later")
        self.assertIn("ann may not list", self.by("ann", "fs", "ls", "/team", status=1))
        for wrong in (("chmod", "rwx", "/team"), ("chown", ":", "/team"), ("mkdir", "--mode", "999", "/x"), ("put", "--mode", "u", "-", "/x")):
            self.by("bob", "fs", *wrong, status=2)
        self.cluster.stop_master()
        self.cluster.start_master()
        self.assertEqual(self.modes("/team/later"), ("bob", "others", "660"), "after a restart")

    def test_in_the_root_everybody_makes_things_and_nobody_removes_another_s(self):
        self.put("ann", "/ann's")
        self.put("bob", "/bob's")
        self.refused("is sticky, and neither is bob's", "fs", "rm", "/ann's")
        self.by("bob", "fs", "rm", "/bob's")
        self.refused('bob may not change the mode of "/" (-, -, rwxrwxrwt)', "fs", "chmod", "777", "/")
        self.by("admin", "fs", "chmod", "755", "/")
        try:
            self.refused('bob may not write in "/" (-, -, rwxr-xr-x)', "fs", "mkdir", "/more")
        finally:
            self.by("admin", "fs", "chmod", "1777", "/")

    def test_a_job_reads_what_its_user_may_read_and_writes_where_its_user_may_write(self):
        self.by("ann", "fs", "mkdir", "/data")
        self.put("ann", "/data/secret", "--mode", "600")
        self.put("ann", "/data/told")
        before = self.jobs()
        denied = 'bob may not read "/data/secret" (ann, -, rw-------)'
        for source in ("/data/secret", "/data", "/data/*", "/d*/secret"):
            self.refused(denied, "run", "wordcount", source, "-o", "/bobs-out")
        self.refused('bob may not write in "/data" (ann, -, rwxr-xr-x)', "run", "wordcount", "/data/told", "-o", "/data/out")
        self.assertEqual(self.jobs(), before, "no such job has ever been")
        # Both run the same program: it lies where each user's client stores it, and nobody removes another's.
        self.by("bob", "run", "wordcount", "/data/told", "-o", "/bobs-out", "--reducers", "2")
        self.by("ann", "run", "wordcount", "/data", "-o", "/anns-out", "--reducers", "2")
        self.by("admin", "run", "wordcount", "/data/secret", "-o", "/admins-out", "--reducers", "2")
        counts = "".join(sorted(self.by("ann", "fs", "cat", "/bobs-out/part-*").splitlines(keepends=True)))
        self.assertEqual(counts.encode(), shell("tr -s ' ' '\\n' <text | sed '/^$/d' | sort | uniq -c | mawk '{print $2 \"\\t\" $1}' | sort", cwd=self.cluster.directory))
        self.assertEqual(self.by("admin", "fs", "cat", "/admins-out/part-r-00000"), self.by("ann", "fs", "cat", "/bobs-out/part-r-00000"))
        self.assertEqual(self.modes("/bobs-out/part-r-00000"), ("bob", "", "644"))
        self.assertEqual(self.modes("/bobs-out/_SUCCESS"), ("bob", "", "644"))
        self.assertEqual(self.modes("/.millrace/executables"), ("", "", "1777"))
        stored = json.loads(self.by("ann", "fs", "ls", "--json", "/.millrace/executables"))
        self.assertTrue(stored)
        other = {"ann": "bob", "bob": "ann", "admin": "bob"}
        for file in stored:
            self.assertIn("is sticky, and neither is", self.by(other[file["owner"]], "fs", "rm", file["path"], status=1))
        # A task is its user's, too: it asks for the centroids itself.
        self.put("bob", "/bobs-points")
        tls, self.cluster.tls = self.cluster.tls, self.cluster.certificate_of("bob")
        try:
            _, err = self.cluster.run("run", "kmeans", "/bobs-points", "-o", "/clusters", "-D", "kmeans.centroids=/data/secret", status=1)
        finally:
            self.cluster.tls = tls
        self.assertIn(denied, err.decode())

    def test_the_master_s_own_directories_are_nobody_s(self):
        self.assertEqual((self.modes("/.millrace"), self.modes("/.millrace/executables")), (("", "", "755"), ("", "", "1777")))
        self.assertRegex(self.by("bob", "fs", "ls", "/"), r"(?m)^drwxr-xr-x  -  -        -  .* /\.millrace$")
        self.refused("is sticky, and neither is bob's", "fs", "mv", "/.millrace", "/mine")


if __name__ == "__main__":
    unittest.main()
