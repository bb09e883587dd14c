# SPDX-License-Identifier: Apache-2.0
"""deploy/ansible without machines: syntax, lint, the pinned versions, what cloud.yml and deploy/cluster refuse, and the options that the
playbooks name. It takes Ansible (tests/ansible/requirements.txt); MILLRACE_ANSIBLE may name its virtual environment."""

import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import playbooks

CLUSTER = os.path.join(playbooks.ROOT, "deploy", "cluster")
BOOKS = ("backup", "certificates", "cloud", "cloud_down", "cloud_start", "cloud_stop", "cluster", "move_master", "restore", "shrink", "teardown", "upgrade")
FILE = {"millrace_cluster": "demo", "millrace_region": "eu-central-1", "millrace_network": "10.20.0.0/16", "millrace_zones": {"eu-central-1a": "10.20.0.0/24"},
        "millrace_ssh_from": ["203.0.113.7/32"], "millrace_ssh_key": "/dev/null", "millrace_image": "ami-1",
        "millrace_nodes": [{"name": "master", "role": "master", "zone": "eu-central-1a", "type": "m6i.large"}]}


def read(*parts):
    with open(os.path.join(playbooks.ROOT, *parts), encoding="utf-8") as f:
        return f.read()


class PlaybooksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.TemporaryDirectory(prefix="millrace-ansible-")
        cls.environment = {**os.environ, "ANSIBLE_CONFIG": os.path.join(playbooks.COLLECTION, "ansible.cfg"), "ANSIBLE_HOME": cls.tmp.name, "ANSIBLE_NOCOLOR": "1",
                           "ANSIBLE_LOCALHOST_WARNING": "False", "LC_ALL": "C.UTF-8", "HOME": cls.tmp.name,
                           # Whatever gets as far as the cloud fails there.
                           "AWS_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "some-secret", "AWS_MAX_ATTEMPTS": "1"}

    @classmethod
    def tearDownClass(cls):
        cls.tmp.cleanup()

    def run_tool(self, *command, environment=None, cwd=playbooks.COLLECTION, **options):
        return subprocess.run(command, cwd=cwd, env={**self.environment, **(environment or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, **options)

    def cloud(self, **changes):
        """What cloud.yml says to a file; nothing answers as the cloud."""
        path = os.path.join(self.tmp.name, "demo.yml")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({**FILE, **changes}, f)
        done = self.run_tool(playbooks.tool("ansible-playbook"), "-i", "localhost,", "playbooks/cloud.yml", "-e", f"@{path}")
        self.assertNotEqual(done.returncode, 0)
        return done.stdout

    def test_syntax(self):
        for book in BOOKS:
            done = self.run_tool(playbooks.tool("ansible-playbook"), "--syntax-check", "-i", "inventory/hosts.example.yml", f"playbooks/{book}.yml")
            self.assertEqual(done.returncode, 0, done.stdout)
        here = {os.path.basename(path).removesuffix(".yml") for path in glob.glob(os.path.join(playbooks.COLLECTION, "playbooks", "*.yml"))}
        self.assertEqual(here - {"check_hosts"}, set(BOOKS))

    @unittest.skipIf(shutil.which(playbooks.tool("ansible-lint")) is None, "ansible-lint is not here")
    def test_lint(self):
        environment = {**self.environment, "PATH": os.path.dirname(playbooks.tool("ansible-lint")) + os.pathsep + os.environ["PATH"]}
        done = subprocess.run([playbooks.tool("ansible-lint"), "--offline", "--nocolor"], cwd=playbooks.COLLECTION, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_file_that_makes_sense_gets_as_far_as_the_cloud(self):
        self.assertIn("Failed to describe volumes", self.cloud())  # the first thing that it asks EC2, which is not there

    def test_what_cloud_refuses(self):
        master = FILE["millrace_nodes"][0]
        for changes, expected in (({"millrace_ssh_from": ["0.0.0.0/0"]}, "lets everyone in by ssh"),
                                  ({"millrace_cluster": "My cluster"}, "the file has to say millrace_cluster"),
                                  ({"millrace_image": "debian"}, 'the image "debian" has to be debian-12 or debian-13'),
                                  ({"millrace_image": {"name": "x-*"}}, "or have a name and an owner"),
                                  ({"millrace_ssh_by": "private"}, "millrace_ssh_by is millrace_connect now"),
                                  ({"millrace_ssh_from": []}, "the file has to say millrace_ssh_from"),
                                  ({"millrace_connect": "session-manager", "millrace_nat_network": "10.20.9.0/28"}, "millrace_connect session-manager takes no open port"),
                                  ({"millrace_connect": "session-manager", "millrace_nat_network": "10.20.9.0/28", "millrace_ssh_from": []}, "takes the programs aws and session-manager-plugin"),
                                  ({"millrace_connect": "private"}, "millrace_nat_network, the addresses"),
                                  ({"millrace_connect": "private", "millrace_outbound": "given"}, "take millrace_outbound nat or endpoints"),
                                  ({"millrace_connect": "private", "millrace_outbound": "endpoints"}, "leads to Session Manager alone"),
                                  ({"millrace_connect": "session-manager", "millrace_outbound": "endpoints", "millrace_nat_network": "10.20.9.0/28"}, "millrace_nat_network, the addresses"),
                                  ({"millrace_connect": "session-manager", "millrace_nat_network": "10.20.9.0/28", "millrace_ssh_from": [], "millrace_agent_key": "/dev/null"}, "is not one PGP PUBLIC KEY BLOCK"),
                                  ({"millrace_nat_network": "10.20.9.0/28"}, "millrace_nat_network, the addresses"),
                                  ({"millrace_outbound": "nat"}, "is for machines without public addresses"),
                                  ({"millrace_bastion": {"host": "b"}}, "millrace_bastion is for millrace_connect private"),
                                  ({"millrace_vpc": "vpc-1"}, "and millrace_vpc of one that exists; say one of the two"),
                                  ({"millrace_subnets": {"eu-central-1a": "subnet-1"}}, "and millrace_vpc has to name it"),
                                  ({"millrace_vpc": "vpc-1", "millrace_network": "", "millrace_zones": {}}, "millrace_vpc takes millrace_subnets"),
                                  ({"millrace_vpc": "vpc-1", "millrace_network": "", "millrace_zones": {}, "millrace_subnets": {"eu-central-1b": "subnet-1"}}, "or zones, of millrace_subnets"),
                                  ({"millrace_instance_profile": "theirs", "millrace_policies": ["arn:aws:iam::aws:policy/X"]}, "say one of the two"),
                                  ({"millrace_tags": {"Name": "x"}}, "may not hold Name"),
                                  ({"millrace_root_disk": {"kms_key": "alias/x", "encrypted": False}}, "kms_key says with which key: leave out encrypted: false"),
                                  ({"millrace_nodes": [{**master, "zones": ["eu-central-1a"]}]}, "a zone, or zones, of millrace_zones"),
                                  ({"millrace_nodes": [{**master, "types": ["m5.large"]}]}, "a type or types"),
                                  ({"millrace_nodes": [{**master, "fallback": "on-demand"}]}, "go with market spot"),
                                  ({"millrace_nodes": [master, {**master, "name": "w", "role": "worker", "market": "spot", "on_demand": 2}]}, "no more than count"),
                                  ({"millrace_nodes": [master, {**master, "name": "other"}]}, "one node of the role master"),
                                  ({"millrace_nodes": [master, master]}, "names are all different"),
                                  ({"millrace_nodes": [{**master, "market": "spot"}]}, "a master's is on-demand"),
                                  ({"millrace_nodes": [master, {**master, "name": "w", "role": "worker", "zone": "eu-central-1c"}]}, "a zone, or zones, of millrace_zones"),
                                  ({"millrace_nodes": [master, {**master, "name": "w", "role": "worker", "placement": "racks"}]}, "of millrace_placement_groups"),
                                  ({"millrace_zone": "eu-central-1a"}, "There is no setting millrace_zone"),
                                  ({"millrace_nodes": [{**master, "role": "boss"}]}, "must be one of: master, worker, client"),
                                  ({"millrace_nodes": [{**master, "disk": 1}]}, "disk. Supported parameters include")):
            said = re.sub(r"\s+", " ", self.cloud(**changes))
            self.assertIn(expected, said)
            self.assertNotIn("127.0.0.1:1", said)

    def test_an_inventory_without_a_master(self):
        path = os.path.join(self.tmp.name, "none.yml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("worker: {hosts: {two: {}}}\n")
        for book in ("cluster", "certificates", "shrink", "upgrade", "backup", "restore", "teardown"):
            done = self.run_tool(playbooks.tool("ansible-playbook"), "-i", path, f"playbooks/{book}.yml")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("names 0 masters", re.sub(r"\s+", " ", done.stdout))

    def refusals(self, hosts, role, tasks, *words, facts=True):
        """What each host is refused with, by tasks of a role over settings of each host; empty where it is not refused."""
        place = tempfile.mkdtemp(dir=self.tmp.name)
        inventory, book = os.path.join(place, "hosts.yml"), os.path.join(place, "play.yml")
        common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "millrace_package": "/millrace_0.1.0_amd64.deb"}
        with open(inventory, "w", encoding="utf-8") as f:
            json.dump({"all": {"vars": common}, "master": {"hosts": {next(iter(hosts)): {}}}, "worker": {"hosts": {name: about.get("vars", {}) for name, about in hosts.items()}}}, f)
        base = {"architecture": "x86_64", "default_ipv4": {"address": "10.0.0.1"}, "default_ipv6": {}, "all_ipv4_addresses": ["10.0.0.1"], "all_ipv6_addresses": [], "machine_id": "1",
                "system_vendor": "", "devices": {}}
        known = {name: {**base, **about.get("facts", {})} for name, about in hosts.items()}
        fact = [{"ansible.builtin.set_fact": {**{name: "{{ known[inventory_hostname]." + name + " }}" for name in base}, "cacheable": True}}] if facts else []
        with open(book, "w", encoding="utf-8") as f:
            json.dump([{"hosts": "worker", "gather_facts": False, "vars": {"known": known}, "tasks": [
                *fact, {"ansible.builtin.include_role": {"name": "settings", "public": True}}, {"ansible.builtin.include_role": {"name": role, "tasks_from": tasks}}]}], f)
        done = self.run_tool(playbooks.tool("ansible-playbook"), "-i", inventory, book, *words, environment={"ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json"})
        said = json.loads(done.stdout[done.stdout.index("{\n"):])
        found = {name: "" for name in hosts}
        for task in said["plays"][0]["tasks"]:
            for name, result in task["hosts"].items():
                if result.get("failed"):
                    found[name] = re.sub(r"\s+", " ", " ".join([result["msg"], *(item.get("msg", "") for item in result.get("results", []) if item.get("failed"))]))
        return found

    def test_what_settings_refuse(self):
        several = {"default_ipv4": {}, "all_ipv4_addresses": ["10.0.0.1", "192.168.0.1", "127.0.0.1"], "all_ipv6_addresses": ["fe80::1", "::1"]}
        volume, store = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0a", "nvme-Amazon_EC2_NVMe_Instance_Storage_AWS1"
        ec2 = {"system_vendor": "Amazon EC2", "devices": {"nvme0n1": {"model": "Amazon Elastic Block Store", "links": {"ids": []}}}}
        own = {**ec2, "devices": {**ec2["devices"], "nvme1n1": {"model": "Amazon EC2 NVMe Instance Storage", "links": {"ids": ["nvme-eui.1", store]}}}}
        cases = ((dict(), ""),
                 (dict(vars={"millrace_disks": [volume], "millrace_shuffle_disk": volume}), "together name each disk once"),
                 (dict(vars={"millrace_disks": ["/dev/nvme1n1"]}, facts=ec2), "/dev/nvme1n1 of host2 may be another disk after the next start"),
                 (dict(vars={"millrace_database_disk": "/dev/sdp"}, facts=ec2), "may be another disk after the next start"),
                 (dict(vars={"millrace_disks": [volume]}, facts=ec2), ""),
                 (dict(vars={"millrace_instance_store": "data"}, facts=ec2), "has 0 disks of the model"),
                 (dict(vars={"millrace_instance_store": "data", "millrace_disks": [volume]}, facts=own), ""),
                 (dict(vars={"millrace_instance_store": "shuffle"}, facts=own), ""),
                 (dict(vars={"millrace_instance_store": "shuffle", "millrace_shuffle_disk": volume}, facts=own), "with one disk at most for what tasks write"),
                 (dict(vars={"millrace_instance_store": "data", "millrace_disks": [f"/dev/disk/by-id/{store}"]}, facts=own), "none of which another setting names"),
                 (dict(vars={"millrace_instance_store": "data"}, facts={"devices": {"nvme1n1": {"model": "Amazon EC2 NVMe Instance Storage", "links": {"ids": []}}}}), "of which 0 have"),
                 (dict(vars={"millrace_map_slot": 2}), "is millrace_map_slots meant?"),
                 (dict(vars={"millrace_formatdisks": True}), "is millrace_format_disks meant?"),
                 (dict(vars={"millrace_nonsense": 1}), "has the setting millrace_nonsense, which does not exist."),
                 (dict(vars={"millrace_master_port": "many"}), "cannot be converted to an int"),
                 (dict(vars={"millrace_worker_port": 70000}), "millrace_worker_port is 70000, and has to be from 1 to 65535"),
                 (dict(vars={"millrace_tls": "perhaps"}), "unable to convert to bool"),
                 (dict(vars={"millrace_market": "black"}), "value of millrace_market must be one of"),
                 (dict(vars={"millrace_master_options": ["dfs.replication"]}), "unable to convert to dict"),
                 (dict(vars={"millrace_map_slots": "most"}), "it is auto or a number"),
                 (dict(vars={"millrace_map_slots": 4}), ""),
                 (dict(vars={"millrace_disks": ["/dev/sdb", "/dev/sdb"]}), "together name each disk once"),
                 (dict(vars={"millrace_cluster": "../up"}), "the name of a cluster has"),
                 (dict(facts={"architecture": "riscv64"}), "runs on amd64 and arm64"),
                 # Addresses.
                 (dict(facts=several), "has no default route, and several addresses: 10.0.0.1, 192.168.0.1. Set its millrace_address"),
                 (dict(facts={**several, "all_ipv4_addresses": ["127.0.0.1"]}), "has no default route, and no address that others reach"),
                 (dict(facts={**several, "all_ipv4_addresses": ["127.0.0.1", "10.0.0.9"]}), ""),
                 (dict(facts={"default_ipv4": {}, "default_ipv6": {"address": "fd00::10"}}), ""),
                 (dict(vars={"millrace_address": "fd12:3456::1"}), ""),
                 (dict(vars={"millrace_address": "2001:db8::1"}), "which the whole Internet may reach"),
                 (dict(vars={"millrace_address": "2001:db8::1", "millrace_allow_public_address": True}), ""),
                 (dict(vars={"millrace_address": "8.8.8.8"}), "which the whole Internet may reach"),
                 (dict(vars={"millrace_address": "10.evil.example"}), "one address in numbers"),
                 (dict(vars={"millrace_address": "[fd00::1]"}), "one address in numbers"),
                 (dict(vars={"millrace_address": "fe80::1"}), "one address in numbers"),
                 (dict(vars={"millrace_address": "::", "millrace_allow_public_address": True}), "one address in numbers"),
                 (dict(vars={"millrace_address": "0.0.0.0", "millrace_allow_public_address": True}), "one address in numbers"))
        hosts = {f"host{number}": about for number, (about, _) in enumerate(cases)}
        found = self.refusals(hosts, "settings", "check.yml")
        for (about, expected), said in zip(cases, found.values()):
            with self.subTest(str(about)):
                self.assertEqual(said == "", expected == "", said)
                self.assertIn(expected, said)

    def test_what_is_refused_of_an_authority(self):
        place = tempfile.mkdtemp(dir=self.tmp.name)
        kept = os.path.join(place, "kept")
        os.makedirs(kept)
        for name, text in (("ca.pem", "certificate"), ("master-machine-id", "2\n")):
            with open(os.path.join(kept, name), "w", encoding="utf-8") as f:
                f.write(text)
        for variables, expected in (({"millrace_authority": os.path.join(place, "new")}, ""),
                                    ({"millrace_authority": "hosts.authority"}, "has to begin with / or ~"),
                                    ({"millrace_authority": os.path.join(place, "hosts", "ca")}, "all of which Ansible reads as hosts"),
                                    ({"millrace_authority": kept}, "is of a cluster whose master is another machine than one (10.0.0.1)"),
                                    ({"millrace_authority": kept, "millrace_new_master": True}, "")):
            os.makedirs(os.path.join(place, "hosts"), exist_ok=True)
            with open(os.path.join(place, "hosts", "more.yml"), "w", encoding="utf-8") as f:
                f.write("client: {hosts: {}}\n")
            said = self.refusals({"one": {"vars": variables}}, "certificates", "check_authority.yml", "-i", os.path.join(place, "hosts"))["one"]
            with self.subTest(str(variables)):
                self.assertEqual(said == "", expected == "", said)
                self.assertIn(expected, said)

    def test_what_a_killed_run_has_left_is_removed(self):
        """On every host, not on the master alone."""
        place = tempfile.mkdtemp(dir=self.tmp.name)
        authority = os.path.join(place, "authority")
        words = self.inventory("file", millrace_authority=authority, millrace_package="/millrace_0.1.0_amd64.deb")
        kept = [f"{authority}/ca.pem", f"{place}/cache/millrace_0.1.0_amd64.deb", f"{self.tmp.name}/.ansible/tmp/ansible-tmp-1-2-4/.source.ini"]
        left = [f"{place}/memory-one/authority.tar", f"{place}/memory-two/authority.tar", f"{authority}.packing/authority.tar", f"{place}/cache/.ansible_tmp0key.pem",
                f"{self.tmp.name}/.ansible/tmp/ansible-tmp-1-2-3/.source.pem"]
        for path in kept + left:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write("half")
        book = os.path.join(place, "play.yml")
        with open(book, "w", encoding="utf-8") as f:
            json.dump([{"hosts": "all", "gather_facts": False, "roles": ["settings"], "tasks": [
                {"ansible.builtin.include_role": {"name": "certificates", "tasks_from": "remove_leftovers.yml"}}]}], f)
        variables = {"certificates_place": place + "/memory-{{ inventory_hostname }}", "millrace_cache": place + "/cache"}

        def play(*more):
            done = self.run_tool(playbooks.tool("ansible-playbook"), *words, book, "-e", json.dumps(variables), *more)
            self.assertEqual(done.returncode, 0, done.stdout)
            return playbooks.changed(done.stdout)

        self.assertGreater(play("--check"), 0)
        self.assertEqual([path for path in kept + left if not os.path.exists(path)], [])
        self.assertGreater(play(), 0)
        self.assertEqual([path for path in kept + left if os.path.exists(path)], kept)
        self.assertEqual(sorted(os.listdir(place)), ["authority", "cache", "play.yml"])
        self.assertEqual(play(), 0)
        # A new authority that never took the place of the old one has keys, too.
        os.mkdir(authority + ".new")
        self.assertEqual(self.refusals({"one": {"vars": {"millrace_authority": authority}}}, "certificates", "check_authority.yml"), {"one": ""})
        self.assertEqual((os.path.exists(authority), os.path.exists(authority + ".new")), (True, False))

    def test_temporary_paths_are_known(self):
        """Whatever is made in a temporary directory is removed by the next run: a path that is new here takes a task that does so."""
        found = set()
        for path in glob.glob(os.path.join(playbooks.COLLECTION, "[pr]*", "**", "*"), recursive=True):
            if os.path.isfile(path) and path.endswith((".yml", ".j2", ".py")):
                with open(path, encoding="utf-8") as f:
                    found |= set(re.findall(r"(?<![\w}])/(?:run|tmp|var/tmp|dev/shm)(?:/[^\s\"'\],]*(?: archive }})?)?", f.read()))
        # Those of certificates/tasks/remove_leftovers.yml and master/tasks/remove_packed_backups.yml.
        self.assertEqual(found, {"/run/millrace-ca", "/var/tmp", "/var/tmp/{{ archive }}"})

    def test_an_authority_beside_the_inventory_is_not_overlooked(self):
        words = self.inventory("file")
        earlier = words[1].removesuffix(".yml") + ".authority"
        os.makedirs(earlier)
        with open(os.path.join(earlier, "ca.pem"), "w", encoding="utf-8") as f:
            f.write("certificate")
        book = os.path.join(os.path.dirname(words[1]), "play.yml")
        with open(book, "w", encoding="utf-8") as f:
            json.dump([{"hosts": "master", "gather_facts": False, "tasks": [{"ansible.builtin.include_role": {"name": "certificates", "tasks_from": "check_authority.yml"}}]}], f)
        done = self.run_tool(playbooks.tool("ansible-playbook"), *words, book)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"mv {earlier} {os.path.join(self.tmp.name, '.millrace', 'authorities', 'one')}", re.sub(r"\s+", " ", done.stdout))

    def test_an_authority_is_replaced_whole_or_not_at_all(self):
        program = os.path.join(playbooks.COLLECTION, "roles", "certificates", "files", "replace_directory.py")
        place = tempfile.mkdtemp(dir=self.tmp.name)
        directory = os.path.join(place, "one")

        def make(path, text):
            os.makedirs(path, 0o700)
            with open(os.path.join(path, "ca.pem"), "w", encoding="utf-8") as f:
                f.write(text)

        def there():
            self.assertEqual(os.listdir(place), ["one"])
            with open(os.path.join(directory, "ca.pem"), encoding="utf-8") as f:
                return f.read()

        # What a run leaves that is killed at each of its steps.
        for left, expected in (({"": "old"}, "old"), ({"": "old", ".new": "half"}, "old"), ({".old": "old", ".new": "new"}, "new"), ({"": "new", ".old": "old"}, "new")):
            for suffix, text in left.items():
                make(directory + suffix, text)
            self.assertEqual(self.run_tool(sys.executable, program, directory).stdout, "")
            self.assertEqual(there(), expected)
            shutil.rmtree(directory)
        make(directory, "old")
        file = os.path.join(self.tmp.name, "authority.tar")
        for members, expected in (({"./master/key.pem": "key", "ca.pem": "new"}, ""), ({"../out": "x"}, "not a file within"), ({"/etc/out": "x"}, "not a file within"), ({"link": None}, "not a file within")):
            with tarfile.open(file, "w") as archive:
                for name, text in members.items():
                    about = tarfile.TarInfo(name)
                    about.size, about.mode = len(text or ""), 0o600
                    if text is None:
                        about.type, about.linkname = tarfile.SYMTYPE, "/etc/passwd"
                    archive.addfile(about, io.BytesIO((text or "").encode()))
            done = self.run_tool(sys.executable, program, directory, file)
            self.assertEqual((done.returncode == 0, expected in done.stdout), (expected == "", True), done.stdout)
            self.run_tool(sys.executable, program, directory)
            self.assertEqual(there(), "new")
        self.assertEqual(os.stat(os.path.join(directory, "master", "key.pem")).st_mode & 0o777, 0o600)

    def test_every_role_says_what_it_takes(self):
        for role in os.listdir(os.path.join(playbooks.COLLECTION, "roles")):
            self.assertRegex(role, "^[a-z]+$")
            self.assertIn(f"# {role}\n", read("deploy", "ansible", "roles", role, "README.md"))
            entries = set(re.findall(r"(?m)^  ([a-z_]+):$", read("deploy", "ansible", "roles", role, "meta", "argument_specs.yml")))
            self.assertIn("main", entries)
            # Whatever is included from elsewhere has a specification.
            for path in glob.glob(os.path.join(playbooks.COLLECTION, "**", "*.yml"), recursive=True):
                with open(path, encoding="utf-8") as f:
                    used = re.findall(rf"name: {role}\n\s+tasks_from: ([a-z_]+)[.]yml", f.read())
                self.assertLessEqual(set(used), entries, path)
        names = {name for role in ("settings", "cloud") for name in re.findall(r"(?m)^      (millrace_[a-z_]+):$", read("deploy", "ansible", "roles", role, "meta", "argument_specs.yml"))}
        defaults = set(re.findall(r"(?m)^(millrace_[a-z_]+):", read("deploy", "ansible", "roles", "settings", "defaults", "main.yml")))
        derived = set(re.findall(r"(?m)^(millrace_[a-z_]+):", read("deploy", "ansible", "roles", "settings", "vars", "main.yml")))
        self.assertLessEqual(defaults, names)
        for path in glob.glob(os.path.join(playbooks.COLLECTION, "**", "*"), recursive=True):
            if path.endswith((".yml", ".j2")):
                with open(path, encoding="utf-8") as f:
                    used = {name for name in re.findall(r"\bmillrace_[a-z_]+\b", f.read()) if not name.endswith("_")}
                self.assertLessEqual(used, names | derived | {"millrace_ssh_by"}, path)  # which is refused, with its name of today

    def test_the_collection_is_built_installed_and_run(self):
        version = re.search(r'kVersion\[?\]? *= *"([0-9.]+)', read("base", "version.h"))[1]
        self.assertIn(f"\nversion: {version}\n", read("deploy", "ansible", "galaxy.yml"))
        place = tempfile.mkdtemp(dir=self.tmp.name)
        built = self.run_tool(playbooks.tool("ansible-galaxy"), "collection", "build", "--output-path", place, playbooks.COLLECTION)
        self.assertEqual(built.returncode, 0, built.stdout)
        file = os.path.join(place, f"millrace-deploy-{version}.tar.gz")
        with tarfile.open(file) as archive:
            names = archive.getnames()
        self.assertTrue({"README.md", "meta/runtime.yml", "playbooks/cluster.yml", "roles/master/README.md"} <= set(names), names)
        self.assertFalse([name for name in names if "authority/" in name or name.endswith((".aws_ec2.yml", "ansible.cfg", ".deb"))], names)
        # The collections that it needs are those of requirements.yml, which are here.
        installed = self.run_tool(playbooks.tool("ansible-galaxy"), "collection", "install", "--offline", "-p", place, file)
        self.assertEqual(installed.returncode, 0, installed.stdout)
        path = os.path.join(self.tmp.name, "demo.yml")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({**FILE, "millrace_ssh_from": ["0.0.0.0/0"]}, f)
        environment = {"ANSIBLE_COLLECTIONS_PATH": place, "ANSIBLE_CONFIG": os.path.join(place, "none.cfg")}
        done = self.run_tool(playbooks.tool("ansible-playbook"), "-i", "localhost,", "millrace.deploy.cloud", "-e", f"@{path}", environment=environment, cwd=place)
        self.assertIn("lets everyone in by ssh", re.sub(r"\s+", " ", done.stdout))
        for book in BOOKS:
            done = self.run_tool(playbooks.tool("ansible-playbook"), *self.inventory("directory"), "--list-tasks", f"millrace.deploy.{book}", environment=environment, cwd=place)
            self.assertEqual(done.returncode, 0, done.stdout)
        # A playbook of somebody else, with a role of the collection.
        with open(os.path.join(place, "own.yml"), "w", encoding="utf-8") as f:
            json.dump([{"hosts": "master", "roles": ["millrace.deploy.base", "millrace.deploy.master", "millrace.deploy.worker", "millrace.deploy.client"]}], f)
        done = self.run_tool(playbooks.tool("ansible-playbook"), *self.inventory("file"), "--list-tasks", "own.yml", environment=environment, cwd=place)
        self.assertIn("millrace.deploy.certificates : Install the certificate", done.stdout)
        told = self.run_tool(playbooks.tool("ansible-doc"), "-t", "role", "millrace.deploy.settings", environment=environment, cwd=place).stdout
        self.assertIn("millrace_format_disks", told)

    def shrink(self, may_go):
        """What shrink.yml makes of a worker of which the master says this, and what it asked. A program stands in for millrace; nothing is stopped."""
        place = tempfile.mkdtemp(dir=self.tmp.name)
        program, asked = os.path.join(place, "millrace"), os.path.join(place, "asked")
        nodes = [{"node": n, "host": f"10.0.0.{n}", "port": 7701, "may_go": may_go if n == 2 else "in-use"} for n in (2, 3)]
        with open(program, "w", encoding="utf-8") as f:
            f.write(f"""#!{sys.executable}
import sys
with open({asked!r}, "a") as f: f.write(" ".join(sys.argv[1:]) + "\\n")
if "list" in sys.argv: print({json.dumps(nodes)!r})
if "fsck" in sys.argv: print({json.dumps({"missing": 0, "under_replicated": 0})!r})
""")
        os.chmod(program, 0o755)
        with open(os.path.join(place, "hosts.yml"), "w", encoding="utf-8") as f:
            json.dump({"all": {"vars": {"ansible_connection": "local", "ansible_become": False, "ansible_python_interpreter": sys.executable}},
                       "master": {"hosts": {"one": {"millrace_address": "10.0.0.1"}}}, "worker": {"hosts": {"two": {}, "three": {}}}}, f)
        # What check_hosts.yml would find out of the hosts is said, and no daemon is asked for.
        settings = {"base_addresses": {name: f"10.0.0.{n}" for name, n in (("two", 2), ("three", 3))}, "millrace_leave": "two", "millrace_ask": [program], "millrace_tls": False, "millrace_copy_patience": 0, "millrace_task_patience": 0, "millrace_start_patience": 0}
        done = self.run_tool(playbooks.tool("ansible-playbook"), "-i", os.path.join(place, "hosts.yml"), "playbooks/shrink.yml", "-e", json.dumps(settings), "--limit", "master",
                             "--start-at-task", "Refuse to remove hosts that are no workers, or all workers")
        with open(asked, "a+", encoding="utf-8") as f:
            f.seek(0)
            return done, f.read()

    def test_a_worker_goes_only_if_the_master_says_so(self):
        for may_go, goes in (("unknown", False), ("blocks", False), ("no-such-answer", False), ("outputs", True), ("lost", True)):
            with self.subTest(may_go):
                done, asked = self.shrink(may_go)
                self.assertIn("node decommission --no-wait 2\n", asked, done.stdout)
                self.assertEqual((done.returncode == 0, "node forget 2\n" in asked), (goes, goes), done.stdout)
                # What a worker had that is lost already is looked for before anything else is done.
                self.assertEqual(asked.count("fs fsck"), {"lost": 2}.get(may_go, 1) if goes else 0, done.stdout)

    def inventory(self, shape, **variables):
        """An inventory of two hosts in one of the shapes that Ansible takes, as the words of a command line."""
        place = tempfile.mkdtemp(dir=self.tmp.name)

        def put(name, text, mode=0o644):
            path = os.path.join(place, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(path, mode)
            return path

        variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **variables}
        hosts = {"master": {"hosts": {"one": {}}}, "worker": {"hosts": {"two": {}}}}
        if shape == "file":
            return ["-i", put("hosts.yml", json.dumps({"all": {"vars": variables}, **hosts}))]
        if shape == "directory":
            put("inventory/group_vars/all/main.yml", json.dumps(variables))
            put("inventory/master", "[master]\none\n")
            put("inventory/workers.yml", json.dumps({"worker": hosts["worker"]}))
            return ["-i", os.path.join(place, "inventory")]
        if shape == "files":
            put("group_vars/all.yml", json.dumps(variables))
            return ["-i", put("masters.yml", json.dumps({"master": hosts["master"]})), "-i", put("racks/workers.ini", "[worker]\ntwo\n"), "-e", json.dumps(variables)]
        listed = {**{name: {"hosts": list(group["hosts"])} for name, group in hosts.items()}, "_meta": {"hostvars": {name: variables for name in ("one", "two")}}}
        return ["-i", put("hosts.py", f"#!{sys.executable}\nprint({json.dumps(listed)!r})\n", 0o755)]

    def test_each_cluster_has_one_authority(self):
        """Its place is the same for every host and in every shape of inventory, and follows the cluster's name alone."""
        book = os.path.join(tempfile.mkdtemp(dir=self.tmp.name), "where.yml")
        with open(book, "w", encoding="utf-8") as f:
            json.dump([{"hosts": "all", "gather_facts": False, "roles": ["certificates"], "tasks": [{"name": "Show the place", "ansible.builtin.debug": {"msg": "authority={{ certificates_authority }}="}}]}], f)
        for shape in ("file", "directory", "files", "script"):
            for variables, expected in (({}, "one"), ({"millrace_cluster": "lab"}, "lab")):
                said = self.run_tool(playbooks.tool("ansible-playbook"), *self.inventory(shape, **variables), book, "-e", "certificates_missing=[]", "--start-at-task", "Show the place").stdout
                found = re.findall(r"authority=(\S+)=", said)
                self.assertEqual(found, [os.path.join(self.tmp.name, ".millrace", "authorities", expected)] * 2, f"{shape}: {said}")
        for ignored in (read(".gitignore"), read("deploy", "ansible", ".gitignore")):
            self.assertIn("*.authority/\n", ignored)

    @unittest.skipUnless(os.environ.get("MILLRACE_PROGRAM"), "MILLRACE_PROGRAM names no program")
    def test_certificates_are_issued_once_and_renewed(self):
        """The role of certificates over this machine: everything but the machines of a cluster."""
        place = tempfile.mkdtemp(dir=self.tmp.name)
        authority, into = os.path.join(place, "hosts.authority"), os.path.join(place, "tls")

        def play(names=("two",), verb=None, status=0, **variables):
            with open(os.path.join(place, "hosts.yml"), "w", encoding="utf-8") as f:
                json.dump({"all": {"vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}}, "master": {"hosts": {"one": {"millrace_program": os.environ["MILLRACE_PROGRAM"], "millrace_authority": authority, **variables}}},
                           "worker": {"hosts": {name: {} for name in names}}}, f)
            role = {"name": "certificates"}
            tasks = [{"ansible.builtin.include_role": role}] if verb is None else [
                {"ansible.builtin.include_role": {**role, "tasks_from": "run_ca_command.yml"}, "vars": {"certificates_verb": "renew", "certificates_words": verb, "certificates_made": ""}}]
            tasks.append({"ansible.builtin.include_role": {**role, "tasks_from": "install_certificate.yml"}, "vars": {
                "certificates_name": "worker:two", "certificates_into": into, "certificates_owner": os.getuid(), "certificates_group": os.getgid()}})
            with open(os.path.join(place, "play.yml"), "w", encoding="utf-8") as f:
                json.dump([{"hosts": "master", "gather_facts": False, "roles": ["settings"], "tasks": tasks}], f)
            done = self.run_tool(playbooks.tool("ansible-playbook"), "-i", os.path.join(place, "hosts.yml"), os.path.join(place, "play.yml"), "--diff")
            self.assertEqual(done.returncode == 0, status == 0, done.stdout)
            self.assertNotIn("PRIVATE KEY", done.stdout)
            return done.stdout

        def files(directory):
            found = {}
            for name in ("ca.pem", "cert.pem", "key.pem"):
                with open(os.path.join(directory, name), encoding="utf-8") as f:
                    found[name] = f.read()
            return found

        self.assertGreater(playbooks.changed(play()), 0)
        self.assertEqual(os.stat(authority).st_mode & 0o777, 0o700)
        self.assertEqual(sorted(name for name in os.listdir(authority) if "." not in name), ["client-admin", "master", "worker-two"])
        self.assertEqual(files(into), files(os.path.join(authority, "worker-two")))
        self.assertEqual({name: os.stat(os.path.join(into, name)).st_mode & 0o777 for name in files(into)}, {"ca.pem": 0o644, "cert.pem": 0o644, "key.pem": 0o400})
        self.assertEqual(playbooks.changed(play()), 0)
        first = files(into)
        # A worker and a user more; what was issued stays.
        play(names=("two", "three"), millrace_users=["ann"])
        self.assertEqual(sorted(name for name in os.listdir(authority) if "." not in name), ["client-admin", "client-ann", "master", "worker-three", "worker-two"])
        self.assertEqual(files(into), first)
        play(verb=[])
        renewed = files(into)
        self.assertEqual({name for name in first if first[name] != renewed[name]}, {"cert.pem"})
        play(verb=["--new-key"])
        self.assertEqual({name for name in first if files(into)[name] != renewed[name]}, {"cert.pem", "key.pem"})
        self.assertEqual(files(into)["key.pem"].count("BEGIN"), 1)
        play(verb=["authority"])
        play(verb=["worker:two"])
        self.assertNotEqual(files(into)["ca.pem"], first["ca.pem"])
        self.assertIn("cannot stand in a certificate", re.sub(r"\s+", " ", play(names=("two", "x" * 49), status=2)))

    def test_versions_are_pinned(self):
        for line in read("deploy", "ansible", "requirements.txt").splitlines():
            self.assertRegex(line, r"^(#.*|[a-z0-9-]+==[0-9.]+)$")
        collections = read("deploy", "ansible", "requirements.yml")
        self.assertEqual(collections.count("- name:"), collections.count("version:"))
        # Those that are installed are those that are named, so that the two files say the same.
        listed = self.run_tool(playbooks.tool("ansible-galaxy"), "collection", "list", "--format", "json").stdout
        installed = {name: about["version"] for place in json.loads(listed[listed.index("{"):]).values() for name, about in place.items()}
        for name, version in re.findall(r"- name: (\S+)\n\s+version: (\S+)", collections):
            self.assertEqual(installed.get(name), version, name)

    def test_options_are_those_of_the_daemons(self):
        options = set(re.findall(r"`((?:master|worker|dfs|task|tls)\.[a-z_]+)`", read("docs", "operate", "options.md")))
        for role in ("master", "worker"):
            named = set(re.findall(r"'((?:master|worker|dfs|task|tls)\.[a-z_]+)'", read("deploy", "ansible", "roles", role, "vars", "main.yml")))
            self.assertTrue(named)
            self.assertLessEqual(named, options)

    def test_cluster_says_what_is_wrong(self):
        for arguments, expected in (((), "usage:"), (("up",), "-f FILE says which"), (("fly", "-f", "x"), "invalid choice"), (("status", "-i", "/nowhere"), 'no file "/nowhere"')):
            done = self.run_tool(sys.executable, CLUSTER, *arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(expected, done.stdout)

    def test_cluster_asks_before_it_takes_down(self):
        path = os.path.join(self.tmp.name, "hosts.yml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("master: {hosts: {one: {}}}\n")
        done = self.run_tool(sys.executable, CLUSTER, "down", "-i", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is meant", done.stdout)


if __name__ == "__main__":
    if lacking := playbooks.lacking():
        print(f"skipped: no Ansible here, since there is no {lacking} (tests/ansible/requirements.txt; MILLRACE_ANSIBLE names its virtual environment)")
        sys.exit(0)
    unittest.main()
