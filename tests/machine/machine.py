# SPDX-License-Identifier: Apache-2.0
"""A Debian 12 machine under qemu: its own kernel with cgroups of version 2, systemd as its first process, no network.

    with Machine(image, directory, brought={"/here/a": "a"}) as machine:
        text, status = machine.run("uname -r; ls /brought")

An Image is made once by mmdebstrap (which needs the network and root) and never changed: what a machine writes is forgotten with it. Commands
go in and their output comes out through a port of virtio, to a shell that systemd starts. Where KVM works it is used; otherwise qemu emulates
the processor, which is some ten times slower.
"""

import base64
import hashlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

ALWAYS = ["dbus", "linux-image-cloud-amd64", "procps", "python3", "systemd", "systemd-sysv", "udev", "iproute2", "util-linux"]
TOOLS = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs", "qemu-system-x86_64": "qemu-system-x86"}

# Reads a script a line, as base64, and answers with its output and a line with its exit status.
COMMANDS = r"""#!/bin/bash
exec <>/dev/virtio-ports/commands >&0 2>&1
stty raw -echo 2>/dev/null
echo ready
while read -r line; do
  echo "$line" | base64 -d >/run/commands.script
  bash /run/commands.script </dev/null
  printf '\n\001%d\n' $?
done
"""
COMMANDS_UNIT = """[Unit]
Description=Commands from outside
After=basic.target
RequiresMountsFor=/brought
[Service]
ExecStart=/usr/local/sbin/commands
Restart=always
RestartSec=500ms
[Install]
WantedBy=multi-user.target
"""
FSTAB = "/dev/vda / ext4 rw,relatime 0 1\n/dev/vdb /brought ext4 ro,nofail 0 0\n"
CUSTOMIZE = r"""
set -e
root=$1
cp "$root"/boot/vmlinuz-* "$HERE/kernel"
cp "$root"/boot/initrd.img-* "$HERE/initrd"
rm -rf "$root"/boot/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb "$root"/usr/share/doc/*/changelog*
cp "$HERE/fstab" "$root/etc/fstab"
cp "$HERE/commands.service" "$root/etc/systemd/system/"
install -m 755 "$HERE/commands" "$root/usr/local/sbin/commands"
echo 127.0.0.1 localhost machine >"$root/etc/hosts"
echo machine >"$root/etc/hostname"
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
mkdir "$root/brought"
chroot "$root" systemctl --quiet enable commands
chroot "$root" systemctl --quiet mask getty@tty1 serial-getty@ttyS0 apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer
"""


def missing_tools():
    """Debian's packages that are wanting here, one for each tool that is not found."""
    return [package for tool, package in TOOLS.items() if shutil.which(tool) is None]


