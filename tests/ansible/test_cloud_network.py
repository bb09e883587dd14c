# SPDX-License-Identifier: Apache-2.0
"""cloud.yml and cloud_down.yml against moto alone: images, networks, ways to connect, the spot market, and the tags of everything that is made.
No machine is started. It takes Ansible and moto (tests/ansible/requirements.txt); MILLRACE_ANSIBLE may name their virtual environment.
What moto lacks, cloud_policy.py answers."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import playbooks

REGION = "eu-central-1"
NODES = [{"name": "master", "role": "master", "zone": "eu-central-1a", "type": "m6i.large"},
         {"name": "near", "role": "worker", "zones": ["eu-central-1a", "eu-central-1b"], "type": "m6g.large", "count": 2, "disks": [{"size": 10}]}]
FILE = {"millrace_cluster": "demo", "millrace_region": REGION, "millrace_network": "10.20.0.0/16", "millrace_zones": {"eu-central-1a": "10.20.0.0/24", "eu-central-1b": "10.20.1.0/24"},
        "millrace_ssh_from": ["203.0.113.7/32"], "millrace_image": "debian-12", "millrace_nodes": NODES, "millrace_tags": {"team": "data", "cost centre": "7"},
        "millrace_price_accepted": True}
PRIVATE = {"millrace_connect": "private", "millrace_nat_network": "10.20.255.0/28"}
AMD, ARM, NEWER = "ami-00000000000000001", "ami-00000000000000002", "ami-00000000000000003"
# moto gives them root disks of 15 GiB.
IMAGES = [{"ami_id": number, "name": name, "architecture": architecture, "owner_id": "123456789012", "root_device_name": "/dev/xvda", "root_device_type": "ebs", "state": "available",
           "public": True, "virtualization_type": "hvm", "hypervisor": "xen", "image_type": "machine", "image_location": f"debian/{name}", "description": name, "sriov": "simple"}
          for number, name, architecture in ((AMD, "debian-12-amd64-1", "x86_64"), (ARM, "debian-12-arm64-1", "arm64"), (NEWER, "debian-12-amd64-2", "x86_64"))]
LIVING = ("pending", "running", "stopping", "stopped")


class CloudNetworkTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # moto reads its images when it is loaded.
        cls.images = tempfile.NamedTemporaryFile("w", prefix="millrace-images-", suffix=".json", encoding="utf-8")
        json.dump(IMAGES, cls.images)
        cls.images.flush()
        os.environ.update({"MOTO_AMIS_PATH": cls.images.name, "MOTO_IAM_LOAD_MANAGED_POLICIES": "true"})
        import boto3
        from moto.server import ThreadedMotoServer

        import cloud_policy
        import moto_server
        moto_server.mend()
        cls.moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        cls.moto.start()
        host, port = cls.moto.get_host_and_port()
        cls.policy = cloud_policy.Policy(f"http://{host}:{port}")
        cls.proxy = cloud_policy.serve(cls.policy)
        secrets = {"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "some-secret", "AWS_DEFAULT_REGION": REGION, "no_proxy": "*"}
        os.environ.update(secrets)
        cls.ec2 = boto3.client("ec2", region_name=REGION, endpoint_url=cls.policy.moto)
        cls.iam = boto3.client("iam", region_name=REGION, endpoint_url=cls.policy.moto)
        cls.ssm = boto3.client("ssm", region_name=REGION, endpoint_url=cls.policy.moto)
        cls.url = f"http://127.0.0.1:{cls.proxy.server_address[1]}"

    @classmethod
    def tearDownClass(cls):
        cls.proxy.shutdown()
        cls.proxy.server_close()
        cls.moto.stop()
        cls.images.close()

    def setUp(self):
        import urllib.request
        with urllib.request.urlopen(urllib.request.Request(self.policy.moto + "/moto-api/reset", method="POST", data=b""), timeout=60):
            pass
        place = tempfile.TemporaryDirectory(prefix="millrace-cloud-")
        self.addCleanup(place.cleanup)
        self.place = place.name
        os.makedirs(os.path.join(self.place, "bin"))
        for name in ("aws", "session-manager-plugin"):
            path = os.path.join(self.place, "bin", name)
            with open(path, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\n")
            os.chmod(path, 0o755)
        with open(os.path.join(self.place, "key.pub"), "w", encoding="utf-8") as f:
            f.write("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPHgnXZw2jDMe6GEL1WwyrCBjtpH4NbCbFQNAQ7zoiGf test\n")
        self.environment = {**os.environ, "ANSIBLE_CONFIG": os.path.join(playbooks.COLLECTION, "ansible.cfg"), "ANSIBLE_HOME": self.place, "ANSIBLE_NOCOLOR": "1", "HOME": self.place,
                            "ANSIBLE_LOCALHOST_WARNING": "False", "LC_ALL": "C.UTF-8", "AWS_URL": self.url, "AWS_MAX_ATTEMPTS": "1",
                            "PATH": os.path.join(self.place, "bin") + os.pathsep + os.environ["PATH"]}
        for policy in (self.policy.refused, self.policy.on_demand_refused, self.policy.templates, self.policy.images, self.policy.calls):
            policy.clear()
        for release in (12, 13):
            self.policy.images.update({f"/aws/service/debian/release/{release}/latest/amd64": AMD, f"/aws/service/debian/release/{release}/latest/arm64": ARM})
        self.ours = {"vpcs": self.count("describe_vpcs", "Vpcs"), "subnets": self.count("describe_subnets", "Subnets"), "groups": self.count("describe_security_groups", "SecurityGroups")}
        self.policy.calls.clear()

    def count(self, call, kind):
        return sorted(json.dumps(one, sort_keys=True, default=str) for one in getattr(self.ec2, call)()[kind])

    def play(self, *words, book="cloud.yml", status=0, **settings):
        began = time.monotonic()
        path = os.path.join(self.place, "demo.yml")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({name: value for name, value in {**FILE, "millrace_ssh_key": os.path.join(self.place, "key.pub"), **settings}.items() if value is not None}, f)
        done = subprocess.run([playbooks.tool("ansible-playbook"), "-i", "localhost,", os.path.join(playbooks.COLLECTION, "playbooks", book), "-e", f"@{path}", *words], cwd=self.place,
                              env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(f"  {self.id().rpartition('.')[2]}: {book} {' '.join(words)}: {time.monotonic() - began:.0f} s; {' '.join(playbooks.recap(done.stdout))}", flush=True)
        self.assertEqual(done.returncode == 0, status == 0, done.stdout[-6000:])
        return done.stdout

    def instances(self):
        found = [one for reservation in self.ec2.describe_instances()["Reservations"] for one in reservation["Instances"] if one["State"]["Name"] in LIVING]
        return {self.tags(one)["Name"]: one for one in found}

    def tags(self, one):
        return {tag["Key"]: tag["Value"] for tag in one.get("Tags") or one.get("TagSet") or []}

    def made(self, action):
        return [given for name, given in self.policy.calls if name == action]

    def untagged(self):
        """What moto holds, was not there before, and lacks a tag of millrace_tags or of the cluster; what a network always has by itself is left out."""
        lacking, seen = [], 0
        kinds = (("describe_vpcs", "Vpcs", "VpcId"), ("describe_subnets", "Subnets", "SubnetId"), ("describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
                 ("describe_route_tables", "RouteTables", "RouteTableId"), ("describe_security_groups", "SecurityGroups", "GroupId"), ("describe_key_pairs", "KeyPairs", "KeyName"),
                 ("describe_volumes", "Volumes", "VolumeId"), ("describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"), ("describe_nat_gateways", "NatGateways", "NatGatewayId"),
                 ("describe_addresses", "Addresses", "PublicIp"), ("describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
                 ("describe_spot_instance_requests", "SpotInstanceRequests", "SpotInstanceRequestId"), ("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"))
        # A NAT gateway and an endpoint have interfaces that AWS makes.
        theirs = {place.get("NetworkInterfaceId") for gateway in self.ec2.describe_nat_gateways()["NatGateways"] for place in gateway["NatGatewayAddresses"]}
        theirs |= {interface for one in self.endpoints() for interface in one.get("NetworkInterfaceIds", [])}
        for call, kind, key in kinds:
            for one in getattr(self.ec2, call)()[kind]:
                by_itself = (one.get("GroupName") == "default" or any(part.get("Main") for part in one.get("Associations", []) if isinstance(part, dict))
                             or one.get("NetworkInterfaceId") in theirs or one.get("IsDefault") or one.get("DefaultForAz"))
                if by_itself or one[key] in self.before:
                    continue
                seen += 1
                if self.tags(one).get("team") != "data" or self.tags(one).get("millrace-cluster") != "demo":
                    lacking.append(f"{kind} {one[key]}: {self.tags(one)}")
        for name, one in self.instances().items():
            seen += 1
            if self.tags(one).get("team") != "data":
                lacking.append(name)
        for role in self.iam.list_roles()["Roles"]:
            seen += 1
            if {tag["Key"] for tag in self.iam.list_role_tags(RoleName=role["RoleName"])["Tags"]} < {"team", "millrace-cluster"}:
                lacking.append(role["RoleName"])
        for profile in self.iam.list_instance_profiles()["InstanceProfiles"]:
            seen += 1
            if "team" not in self.tags(profile):
                lacking.append(profile["InstanceProfileName"])
        return lacking, seen

    def endpoints(self):
        return [one for one in self.ec2.describe_vpc_endpoints()["VpcEndpoints"] if one["State"] != "deleted"]

    before = frozenset()

    def gone(self):
        """Nothing is there but what was there before."""
        self.assertEqual(self.instances(), {})
        for call, kind, was in (("describe_vpcs", "Vpcs", "vpcs"), ("describe_subnets", "Subnets", "subnets"), ("describe_security_groups", "SecurityGroups", "groups")):
            self.assertEqual(self.count(call, kind), self.ours[was], kind)
        for call, kind in (("describe_key_pairs", "KeyPairs"), ("describe_launch_templates", "LaunchTemplates"), ("describe_addresses", "Addresses")):
            self.assertEqual(getattr(self.ec2, call)()[kind], [], kind)
        self.assertEqual([one for one in self.ec2.describe_nat_gateways()["NatGateways"] if one["State"] != "deleted"], [])
        self.assertEqual((self.endpoints(), self.ec2.describe_network_interfaces()["NetworkInterfaces"]), ([], []))
        self.assertEqual((self.iam.list_roles()["Roles"], self.iam.list_instance_profiles()["InstanceProfiles"]), ([], []))

    def again(self, *words, **settings):
        self.assertEqual(playbooks.changed(self.play(*words, **settings)), 0)

    def down(self, **settings):
        self.play("-e", "millrace_down=demo", book="cloud_down.yml", **settings)
        self.gone()

    def inventory(self):
        done = subprocess.run([playbooks.tool("ansible-inventory"), "-i", os.path.join(self.place, "demo.aws_ec2.yml"), "--list"], stdout=subprocess.PIPE, text=True, env=self.environment,
                              cwd=self.place, check=True)
        known = json.loads(done.stdout, object_hook=lambda table: table["__ansible_unsafe"] if table.keys() == {"__ansible_unsafe"} else table)
        return known["_meta"]["hostvars"]

    def test_public_machines_of_two_architectures(self):
        self.assertGreater(playbooks.changed(self.play("--check")), 0)
        self.assertEqual((self.instances(), self.count("describe_vpcs", "Vpcs")), ({}, self.ours["vpcs"]))
        self.play()
        there = self.instances()
        self.assertEqual({name: (one["ImageId"], one["InstanceType"], one["Placement"]["AvailabilityZone"]) for name, one in there.items()},
                         {"demo-master-1": (AMD, "m6i.large", "eu-central-1a"), "demo-near-1": (ARM, "m6g.large", "eu-central-1a"),
                          "demo-near-2": (ARM, "m6g.large", "eu-central-1b")})
        self.assertEqual({(self.tags(one)["millrace-market"], self.tags(one)["millrace-role"], self.tags(one)["cost centre"]) for one in there.values()},
                         {("on-demand", "master", "7"), ("on-demand", "worker", "7")})
        for given in self.made("RunInstances"):
            self.assertEqual((given["BlockDeviceMapping.1.DeviceName"], given["BlockDeviceMapping.1.Ebs.VolumeSize"], given["BlockDeviceMapping.1.Ebs.Encrypted"],
                              given["NetworkInterface.1.AssociatePublicIpAddress"], given["MetadataOptions.HttpTokens"]), ("/dev/xvda", "20", "true", "true", "required"))
        lacking, seen = self.untagged()
        self.assertEqual(lacking, [])
        self.assertGreater(seen, 12)
        self.again()
        self.again("--check")
        self.down()
        self.assertEqual(playbooks.changed(self.play("-e", "millrace_down=demo", book="cloud_down.yml")), 0)

    def test_private_machines_behind_a_bastion(self):
        settings = {**PRIVATE, "millrace_bastion": {"host": "203.0.113.9", "user": "jump", "port": 2222}, "millrace_root_disk": {"size": 30, "kms_key": "alias/mine"}}
        self.play("--check", **settings)
        self.play(**settings)
        nats = self.ec2.describe_nat_gateways()["NatGateways"]
        self.assertEqual([(one["State"], self.tags(one)["team"]) for one in nats], [("available", "data")])
        private = next(table for table in self.ec2.describe_route_tables()["RouteTables"] if self.tags(table).get("Name") == "millrace-demo")
        self.assertEqual([route["NatGatewayId"] for route in private["Routes"] if route["DestinationCidrBlock"] == "0.0.0.0/0"], [nats[0]["NatGatewayId"]])
        self.assertEqual(len([one for one in private["Associations"] if one.get("SubnetId")]), 2)
        self.assertEqual({(given["NetworkInterface.1.AssociatePublicIpAddress"], given["BlockDeviceMapping.1.Ebs.VolumeSize"], given["BlockDeviceMapping.1.Ebs.KmsKeyId"])
                          for given in self.made("RunInstances")}, {("false", "30", "alias/mine")})
        host = self.inventory()["demo-near-1"]
        self.assertEqual((host["ansible_host"], host["ansible_ssh_common_args"]), (self.instances()["demo-near-1"]["PrivateIpAddress"], "-o ProxyJump=jump@203.0.113.9:2222"))
        self.assertEqual(self.untagged()[0], [])
        self.again(**settings)
        self.down(**settings)

    def test_session_manager_in_a_network_that_exists(self):
        vpc = self.ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
        subnets = {f"eu-central-1{zone}": self.ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.9.{number}.0/24", AvailabilityZone=f"eu-central-1{zone}")["Subnet"]["SubnetId"]
                   for number, zone in enumerate("ab")}
        other = self.ec2.create_security_group(GroupName="theirs", Description="theirs", VpcId=vpc)["GroupId"]
        table = next(one["RouteTableId"] for one in self.ec2.describe_route_tables()["RouteTables"] if one["VpcId"] == vpc)
        self.before = {vpc, other, table, *subnets.values()}
        self.ours = {"vpcs": self.count("describe_vpcs", "Vpcs"), "subnets": self.count("describe_subnets", "Subnets"), "groups": self.count("describe_security_groups", "SecurityGroups")}
        settings = {"millrace_network": None, "millrace_zones": None, "millrace_vpc": vpc, "millrace_subnets": subnets, "millrace_connect": "session-manager", "millrace_ssh_from": None,
                    "millrace_policies": ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]}
        self.play("--check", **settings)
        self.play(**settings)
        group = next(one for one in self.ec2.describe_security_groups()["SecurityGroups"] if one["GroupName"] == "millrace-demo")
        self.assertEqual({rule["FromPort"] for rule in group["IpPermissions"]}, {7700, 7701})
        self.assertEqual({one["SubnetId"] for one in self.instances().values()}, set(subnets.values()))
        self.assertEqual({one["IamInstanceProfile"]["Arn"].rpartition("/")[2] for one in self.instances().values()}, {"millrace-demo"})
        self.assertEqual({one["PolicyName"] for one in self.iam.list_attached_role_policies(RoleName="millrace-demo")["AttachedPolicies"]},
                         {"AmazonS3ReadOnlyAccess", "AmazonSSMManagedInstanceCore"})
        import base64
        data = base64.b64decode(self.made("RunInstances")[0]["UserData"]).decode()
        self.assertIn("https://s3.eu-central-1.amazonaws.com/amazon-ssm-eu-central-1/latest/debian_$(dpkg --print-architecture)/amazon-ssm-agent.deb", data)
        with open(os.path.join(playbooks.COLLECTION, "roles", "cloud", "files", "amazon-ssm-agent.asc"), encoding="utf-8") as f:
            self.assertIn(f.read(), data)
        self.assertEqual(subprocess.run(["sh", "-n"], input=data, text=True, check=False).returncode, 0)
        host = self.inventory()["demo-near-2"]
        self.assertEqual(host["ansible_host"], self.instances()["demo-near-2"]["InstanceId"])
        self.assertEqual(host["ansible_ssh_common_args"], '-o ProxyCommand="aws ssm start-session --region eu-central-1 --target %h --document-name AWS-StartSSHSession --parameters portNumber=%p"')
        self.assertEqual(self.untagged()[0], [])
        self.again(**settings)
        wrong = dict(zip(subnets, reversed(subnets.values())))
        self.assertIn("and millrace_subnets says", re.sub(r"\s+", " ", self.play(status=2, **{**settings, "millrace_subnets": wrong})))
        self.down(**settings)
        # A role of the same name that somebody else has made is neither taken nor removed.
        self.iam.create_role(RoleName="millrace-demo", AssumeRolePolicyDocument="{}")
        self.assertIn("There is a role millrace-demo already", re.sub(r"\s+", " ", self.play(status=2, **settings)))
        self.play("-e", "millrace_down=demo", book="cloud_down.yml", **settings)
        self.assertEqual([role["RoleName"] for role in self.iam.list_roles()["Roles"]], ["millrace-demo"])

    def key_of_a_signer(self):
        """The file of a public key whose private one lies here."""
        self.gpg("--quick-gen-key", "Signer <signer@example.org>", "rsa2048", "sign", "1d")
        path = os.path.join(self.place, "signer.asc")
        self.gpg("--armor", "--output", path, "--export", "signer@example.org")
        return path

    def gpg(self, *words):
        home = os.path.join(self.place, "gpg")
        if not os.path.exists(home):
            os.mkdir(home, 0o700)
            self.addCleanup(subprocess.run, ["gpgconf", "--homedir", home, "--kill", "all"], check=False)
        subprocess.run(["gpg", "--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", *words], check=True, stdin=subprocess.DEVNULL)

    def first_start(self, data, content, signed):
        """What dpkg is given by the first start of a machine, where the bucket has a package of this content and the signature of another."""
        bucket, tools = os.path.join(self.place, "bucket"), os.path.join(self.place, "tools")
        package = os.path.join(bucket, "latest", "debian_amd64", "amazon-ssm-agent.deb")
        os.makedirs(os.path.dirname(package), exist_ok=True)
        os.makedirs(tools, exist_ok=True)
        with open(package, "w", encoding="utf-8") as f:
            f.write(signed)
        self.gpg("--yes", "--output", f"{package}.sig", "--detach-sign", package)
        with open(package, "w", encoding="utf-8") as f:
            f.write(content)
        installed = os.path.join(self.place, "installed")
        stand_ins = {"systemctl": "[ $1 != cat ]", "sleep": ":", "dpkg": f'if [ $1 = --install ]; then cat "$2" >{installed}; else echo amd64; fi'}
        for name, text in stand_ins.items():
            with open(os.path.join(tools, name), "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\n{text}\n")
            os.chmod(os.path.join(tools, name), 0o755)
        data, count = re.subn(r"https://s3\.[^/]*/[^/]*/", f"file://{bucket}/", data)
        self.assertEqual(count, 1)
        done = subprocess.run(["sh"], input=data, text=True, env={**os.environ, "PATH": tools + os.pathsep + os.environ["PATH"], "TMPDIR": self.place}, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout)
        if not os.path.exists(installed):
            return None, done.stdout
        with open(installed, encoding="utf-8") as f:
            text = f.read()
        os.unlink(installed)
        return text, done.stdout

    def test_machines_that_reach_nothing_but_session_manager(self):
        import base64
        can_sign = all(shutil.which(name) for name in ("gpg", "gpgconf", "gpgv"))
        settings = {"millrace_connect": "session-manager", "millrace_ssh_from": None, "millrace_outbound": "endpoints", "millrace_idle_after": "2h",
                    **({"millrace_agent_key": self.key_of_a_signer()} if can_sign else {})}
        self.play("--check", **settings)
        self.assertEqual(self.endpoints(), [])
        said = re.sub(r"\s+", " ", self.play(**settings))
        self.assertIn("an unknown price for gp3, interface-endpoint, m6g.large, m6i.large", said)
        subnets = {self.tags(one)["Name"]: one["SubnetId"] for one in self.ec2.describe_subnets()["Subnets"] if self.tags(one).get("millrace-cluster")}
        group = next(one for one in self.ec2.describe_security_groups()["SecurityGroups"] if one["GroupName"] == "millrace-demo")
        self.assertEqual({rule["FromPort"]: [pair["GroupId"] for pair in rule["UserIdGroupPairs"]] for rule in group["IpPermissions"]}, {port: [group["GroupId"]] for port in (443, 7700, 7701)})
        table = next(one for one in self.ec2.describe_route_tables()["RouteTables"] if self.tags(one).get("Name") == "millrace-demo")
        self.assertEqual({one["ServiceName"].removeprefix(f"com.amazonaws.{REGION}."): (one["VpcEndpointType"], one.get("SubnetIds") or [], [about["GroupId"] for about in one.get("Groups", [])],
                                                                                        one.get("RouteTableIds") or []) for one in self.endpoints()},
                         {"s3": ("Gateway", [], [], [table["RouteTableId"]]),
                          **{name: ("Interface", [subnets["millrace-demo-eu-central-1a"]], [group["GroupId"]], []) for name in ("ssm", "ssmmessages", "ec2messages", "ec2")}})
        # Nothing else leads out.
        self.assertEqual([route for route in table["Routes"] if route.get("GatewayId", "").startswith(("igw-", "nat-")) or route.get("NatGatewayId")], [])
        self.assertEqual((self.ec2.describe_internet_gateways()["InternetGateways"], self.ec2.describe_nat_gateways()["NatGateways"]), ([], []))
        self.assertEqual(self.untagged()[0], [])
        self.again(**settings)
        data = base64.b64decode(self.made("RunInstances")[0]["UserData"]).decode()
        if can_sign:
            self.assertEqual(self.first_start(data, "the agent", "the agent")[0], "the agent")
            installed, said = self.first_start(data, "another agent", "the agent")
            self.assertIsNone(installed)
            self.assertIn("has no signature of the key in millrace_agent_key", said)
        self.down(**settings)

    def spot(self, **changes):
        return [NODES[0], {"name": "far", "role": "worker", "zones": ["eu-central-1a", "eu-central-1b"], "types": ["m6i.xlarge", "m6g.xlarge"], "count": 3, "market": "spot",
                           "on_demand": 1, "spot_max_price": 0.08, **changes}]

    def test_spot_market(self):
        self.play(millrace_nodes=self.spot(count=1))
        subnet = {zone["AvailabilityZone"]: zone["SubnetId"] for zone in self.ec2.describe_subnets()["Subnets"] if self.tags(zone).get("millrace-cluster")}
        # One pool of the first zone, and all of the second, have no capacity.
        self.policy.refused = {("m6i.xlarge", subnet["eu-central-1a"]), ("m6i.xlarge", subnet["eu-central-1b"]), ("m6g.xlarge", subnet["eu-central-1b"])}
        nodes = self.spot()
        said = self.play(millrace_nodes=nodes)
        there = {name: (self.tags(one)["millrace-market"], one.get("InstanceLifecycle", ""), self.tags(one)["millrace-type"], self.tags(one)["millrace-zone"], one["ImageId"])
                 for name, one in self.instances().items() if "far" in name}
        self.assertEqual(there, {"demo-far-1": ("on-demand", "", "m6i.xlarge", "eu-central-1a", AMD),
                                 "demo-far-2": ("spot", "spot", "m6g.xlarge", "eu-central-1a", ARM), "demo-far-3": ("spot", "spot", "m6g.xlarge", "eu-central-1a", ARM)})
        self.assertIn("m6i.xlarge in eu-central-1b (spot): InsufficientInstanceCapacity", said)
        self.assertEqual({given[name] for given in self.made("CreateFleet") for name in given if name.endswith("MaxPrice")}, {"0.08"})
        self.assertEqual(self.ec2.describe_launch_templates()["LaunchTemplates"], [])
        self.assertEqual(self.untagged()[0], [])
        # No pool has capacity: it fails, or takes one on demand, of the next type if the first has none either.
        self.policy.refused = {(kind, one) for kind in ("m6i.xlarge", "m6g.xlarge") for one in subnet.values()}
        said = re.sub(r"\s+", " ", self.play(millrace_nodes=self.spot(count=4), status=2))
        self.assertIn("EC2 has no machine for demo-far-4 in any of the types and zones; `fallback: on-demand` of the nodes", said)
        self.policy.on_demand_refused = {"m6i.xlarge"}
        nodes = self.spot(count=4, fallback="on-demand")
        self.play(millrace_nodes=nodes)
        last = self.tags(self.instances()["demo-far-4"])
        self.assertEqual((last["millrace-market"], last["millrace-type"], last["millrace-zone"]), ("on-demand", "m6g.xlarge", "eu-central-1b"))
        # A run that was killed has left a launch template of a machine that is there by now.
        self.ec2.create_launch_template(LaunchTemplateName="millrace-demo-far-2-1", LaunchTemplateData={"ImageId": AMD}, TagSpecifications=[
            {"ResourceType": "launch-template", "Tags": [{"Key": "millrace-cluster", "Value": "demo"}]}])
        self.assertEqual(playbooks.changed(self.play(millrace_nodes=nodes)), 1)
        self.assertEqual(self.ec2.describe_launch_templates()["LaunchTemplates"], [])
        self.again(millrace_nodes=nodes)
        self.down(millrace_nodes=nodes)

    def test_images(self):
        self.ssm.put_parameter(Name="/ours/image", Value=NEWER, Type="String")
        nodes = NODES[:1]
        for image, expected in ((AMD, AMD), ("debian-13", AMD), ("/ours/image", NEWER)):
            with self.subTest(str(image)):
                self.play(millrace_image=image, millrace_nodes=nodes)
                self.assertEqual(self.instances()["demo-master-1"]["ImageId"], expected)
                self.ec2.terminate_instances(InstanceIds=[self.instances()["demo-master-1"]["InstanceId"]])
        owner = self.ec2.describe_images(ImageIds=[NEWER])["Images"][0]["OwnerId"]
        self.play(millrace_image={"name": "debian-12-*", "owner": owner}, millrace_nodes=nodes)
        found = self.ec2.describe_images(Owners=[owner], Filters=[{"Name": "name", "Values": ["debian-12-amd64-*"]}])["Images"]
        self.assertEqual(self.instances()["demo-master-1"]["ImageId"], max(found, key=lambda one: (one["CreationDate"], one["ImageId"]))["ImageId"])
        self.ec2.terminate_instances(InstanceIds=[self.instances()["demo-master-1"]["InstanceId"]])
        for image, more, expected in ((ARM, {}, f"The image {ARM} is for arm64, and machines of the type m6i.large are x86_64"), ("/ours/none", {}, "There is no parameter /ours/none"),
                                      ({"name": "none-*", "owner": owner}, {}, "has no image for x86_64 whose name fits none-*"), ("debian-12", {"millrace_root_disk": {"size": 4}}, "takes a root disk of 15 GiB"),
                                      ("ami-00000000", {}, "An image does not exist in this region")):
            said = re.sub(r"\s+", " ", self.play(millrace_image=image, millrace_nodes=nodes, status=2, **more))
            self.assertIn(expected, said)
        self.assertEqual(self.instances(), {})

    def test_a_machine_that_is_stopped_is_started_and_lost_tags_come_back(self):
        self.play(millrace_nodes=NODES[:1])
        one = self.instances()["demo-master-1"]
        self.ec2.stop_instances(InstanceIds=[one["InstanceId"]])
        self.ec2.delete_tags(Resources=[one["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]], Tags=[{"Key": "team"}])
        self.play(millrace_nodes=NODES[:1])
        self.assertEqual(self.instances()["demo-master-1"]["State"]["Name"], "running")
        self.assertEqual(self.instances()["demo-master-1"]["InstanceId"], one["InstanceId"])
        self.assertEqual(self.untagged()[0], [])


if __name__ == "__main__":
    lacking = playbooks.lacking() or ("boto3 and moto" if any(importlib.util.find_spec(name) is None for name in ("boto3", "moto")) else None)
    if lacking:
        python = os.path.join(os.path.dirname(playbooks.tool("ansible-playbook")), "python3")
        # The Python of Ansible's virtual environment has them.
        if os.access(python, os.X_OK) and os.path.abspath(sys.executable) != os.path.abspath(python) and lacking == "boto3 and moto" \
                and subprocess.run([python, "-c", "import boto3, moto.server"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execv(python, [python, *sys.argv])
        print(f"skipped: no Ansible here, since there is no {lacking} (tests/ansible/requirements.txt; MILLRACE_ANSIBLE names its virtual environment)")
        sys.exit(0)
    unittest.main()
