# SPDX-License-Identifier: Apache-2.0
"""What things of a testbed are called on the machine. Everything that outlives a process begins with a prefix that says whose it is,
so that `down` finds it without any record: names of testbeds have no dot, so no prefix is the beginning of another's."""

STATE_ROOT = "/run/millrace-testbed"
NAMESPACES = "/run/netns"
NAMESPACES_MADE = STATE_ROOT + "/made-netns"  # there if the first of our testbeds had NAMESPACES made
DIRECTORIES = "/var/tmp"  # outlives a restart of the machine, so `down` looks there, too
OURS = "millrace"
SWITCHES = "switches"  # the namespace of all bridges
MASTER, CLIENT = "master", "client"


def prefix(name):
    return f"{OURS}.{name}."


def namespace(name, who):
    return prefix(name) + who


def namespace_path(name, who):
    return f"{NAMESPACES}/{namespace(name, who)}"


def cgroup(name):
    return f"millrace-testbed.{name}"


def default_directory(name):
    return f"{DIRECTORIES}/millrace-testbed.{name}"
