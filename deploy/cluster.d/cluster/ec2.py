# SPDX-License-Identifier: Apache-2.0
"""What EC2 says of a cluster: its machines, volumes and what else costs by the hour. All have the tag millrace-cluster."""

import os

from cluster.failure import Failure, Unreachable


def client(service, region):
    """A client of boto3, which comes with Ansible. Credentials come from where the AWS tools find them."""
    import boto3

    # As the modules of Ansible take it; boto3 itself takes AWS_ENDPOINT_URL.
    endpoint = os.environ.get("AWS_URL") if service == "ec2" else None
    return boto3.client(service, region_name=region, endpoint_url=endpoint or None)


def asked(what, call, *arguments, **options):
    """Calls AWS; says what went wrong."""
    import botocore.exceptions as wrong

    try:
        return call(*arguments, **options)
    except (wrong.NoCredentialsError, wrong.PartialCredentialsError, wrong.ProfileNotFound) as error:
        raise Failure(f"{what}: {error}; credentials come from where the AWS tools find them") from None
    except (wrong.EndpointConnectionError, wrong.ConnectTimeoutError, wrong.ReadTimeoutError, wrong.ProxyConnectionError) as error:
        raise Unreachable(f"{what}: {error}") from None
    except (wrong.ClientError, wrong.BotoCoreError) as error:
        raise Failure(f"{what}: {error}") from None


def pages(what, service, operation, key, **options):
    """All of what an operation lists."""
    def collect():
        return [one for page in service.get_paginator(operation).paginate(**options) for one in page[key]]
    return asked(what, collect)


def tags_of(about):
    return {tag["Key"]: tag["Value"] for tag in about.get("Tags", [])}


class Found:
    """What there is of a cluster. A machine that was ended is listed for about an hour, and is left out here."""

    def __init__(self, name, region):
        ec2 = client("ec2", region)
        mine = [{"Name": "tag:millrace-cluster", "Values": [name]}]
        reservations = pages("list the machines", ec2, "describe_instances", "Reservations", Filters=mine)
        self.instances = [one for reservation in reservations for one in reservation["Instances"] if one["State"]["Name"] not in ("terminated", "shutting-down")]
        ids = [one["InstanceId"] for one in self.instances]
        volumes = pages("list the volumes", ec2, "describe_volumes", "Volumes", Filters=mine)
        # The root disk of a machine may have no tag of the cluster.
        for start in range(0, len(ids), 100):
            volumes += pages("list the volumes", ec2, "describe_volumes", "Volumes", Filters=[{"Name": "attachment.instance-id", "Values": ids[start:start + 100]}])
        self.volumes = list({one["VolumeId"]: one for one in volumes}.values())
        gateways = pages("list the NAT gateways", ec2, "describe_nat_gateways", "NatGateways", Filters=mine)
        self.gateways = [one for one in gateways if one["State"] in ("pending", "available")]
        endpoints = pages("list the VPC endpoints", ec2, "describe_vpc_endpoints", "VpcEndpoints", Filters=mine)
        self.endpoints = [one for one in endpoints if one["State"].lower() in ("pending", "available")]
