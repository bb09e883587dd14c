#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Makes a route table that has its tags from the beginning."""

DOCUMENTATION = r"""
---
module: cloud_route_table
version_added: 0.1.0
short_description: Make a route table that has its tags from the beginning
description:
  - Makes a route table if the network has none with these tags. M(amazon.aws.ec2_vpc_route_table) makes one without tags and tags it
    afterwards, which a policy that requires tags refuses; given the id of this one, that module keeps its routes and subnets.
author:
  - The maintainers of Millrace (@millrace)
options:
  vpc_id:
    description: The network.
    type: str
    required: true
  tags:
    description: The tags that the table is found by, and made with.
    type: dict
    required: true
  more_tags:
    description: Further tags that it is made with.
    type: dict
    default: {}
extends_documentation_fragment:
  - amazon.aws.common.modules
  - amazon.aws.region.modules
  - amazon.aws.boto3
"""

EXAMPLES = r"""
- name: Make the route table of a cluster
  millrace.deploy.cloud_route_table:
    region: eu-central-1
    vpc_id: vpc-0123456789abcdef0
    tags: {Name: millrace-demo, millrace-cluster: demo}
"""

RETURN = r"""
route_table_id:
  description: The id of the table; empty in check mode if it would be made.
  returned: success
  type: str
  sample: rtb-0123456789abcdef0
"""

try:
    import botocore
except ImportError:
    pass  # AnsibleAWSModule says so

from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule


def main():
    spec = {"vpc_id": {"type": "str", "required": True}, "tags": {"type": "dict", "required": True}, "more_tags": {"type": "dict", "default": {}}}
    module = AnsibleAWSModule(argument_spec=spec, supports_check_mode=True)
    vpc, tags = module.params["vpc_id"], module.params["tags"]
    every = {**module.params["more_tags"], **tags}
    try:
        ec2 = module.client("ec2")
        filters = [{"Name": "vpc-id", "Values": [vpc]}, *({"Name": f"tag:{name}", "Values": [str(value)]} for name, value in tags.items())]
        found = ec2.describe_route_tables(Filters=filters)["RouteTables"]
        if found or module.check_mode:
            module.exit_json(changed=not found, route_table_id=found[0]["RouteTableId"] if found else "")
        made = ec2.create_route_table(VpcId=vpc, TagSpecifications=[
            {"ResourceType": "route-table", "Tags": [{"Key": name, "Value": str(value)} for name, value in every.items()]}])
        module.exit_json(changed=True, route_table_id=made["RouteTable"]["RouteTableId"])
    except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
        module.fail_json_aws(error, msg=f"The route table of {vpc} cannot be made")


if __name__ == "__main__":
    main()
