# SPDX-License-Identifier: Apache-2.0
"""What a hostile job tries, and what comes of it: a cluster whose tasks are confined, a job of somebody else that runs on the same worker,
and one that tries each thing of a list. Prints a table: attempt, what happened.

As root all parts of the sandbox are there; as somebody else those that the kernel allows, and attempts that only a missing part refuses are
skipped with the part's name. With cgroups of version 2 this must be alone in a cgroup that it may divide: tests/machine/hostile runs it so.
"""

import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cluster"))
import cgroups  # noqa: E402
import cluster  # noqa: E402

JOB = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "hostile")
LYING = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "lying")
SECRET = "a secret of the worker\n"
SPOILING = ("fchmod", "chmod", "acl", "times", "truncate", "write", "lease")
REFUSED = {"ENOENT", "EACCES", "EPERM", "ESRCH", "EROFS", "ENOTDIR", "ETXTBSY"}


def listening():
    """A socket of this machine that no task has business with."""
    server = socket.create_server(("127.0.0.1", 0))
    return server


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def request(operation, header):
    """A request of the bulk plane (base/net/bulk_server.h), in hexadecimal."""
    return (struct.pack("<BBHII", operation, 1, 0, len(header), crc32c(header)) + header).hex()


FETCH_RUNS = request(5, struct.pack("<II", 1, 0) + bytes([1, 0, 0]))  # partition 0 of map 0 of job 1


def write_request(operation, block, port):
    """One to write a block through this worker, and on to a place that no master named."""
    next_node = struct.pack("<IB9sI", 9, 9, b"127.0.0.1", port)
    return request(operation, struct.pack("<QIB", block, 1, 1) + next_node + b"\0")


