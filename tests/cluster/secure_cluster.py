# SPDX-License-Identifier: Apache-2.0
"""A cluster of real daemons with TLS, for tests and benchmarks."""

import subprocess

from cluster import LIMIT_SECONDS, MILLRACE, Cluster


def ca(*args, status=0):
    done = subprocess.run([MILLRACE, "ca", *args], capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS, text=True)
    assert done.returncode == status, (args, done.returncode, done.stdout, done.stderr)
    return done.stdout if status == 0 else done.stderr


class SecureCluster(Cluster):
    """Every daemon has its certificate; commands show that of the user `ann`. Other users have theirs, too."""

    def __init__(self, *args, users=(), **kwargs):
        super().__init__(*args, **kwargs)
        self.users = users

    def __enter__(self):
        ca("init", self.path("ca"))
        ca("issue", self.path("ca"), "master", "client:ann", *[f"client:{user}" for user in self.users], *[f"worker:w{n}" for n in range(self.worker_count)])
        self.tls = self.path("ca", "client-ann")
        return super().__enter__()

    def _spawn(self, name, args, cgroup=None):
        own = self.path("ca", name.replace("worker", "worker-w"))
        for option, file in (("ca", "ca"), ("certificate", "cert"), ("key", "key")):
            args = [*args, "--set", f"tls.{option}={own}/{file}.pem"]
        return super()._spawn(name, args, cgroup)

    def by(self, user, *args, status=0):
        """What the command says to this user: the one line of its error, or its output."""
        tls, self.tls = self.tls, self.certificate_of(user)
        try:
            out, err = self.run(*args, status=status)
        finally:
            self.tls = tls
        if status == 0:
            return out.decode()
        assert err.count(b"\n") == 1, err
        return err.decode()

    def environment(self):
        return {**super().environment(), "MILLRACE_TLS": self.tls, "MILLRACE_WAIT": "0s"}

    def certificate_of(self, user):
        return self.path("ca", f"client-{user}")

    def run_as(self, directory, *args, status):
        """Runs a command with the certificate in `directory`; gives the one line of its error."""
        before, self.tls = self.tls, directory
        try:
            err = self.run(*args, status=status)[1].decode()
        finally:
            self.tls = before
        assert err.count("\n") == 1, err
        return err
