# SPDX-License-Identifier: Apache-2.0
"""What the machines of a file like cloud.example.yml cost, by its tables millrace_prices and millrace_volume_prices.

  price.py <QUESTION      a JSON object with `new` and `all`, pairs of an entry of millrace_nodes and a number, `beyond`, types of machines
                          that exist beyond the counts, and `settings`; prints a JSON object with the text, the sums and what is unknown

Everything is in USD, and a month has 730 hours, as in AWS's own calculator. deploy/cluster uses the same sums for what a cluster has cost.
"""

import json
import sys

HOURS_A_MONTH = 730
# What gp3 has without a further price: operations a second, and MiB a second.
GP3_FREE_IOPS, GP3_FREE_THROUGHPUT = 3000, 125
# The keys of millrace_prices besides the types of machines.
NAT, ADDRESS, ENDPOINT = "nat-gateway", "public-ipv4", "interface-endpoint"
# The interface endpoints of millrace_outbound: endpoints, in one zone, besides that of EC2 for machines that stop themselves. That of S3 is free.
ENDPOINTS = 3


class Sum:
    """USD an hour, and the names of what has no price. `most` is more if the dearest of several types are taken."""

    def __init__(self):
        self.hour = self.most = 0.0
        self.unknown = set()

    def add(self, parts, count=1):
        """Parts are pairs of a name and a price for an hour, or None."""
        for name, price in parts:
            if price is None:
                self.unknown.add(name)
            else:
                self.hour += price * count
                self.most += price * count


def price_of(prices, name):
    price = (prices or {}).get(name)
    return None if price is None else float(price)


def of_disk(disk, prices):
    """The parts of the price of an EBS volume for an hour."""
    kind = disk.get("type") or "gp3"

    def part(name, count):
        price = price_of(prices, name)
        return (name, None if price is None else price * count / HOURS_A_MONTH)

    parts = [part(kind, int(disk["size"]))]
    iops, throughput = int(disk.get("iops") or 0), int(disk.get("throughput") or 0)
    if kind == "gp3":
        iops, throughput = max(0, iops - GP3_FREE_IOPS), max(0, throughput - GP3_FREE_THROUGHPUT)
    if iops > 0:
        parts.append(part(f"{kind}-iops", iops))
    if throughput > 0:
        parts.append(part(f"{kind}-throughput", throughput))
    return parts


def root_disk(settings):
    return {"size": 20, "type": "gp3", **{name: value for name, value in (settings.get("millrace_root_disk") or {}).items() if value is not None}}


def is_kept(entry, disk):
    """Whether a volume outlives its machine: that of the database does unless the file says otherwise."""
    use = disk.get("use") or ("database" if entry.get("role") == "master" else "data")
    return use == "database" if disk.get("keep") is None else bool(disk["keep"])


def types_of(entry):
    return entry.get("types") or [entry["type"]]


def is_spot(entry, number):
    """Whether a node is to be on the spot market: the first `on_demand` of an entry are not."""
    return entry.get("market") == "spot" and number > int(entry.get("on_demand") or 0)


def add_node(total, entry, number, settings):
    """Adds a machine with its disks and its public address."""
    prices, volumes = settings.get("millrace_prices"), settings.get("millrace_volume_prices")
    found = [(name, price_of(prices, name)) for name in types_of(entry)]
    if is_spot(entry, number) and entry.get("spot_max_price") is not None:
        most = float(entry["spot_max_price"])
        found = [(name, most if price is None else min(price, most)) for name, price in found]
    total.add(found[:1])
    total.unknown.update(name for name, price in found if price is None)
    known = [price for _, price in found if price is not None]
    if known:
        total.most += max(known) - (found[0][1] or 0)
    for disk in [root_disk(settings), *(entry.get("disks") or [])]:
        total.add(of_disk(disk, volumes))
    if (settings.get("millrace_connect") or "public") == "public":
        total.add([(ADDRESS, price_of(prices, ADDRESS))])


