# SPDX-License-Identifier: Apache-2.0
"""What deploy/testbed is made of. Planning (cluster_file, network, daemons) is pure; the rest carries it out."""
