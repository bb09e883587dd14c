# SPDX-License-Identifier: Apache-2.0
"""Machines for the tests of deploy/ansible: Debian 12 with systemd as its first process and ssh, each a root of its own (an overlay on one
root that debootstrap makes) under systemd-nspawn, in a network of their own. From there they reach nothing but a proxy for packages.

All that a lab has lies in its directory, so that a later process finds it: lab.json, the root, the machines. It takes root, and works in
network namespaces, not in the network of the machine that it runs on.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NETWORK = "10.77.0"
NETWORK6 = "fd77::"  # each machine has the same last number there
GATEWAY = f"{NETWORK}.1"
PROXY_PORT = 3142
USER = "admin"  # as on Debian's images for EC2
PACKAGES = "systemd,systemd-sysv,dbus,openssh-server,python3-minimal,python3-apt,iproute2,sudo,ca-certificates"
DISK_BYTES = 4 << 30  # of a sparse file
BOOT_SECONDS = 120
STOP_SECONDS = 40


def missing():
    """Why no lab can be had here, or an empty text."""
    if os.geteuid() != 0:
        return "it takes root"
    tools = [tool for tool in ("debootstrap", "systemd-nspawn", "nsenter", "ip", "losetup", "ssh-keygen") if shutil.which(tool) is None]
    if tools:
        return f"it takes {', '.join(tools)} (apt install debootstrap systemd-container openssh-client)"
    return ""


def quiet(*command, **options):
    """Runs a command whose output matters only if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def address6(address):
    """The IPv6 address of the machine that has this IPv4 address."""
    return NETWORK6 + address.rsplit(".", 1)[1]


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


