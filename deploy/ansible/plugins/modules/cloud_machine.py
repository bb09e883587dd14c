#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Starts a machine on EC2 where there is capacity for it."""

DOCUMENTATION = r"""
---
module: cloud_machine
version_added: 0.1.0
short_description: Start a machine on EC2 where there is capacity for it
description:
  - Starts the machine of a name and a cluster if there is none, and starts it again if it is stopped.
  - It is started from one of several pools, which are pairs of a type and a subnet. On demand, the pools are tried in their order. On the
    spot market an EC2 fleet of type C(instant) chooses the pool with the most capacity among those of O(zone), then among the others; pools
    that the fleet reports as without capacity are left out, and the others are asked again.
  - Everything that is made has the tags from the beginning - the instance, its volumes and interfaces, the spot request, the fleet, and the
    launch template, which is removed as soon as the fleet has answered.
  - A machine that exists is never terminated or replaced. It gets tags that it lacks.
author:
  - The maintainers of Millrace (@millrace)
options:
  name:
    description: The name of the machine, its tag C(Name).
    type: str
    required: true
  cluster:
    description: The cluster, the tag C(millrace-cluster).
    type: str
    required: true
  tags:
    description: Tags of the instance.
    type: dict
    default: {}
  own_tags:
    description: Tags of everything that is made.
    type: dict
    default: {}
  pools:
    description: From where the machine may come, in the order of preference.
    type: list
    elements: dict
    required: true
    suboptions:
      type:
        description: The type of instance.
        type: str
        required: true
      zone:
        description: The zone of the subnet.
        type: str
        required: true
      subnet:
        description: The id of the subnet.
        type: str
        required: true
      image:
        description: The id of the image for the type; a machine that exists needs none.
        type: str
        default: ""
      root_device:
        description: The name of the device of the image's root disk.
        type: str
        default: /dev/xvda
  zone:
    description: The zone whose pools come first.
    type: str
    required: true
  market:
    description: How EC2 sells the machine.
    type: str
    choices: [on-demand, spot]
    default: on-demand
  fallback:
    description: Whether a machine of the spot market is started on demand if no pool has capacity.
    type: bool
    default: false
  spot_max_price:
    description: The highest price in USD an hour on the spot market; by default that on demand.
    type: str
    default: ""
  key_name:
    description: The key pair.
    type: str
    required: true
  security_groups:
    description: The ids of the security groups.
    type: list
    elements: str
    required: true
  public_address:
    description: Whether the machine has a public address.
    type: bool
    default: false
  private_address:
    description: The private address; by default any of the subnet.
    type: str
    default: ""
  instance_profile:
    description: The name or the ARN of the instance profile.
    type: str
    default: ""
  user_data:
    description: What cloud-init does at the first start.
    type: str
    default: ""
  placement_group:
    description: The placement group.
    type: str
    default: ""
  root_disk:
    description: The root disk, which is encrypted.
    type: dict
    required: true
    suboptions:
      size:
        description: GiB.
        type: int
        required: true
      type:
        description: The type of volume.
        type: str
        default: gp3
      iops:
        description: The operations in a second.
        type: int
      throughput:
        description: MiB in a second.
        type: int
      kms_key:
        description: The key that encrypts it; by default that of the account for EBS.
        type: str
  block_devices:
    description: Further block device mappings, with the words of EC2 in snake case.
    type: list
    elements: dict
    default: []
extends_documentation_fragment:
  - amazon.aws.common.modules
  - amazon.aws.region.modules
  - amazon.aws.boto3
"""

EXAMPLES = r"""
- name: Start a worker on the spot market
  millrace.deploy.cloud_machine:
    region: eu-central-1
    name: demo-near-1
    cluster: demo
    tags: {millrace-role: worker}
    pools:
      - {type: m6i.xlarge, zone: eu-central-1a, subnet: subnet-0123456789abcdef0, image: ami-0123456789abcdef0}
      - {type: m5.xlarge, zone: eu-central-1a, subnet: subnet-0123456789abcdef0, image: ami-0123456789abcdef0}
    zone: eu-central-1a
    market: spot
    fallback: true
    key_name: millrace-demo
    security_groups: [sg-0123456789abcdef0]
    root_disk: {size: 20}
"""

RETURN = r"""
instance:
  description: What EC2 says of the machine; empty in check mode if it would be started.
  returned: success
  type: dict
passed_over:
  description: The pools that had no capacity, each with EC2's reason.
  returned: success
  type: list
  elements: str
"""

import base64
import time

try:
    import botocore
except ImportError:
    pass  # AnsibleAWSModule says so

