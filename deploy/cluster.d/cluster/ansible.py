# SPDX-License-Identifier: Apache-2.0
"""A cluster as -f or -i names it, and the programs of Ansible over it."""

import json
import os
import shlex
import shutil
import subprocess
import sys

from cluster import settings
from cluster.failure import Failure, Unreachable, WrongUse

DEPLOY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLLECTION = os.path.join(DEPLOY, "ansible")
# What ssh says of itself, and not of the command that it ran.
SSH_FAILED = 255


def find(name):
    """The path of a program of Ansible, or None."""
    places = [os.environ.get("MILLRACE_ANSIBLE", ""), os.path.dirname(sys.executable)]
    found = next(filter(None, (shutil.which(name, path=os.path.join(place, "bin") + os.pathsep + place) for place in places if place)), None)
    return found or shutil.which(name)


def tool(name):
    """The path of a program of Ansible."""
    found = find(name)
    if not found:
        raise Failure(f"{name} is not here: pip install -r {os.path.relpath(COLLECTION)}/requirements.txt, and MILLRACE_ANSIBLE names the virtual environment")
    return found


class Cluster:
    """A cluster as -f or -i says. `login` is the account to log in as, in place of that of the inventory."""

    def __init__(self, file, inventories, login=None):
        for path in filter(None, (file, *inventories)):
            if not os.path.exists(path):
                raise WrongUse(f'there is no file "{path}"')
        self.file = file and os.path.abspath(file)
        self.cloud = not inventories
        self.login = login
        # The inventory that EC2 fills lies beside the file.
        self.inventories = [os.path.abspath(path) for path in inventories] or [settings.beside(file, "aws_ec2")]
        self.environment = {**os.environ, "ANSIBLE_CONFIG": os.environ.get("ANSIBLE_CONFIG", os.path.join(COLLECTION, "ansible.cfg"))}
        self._settings = self._hosts = None

    @property
    def settings(self):
        """Those of the file, with the prices that `deploy/cluster prices` has written beside it."""
        if self._settings is None:
            self._settings = settings.read(self.file) if self.file else {}
            for path in self._prices():
                self._settings.update(settings.read(path))
        return self._settings

    def _prices(self):
        path = self.file and settings.beside(self.file, "prices")
        return [path] if path and os.path.exists(path) else []

    def name(self):
        return settings.literal(self.settings, "millrace_cluster", self.file)

    def region(self):
        return settings.literal(self.settings, "millrace_region", self.file)

    def named(self):
        """The inventories as a person calls them."""
        return ", ".join(f'"{path}"' for path in self.inventories)

    def sources(self):
        return [word for path in self.inventories for word in ("-i", path)]

    def play(self, playbook, *arguments, inventory=True):
        """Runs a playbook; returns its exit status."""
        path = os.path.join(COLLECTION, "playbooks", playbook)
        if not os.path.exists(path):
            raise Failure(f"there is no playbook {playbook} in {os.path.join(COLLECTION, 'playbooks')}")
        command = [tool("ansible-playbook"), path]
        if inventory:
            command += self.sources()
        for file in filter(None, (self.file, *self._prices())):
            command += ["-e", f"@{file}"]
        if self.cloud:
            command += ["-e", f"millrace_inventory={self.inventories[0]}"]
        status = subprocess.run([*command, *arguments], env=self.environment, check=False).returncode
        # Ansible has statuses of its own (2: a host failed, 4: unreachable), which here would mean something else.
        return min(status, 1) if status >= 0 else 128 - status

    def hosts(self):
        """What the inventory knows: the groups and the variables of each host."""
        if self._hosts is not None:
            return self._hosts
        if not os.path.exists(self.inventories[0]):
            raise Failure(f"there is no {self.named()}, which `deploy/cluster up` makes")
        done = subprocess.run([tool("ansible-inventory"), *self.sources(), "--list"], env=self.environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"{self.named()} cannot be read")
        # What an inventory asked for elsewhere is marked as not to be a template.
        self._hosts = json.loads(done.stdout, object_hook=lambda table: table["__ansible_unsafe"] if table.keys() == {"__ansible_unsafe"} else table)
        return self._hosts

    def everyone(self):
        """The variables of each host."""
        return self.hosts()["_meta"]["hostvars"]

    def master(self):
        """The name of the master in the inventory."""
        masters = self.hosts().get("master", {}).get("hosts", [])
        if len(masters) != 1:
            raise Failure(f"{self.named()}: there are {len(masters)} masters; is the cluster up?")
        return masters[0]

    def setting(self, name, default):
        """A setting as the inventory or the file says it, for the master."""
        return self.settings.get(name, self.everyone().get(self.master(), {}).get(name, default))

    def node(self, name=None, options=()):
        """The command line of an ssh to a node, by default to the master, with more options of ssh."""
        name = name or self.master()
        everyone = self.everyone()
        if name not in everyone and name not in (name for group in self.hosts().values() for name in group.get("hosts", [])):
            raise WrongUse(f'there is no node "{name}"; there are {", ".join(sorted(everyone)) or "none"}')
        host = everyone.get(name, {})
        command = ["ssh", "-o", "StrictHostKeyChecking=accept-new"]
        # As Ansible takes them: a host behind a bastion has its ProxyJump or ProxyCommand here.
        given = [word for words in ("ansible_ssh_common_args", "ansible_ssh_extra_args") for word in shlex.split(host.get(words, ""))]
        command += given
        address = host.get("ansible_host", name)
        if self.cloud and self.settings.get("millrace_connect") == "session-manager":
            address = host.get("instance_id", address)
            if not any("proxycommand" in word.lower() for word in given):
                # %h and %p are ssh's own.
                command += ["-o", "ProxyCommand=" + shlex.join(["aws", "ssm", "start-session", "--region", self.region(), "--document-name", "AWS-StartSSHSession"])
                            + " --target %h --parameters portNumber=%p"]
        if key := host.get("ansible_ssh_private_key_file", os.environ.get("ANSIBLE_PRIVATE_KEY_FILE")):
            command += ["-i", os.path.expanduser(key)]
        if port := host.get("ansible_port"):
            command += ["-p", str(port)]
        command += shlex.split(host.get("ansible_ssh_args", os.environ.get("ANSIBLE_SSH_ARGS", "")))
        # With -l and not USER@HOST: an IPv6 address has colons of its own.
        user = self.login or host.get("ansible_user")
        return [*command, *options, *(["-l", user] if user else []), "--", address]

    def ask(self, command, name=None, options=()):
        """Runs a command line of the shell on a node, with this program's input and output. Returns its exit status."""
        status = subprocess.run([*self.node(name, options), command], check=False).returncode
        if status == SSH_FAILED:
            raise Unreachable(f"{name or self.master()} cannot be reached by ssh")
        return status