class Lab:
    """Requires: missing() is empty."""

    def __init__(self, directory, root=None):
        self.directory = os.path.abspath(directory)
        self.root = os.path.abspath(root) if root else self.path("root")
        os.makedirs(self.directory, exist_ok=True)
        self.state = {"processes": {}, "machines": {}, "loops": {}}
        if os.path.exists(self.path("lab.json")):
            with open(self.path("lab.json"), encoding="utf-8") as f:
                self.state = json.load(f)
        # Two labs of one machine do not meet.
        self.netns = "mrlab-" + hashlib.sha256(self.directory.encode()).hexdigest()[:6]
        self.key = self.path("key")

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def save(self):
        write(self.path("lab.json"), json.dumps(self.state, indent=1))

    def make_root(self):
        """The root that all machines stand on; it is kept."""
        if os.path.exists(os.path.join(self.root, "usr/sbin/sshd")):
            return
        quiet("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", self.root, "http://deb.debian.org/debian")

    def make_network(self):
        if not os.path.exists(f"/run/netns/{self.netns}"):
            quiet("ip", "netns", "add", self.netns)
            for line in ("link set lo up", "link add mrbr type bridge", f"address add {GATEWAY}/24 dev mrbr", f"address add {NETWORK6}1/64 dev mrbr nodad", "link set mrbr up"):
                quiet("ip", "-n", self.netns, *line.split())
        if not os.path.exists(self.key):
            quiet("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", self.key)
        if not self.running("proxy"):
            self.start("proxy", [sys.executable, os.path.join(HERE, "proxy.py"), f"/run/netns/{self.netns}", GATEWAY, str(PROXY_PORT), self.path("cache")])

    def inside(self, *command):
        """The command as one that runs in the lab's network. `ip netns exec` would hide the control groups from nspawn."""
        return ["nsenter", f"--net=/run/netns/{self.netns}", *command]

    def running(self, name):
        return name in self.state["processes"] and alive(self.state["processes"][name])

    def start(self, name, command, environment=None):
        """Starts a process that outlives this one."""
        with open(self.path(f"{name}.log"), "ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, env=environment)
        self.state["processes"][name] = process.pid
        self.save()

    def stop(self, name):
        pid = self.state["processes"].pop(name, None)
        if pid is None or not alive(pid):
            return
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while alive(pid):
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
            time.sleep(0.1)

    def address(self, name):
        return self.state["machines"][name]

    def prepare(self, name, address, routed=True, ssh_from=None):
        """Files of a new machine: with a default route or without one, and with ssh from anywhere or from one address alone."""
        place = self.path("machines", name)
        for part in ("upper", "work", "merged"):
            os.makedirs(os.path.join(place, part), exist_ok=True)
        if not os.path.ismount(os.path.join(place, "merged")):
            layers = f"lowerdir={self.root},upperdir={place}/upper,workdir={place}/work"
            quiet("mount", "-t", "overlay", f"lab-{name}", "-o", layers, f"{place}/merged")
        machine = os.path.join(place, "merged")
        write(f"{machine}/etc/hostname", name + "\n")
        write(f"{machine}/etc/hosts", f"127.0.0.1 localhost\n{address} {name}\n")
        write(f"{machine}/etc/systemd/network/10-host0.network", f"[Match]\nName=host0\n[Network]\nAddress={address}/24\nAddress={address6(address)}/64\nIPv6AcceptRA=no\n"
              + (f"Gateway={GATEWAY}\n" if routed else ""))
        if ssh_from:
            write(f"{machine}/etc/ssh/sshd_config.d/lab.conf", f"AllowUsers {USER}@{ssh_from}\n")
        write(f"{machine}/etc/apt/apt.conf.d/00lab", f'Acquire::http::Proxy "http://{GATEWAY}:{PROXY_PORT}";\nAcquire::Languages "none";\n')
        write(f"{machine}/etc/sudoers.d/{USER}", f"{USER} ALL=(ALL) NOPASSWD: ALL\n", 0o440)
        if not os.path.exists(f"{machine}/home/{USER}"):
            quiet("chroot", machine, "useradd", "--create-home", "--shell", "/bin/bash", USER)
        with open(self.key + ".pub", encoding="utf-8") as f:
            write(f"{machine}/home/{USER}/.ssh/authorized_keys", f.read())
        for host_key in os.listdir(f"{machine}/etc/ssh"):
            if host_key.startswith("ssh_host_"):
                os.remove(f"{machine}/etc/ssh/{host_key}")
        quiet("chroot", machine, "ssh-keygen", "-A")
        quiet("chroot", machine, "systemctl", "enable", "systemd-networkd", "ssh")
        write(f"{machine}/etc/machine-id", "")

    def boot(self, name, address, disks=0, **options):
        """Starts a machine with so many empty disks, which disks(name) names, and what prepare() takes. Requires: the network is made."""
        if name not in self.state["machines"]:
            self.prepare(name, address, **options)
            self.state["machines"][name] = address
            self.state["loops"][name] = []
            for number in range(disks):
                image = self.path("machines", name, f"disk{number}")
                with open(image, "wb") as f:
                    f.truncate(DISK_BYTES)
                self.state["loops"][name].append(quiet("losetup", "--find", "--show", image).strip())
        merged = self.path("machines", name, "merged")
        binds = [f"--bind={loop}" for loop in self.disks(name)]
        self.start(name, self.inside("systemd-nspawn", "--quiet", "--keep-unit", "--register=no", "--directory", merged, "--boot", "--network-bridge=mrbr",
                                     f"--machine={name}", "--link-journal=no", "--timezone=off", "--resolv-conf=off", *binds))

    def disks(self, name):
        return self.state["loops"].get(name, [])

    def await_ssh(self, names):
        deadline = time.monotonic() + BOOT_SECONDS
        for name in names:
            while subprocess.run(self.ssh(name, "true"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
                if time.monotonic() > deadline or not self.running(name):
                    raise RuntimeError(f"machine {name} does not answer; see {self.path(name)}.log")
                time.sleep(0.5)

    def ssh(self, name, command):
        """The command line of an ssh to a machine."""
        return self.inside("ssh", "-q", "-i", self.key, "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "StrictHostKeyChecking=accept-new",
                           "-o", f"UserKnownHostsFile={self.path('known_hosts')}", f"{USER}@{self.address(name)}", command)

    def on(self, name, command, status=0, text=None):
        """What a command prints to its standard output on a machine."""
        done = subprocess.run(self.ssh(name, command), input=text or "", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != status:
            raise AssertionError(f"{name}: {command}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done.stdout

    def forget(self, name):
        """Stops a machine and removes it with all that is on it; one of the same name begins anew."""
        self.stop(name)
        merged = self.path("machines", name, "merged")
        if os.path.ismount(merged):
            quiet("umount", merged)
        for loop in self.disks(name):
            quiet("losetup", "--detach", loop)
        shutil.rmtree(self.path("machines", name), ignore_errors=True)
        self.state["machines"].pop(name, None)
        self.state["loops"].pop(name, None)
        if os.path.exists(self.path("known_hosts")):
            os.remove(self.path("known_hosts"))
        self.save()

    def remove(self):
        """Stops and removes machines and network. The root, the packages' cache and the logs stay."""
        for name in list(self.state["processes"]):
            self.stop(name)
        # Also those whose making was cut short.
        for name in os.listdir(self.path("machines")) if os.path.exists(self.path("machines")) else []:
            self.forget(name)
        if os.path.exists(f"/run/netns/{self.netns}"):
            quiet("ip", "netns", "delete", self.netns)
        for file in ("known_hosts", "key", "key.pub", "lab.json"):
            if os.path.exists(self.path(file)):
                os.remove(self.path(file))
        if os.path.exists(self.path("home")):
            shutil.rmtree(self.path("home"))
