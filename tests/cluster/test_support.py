# SPDX-License-Identifier: Apache-2.0
"""`millrace support` gathers what helps and no secret, whether the master answers or not."""

import os
import signal
import stat
import subprocess
import tarfile
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster
from secure_cluster import SecureCluster

ALWAYS = {"README", "MISSING", "versions.txt", "clock.txt", "system.txt", "cgroups.txt", "disks.txt"}
OF_THE_MASTER = {"cluster-status.txt", "cluster-status.json", "nodes.json", "jobs.json", "scheduler.txt", "fsck.txt", "whoami.txt", "events.txt"}


def support(cluster, *args, status=0, more=None, before=()):
    """Runs the command; gives the files of the archive by name, and what was said."""
    archive = cluster.path("support.tar.gz")
    done = subprocess.run([MILLRACE, *before, "support", "-o", archive, *args], env={**cluster.environment(), **(more or {})}, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS, check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    assert stat.S_IMODE(os.stat(archive).st_mode) == 0o600
    with tarfile.open(archive) as tar:
        files = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}
    return files, done.stderr.decode()


def config_of(cluster, name, lines):
    path = cluster.path(name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path


class SupportTest(unittest.TestCase):
    def test_what_is_in_it(self):
        with Cluster(workers=2) as cluster:
            cluster.run("fs", "put", "-", "/in", input=b"a b\n")
            cluster.run("run", "wordcount", "/in", "-o", "/out", "--name", "counting")
            master = config_of(cluster, "master.toml", ["[master]", f'directory = "{cluster.path("master")}"', "[log]", f'file = "{cluster.path("master.log")}"'])
            worker = config_of(cluster, "worker.toml", ["[worker]", f'directory = "{cluster.path("worker0")}"', "[log]", f'file = "{cluster.path("worker0.log")}"'])
            files, error = support(cluster, "--config", master, "--config", worker)
            self.assertEqual(set(files), ALWAYS | OF_THE_MASTER | {"master-1/settings.txt", "master-1/log.txt", "worker-1/settings.txt", "worker-1/log.txt"})
            self.assertIn(b'"healthy"', files["cluster-status.json"])
            self.assertIn(b"counting", files["jobs.json"])
            self.assertRegex(files["events.txt"], rb"(?m)^\d+ .*\n")
            self.assertIn(b"registered", files["master-1/log.txt"])
            self.assertIn(cluster.path("master").encode(), files["disks.txt"])
            self.assertIn(b"the master's time is ahead of this machine's by", files["clock.txt"])
            self.assertIn(b"name users, groups, paths", files["README"])
            # What it says on standard error is what the file says.
            self.assertEqual(error, "".join(f"millrace: support: there is no {line}\n" for line in files["MISSING"].decode().splitlines()))
            self.assertIn("certificates.txt", error)
            self.assertNotIn("log.txt", error)

    def test_the_daemons_of_this_machine_are_found(self):
        with Cluster(workers=1) as cluster:
            files, _ = support(cluster)
            settings = [name for name, text in files.items() if name.endswith("settings.txt") and cluster.directory.encode() in text]
            self.assertEqual(len(settings), 2, files.keys())
            for name in settings:
                self.assertIn(name.replace("settings", "log"), files)

    def test_without_a_master(self):
        with Cluster(workers=1) as cluster:
            master = config_of(cluster, "master.toml", ["[master]", f'directory = "{cluster.path("master")}"', "[log]", f'file = "{cluster.path("master.log")}"'])
            cluster.kill_master()
            files, error = support(cluster, "--config", master, more={"MILLRACE_WAIT": "30s"})
            self.assertEqual(set(files), ALWAYS | {"master-1/settings.txt", "master-1/log.txt"})
            for name in OF_THE_MASTER:
                self.assertIn(f"there is no {name}: ", error)
            self.assertIn(b"nodes.json: ", files["MISSING"])
            # With files that cannot be had, too.
            none = config_of(cluster, "none.toml", ["[master]", 'directory = "/nowhere"', "[log]", 'file = "/nowhere/log"'])
            files, error = support(cluster, "--config", none)
            self.assertIn("there is no master-1/log.txt: ", error)
            self.assertIn(b"/nowhere: ", files["disks.txt"])

    def test_a_master_that_is_stopped_is_asked_once(self):
        with Cluster(workers=0) as cluster:
            cluster.master.send_signal(signal.SIGSTOP)
            self.addCleanup(lambda: cluster.master.send_signal(signal.SIGCONT))
            files, error = support(cluster, "--config", "/none")
            cluster.master.send_signal(signal.SIGCONT)
            self.assertIn("there is no jobs.json: ", error)
            self.assertNotIn("jobs.json", files)

    def test_an_archive_that_cannot_be_written_is_a_failure(self):
        with Cluster(workers=0) as cluster:
            _, error = cluster.run("support", "--config", "/none", "-o", "/nowhere/a.tar.gz", status=1)
            self.assertIn(b"/nowhere", error)
            self.assertEqual(error.count(b"\n"), 1, "it is told before any work is done")
            cluster.run("support", "--config", "/none", "-o", cluster.directory, status=1)
            cluster.run("support", "operand", status=2)
            # A link in its place is replaced, and what it leads to stays.
            with open(cluster.path("precious"), "w", encoding="utf-8") as f:
                f.write("precious")
            os.symlink(cluster.path("precious"), cluster.path("support.tar.gz"))
            support(cluster, "--config", "/none")
            with open(cluster.path("precious"), encoding="utf-8") as f:
                self.assertEqual(f.read(), "precious")

    def test_by_default_it_is_written_here(self):
        with Cluster(workers=0) as cluster:
            os.mkdir(cluster.path("here"))
            out, _ = cluster.run("support", "--config", "/none", cwd=cluster.path("here"))
            self.assertEqual(os.listdir(cluster.path("here")), [out.decode().strip()])
            cluster.run("support", "--config", "/none", "-o", "named.tar.gz", cwd=cluster.path("here"))
            self.assertEqual(len(os.listdir(cluster.path("here"))), 2)

    def test_the_directories_of_the_shell_are_no_secrets(self):
        with Cluster(workers=0) as cluster:
            master = config_of(cluster, "master.toml", ["[master]", f'directory = "{cluster.path("master")}"'])
            files, _ = support(cluster, "--config", master, more={"PWD": cluster.directory, "OLDPWD": cluster.path("master"), "DB_PWD": "swordfish"})
            self.assertIn(f'master.directory = {cluster.path("master")}'.encode(), files["master-1/settings.txt"])

    def test_no_secret_is_in_it(self):
        with SecureCluster(workers=1) as cluster:
            secrets = {}

            def secret(where):
                secrets[where] = f"swordfish{len(secrets)}zander"
                return secrets[where]

            cluster.run("fs", "put", "-", "/in", input=b"a b\n")
            # As values of a job's options, under names that tell and names that do not.
            cluster.run("run", "wordcount", "/in", "-o", "/out", "-D", f"db.password={secret('option')}", "-D", f"colour={secret('plain option')}", status=None)
            # In a log: what a daemon or a program may have printed there.
            log = cluster.path("master.log")
            with open(log, "a", encoding="utf-8") as f:
                f.write(f"fetching http://ann:{secret('url')}@host/x?token={secret('query')}\n")
                f.write(f"password: {secret('log')} and -D colour={secret('option in a log')}\n")
                f.write(f'{{"authorization": "Bearer {secret("header")}"}}\n')
                f.write(f"it said {secret('environment')} and {secret('unknown setting')}\n")
                with open(cluster.path("ca", "master", "key.pem"), encoding="utf-8") as key:
                    f.write(key.read())
            config = config_of(cluster, "master.toml", [
                "[master]", f'directory = "{cluster.path("master")}"', "[log]", f'file = "{log}"', "[tls]",
                f'ca = "{cluster.path("ca", "master", "ca.pem")}"', f'certificate = "{cluster.path("ca", "master", "cert.pem")}"',
                f'key = "{cluster.path("ca", "master", "key.pem")}"', "[s3]", f'endpoint = "{secrets["unknown setting"]}"',
                f'url = "https://x:{secret("url in a setting")}@y"'])
            files, _ = support(cluster, "--config", config, more={"AWS_SECRET_ACCESS_KEY": secrets["environment"], "DB_PASSWORD": secret("environment alone")})
            for directory, _, names in os.walk(cluster.path("ca")):
                for name in names:
                    if name == "key.pem" or name.endswith("key"):
                        with open(os.path.join(directory, name), encoding="utf-8") as f:
                            for n, line in enumerate(f.read().splitlines()):
                                if not line.startswith("-----"):
                                    secrets[f"{directory}/{name}:{n}"] = line
            with open(cluster.path("master", "token-key"), "rb") as f:
                secrets["token-key"] = f.read()
            self.assertGreater(len(secrets), 14)
            for name, text in files.items():
                for where, value in secrets.items():
                    self.assertNotIn(value if isinstance(value, bytes) else value.encode(), text, f"the secret of {where} is in {name}")
            # The paths are there, and so are the dates of the certificates; the lines in the log are, without the secrets.
            self.assertIn(b"tls.key = " + cluster.path("ca", "master", "key.pem").encode(), files["master-1/settings.txt"])
            self.assertIn(b"s3.url = (not shown)", files["master-1/settings.txt"])
            self.assertRegex(files["certificates.txt"], rb"cert\.pem: master.*, from \d{4}-.* until \d{4}-")
            self.assertIn(b"fetching http://[hidden]@host/x", files["master-1/log.txt"])
            self.assertIn(b"it said [hidden] and [hidden]", files["master-1/log.txt"])
            self.assertIn(b"ann", files["whoami.txt"])


if __name__ == "__main__":
    unittest.main()
