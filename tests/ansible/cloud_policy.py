# SPDX-License-Identifier: Apache-2.0
"""Stands between the playbooks and moto, and answers what moto does not have. It takes the place of a policy that requires tags: a call that
makes something without a certain tag is refused, as IAM would refuse it.

  cloud_policy.py ADDRESS PORT URL_OF_MOTO      # the tag is millrace-cluster

What is not moto's answer:
- ssm GetParameter of /aws/service/debian/...: moto holds no parameters of Debian, and lets nobody make one whose name begins with aws.
- ec2 CreateFleet: moto's ignores interfaces and disks of a launch template, and always has capacity. Pools of `refused` get the error that EC2
  documents, and then none is started; otherwise the first, by priority, is, by moto's RunInstances with what the launch template says.
- ec2 RunInstances of a type of `on_demand_refused`: InsufficientInstanceCapacity.
"""

import http.server
import json
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

# The kinds of things that a call makes, which all have to have the tags in its tag specifications.
KINDS = {"RunInstances": {"instance", "volume", "network-interface"}, "CreateVpc": {"vpc"}, "CreateSubnet": {"subnet"}, "CreateInternetGateway": {"internet-gateway"},
         "CreateRouteTable": {"route-table"}, "CreateSecurityGroup": {"security-group"}, "ImportKeyPair": {"key-pair"}, "CreateKeyPair": {"key-pair"},
         "CreateLaunchTemplate": {"launch-template"}, "CreateFleet": {"fleet"}, "CreateNatGateway": {"natgateway"}, "AllocateAddress": {"elastic-ip"}, "CreateVolume": {"volume"},
         "CreatePlacementGroup": {"placement-group"}, "RequestSpotInstances": {"spot-instances-request"}, "CreateVpcEndpoint": {"vpc-endpoint"}}
IAM = ("CreateRole", "CreateInstanceProfile", "CreatePolicy")
XML = "http://ec2.amazonaws.com/doc/2016-11-15/"


class Policy:
    def __init__(self, moto, tag="team"):
        self.moto, self.tag = moto, tag
        self.images = {}              # by the parameter's name
        self.refused = set()          # pairs of a type and a subnet that have no capacity on the spot market
        self.on_demand_refused = set()  # types
        self.templates = {}           # by id: the parameters that RunInstances takes
        self.calls = []               # pairs of an action and its parameters


def tagged(given, prefix=""):
    """The kinds of things for which tag specifications have a tag, as {kind: {names}}."""
    found = {}
    for key, value in given.items():
        if key.startswith(f"{prefix}TagSpecification.") and key.endswith(".ResourceType"):
            place = key.removesuffix("ResourceType")
            found[value] = {word for name, word in given.items() if name.startswith(f"{place}Tag.") and name.endswith(".Key")}
    return found