from ansible.module_utils.common.dict_transformations import camel_dict_to_snake_dict
from ansible.module_utils.common.dict_transformations import snake_dict_to_camel_dict
from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule

# A pool that answers so has no machine now; another may have one.
NO_CAPACITY = frozenset((
    "InsufficientInstanceCapacity", "InsufficientCapacity", "InsufficientHostCapacity", "InsufficientFreeAddressesInSubnet", "InstanceLimitExceeded",
    "InvalidFleetConfiguration", "MaxSpotInstanceCountExceeded", "SpotMaxPriceTooLow", "UnfulfillableCapacity", "Unsupported", "VcpuLimitExceeded"))
PROFILE_PATIENCE = 60  # seconds until a new instance profile is known to EC2
LIVING = ["pending", "running", "stopping", "stopped"]


class Refused(Exception):
    """Why there is no machine, as a sentence."""


def listed(tags):
    return [{"Key": str(name), "Value": str(value)} for name, value in sorted(tags.items())]


def profile_is_new(code, message):
    """Whether EC2 does not know an instance profile that IAM has just made."""
    return code == "InvalidParameterValue" and "iaminstanceprofile" in message.lower().replace(" ", "")


class Machine:
    def __init__(self, module):
        self.module = module
        self.params = module.params
        self.ec2 = module.client("ec2")
        self.own = {**self.params["own_tags"], "millrace-cluster": self.params["cluster"]}
        self.passed_over = []

    def find(self):
        """What EC2 says of the machine, or None."""
        filters = [{"Name": "tag:Name", "Values": [self.params["name"]]}, {"Name": "tag:millrace-cluster", "Values": [self.params["cluster"]]},
                   {"Name": "instance-state-name", "Values": LIVING}]
        found = [one for reservation in self.ec2.describe_instances(Filters=filters)["Reservations"] for one in reservation["Instances"]]
        if len(found) > 1:
            raise Refused(f"There are {len(found)} machines {self.params['name']} ({', '.join(one['InstanceId'] for one in found)}): terminate all but one")
        return found[0] if found else None

    def instance_tags(self, market, pool=None):
        taken = {"millrace-type": pool["type"], "millrace-zone": pool["zone"]} if pool else {}
        return {**self.own, **self.params["tags"], "Name": self.params["name"], "millrace-market": market, **taken}

    # What RunInstances and a launch template have in common.
    def launch(self, image, root_device, market, pool=None):
        params = self.params
        interface = {"DeviceIndex": 0, "Groups": params["security_groups"], "AssociatePublicIpAddress": params["public_address"], "DeleteOnTermination": True}
        if params["private_address"]:
            interface["PrivateIpAddress"] = params["private_address"]
        named = {**self.own, "Name": params["name"]}
        kinds = {"instance": self.instance_tags(market, pool), "volume": named, "network-interface": named}
        if market == "spot":
            kinds["spot-instances-request"] = named
        root = {"VolumeSize": params["root_disk"]["size"], "VolumeType": params["root_disk"]["type"], "Iops": params["root_disk"]["iops"],
                "Throughput": params["root_disk"]["throughput"], "KmsKeyId": params["root_disk"]["kms_key"], "Encrypted": True, "DeleteOnTermination": True}
        result = {
            "ImageId": image, "KeyName": params["key_name"], "NetworkInterfaces": [interface], "MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled"},
            "BlockDeviceMappings": [{"DeviceName": root_device, "Ebs": {name: value for name, value in root.items() if value is not None}},
                                    *(snake_dict_to_camel_dict(disk, capitalize_first=True) for disk in params["block_devices"])],
            "TagSpecifications": [{"ResourceType": kind, "Tags": listed(tags)} for kind, tags in kinds.items()]}
        if params["instance_profile"]:
            result["IamInstanceProfile"] = {"Arn" if params["instance_profile"].startswith("arn:") else "Name": params["instance_profile"]}
        if params["placement_group"]:
            result["Placement"] = {"GroupName": params["placement_group"]}
        return result

    def pass_over(self, pool, market, code, message):
        self.passed_over.append(f"{pool['type']} in {pool['zone']} ({market}): {code}: {message}")

    def start_on_demand(self, pools):
        """The id of the instance, or None if no pool has one."""
        for pool in pools:
            wanted = self.launch(pool["image"], pool["root_device"], "on-demand", pool)
            wanted["NetworkInterfaces"][0]["SubnetId"] = pool["subnet"]
            if self.params["user_data"]:
                wanted["UserData"] = self.params["user_data"]
            deadline = time.monotonic() + PROFILE_PATIENCE
            while True:
                try:
                    return self.ec2.run_instances(InstanceType=pool["type"], MinCount=1, MaxCount=1, **wanted)["Instances"][0]["InstanceId"]
                except botocore.exceptions.ClientError as error:
                    code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
                    if profile_is_new(code, message) and time.monotonic() < deadline:
                        time.sleep(5)
                        continue
                    if code not in NO_CAPACITY:
                        raise
                    self.pass_over(pool, "on-demand", code, message)
                    break
        return None

    def remove_template(self, name):
        for template in self.ec2.describe_launch_templates(Filters=[{"Name": "launch-template-name", "Values": [name]}])["LaunchTemplates"]:
            self.ec2.delete_launch_template(LaunchTemplateId=template["LaunchTemplateId"])

    def ask_fleet(self, pools):
        """The fleet's answer for one machine out of the pools. A launch template for each image is there only meanwhile."""
        images = sorted({(pool["image"], pool["root_device"]) for pool in pools})
        names, configs = [], []
        try:
            for number, (image, root_device) in enumerate(images, 1):
                name = f"millrace-{self.params['name']}-{number}"
                self.remove_template(name)  # such as that of a run that was killed
                data = self.launch(image, root_device, "spot")
                if self.params["user_data"]:
                    data["UserData"] = base64.b64encode(self.params["user_data"].encode()).decode()
                names.append(name)
                made = self.ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data, TagSpecifications=[
                    {"ResourceType": "launch-template", "Tags": listed({**self.own, "Name": name})}])
                overrides = [{"InstanceType": pool["type"], "SubnetId": pool["subnet"], "Priority": float(priority),
                              **({"MaxPrice": self.params["spot_max_price"]} if self.params["spot_max_price"] else {})}
                             for priority, pool in enumerate(pools) if (pool["image"], pool["root_device"]) == (image, root_device)]
                configs.append({"LaunchTemplateSpecification": {"LaunchTemplateId": made["LaunchTemplate"]["LaunchTemplateId"], "Version": "1"}, "Overrides": overrides})
            return self.ec2.create_fleet(
                Type="instant", LaunchTemplateConfigs=configs, TargetCapacitySpecification={"TotalTargetCapacity": 1, "DefaultTargetCapacityType": "spot"},
                SpotOptions={"AllocationStrategy": "capacity-optimized-prioritized", "InstanceInterruptionBehavior": "terminate"},
                TagSpecifications=[{"ResourceType": "fleet", "Tags": listed({**self.own, "Name": self.params["name"]})}])
        finally:
            for name in names:
                self.remove_template(name)

    def start_on_spot(self, pools):
        """The id of the instance, or None if no pool has one."""
        left, deadline = list(pools), time.monotonic() + PROFILE_PATIENCE
        while left:
            answer = self.ask_fleet(left)
            for group in answer.get("Instances", []):
                for instance in group.get("InstanceIds", []):
                    return instance
            errors = answer.get("Errors", [])
            if any(profile_is_new(error.get("ErrorCode", ""), error.get("ErrorMessage", "")) for error in errors) and time.monotonic() < deadline:
                time.sleep(5)
                continue
            other = [error for error in errors if error.get("ErrorCode") not in NO_CAPACITY]
            if other and len(other) == len(errors):
                raise Refused(f"EC2 starts no spot machine {self.params['name']}: {other[0].get('ErrorCode')}: {other[0].get('ErrorMessage')}")
            reasons = {}
            for error in errors:
                override = error.get("LaunchTemplateAndOverrides", {}).get("Overrides", {})
                reasons[(override.get("InstanceType"), override.get("SubnetId"))] = (error.get("ErrorCode", ""), error.get("ErrorMessage", ""))
            named = [pool for pool in left if (pool["type"], pool["subnet"]) in reasons]
            for pool in named or left:
                self.pass_over(pool, "spot", *reasons.get((pool["type"], pool["subnet"]), ("UnfulfillableCapacity", "the fleet names no reason")))
            left = [pool for pool in left if pool not in named] if named else []
        return None

    def start(self):
        pools = self.params["pools"]
        near = [pool for pool in pools if pool["zone"] == self.params["zone"]]
        far = [pool for pool in pools if pool not in near]
        if missing := [pool["type"] for pool in pools if not pool["image"]]:
            raise Refused(f"No image is given for {', '.join(missing)}")
        started = None
        if self.params["market"] == "spot":
            started = self.start_on_spot(near) or self.start_on_spot(far)
        if started is None and (self.params["market"] == "on-demand" or self.params["fallback"]):
            started = self.start_on_demand(near + far)
        if started is None:
            advice = "; `fallback: on-demand` of the nodes takes a machine on demand then" if self.params["market"] == "spot" and not self.params["fallback"] else ""
            raise Refused(f"EC2 has no machine for {self.params['name']} in any of the types and zones{advice}. {'; '.join(self.passed_over)}")
        self.ec2.get_waiter("instance_exists").wait(InstanceIds=[started])
        return self.ec2.describe_instances(InstanceIds=[started])["Reservations"][0]["Instances"][0]

    def start_again(self, instance):
        if instance["State"]["Name"] == "stopping":
            self.ec2.get_waiter("instance_stopped").wait(InstanceIds=[instance["InstanceId"]])
        self.ec2.start_instances(InstanceIds=[instance["InstanceId"]])

    def tag(self, instance):
        """Adds the tags that the machine, its disks or its interfaces lack. Returns whether there were any."""
        market = "spot" if instance.get("InstanceLifecycle") == "spot" else instance_tag(instance, "millrace-market") or self.params["market"]
        wanted = {instance["InstanceId"]: self.instance_tags(market, {"type": instance["InstanceType"], "zone": instance["Placement"]["AvailabilityZone"]})}
        parts = [disk["Ebs"]["VolumeId"] for disk in instance.get("BlockDeviceMappings", [])] + [one["NetworkInterfaceId"] for one in instance.get("NetworkInterfaces", [])]
        wanted.update({part: self.own for part in parts})
        there = {}
        for page in self.ec2.get_paginator("describe_tags").paginate(Filters=[{"Name": "resource-id", "Values": list(wanted)}]):
            for tag in page["Tags"]:
                there.setdefault(tag["ResourceId"], {})[tag["Key"]] = tag["Value"]
        changed = False
        for resource, tags in wanted.items():
            lacking = {name: value for name, value in tags.items() if there.get(resource, {}).get(name) != str(value)}
            if lacking:
                changed = True
                if not self.module.check_mode:
                    self.ec2.create_tags(Resources=[resource], Tags=listed(lacking))
        return changed

    def run(self):
        instance = self.find()
        changed = False
        if instance is None:
            if self.module.check_mode:
                return {"changed": True, "instance": {}, "passed_over": []}
            instance = self.start()
            changed = True
        elif instance["State"]["Name"] in ("stopping", "stopped"):
            if not self.module.check_mode:
                self.start_again(instance)
            changed = True
        changed = self.tag(instance) or changed
        return {"changed": changed, "instance": camel_dict_to_snake_dict(instance, ignore_list=["Tags"]), "passed_over": self.passed_over}


