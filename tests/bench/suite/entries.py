# SPDX-License-Identifier: Apache-2.0
"""The benchmarks. A contest is an entry here and nothing else."""

from suite.contest import Contest

_COUNT = "| uniq -c | mawk '{print $2 \"\\t\" $1}' > {output}"

CONTESTS = [
    Contest("wordcount", job="wordcount", limit="wordcount {input} {output}", peers={
        "mawk": "mawk '{for (i = 1; i <= NF; ++i) ++n[$i]} END {for (w in n) print w \"\\t\" n[w]}' {input} | sort > {output}",
    }),
    Contest("invertedindex", job="invertedindex", pieces=64, limit="invertedindex {output} {input}"),
    Contest("sequencecount", job="sequencecount", share=0.25, limit="sequencecount {input} {output}"),
    Contest("terasort", job="terasort", kind="records", reducers=4, ordered=True, limit="terasort {input} {output}"),
    Contest("terasort-512m", job="terasort", kind="records", reducers=4, ordered=True, parameters=["task.memory=128M"], limit="terasort {input} {output}"),
    Contest("grep-literal", job="grep", reducers=1, parameters=["grep.pattern=ating"], limit="grep-literal ating {input} {output}", peers={
        "grep": "grep -oF ating {input} " + _COUNT,
        "ripgrep": "rg -oNF ating {input} " + _COUNT,
    }),
    Contest("grep-regex", job="grep", reducers=1, parameters=["grep.pattern=[a-g][a-z]*ing"], limit="grep-regex {input} {output}", peers={
        "grep": "grep -oE '[a-g][a-z]*ing' {input} | sort " + _COUNT,
        "ripgrep": "rg -oN '[a-g][a-z]*ing' {input} | sort " + _COUNT,
    }),
]
