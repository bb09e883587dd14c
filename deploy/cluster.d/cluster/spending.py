# SPDX-License-Identifier: Apache-2.0
"""What a cluster has cost so far, by its tables of prices: the time that each of its parts exists or runs, times its price for an hour.
Pure: time is passed in."""

import calendar
import datetime
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "ansible", "roles", "cloud", "files"))

import price  # noqa: E402 (of the role cloud: both take the same sums)


class Part:
    """Something that costs by the hour."""

    def __init__(self, name, hour, since, running=True):
        self.name, self.hour, self.since, self.running = name, hour, since, running


def parts_of(found, settings):
    """Machines that run, their public addresses, volumes, NAT gateways, and endpoints."""
    prices, volumes = settings.get("millrace_prices"), settings.get("millrace_volume_prices")
    parts = []

    def add(name, since, running=True):
        parts.append(Part(name, price.price_of(prices, name), since, running))

    for one in found.instances:
        runs = one["State"]["Name"] in ("pending", "running")
        add(one["InstanceType"], one["LaunchTime"], runs)
        if one.get("PublicIpAddress"):
            add(price.ADDRESS, one["LaunchTime"], runs)
    for one in found.volumes:
        disk = {"size": one["Size"], "type": one["VolumeType"], "iops": one.get("Iops"), "throughput": one.get("Throughput")}
        if disk["type"] not in ("io1", "io2", "gp3"):
            disk["iops"] = None  # is not paid for
        parts += [Part(name, hour, one["CreateTime"]) for name, hour in price.of_disk(disk, volumes)]
    for one in found.gateways:
        add(price.NAT, one["CreateTime"])
        for _ in one.get("NatGatewayAddresses", []):
            add(price.ADDRESS, one["CreateTime"])
    for one in found.endpoints:
        # Those of S3 are free.
        for _ in one.get("SubnetIds", []) if one["VpcEndpointType"] == "Interface" else []:
            add(price.ENDPOINT, one["CreationTimestamp"])
    return parts


class Spent:
    """USD since each part began, since the month began, and for an hour as things are now."""

    def __init__(self, parts, now):
        month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        days = calendar.monthrange(now.year, now.month)[1]
        self.left = (month + datetime.timedelta(days=days) - now).total_seconds() / 3600
        self.since_launch = self.this_month = self.hour = 0.0
        self.unknown = set()
        for part in parts:
            if not part.running:
                continue
            if part.hour is None:
                self.unknown.add(part.name)
                continue
            self.hour += part.hour
            self.since_launch += part.hour * max(0.0, (now - part.since).total_seconds()) / 3600
            self.this_month += part.hour * max(0.0, (now - max(part.since, month)).total_seconds()) / 3600

    def by_the_end(self):
        """USD for this month if everything goes on as it is."""
        return self.this_month + self.hour * self.left


def in_words(spent, settings):
    lines = [f"cost       {spent.since_launch:.2f} USD since what runs was last started, and volumes were made; {spent.hour:.2f} USD an hour now"]
    if spent.unknown:
        lines[0] += f"; besides, an unknown price for {', '.join(sorted(spent.unknown))}"
    text = f"month      {spent.this_month:.2f} USD so far, {price.money(spent.by_the_end())} USD by its end if all goes on as it is"
    budget = price.budget_of(settings)
    if budget:
        text += f": {price.share(spent.this_month, budget, bool(spent.unknown))} so far, {100 * spent.by_the_end() / budget:.0f}% by the end"
    lines.append(text)
    lines.append("           By the price tables, with spot machines as if on demand. Not in it: machines that were ended, earlier runs of machines that were")
    lines.append("           stopped in between, and traffic. `--billed` asks Cost Explorer.")
    return lines


def billed(service, name, now):
    """What Cost Explorer says for this month, as (USD, whether it is an estimate). One request costs 0.01 USD."""
    from cluster import ec2

    start, end = now.date().replace(day=1), now.date() + datetime.timedelta(days=1)
    said = ec2.asked("ask Cost Explorer", service.get_cost_and_usage, TimePeriod={"Start": start.isoformat(), "End": end.isoformat()}, Granularity="MONTHLY",
                     Metrics=["UnblendedCost"], Filter={"Tags": {"Key": "millrace-cluster", "Values": [name]}})
    results = said["ResultsByTime"]
    return sum(float(one["Total"]["UnblendedCost"]["Amount"]) for one in results if one.get("Total")), any(one.get("Estimated") for one in results)