def instance_tag(instance, name):
    return next((tag["Value"] for tag in instance.get("Tags", []) if tag["Key"] == name), None)


def main():
    pool = {"type": {"type": "str", "required": True}, "zone": {"type": "str", "required": True}, "subnet": {"type": "str", "required": True}, "image": {"type": "str", "default": ""},
            "root_device": {"type": "str", "default": "/dev/xvda"}}
    root = {"size": {"type": "int", "required": True}, "type": {"type": "str", "default": "gp3"}, "iops": {"type": "int"}, "throughput": {"type": "int"},
            "kms_key": {"type": "str", "no_log": False}}
    spec = {
        "name": {"type": "str", "required": True}, "cluster": {"type": "str", "required": True}, "tags": {"type": "dict", "default": {}}, "own_tags": {"type": "dict", "default": {}},
        "pools": {"type": "list", "elements": "dict", "required": True, "options": pool}, "zone": {"type": "str", "required": True},
        "market": {"type": "str", "choices": ["on-demand", "spot"], "default": "on-demand"}, "fallback": {"type": "bool", "default": False}, "spot_max_price": {"type": "str", "default": ""},
        "key_name": {"type": "str", "required": True, "no_log": False}, "security_groups": {"type": "list", "elements": "str", "required": True},
        "public_address": {"type": "bool", "default": False}, "private_address": {"type": "str", "default": ""}, "instance_profile": {"type": "str", "default": ""},
        "user_data": {"type": "str", "default": ""}, "placement_group": {"type": "str", "default": ""}, "root_disk": {"type": "dict", "required": True, "options": root},
        "block_devices": {"type": "list", "elements": "dict", "default": []}}
    module = AnsibleAWSModule(argument_spec=spec, supports_check_mode=True)
    try:
        module.exit_json(**Machine(module).run())
    except Refused as refused:
        module.fail_json(msg=str(refused))
    except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
        module.fail_json_aws(error, msg=f"The machine {module.params['name']} cannot be started")


if __name__ == "__main__":
    main()
