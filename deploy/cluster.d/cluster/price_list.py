# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of prices of a cluster on EC2 from AWS's price list.

  deploy/cluster prices -f FILE [-o TABLES]

Asks for the region and the types of FILE, and writes millrace_prices and millrace_volume_prices to TABLES, by default the file NAME.prices.yml
beside FILE (NAME.yml). deploy/cluster takes that file together with FILE, and its tables in place of those in FILE; remove it to go back to
those. The prices are those on demand, without taxes and discounts. What the list does not have is named, and stays unknown.
Exit status: 0 the tables were written; 1 it failed; 2 wrong usage; 3 AWS cannot be reached.
"""

import argparse
import datetime
import json
import os

from cluster import ec2, settings, spending
from cluster.failure import Failure, WrongUse

price = spending.price
GP3_UNITS = {"gbps-mo": 1024, "gibps-mo": 1024, "mibps-mo": 1, "mbps-mo": 1}


def wanted(said):
    """The types of machines, and the kinds of volumes, that a file names."""
    nodes = said.get("millrace_nodes")
    if not isinstance(nodes, list):
        raise WrongUse("the file has to say millrace_nodes")
    types = {name for entry in nodes for name in price.types_of(entry)}
    bastion = said.get("millrace_bastion") or {}
    if bastion.get("make"):
        types.add(bastion.get("type") or "t4g.nano")
    disks = [price.root_disk(said), *(disk for entry in nodes for disk in entry.get("disks") or [])]
    return sorted(types), sorted({disk.get("type") or "gp3" for disk in disks})


def on_demand(product):
    """The price of an entry of the list, as (USD, unit); the first step of a price with steps that is not free. None: it has none."""
    steps = [step for offer in product["terms"].get("OnDemand", {}).values() for step in offer["priceDimensions"].values()]
    paid = sorted((float(step["beginRange"]), float(step["pricePerUnit"].get("USD", 0)), step["unit"]) for step in steps)
    paid = [(usd, unit) for _, usd, unit in paid if usd > 0]
    return paid[0] if paid else None


class PriceList:
    """AWS's price list, which only a few regions serve."""

    def __init__(self, region, service=None):
        self.region, self.service = region, service or ec2.client("pricing", "us-east-1")

    def find(self, service_code="AmazonEC2", **attributes):
        """The prices of all entries that have these attributes in the region."""
        filters = [{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in {"regionCode": self.region, **attributes}.items()]
        found = ec2.pages("ask AWS's price list", self.service, "get_products", "PriceList", ServiceCode=service_code, Filters=filters, FormatVersion="aws_v1")
        products = [json.loads(one) if isinstance(one, str) else one for one in found]
        return [(product["product"]["attributes"], value) for product in products if (value := on_demand(product))]

    def machine(self, kind):
        found = {usd for _, (usd, unit) in self.find(instanceType=kind, operatingSystem="Linux", tenancy="Shared", preInstalledSw="NA", capacitystatus="Used") if unit == "Hrs"}
        # Several would be the price of something that the filters do not tell apart.
        return found.pop() if len(found) == 1 else None

    def volume(self, kind):
        """The prices of a kind of volume by their names in millrace_volume_prices."""
        found = {}
        for attributes, (usd, unit) in self.find(volumeApiName=kind):
            family, unit = attributes.get("group", "") or attributes.get("productFamily", ""), unit.lower()
            if unit == "gb-mo":
                found[kind] = usd
            elif unit == "iops-mo" and "Tier" not in family:
                found[f"{kind}-iops"] = usd
            elif unit in GP3_UNITS:
                found[f"{kind}-throughput"] = round(usd / GP3_UNITS[unit], 8)
        return found

    def network(self):
        found = {}
        for attributes, (usd, unit) in self.find(productFamily="NAT Gateway"):
            if unit == "Hrs" and attributes.get("usagetype", "").endswith("NatGateway-Hours"):
                found[price.NAT] = usd
        for attributes, (usd, _) in self.find("AmazonVPC", productFamily="VpcEndpoint"):
            if attributes.get("usagetype", "").endswith("VpcEndpoint-Hours"):
                found[price.ENDPOINT] = usd
        for attributes, (usd, unit) in self.find("AmazonVPC", group="VPCPublicIPv4Address"):
            if attributes.get("usagetype", "").endswith("PublicIPv4:InUseAddress"):
                found[price.ADDRESS] = usd
        return found


def tables(prices, types, kinds):
    """The two tables, and the names for which there is no price."""
    machines = {kind: usd for kind in types if (usd := prices.machine(kind)) is not None}
    volumes = {name: usd for kind in kinds for name, usd in prices.volume(kind).items()}
    network = prices.network()
    lacking = [name for name in (*types, *kinds, price.NAT, price.ADDRESS) if name not in {**machines, **volumes, **network}]
    return {**machines, **network}, volumes, lacking


def prices(cluster, rest):
    parser = argparse.ArgumentParser(prog="deploy/cluster prices", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", dest="tables")
    given = parser.parse_args(rest)
    if not cluster.file:
        raise WrongUse("prices takes -f FILE")
    region = cluster.region()
    types, kinds = wanted(cluster.settings)
    machines, volumes, lacking = tables(PriceList(region), types, kinds)
    if not machines:
        raise Failure(f"AWS's price list has no price of {', '.join(types)} in {region}; nothing was written")
    path = given.tables or settings.beside(cluster.file, "prices")
    lines = [f"# Prices on demand in {region} from AWS's price list, {datetime.date.today().isoformat()}: `deploy/cluster prices` writes them again.", "---"]
    for name, table in (("millrace_prices", machines), ("millrace_volume_prices", volumes)):
        lines += [f"{name}:" + ("" if table else " {}"), *(f"  {kind}: {usd:.10f}".rstrip("0").rstrip(".") for kind, usd in sorted(table.items()))]
    aside = path + ".new"
    try:
        with open(aside, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        os.replace(aside, path)
    except OSError as error:
        raise Failure(f'"{path}" cannot be written: {error.strerror}') from None
    print("\n".join(lines[2:]))
    print(f'written to "{path}"' + (f"; there is no price for {', '.join(lacking)}" if lacking else ""))
    return 0
