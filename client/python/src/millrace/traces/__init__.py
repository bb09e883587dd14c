# SPDX-License-Identifier: Apache-2.0
"""Traces of other laboratories as workloads of `millrace sim`, and back. `millrace trace` (../trace.py) is its command.

A module a format. Each has a reader, `read(source, notes)`, which yields a `TraceJob` for each job and tells `notes` what it assumes
and leaves out; some have a writer. docs/schedulers/traces.md says what each format carries.
"""
