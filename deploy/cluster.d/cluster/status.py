# SPDX-License-Identifier: Apache-2.0
"""The state of a cluster.

  deploy/cluster status -f FILE [--billed]    its machines on EC2 by state and market, what they have cost, and what the master says
  deploy/cluster status -i HOSTS              what the master says

The cost is worked out of the launch times and the tables of prices. --billed asks Cost Explorer for the month's bill, which costs 0.01 USD; it
knows only clusters whose tag millrace-cluster is activated as a cost allocation tag, and is up to a day behind.
Exit status: that of `millrace cluster status` on the master (0 healthy, 1 a fault, 4 at risk), 0 if the cluster is stopped or not there;
1 it failed; 2 wrong usage; 3 the master, or EC2, cannot be reached.
"""

import collections
import datetime

from cluster import confirm, ec2, spending
from cluster.failure import WrongUse

ASK = "millrace cluster status; status=$?; echo; millrace node list; echo; millrace job list --live; echo; millrace fs fsck; exit $status"


def market_of(instance):
    return "spot" if instance.get("InstanceLifecycle") == "spot" or ec2.tags_of(instance).get("millrace-market") == "spot" else "on demand"


def machines_in_words(instances):
    """A line for each state: how many machines, of which markets and types."""
    states = collections.defaultdict(list)
    for one in instances:
        states[one["State"]["Name"]].append(one)
    lines = []
    for state in sorted(states, key=lambda name: (name != "running", name)):
        def counts(of):
            return ", ".join(f"{count} {what}" for what, count in sorted(collections.Counter(of).items()))
        there = states[state]
        lines.append(f"{'machines' if not lines else '':<11}{len(there)} {state}: {counts(map(market_of, there))} ({counts(one['InstanceType'] for one in there)})")
    return lines or ["machines   none"]


def of_cloud(cluster, billed, now):
    """Prints what EC2 says; returns whether a master runs."""
    found = ec2.Found(cluster.name(), cluster.region())
    for line in [f"cluster    {cluster.name()} in {cluster.region()}", *machines_in_words(found.instances),
                 *spending.in_words(spending.Spent(spending.parts_of(found, cluster.settings), now), cluster.settings)]:
        print(line)
    if billed:
        # Cost Explorer is in one region alone.
        dollars, estimated = spending.billed(ec2.client("ce", "us-east-1"), cluster.name(), now)
        hint = "; is millrace-cluster activated as a cost allocation tag?" if dollars == 0 else ""
        print(f"billed     {dollars:.2f} USD this month{' (an estimate)' if estimated else ''}, by Cost Explorer{hint}")
    return any(one["State"]["Name"] == "running" and ec2.tags_of(one).get("millrace-role") == "master" for one in found.instances)


def status(cluster, rest):
    flags, rest = confirm.take(rest, "--billed")
    if rest:
        raise WrongUse(f"status knows no {rest[0]}")
    if cluster.cloud:
        if not of_cloud(cluster, flags["--billed"], datetime.datetime.now(datetime.timezone.utc)):
            print("\nno master runs; `deploy/cluster start` starts a cluster that was stopped, and `deploy/cluster up` makes one")
            return 0
        print(flush=True)
    elif flags["--billed"]:
        raise WrongUse("--billed is for a cluster on EC2 (-f FILE)")
    return cluster.ask(ASK)