def quiet(*command, **options):
    """Runs it, and shows what it said if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed with {done.returncode}\n{done.stdout}")
    return done.stdout


def packages_of(files):
    """The Debian packages of the shared libraries that programs are linked with."""
    libraries = set()
    for file in files:
        linked = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout  # of a script nothing
        for found in re.findall(r"=> (/\S+)", linked):
            libraries |= {os.path.realpath(found), found}
    found = subprocess.run(["dpkg-query", "-S", *sorted(libraries)], capture_output=True, text=True, check=False).stdout
    return sorted({line.split(":")[0] for line in found.splitlines()})


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def file_system(tree, file, size):
    """Makes an ext4 file system with the files of a directory."""
    with open(file, "wb") as f:
        f.truncate(size)
    quiet("mke2fs", "-q", "-t", "ext4", "-E", "root_owner=0:0", "-d", tree, file)


class Image:
    """The root of a machine, its kernel and the initial file system, in a directory. One that is there with the same contents is used again."""

    def __init__(self, directory, packages):
        self.packages = sorted({*ALWAYS, *packages})
        text = "\n".join([*self.packages, COMMANDS, COMMANDS_UNIT, FSTAB, CUSTOMIZE])
        self.directory = os.path.join(directory, "image-" + hashlib.sha256(text.encode()).hexdigest()[:12])
        if not os.path.exists(self.path("made")):
            self.make()

    def path(self, name):
        return os.path.join(self.directory, name)

    def make(self):
        if os.geteuid() != 0:
            raise SystemExit("an image has to be made as root, so that its files belong to whom they do in a Debian")
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory)
        for name, text in (("commands", COMMANDS), ("commands.service", COMMANDS_UNIT), ("fstab", FSTAB), ("customize", "#!/bin/sh\n" + CUSTOMIZE)):
            write(self.path(name), text, 0o755 if text.startswith("#!") else 0o644)
        quiet("mmdebstrap", "--mode=root", "--variant=minbase", "--components=main", "--include=" + ",".join(self.packages), "--format=directory",
              "--customize-hook=" + self.path("customize"), "bookworm", self.path("tree"), env={**os.environ, "HERE": self.directory, "TMPDIR": self.directory})
        file_system(self.path("tree"), self.path("root"), 4 << 30)
        shutil.rmtree(self.path("tree"))
        write(self.path("made"), "")


class Machine:
    """A machine that runs. What is `brought` (path here: name there) lies read-only in /brought."""

    def __init__(self, image, directory, brought, accelerator="auto", memory=2048, log=lambda text: print(text, flush=True)):
        self.image = image
        self.directory = directory
        self.brought = brought
        self.accelerators = ["kvm", "tcg"] if accelerator == "auto" else [accelerator]
        self.memory = memory
        self.log = log
        self.process = None

    def path(self, name):
        return os.path.join(self.directory, name)

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the machine ends with this program
        self._pack()
        try:
            return self._start()
        except BaseException:
            self._end()
            raise

    def _start(self):
        for accelerator in self.accelerators:
            began = time.monotonic()
            if accelerator == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
                continue
            self._boot(accelerator)
            # With KVM a kernel that says nothing for so long hangs, as it does where KVM is not quite one.
            if self._await_ready(40 if accelerator == "kvm" else 600):
                self.log(f"machine up with {accelerator} after {time.monotonic() - began:.0f} s")
                return self
            self.log(f"no machine with {accelerator}")
            self._end()
        raise SystemExit("no machine came up; its console said at last:\n" + self.console()[-3000:])

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.log("the machine's console at last:\n" + self.console()[-3000:])
        self._end()

    def console(self):
        if not os.path.exists(self.path("console")):
            return "(nothing)"
        with open(self.path("console"), errors="replace") as f:
            return f.read()

    def _pack(self):
        """Makes the file system of what is brought."""
        tree = self.path("brought")
        os.makedirs(tree)
        size = 0
        for here, there in self.brought.items():
            target = os.path.join(tree, there)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isdir(here):
                shutil.copytree(here, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(here, target)
        for parent, _, names in os.walk(tree):
            size += sum(os.lstat(os.path.join(parent, name)).st_size + 8192 for name in names) + 8192
        file_system(tree, self.path("brought.img"), size * 5 // 4 + (32 << 20))
        shutil.rmtree(tree)

    def _boot(self, accelerator):
        append = "root=/dev/vda rw console=ttyS0 panic=-1 quiet systemd.show_status=0"
        drive = "file={},if=virtio,format=raw,snapshot=on"
        processor = {"kvm": ["-accel", "kvm", "-cpu", "max"], "tcg": ["-accel", "tcg,thread=multi", "-cpu", "max"]}[accelerator]
        self.socket = socket.socket(socket.AF_UNIX)
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", *processor, "-smp", "2", "-m", str(self.memory), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
             "-kernel", self.image.path("kernel"), "-initrd", self.image.path("initrd"), "-append", append,
             "-drive", drive.format(self.image.path("root")), "-drive", drive.format(self.path("brought.img")),
             "-serial", "file:" + self.path("console"), "-device", "virtio-serial", "-chardev", f"socket,id=commands,path={self.path('commands')},server=on,wait=off",
             "-device", "virtserialport,chardev=commands,name=commands", "-device", "virtio-rng-pci"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ, "TMPDIR": self.directory})
        self.pending = b""
        while True:
            try:
                self.socket.connect(self.path("commands"))
                return
            except (FileNotFoundError, ConnectionRefusedError):
                if self.process.poll() is not None:
                    return
                time.sleep(0.05)

    def _await_ready(self, seconds):
        try:
            return self._read_until(rb"ready\r?\n", seconds) is not None
        except (EOFError, OSError):
            return False

    def _read_until(self, pattern, seconds, shown=None):
        """What came until the pattern, and its match; None if it did not come in time."""
        deadline = time.monotonic() + seconds
        told = 0
        while True:
            match = re.search(pattern, self.pending)
            if match:
                before, self.pending = self.pending[:match.start()], self.pending[match.end():]
                if shown:
                    shown(before[told:])
                return before, match
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                return None
            got = self.socket.recv(65536)
            if not got:
                raise EOFError("the machine has ended")
            self.pending += got
            line = self.pending.rfind(b"\n", 0, len(self.pending) - 6)
            if shown and line > told:
                shown(self.pending[told:line + 1])
                told = line + 1

    def run(self, script, seconds=900, shown=None):
        """Runs a script of bash as root there. Gives its output and its exit status. `shown` is called with the output as it comes."""
        self.socket.sendall(base64.b64encode(script.encode()) + b"\n")
        show = (lambda part: shown(part.decode(errors="replace"))) if shown else None
        answer = self._read_until(rb"\n\x01(\d+)\n", seconds, show)
        if answer is None:
            raise TimeoutError(f"no answer in {seconds} s to: {script}\n{self.pending.decode(errors='replace')[-3000:]}")
        return answer[0].decode(errors="replace"), int(answer[1].group(1))

    def _end(self):
        if self.process is None:
            return
        self.socket.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if os.path.exists(self.path("commands")):
            os.unlink(self.path("commands"))