def processes_called(name):
    """The numbers of the processes of this machine that are called so."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/comm") as f:
                comm = f.read().strip()
            with open(f"/proc/{entry}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if comm == name or words[0] == name.encode():
            found.append(int(entry))
    return found


def ended_in_time(processes):
    """Waits for the end of each, and gives those that go on."""
    left = []
    for process in processes:
        try:
            handle = os.pidfd_open(process)
        except ProcessLookupError:
            continue
        if not select.select([handle], [], [], 20)[0]:
            left.append(process)
            os.kill(process, signal.SIGKILL)
        os.close(handle)
    return left


def parts_of(running):
    """The parts of the sandbox that the worker of a cluster says it has."""
    line = re.search(r"tasks are confined(?: in part)?: ([a-z, ]*)", running.log("worker0"))
    return set(line.group(1).strip().split(", ")) if line else set()


class Installed(unittest.TestCase):
    def test_programs_may_lie_in_a_directory_that_tasks_see(self):
        """As they do below /usr, where a package puts them."""
        programs = os.path.join(os.environ["MILLRACE_BIN"])
        parts = []
        for paths in ("", programs):
            with cluster.Cluster(workers=1, settings=["worker.sandbox=auto", f"worker.task_paths={paths}"], cgroups_of_workers=True) as running:
                parts.append(parts_of(running))
                print("confined by:", ", ".join(sorted(parts[-1])) or "nothing")
                running.run("fs", "put", "-", "/text", input=b"a b a\n")
                running.run("run", "wordcount", "/text", "-o", "/counts")
                self.assertEqual(running.run("fs", "cat", "/counts/part-r-00000")[0], b"a\t2\nb\t1\n")
        self.assertEqual(parts[0], parts[1])


class Greedy(unittest.TestCase):
    """Jobs that take more of the machine than is theirs, beside one of somebody else."""

    @classmethod
    def setUpClass(cls):
        # The cgroup has room for files besides: 256 MiB (docs/operate/sandbox.md).
        cls.cluster = cluster.Cluster(workers=1, map_slots=2, cgroups_of_workers=True, settings=[
            "worker.sandbox=auto", "task.memory=16MiB", "task.memory_limit=128MiB", "worker.task_tmp=1GiB"])
        cls.cluster.__enter__()
        cls.parts = parts_of(cls.cluster)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def attempt(self, name, line, status=0):
        """What comes of one attempt: its result, or how its job failed."""
        c = self.cluster
        c.run("fs", "put", "-", f"/{name}.txt", input=line.encode() + b"\n")
        _, said = c.run("run", JOB, f"/{name}.txt", "-o", f"/{name}", "--name", name, "-D", "job.max_attempts=1", status=status)
        result = said.decode() if status else b"".join(c.output(f"/{name}").values()).decode().split("\t", 1)[1].strip()
        print(f"  {line:<44} {[text for text in result.splitlines() if text.strip()][-1]}")
        return result

    def goes_on(self):
        self.assertIsNone(self.cluster.workers[0].poll())
        self.assertEqual(self.attempt(f"after-{self._testMethodName}", "user").strip().isdigit(), True)

    def needs(self, part):
        if part not in self.parts:
            self.skipTest(f"this machine, or this user, has no {part}")

    def test_private_memory_of_one_process(self):
        stopped = re.fullmatch(r"stopped by ENOMEM at (\d+) MiB", self.attempt("one", "memory 1 1000"))
        self.assertTrue(stopped)
        self.assertLess(int(stopped.group(1)), 128)

    def test_private_memory_of_many_processes(self):
        self.needs("cgroup")
        if self.version() == 2:  # the kernel ends all of them at once
            self.assertIn("their limit of 384 MiB", self.attempt("many", "memory 16 64", status=1))
        else:
            lost = re.fullmatch(r"(\d+) of 16 killed", self.attempt("many", "memory 16 64"))
            self.assertTrue(lost and int(lost.group(1)) >= 9, lost)  # 384 MiB hold five of them
        self.goes_on()

    def test_files_in_memory(self):
        self.needs("cgroup")
        self.needs("mounts")
        self.assertIn("their limit of 384 MiB", self.attempt("files", "fill /tmp 900", status=1))
        self.goes_on()

    def test_the_processor(self):
        """One process of a job beside sixteen of another has as much as they, for the time that both compute."""
        self.needs("cgroup")
        c = self.cluster
        c.run("fs", "put", "-", "/spin/one.txt", input=b"spin 1 4\n")
        c.run("fs", "put", "-", "/spin/many.txt", input=b"spin 16 4\n")
        c.run("run", JOB, "/spin/one.txt", "/spin/many.txt", "-o", "/spun", "--name", "spin")
        text = b"".join(c.output("/spun").values()).decode()
        used = {line.split()[1]: int(line.split("\t")[1].split()[1]) for line in text.splitlines()}
        print(f"  processor time of 1 process and of 16: {used['1']} and {used['16']} ms")
        self.assertGreater(used["1"], (used["1"] + used["16"]) / 4)

    def version(self):
        return 2 if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else 1


class Left(unittest.TestCase):
    def test_what_a_job_leaves_behind_keeps_no_worker_from_starting(self):
        with cluster.Cluster(workers=1, settings=["worker.sandbox=auto"], cgroups_of_workers=True) as c:
            os.chmod(c.directory, 0o711)
            c.run("fs", "put", "-", "/leave.txt", input=b"leave\nhold\n")
            waiting = c.start("run", JOB, "/leave.txt", "-o", "/left", "--name", "leaver")
            jobs = c.path("worker0", "jobs")
            try:
                for _ in range(5000):  # the last that it does is to close the directory
                    left = os.path.join(jobs, "1", "shared", "left")
                    if os.path.isdir(left) and os.stat(left).st_mode & 0o777 == 0o555:
                        break
                    self.assertIsNone(waiting.poll())
                    c.run("node", "list")
                else:
                    self.fail("the job has left nothing")
                c.kill_worker(0)  # a power failure, as far as the worker knows
                c.run("job", "kill", "job1")
            finally:
                waiting.kill()
                waiting.wait()
            c.start_worker(0)
            c.run("fs", "put", "-", "/text", input=b"a b a\n")
            c.run("run", "wordcount", "/text", "-o", "/counts")
            self.assertEqual(c.run("fs", "cat", "/counts/part-r-00000")[0], b"a\t2\nb\t1\n")
            for _ in range(5000):
                if not [name for name in os.listdir(jobs) if name.startswith(".removed-") or name == "1"]:
                    return
                c.run("node", "list")
            self.fail(f"what the job left stays: {os.listdir(jobs)}")


class Crowding(unittest.TestCase):
    def test_descriptors_that_nobody_takes_keep_no_other_task_from_starting(self):
        """The kernel counts those that are on their way by user, and all tasks may be one."""
        with cluster.Cluster(workers=1, map_slots=2, settings=["worker.sandbox=auto"], cgroups_of_workers=True) as c:
            os.chmod(c.directory, 0o711)
            if "network" not in parts_of(c):
                self.skipTest("this machine, or this user, has no network")
            c.run("fs", "put", "-", "/send.txt", input=b"send-descriptors 4000000\n")
            c.run("fs", "put", "-", "/text", input=b"a b a\n")
            sending = c.start("run", JOB, "/send.txt", "-o", "/sent", "--name", "sender")
            try:
                log = c.path("worker0", "logs", "1", "job1.m.0.0.err")
                for path in (os.path.dirname(log), log):
                    cluster.await_file(path, sending)
                cluster.await_line(log, b"sent ")
                with open(log) as f:
                    print("  a job", f.read().strip())
                c.run("run", "wordcount", "/text", "-o", "/counts", "-D", "job.max_attempts=1")
                self.assertEqual(c.run("fs", "cat", "/counts/part-r-00000")[0], b"a\t2\nb\t1\n")
                c.run("job", "kill", "job1")
            finally:
                sending.kill()
                sending.wait()


class Lying(unittest.TestCase):
    """What lies in the place of a map's output is not believed."""

    def peak(self, process):
        """The most memory that it has had, in bytes."""
        with open(f"/proc/{process.pid}/status") as f:
            return int(re.search(r"VmHWM:\s+(\d+) kB", f.read())[1]) * 1024

    def test_no_output_takes_its_worker_away(self):
        with cluster.Cluster(workers=1, settings=["worker.sandbox=auto"], cgroups_of_workers=True) as c:
            os.chmod(c.directory, 0o711)
            for lie in ("count", "size", "empty", "pipe", "directory", "link", "device", "second", "nothing"):
                with self.subTest(lie):
                    c.run("fs", "put", "-", f"/{lie}.txt", input=lie.encode() + b"\n")
                    _, said = c.run("run", LYING, f"/{lie}.txt", "-o", f"/{lie}", "-D", "job.max_attempts=1", status=1)
                    print(f"  {lie:<10} {[line for line in said.decode().splitlines() if line.strip()][-1]}")
                    self.assertIsNone(c.workers[0].poll())
            self.assertLess(self.peak(c.workers[0]), 1 << 30)
            c.run("fs", "put", "-", "/text", input=b"a b a\n")
            c.run("run", "wordcount", "/text", "-o", "/counts")
            self.assertEqual(c.run("fs", "cat", "/counts/part-r-00000")[0], b"a\t2\nb\t1\n")
            self.assertNotIn("lost", c.log("master"))


