#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Finds the images on EC2 for types of instances."""

DOCUMENTATION = r"""
---
module: cloud_image_info
version_added: 0.1.0
short_description: Find images on EC2 for types of instances
description:
  - Finds, for each wanted type of instance, the image of the right architecture.
  - An image is V(debian-12) or V(debian-13), which the public parameters of Debian in AWS Systems Manager name, the path of another
    parameter, which begins with V(/aws/), the id of an image, or a pattern of names together with an owner, of which the newest image counts.
  - It fails where a type or an image does not exist, and where an image is of another architecture than the type.
author:
  - The maintainers of Millrace (@millrace)
options:
  wanted:
    description: Pairs of an image and a type.
    type: list
    elements: dict
    required: true
    suboptions:
      image:
        description: The image, a string or a dictionary with C(name) and C(owner).
        type: raw
        required: true
      type:
        description: The type of instance.
        type: str
        required: true
extends_documentation_fragment:
  - amazon.aws.common.modules
  - amazon.aws.region.modules
  - amazon.aws.boto3
"""

EXAMPLES = r"""
- name: Find Debian 12 for machines of two architectures
  millrace.deploy.cloud_image_info:
    region: eu-central-1
    wanted:
      - {image: debian-12, type: m6i.large}
      - {image: debian-12, type: m6g.large}

- name: Find an image of one's own
  millrace.deploy.cloud_image_info:
    region: eu-central-1
    wanted:
      - {image: {name: "millrace-*", owner: "123456789012"}, type: m6i.large}
"""

RETURN = r"""
images:
  description: The wanted pairs, each with its image.
  returned: success
  type: list
  elements: dict
  contains:
    image:
      description: The image as it was wanted.
      type: raw
      returned: always
    type:
      description: The type of instance.
      type: str
      returned: always
    architecture:
      description: Debian's name of the architecture.
      type: str
      returned: always
      sample: arm64
    id:
      description: The id of the image.
      type: str
      returned: always
      sample: ami-0123456789abcdef0
    name:
      description: The name of the image.
      type: str
      returned: always
    root_device:
      description: The name of the device of the root disk.
      type: str
      returned: always
      sample: /dev/xvda
    size:
      description: The GiB that the root disk has to have at least.
      type: int
      returned: always
"""

try:
    import botocore
except ImportError:
    pass  # AnsibleAWSModule says so

from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule

DEBIAN = {"x86_64": "amd64", "arm64": "arm64"}  # by EC2's name of the architecture
RELEASES = ("debian-12", "debian-13")


class Unfit(Exception):
    """What is wrong, as a sentence."""


def architectures(ec2, types):
    """EC2's name of the architecture of each type."""
    try:
        found = ec2.describe_instance_types(InstanceTypes=sorted(types))["InstanceTypes"]
    except botocore.exceptions.ClientError as error:
        if error.response["Error"]["Code"] == "InvalidInstanceType":
            raise Unfit(f"A type of instance does not exist in this region: {error.response['Error']['Message']}") from error
        raise
    result = {}
    for about in found:
        supported = about["ProcessorInfo"]["SupportedArchitectures"]
        known = [name for name in ("arm64", "x86_64") if name in supported]
        if not known:
            raise Unfit(f"Machines of the type {about['InstanceType']} are {' or '.join(supported)}; Millrace runs on x86_64 and arm64")
        result[about["InstanceType"]] = known[0]
    missing = sorted(set(types) - set(result))
    if missing:
        raise Unfit(f"There is no type of instance {', '.join(missing)} in this region")
    return result


def parameter(ssm, name):
    """The id of an image that a parameter of Systems Manager names."""
    try:
        value = ssm.get_parameter(Name=name)["Parameter"]["Value"]
    except botocore.exceptions.ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            raise Unfit(f"There is no parameter {name} in this region") from error
        raise
    if not value.startswith("ami-"):
        raise Unfit(f'The parameter {name} is "{value}", which is no id of an image')
    return value


def newest(ec2, image, architecture):
    """The newest image of a name and an owner."""
    filters = {"name": image["name"], "architecture": architecture, "state": "available"}
    found = ec2.describe_images(Owners=[str(image["owner"])], Filters=[{"Name": name, "Values": [value]} for name, value in filters.items()])["Images"]
    if not found:
        raise Unfit(f"The owner {image['owner']} has no image for {architecture} whose name fits {image['name']}")
    return max(found, key=lambda one: (one["CreationDate"], one["ImageId"]))["ImageId"]


def identify(ec2, ssm, image, architecture):
    """The id of the image for an architecture."""
    if isinstance(image, dict):
        if set(image) != {"name", "owner"}:
            raise Unfit(f"An image has a name and an owner, and {image} has {', '.join(sorted(image)) or 'neither'}")
        return newest(ec2, image, architecture)
    image = str(image)
    if image in RELEASES:
        return parameter(ssm(), f"/aws/service/debian/release/{image.partition('-')[2]}/latest/{DEBIAN[architecture]}")
    if image.startswith("/"):
        return parameter(ssm(), image)
    if image.startswith("ami-"):
        return image
    raise Unfit(f'The image is "{image}"; it is {" or ".join(RELEASES)}, ami-..., a parameter /aws/..., or a name with an owner')


def look_up(ec2, ssm, wanted):
    known = architectures(ec2, {one["type"] for one in wanted}) if wanted else {}
    found, images = {}, []
    for one in wanted:
        architecture = known[one["type"]]
        key = (str(one["image"]), architecture)
        if key not in found:
            found[key] = identify(ec2, ssm, one["image"], architecture)
        images.append({"image": one["image"], "type": one["type"], "architecture": DEBIAN[architecture], "id": found[key], "wanted": architecture})
    if not images:
        return images
    ids = sorted(set(found.values()))
    try:
        about = {image["ImageId"]: image for image in ec2.describe_images(ImageIds=ids)["Images"]}
    except botocore.exceptions.ClientError as error:
        if error.response["Error"]["Code"].startswith("InvalidAMIID"):
            raise Unfit(f"An image does not exist in this region: {error.response['Error']['Message']}") from error
        raise
    for image in images:
        if image["id"] not in about:
            raise Unfit(f"There is no image {image['id']} in this region")
        that = about[image["id"]]
        architecture = image.pop("wanted")
        if that["Architecture"] != architecture:
            raise Unfit(f"The image {image['id']} is for {that['Architecture']}, and machines of the type {image['type']} are {architecture}: a group of nodes may name an image of its own")
        root = that.get("RootDeviceName") or "/dev/xvda"
        disks = {disk["DeviceName"]: disk.get("Ebs", {}) for disk in that.get("BlockDeviceMappings", [])}
        image.update(name=that.get("Name", ""), root_device=root, size=int(disks.get(root, {}).get("VolumeSize", 0)))
    return images


def main():
    spec = {"wanted": {"type": "list", "elements": "dict", "required": True, "options": {"image": {"type": "raw", "required": True}, "type": {"type": "str", "required": True}}}}
    module = AnsibleAWSModule(argument_spec=spec, supports_check_mode=True)
    try:
        module.exit_json(changed=False, images=look_up(module.client("ec2"), lambda: module.client("ssm"), module.params["wanted"]))
    except Unfit as unfit:
        module.fail_json(msg=str(unfit))
    except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
        module.fail_json_aws(error, msg="The images cannot be looked up")


if __name__ == "__main__":
    main()
