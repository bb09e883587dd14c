# SPDX-License-Identifier: Apache-2.0
"""Playbooks as the tests call them, in a lab's network."""

import glob
import os
import re
import shutil
import subprocess
import sys
import time

import lab

ROOT = os.path.dirname(os.path.dirname(lab.HERE))
COLLECTION = os.path.join(ROOT, "deploy", "ansible")


def tool(name):
    """A program of Ansible: of the virtual environment MILLRACE_ANSIBLE, of the one whose Python runs this, or of PATH."""
    for directory in filter(None, (os.environ.get("MILLRACE_ANSIBLE"), os.path.dirname(sys.executable))):
        for path in (os.path.join(directory, "bin", name), os.path.join(directory, name)):
            if os.access(path, os.X_OK):
                return path
    return name


def lacking():
    """What the playbooks need and is not here: Ansible, or the first of its collections that is not; None: all is here."""
    if shutil.which(tool("ansible-playbook")) is None:
        return "ansible-playbook"
    listed = subprocess.run([tool("ansible-galaxy"), "collection", "list"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    here = {line.split()[0] for line in listed.stdout.splitlines() if line.strip()}
    with open(os.path.join(COLLECTION, "requirements.yml"), encoding="utf-8") as f:
        wanted = re.findall(r"name: ([a-z_.]+)", f.read())
    return next((name for name in wanted if name not in here), None)


def package(given):
    """The path of the runtime's package, which a file or a directory of packages names."""
    given = given or os.path.join(ROOT, "packages")
    found = glob.glob(os.path.join(given, "millrace_*_amd64.deb")) if os.path.isdir(given) else [given]
    if len(found) != 1 or not os.path.exists(found[0]):
        sys.exit(f"{len(found)} packages of Millrace in {given}: deploy/build-packages makes one, or --package names one or the directory of one")
    return os.path.abspath(found[0])


def start_ec2(machines, port):
    """Starts what stands in for EC2 at this port of the lab's gateway: moto, behind what it does not have (cloud_policy.py)."""
    moto = port + 1
    machines.start("moto", machines.inside(tool("python3"), os.path.join(lab.HERE, "moto_server.py"), "-H", lab.GATEWAY, "-p", str(moto)))
    machines.start("policy", machines.inside(sys.executable, os.path.join(lab.HERE, "cloud_policy.py"), lab.GATEWAY, str(port), f"http://{lab.GATEWAY}:{moto}"))
    deadline = time.monotonic() + 60
    for waited in (moto, port):
        while subprocess.run(machines.inside("bash", "-c", f"exec 3<>/dev/tcp/{lab.GATEWAY}/{waited}"), stderr=subprocess.DEVNULL, check=False).returncode != 0:
            if time.monotonic() > deadline:
                raise AssertionError(f"nothing listens on port {waited}")
            time.sleep(0.2)


class Playbooks:
    """Runs playbooks over the machines of a lab, and tells what changed."""

    def __init__(self, machines, inventory, environment=None):
        """The inventory is a path, or a list of several."""
        self.lab = machines
        self.inventories = [inventory] if isinstance(inventory, str) else inventory
        self.environment = {**os.environ, "ANSIBLE_CONFIG": os.path.join(COLLECTION, "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_PRIVATE_KEY_FILE": machines.key,
                            "ANSIBLE_SSH_ARGS": f"-o ControlMaster=auto -o ControlPersist=20s -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile={machines.path('known_hosts')}",
                            # Two labs have the same addresses, and each has connections of its own.
                            "ANSIBLE_SSH_CONTROL_PATH_DIR": machines.path("ansible", "cp"),
                            # The authorities of the lab's clusters lie in its own home.
                            "HOME": machines.path("home"), "ANSIBLE_HOME": machines.path("ansible"), "ANSIBLE_LOCALHOST_WARNING": "False", "LC_ALL": "C.UTF-8", **(environment or {})}

    def play(self, playbook, *arguments, status=0, shown=True):
        """What the run printed. Its recap is printed here, with the seconds it took."""
        began = time.monotonic()
        # A playbook of the tree by its file, and one of an installed collection by its full name.
        book = os.path.join(COLLECTION, "playbooks", playbook) if playbook.endswith(".yml") else playbook
        sources = [word for inventory in self.inventories for word in ("-i", inventory)]
        command = self.lab.inside(tool("ansible-playbook"), *sources, book, *arguments)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment, check=False,
                              start_new_session=True)
        with open(self.lab.path("playbooks.log"), "a", encoding="utf-8") as f:
            f.write(f"$ {' '.join(command)}\n{done.stdout}\n")
        if (done.returncode == 0) != (status == 0):
            raise AssertionError(f"{playbook} {' '.join(arguments)}: exit status {done.returncode}\n{done.stdout[-6000:]}")
        if shown:
            print(f"  {playbook} {' '.join(arguments)}: {time.monotonic() - began:.1f} s")
            for line in recap(done.stdout):
                print(f"    {line}")
            sys.stdout.flush()
        return done.stdout

    def refused(self, playbook, *arguments):
        """What a run printed that has to fail, as one line: Ansible breaks the lines of a long message wherever they are full."""
        return " ".join(self.play(playbook, *arguments, status=2, shown=False).split())


def recap(output):
    return [line for line in output.partition("PLAY RECAP")[2].splitlines() if " ok=" in line]


def changed(output):
    """How many tasks changed something, over all hosts."""
    return sum(int(re.search(r"changed=(\d+)", line)[1]) for line in recap(output))