class Shared(unittest.TestCase):
    def test_a_worker_in_a_cgroup_of_others_says_what_to_do(self):
        if cgroups.make_room() is None:
            self.skipTest("no cgroup of version 2 that this process may divide")
        with cluster.Cluster(workers=1, settings=["worker.sandbox=auto"]) as running:
            self.assertNotIn("cgroup", parts_of(running))
            self.assertIn("other processes are in the worker's cgroup; start the worker as a service", running.log("worker0"))


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        mode = "require" if os.geteuid() == 0 else "auto"
        cls.cluster = cluster.Cluster(workers=1, map_slots=2, cgroups_of_workers=True, settings=[
            f"worker.sandbox={mode}", "worker.task_tmp=32MiB", "worker.task_processes=200", "worker.warm_idle=1h"])
        os.chmod(cls.cluster.directory, 0o711)
        cls.cluster.__enter__()
        cls.parts = parts_of(cls.cluster)
        print("confined by:", ", ".join(sorted(cls.parts)) or "nothing")
        with open(cls.cluster.path("worker0", "key.pem"), "w") as f:
            f.write(SECRET)
        cls.server, cls.foreign = listening(), listening()
        cls.victim()
        cls.results = cls.attempts()

    @classmethod
    def tearDownClass(cls):
        cls.waiting.kill()
        cls.waiting.wait()
        cls.server.close()
        cls.foreign.close()
        cls.cluster.__exit__(None, None, None)

    @classmethod
    def victim(cls):
        """A job of somebody else with a process, a log, a run file and an executable on the worker."""
        c = cls.cluster
        c.run("fs", "put", "-", "/victim.txt", input=b"hold\n")
        cls.waiting = c.start("run", JOB, "/victim.txt", "-o", "/victim", "--name", "victim")
        cls.victim_log = c.path("worker0", "logs")
        logs = c.path("worker0", "logs", "1")
        cluster.await_file(os.path.join(c.path("worker0", "logs"), "1"), cls.waiting)
        cluster.await_file(os.path.join(logs, "job1.m.0.0.err"), cls.waiting)

    @classmethod
    def attempts(cls):
        c = cls.cluster
        worker = c.workers[0].pid
        port = str(cls.server.getsockname()[1])
        host, master = c.address.split(":")
        block = subprocess.run(["find", c.path("worker0", "blocks"), "-type", "f"], capture_output=True, text=True, check=True).stdout.split()[0]
        executable = os.path.join(c.path("worker0", "executables"), os.listdir(c.path("worker0", "executables"))[0])
        with open(c.path("worker0", "storage_id")) as f:
            cls.own_socket = "@millrace-" + f.read().strip()
        node = json.loads(c.run("node", "list", "--json")[0])[0]
        cls.bulk = f"{node['host']}:{node['port']}"
        foreign = cls.foreign.getsockname()[1]
        cls.lines = [
            f"ask {cls.own_socket} {FETCH_RUNS}", f"ask {cls.own_socket} {request(2, bytes(24))}", f"ask {cls.own_socket} {request(77, b'')}",
            f"ask {cls.own_socket} {write_request(6, 77, foreign)}", f"ask {cls.bulk} {write_request(1, 78, foreign)}",
            f"ask {cls.bulk} {request(3, struct.pack('<QQ', 79, 65536))}",
            f"read {c.path('worker0', 'key.pem')}", f"read {c.path('worker0', 'storage_id')}", f"list {c.path('master')}",
            f"list {c.path('worker0', 'blocks')}", f"read {block}", f"list {c.path('worker0', 'jobs', '1')}",
            f"list {c.path('worker0', 'logs', '1')}", f"write {executable}", f"make {c.path('worker0', 'x')}", "make /usr/x", "make /etc/x",
            "list /home", "list /root", "list /run", "list /var", "list /sys", "make /sys/fs/cgroup/x", "list /etc/millrace", "read /etc/shadow", "read /dev/mem", "read /dev/kmsg",
            "processes", f"signal {worker}", f"signal {os.getpid()}", f"trace {worker}", f"peek {worker}", "trace 1", "peek 1", "signal 1",
            f"read /proc/{worker}/environ", "read /proc/1/environ", "forks 5000", "fill /tmp 200", "survive survivor",
            f"connect 127.0.0.1 {port}", "connect 192.0.2.1 80", "connect 169.254.169.254 80", "udp 127.0.0.1 53", "abstract millrace-nobody",
            "listen", "raw", "own-socket", "mount", "unshare", "clone", "module", "bpf", "keys", "kexec", "ring", "device", "become", "user",
            "bind", "sctp", "route", "own-pair", *(f"family {2**32 + family}" for family in (40, 38, 17, 16 + 2**10)), "own-directories", "swap",
            *(f"spoil {how}" for how in SPOILING), "lease", f"take-name {cls.own_socket} @millrace-another",
            f"plant {block}", "environment", "descriptors", f"connect {host} {master}", f"link-log {c.path('worker0', 'key.pem')}",
        ]
        c.run("fs", "put", "-", "/hostile.txt", input=("\n".join(cls.lines) + "\n").encode())
        c.run("run", JOB, "/hostile.txt", "-o", "/hostile", "--name", "hostile")
        cls.went_on = (c.workers[0].poll(), cls.waiting.poll()) == (None, None)
        cls.survivors = ended_in_time(processes_called("survivor"))
        text = b"".join(c.output("/hostile").values()).decode()
        results = dict(line.split("\t", 1) for line in text.splitlines())
        for line in cls.lines:
            shown = line.replace(cls.own_socket, "LOCAL-SOCKET").replace(c.directory, "CLUSTER").replace(str(worker), "WORKER")
            print(f"  {shown:<44} {results.get(line, '-')}")
        sys.stdout.flush()
        return results

    def happened(self, begin):
        return {line: result for line, result in self.results.items() if line.startswith(begin)}

    def needs(self, *parts):
        for part in parts:
            if part not in self.parts:
                self.skipTest(f"this machine, or this user, has no {part}")

    def answered(self, line, sentence):
        """The worker said so; or, where nobody connects for tasks, Landlock kept them from its socket."""
        if "network" in self.parts or self.results[line] not in REFUSED:
            self.assertIn(sentence, self.results[line], line)

    def refused(self, *begins):
        for begin in begins:
            found = self.happened(begin)
            self.assertTrue(found, begin)
            for line, result in found.items():
                self.assertIn(result.removeprefix("socket "), REFUSED | {"EAFNOSUPPORT"}, line)

    def test_all_was_tried(self):
        self.assertEqual(set(self.results), set(self.lines))
        self.assertNotIn("unknown", self.results.values())

    def test_state_of_daemons_and_other_jobs_is_not_seen(self):
        self.needs("mounts")
        self.refused("read " + self.cluster.directory, "list " + self.cluster.directory, "write ", "make /usr", "make /etc", "list /home", "list /root", "list /run",
                     "list /sys", "make /sys", "read /etc/shadow", "read /dev/")
        # A user's own namespace lets it write to the tree that leads to its directories, of which the worker has another.
        self.assertFalse(os.path.exists(self.cluster.path("worker0", "x")))
        self.assertIn(self.results["list /etc/millrace"], ("sees ", "ENOENT"))

    def test_other_processes_are_not_reached(self):
        self.needs("processes", "filter")
        self.assertEqual(self.results["processes"], "none")
        self.refused("trace ", "peek ", "read /proc/")
        self.assertIn(self.results[f"signal {self.cluster.workers[0].pid}"], {"ESRCH", "EPERM"})
        self.assertTrue(self.went_on, "the worker and the other job go on")

    def test_a_fork_bomb_is_bounded(self):
        if not self.parts & {"cgroup", "user", "mounts"}:
            self.needs("cgroup")
        stopped = re.fullmatch(r"stopped by EAGAIN at (\d+)", self.results["forks 5000"])
        self.assertTrue(stopped, self.results["forks 5000"])
        self.assertLess(int(stopped.group(1)), 200)

    def test_tmp_is_bounded(self):
        self.needs("mounts")
        stopped = re.fullmatch(r"stopped by ENOSPC at (\d+) MiB", self.results["fill /tmp 200"])
        self.assertTrue(stopped, self.results["fill /tmp 200"])
        self.assertLessEqual(int(stopped.group(1)), 32)

    def test_nothing_survives_its_process(self):
        self.needs("processes")
        self.assertEqual(self.results["survive survivor"], "left a process behind")
        self.assertEqual(self.survivors, [])

    def test_the_network_is_the_file_system(self):
        self.needs("network")
        self.refused("connect 127.0.0.1 " + str(self.server.getsockname()[1]), "connect 192.0.2.1", "connect 169.254", "udp ", "listen", "raw")
        self.assertIn(self.results["abstract millrace-nobody"], {"ECONNREFUSED", "EACCES", "EPERM"})
        self.assertEqual(self.results["own-socket"], "connected")
        self.assertEqual(self.results["own-pair"], "connected")
        self.refused("bind")
        self.assertEqual(self.results["route"], "EPERM")
        self.assertEqual(self.results["sctp"], "EPROTONOSUPPORT")
        # The master is reached, as file-system clients reach it: what a peer may ask there is for certificates to decide.
        self.assertEqual(self.results["connect " + self.cluster.address.replace(":", " ")], "connected")

    def test_the_workers_socket_gives_blocks_and_nothing_else(self):
        for asked in (FETCH_RUNS, request(2, bytes(24)), request(77, b"")):
            self.answered(f"ask {self.own_socket} {asked}", "is refused to everybody on the local socket")

    def test_no_block_is_written_without_a_token_nor_sent_elsewhere(self):
        foreign = self.foreign.getsockname()[1]
        for line in (f"ask {self.own_socket} {write_request(6, 77, foreign)}", f"ask {self.bulk} {write_request(1, 78, foreign)}",
                     f"ask {self.bulk} {request(3, struct.pack('<QQ', 79, 65536))}"):
            self.answered(line, "it needs a token of the master")
        self.assertEqual(select.select([self.foreign], [], [], 0)[0], [], "the worker connected for the task")

    def test_a_block_that_it_may_read_is_not_taken_from_others(self):
        """The worker passes it a descriptor, and all tasks may be the unix user whose files the blocks are."""
        self.needs("mounts", "filter")
        self.refused(*(f"spoil {how}" for how in SPOILING))
        self.assertEqual(self.cluster.run("fs", "cat", "/hostile.txt")[0].decode().splitlines(), self.lines)

    def test_nobody_waits_for_its_lease_of_a_file(self):
        self.needs("filter")
        self.assertEqual(self.results["lease"].split(), ["EPERM"] * 6)
        self.assertNotIn("is lost", self.cluster.log("master"))

    def test_it_takes_no_name_on_the_machine(self):
        self.needs("network")
        self.assertEqual(self.results[f"take-name {self.own_socket} @millrace-another"], "EINVAL")
        with socket.socket(socket.AF_UNIX) as another:
            another.bind("\0millrace-another")

    def test_dangerous_calls_are_refused(self):
        self.needs("filter")
        for attempt in ("mount", "unshare", "clone", "module", "bpf", "keys", "kexec", "ring", "device", "become"):
            self.assertIn(self.results[attempt], {"EPERM", {"become": "EINVAL", "device": "EACCES"}.get(attempt)}, attempt)

    def test_a_family_is_what_the_kernel_takes_for_it(self):
        """AF_VSOCK (40), AF_ALG (38) and AF_PACKET (17), with more bits than the kernel looks at; and a family that there is not."""
        self.needs("filter")
        self.assertEqual(len(self.happened("family ")), 4)
        for line, result in self.happened("family ").items():
            self.assertEqual(result, "EAFNOSUPPORT", line)

    def test_its_job_is_its_own_to_read_and_three_directories_to_write(self):
        if not self.parts & {"mounts", "landlock"}:
            self.needs("mounts")
        self.assertEqual(self.results["own-directories"], "made")
        self.assertIn(self.results["swap"], {"EROFS", "EACCES", "EPERM", "EBUSY", "EXDEV"})
        for line, result in self.happened("plant ").items():
            self.assertIn(result, {"EROFS", "EACCES", "EPERM"}, line)

    def test_it_is_a_user_of_its_own(self):
        self.needs("user")
        self.assertEqual(self.results["user"], "70002")

    def test_it_has_what_it_was_handed_alone(self):
        names = set(self.results["environment"].split())
        allowed = {"PATH", "LANG", "TZ", "LD_LIBRARY_PATH", "HOME", "TMPDIR", "RES_OPTIONS", "MILLRACE_TASK_PROCESS"}
        self.assertEqual({n for n in names if not n.startswith("LC_")} - allowed, set())
        for descriptor in self.results["descriptors"].split():
            target = descriptor.split("=", 1)[1]
            self.assertNotIn("key", target)
            self.assertFalse(target.startswith(self.cluster.path("worker0", "jobs", "1")), target)

    def test_a_link_in_place_of_a_log_shows_nothing(self):
        line = f"link-log {self.cluster.path('worker0', 'key.pem')}"
        self.assertEqual(self.results[line], "linked")
        done = subprocess.run([cluster.MILLRACE, "job", "logs", "job2"], env=self.cluster.environment(), capture_output=True, text=True)
        self.assertNotIn(SECRET.strip(), done.stdout + done.stderr)
        self.assertIn("not a regular file", done.stdout + done.stderr)

    def test_node_list_says_it(self):
        nodes = json.loads(self.cluster.run("node", "list", "--json")[0])
        self.assertEqual(set(nodes[0]["sandbox"]), self.parts)


if __name__ == "__main__":
    unittest.main()
