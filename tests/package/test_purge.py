# SPDX-License-Identifier: Apache-2.0
"""What `apt purge millrace` leaves: the script of the package, with a root of its own."""

import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "debian", "postrm")


class PurgeTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.TemporaryDirectory(prefix="millrace-purge-")
        self.addCleanup(self.root.cleanup)
        for directory in ("var/lib/millrace/master", "var/lib/millrace/worker", "etc/systemd/system/multi-user.target.wants"):
            os.makedirs(self.at(directory))
        for unit in ("millrace-master", "millrace-worker", "other"):
            os.symlink(f"/lib/systemd/system/{unit}.service", self.at(f"etc/systemd/system/multi-user.target.wants/{unit}.service"))
        os.symlink("/lib/systemd/system/millrace-backup.timer", self.at("etc/systemd/system/multi-user.target.wants/millrace-backup.timer"))

    def at(self, path):
        return os.path.join(self.root.name, path)

    def run_script(self, action):
        done = subprocess.run(["sh", SCRIPT, action], env={**os.environ, "DPKG_ROOT": self.root.name}, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def wanted(self):
        return sorted(os.listdir(self.at("etc/systemd/system/multi-user.target.wants")))

    def test_remove_leaves_everything(self):
        self.assertEqual(self.run_script("remove"), "")
        self.assertEqual(len(self.wanted()), 4)
        self.assertTrue(os.path.isdir(self.at("var/lib/millrace/worker")))

    def test_purge_removes_what_is_empty_and_the_links_of_the_units(self):
        self.assertEqual(self.run_script("purge"), "")
        self.assertEqual(self.wanted(), ["other.service"])
        self.assertFalse(os.path.exists(self.at("var/lib/millrace")))
        self.run_script("purge")  # again

    def test_purge_leaves_data_and_says_so(self):
        with open(self.at("var/lib/millrace/worker/block"), "w"):
            pass
        self.assertIn("/var/lib/millrace stays", self.run_script("purge"))
        self.assertTrue(os.path.exists(self.at("var/lib/millrace/worker/block")))
        self.assertFalse(os.path.exists(self.at("var/lib/millrace/master")), "an empty one goes")


if __name__ == "__main__":
    unittest.main()