def error(code, message):
    return 400, f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors><RequestID>1</RequestID></Response>"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    policy = None

    def forward(self, body, headers=None):
        request = urllib.request.Request(self.policy.moto + self.path, data=body or None, method=self.command, headers={
            **{name: value for name, value in self.headers.items() if name.lower() not in ("host", "content-length", "connection")}, **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read(), answer.headers.get("Content-Type", "text/xml")
        except urllib.error.HTTPError as failure:
            return failure.code, failure.read(), failure.headers.get("Content-Type", "text/xml")

    def fleet(self, given):
        """CreateFleet by RunInstances."""
        pools = []
        number = 1
        while f"LaunchTemplateConfigs.{number}.LaunchTemplateSpecification.LaunchTemplateId" in given:
            config = f"LaunchTemplateConfigs.{number}."
            place = 1
            while f"{config}Overrides.{place}.InstanceType" in given:
                pool = {name: given.get(f"{config}Overrides.{place}.{name}") for name in ("InstanceType", "SubnetId", "Priority")}
                pools.append({**pool, "template": given[f"{config}LaunchTemplateSpecification.LaunchTemplateId"]})
                place += 1
            number += 1
        assert pools and given["Type"] == "instant" and given["SpotOptions.AllocationStrategy"].startswith("capacity-optimized"), given
        free = sorted((pool for pool in pools if (pool["InstanceType"], pool["SubnetId"]) not in self.policy.refused), key=lambda pool: float(pool["Priority"]))
        errors = "".join(
            f"<item><launchTemplateAndOverrides><overrides><instanceType>{pool['InstanceType']}</instanceType><subnetId>{pool['SubnetId']}</subnetId></overrides>"
            f"</launchTemplateAndOverrides><lifecycle>spot</lifecycle><errorCode>InsufficientInstanceCapacity</errorCode>"
            f"<errorMessage>There is no Spot capacity available that matches your request.</errorMessage></item>" for pool in pools if pool not in free[:1] and pool not in free)
        # A fleet may give up at the first pool without capacity, although others have some: whoever asks has to ask again.
        instances = ""
        if free and not errors:
            pool = free[0]
            wanted = {**self.policy.templates[pool["template"]], "Action": "RunInstances", "Version": given["Version"], "InstanceType": pool["InstanceType"], "MinCount": "1", "MaxCount": "1",
                      "NetworkInterface.1.SubnetId": pool["SubnetId"], "InstanceMarketOptions.MarketType": "spot"}
            status, body, kind = self.forward(urllib.parse.urlencode(wanted).encode())
            if status != 200:
                return status, body, kind
            instance = body.decode().partition("<instanceId>")[2].partition("</instanceId>")[0]
            instances = f"<item><lifecycle>spot</lifecycle><instanceIds><item>{instance}</item></instanceIds><instanceType>{pool['InstanceType']}</instanceType></item>"
        return 200, (f'<CreateFleetResponse xmlns="{XML}"><requestId>1</requestId><fleetId>fleet-1</fleetId><errorSet>{errors}</errorSet>'
                     f"<fleetInstanceSet>{instances}</fleetInstanceSet></CreateFleetResponse>").encode(), "text/xml"

    def answer(self, body):
        policy = self.policy
        target = self.headers.get("X-Amz-Target", "")
        if target.endswith(".GetParameter"):
            name = json.loads(body)["Name"]
            policy.calls.append(("GetParameter", {"Name": name}))
            if name.startswith("/aws/service/debian/"):
                if name in policy.images:
                    return 200, json.dumps({"Parameter": {"Name": name, "Type": "String", "Value": policy.images[name], "Version": 1}}).encode(), "application/x-amz-json-1.1"
                return 400, json.dumps({"__type": "ParameterNotFound", "message": ""}).encode(), "application/x-amz-json-1.1"
        given = dict(urllib.parse.parse_qsl(body.decode(errors="replace"), keep_blank_values=True)) if not target else {}
        action = given.get("Action", "")
        policy.calls.append((action, given))
        lacking = [kind for kind in KINDS.get(action, ()) if policy.tag not in tagged(given).get(kind, ())]
        if action == "CreateFleet":
            lacking += [kind for template in policy.templates.values() for kind in ("instance", "volume", "network-interface", "spot-instances-request")
                        if policy.tag not in tagged(template).get(kind, ())]
        if action in IAM and not any(value == policy.tag for name, value in given.items() if name.startswith("Tags.member.")):
            lacking = [action]
        if lacking:
            status, text = error("UnauthorizedOperation", f"{action}: {', '.join(lacking)} without the tag {policy.tag}")
            return 403, text.encode(), "text/xml"
        if action == "CreateFleet":
            return self.fleet(given)
        if action == "RunInstances" and given.get("InstanceType") in policy.on_demand_refused:
            status, text = error("InsufficientInstanceCapacity", "We currently do not have sufficient capacity")
            return status, text.encode(), "text/xml"
        status, answer, kind = self.forward(body)
        if action == "CreateLaunchTemplate" and status == 200:
            number = answer.decode().partition("<launchTemplateId>")[2].partition("</launchTemplateId>")[0]
            policy.templates[number] = {name.removeprefix("LaunchTemplateData."): value for name, value in given.items() if name.startswith("LaunchTemplateData.")}
        return status, answer, kind

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, answer, kind = self.answer(body)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_PUT = do_DELETE = do_POST

    def log_message(self, format, *arguments):  # the name of http.server
        pass


def server_of(policy, address="127.0.0.1", port=0):
    server = http.server.ThreadingHTTPServer((address, port), type("Bound", (Handler,), {"policy": policy}))
    server.daemon_threads = True
    return server


def serve(policy):
    """A server at a free port of this machine, in a thread of its own."""
    server = server_of(policy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    address, port, moto = sys.argv[1:]
    server_of(Policy(moto, "millrace-cluster"), address, int(port)).serve_forever()


if __name__ == "__main__":
    main()