def add_network(total, settings):
    """Adds what a network of the cluster's own costs by the hour."""
    prices = settings.get("millrace_prices")
    private = (settings.get("millrace_connect") or "public") != "public"
    if private and not settings.get("millrace_vpc"):
        if (settings.get("millrace_outbound") or "nat") == "nat":
            total.add([(NAT, price_of(prices, NAT)), (ADDRESS, price_of(prices, ADDRESS))])
        elif settings["millrace_outbound"] == "endpoints":
            total.add([(ENDPOINT, price_of(prices, ENDPOINT))], ENDPOINTS + (1 if settings.get("millrace_idle_after") else 0))
    bastion = settings.get("millrace_bastion") or {}
    if bastion.get("make"):
        kind = bastion.get("type") or "t4g.nano"
        total.add([(kind, price_of(prices, kind)), (ADDRESS, price_of(prices, ADDRESS)), *of_disk({"size": 8}, settings.get("millrace_volume_prices"))])


def money(value):
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def amounts(total):
    """In words: what an hour, a day and a month cost."""
    unknown = f"an unknown price for {', '.join(sorted(total.unknown))}" if total.unknown else ""
    if total.hour == 0 and unknown:
        return unknown
    text = f"{total.hour:.2f} USD an hour, {money(total.hour * 24)} USD a day, {money(total.hour * HOURS_A_MONTH)} USD a month"
    if total.most > total.hour + 0.005:
        text += f" (up to {total.most:.2f} USD an hour with the dearest of the types)"
    return text + (f", and {unknown}" if unknown else "")


def share(month, budget, unknown=False):
    """In words: what part of the month's budget that is."""
    return f"{'at least ' if unknown else ''}{100 * month / budget:.0f}% of the budget of {money(budget)} USD a month"


def budget_of(settings):
    budget = (settings.get("millrace_budget") or {}).get("month")
    return None if budget is None else float(budget)


def answer(asked):
    settings = asked["settings"]
    new, whole, kept = Sum(), Sum(), Sum()
    for entry, number in asked["new"]:
        add_node(new, entry, number, settings)
    for entry, number in asked["all"]:
        add_node(whole, entry, number, settings)
        for disk in entry.get("disks") or []:
            if is_kept(entry, disk):
                kept.add(of_disk(disk, settings.get("millrace_volume_prices")))
    for kind in asked.get("beyond", []):
        whole.add([(kind, price_of(settings.get("millrace_prices"), kind))])
    add_network(whole, settings)
    if len(asked["new"]) == len(asked["all"]):
        add_network(new, settings)
    types = sorted({name for entry, _ in asked["new"] for name in types_of(entry)})
    count = len(asked["new"])
    text = f"Price: {count} machine{'' if count == 1 else 's'} to start ({', '.join(types)}), {amounts(new)}"
    if any(is_spot(entry, number) for entry, number in asked["new"]):
        text += "; spot machines counted as if on demand, or with their spot_max_price if that is less"
    text += "."
    if count != len(asked["all"]) or asked.get("beyond"):
        text += f" The whole cluster is then {amounts(whole)}."
    if kept.hour > 0 or kept.unknown:
        text += f" Kept volumes go on to cost after `down` and while the cluster is stopped: {amounts(kept)}."
    month, budget = whole.hour * HOURS_A_MONTH, budget_of(settings)
    over = budget is not None and month > budget
    if budget is not None:
        text += f" The cluster is {share(month, budget, bool(whole.unknown))}{'' if not over else ', beyond it'}."
    text += " By the tables millrace_prices and millrace_volume_prices; root disks, public addresses and a NAT gateway or endpoints are in it, traffic is not in it."
    return {"text": text, "hour": new.hour, "whole_hour": whole.hour, "whole_month": month, "unknown": sorted(new.unknown), "over_budget": over}


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
