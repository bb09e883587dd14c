// The result in words, made from the document: what is shown, what is not, and what it would take.
"use strict";
{
  const {format} = report;
  const {make, verdict, table} = report.chart;
  const kSentences = 10;
  const kMost = "1,000"; // runs that are thought of
  const kUnjudged = {
    "other jobs ended": "Other jobs ended under the two, so there is no verdict.",
    "one observation": "All runs are alike, so there is no verdict on other workloads.",
    "not judged": "It differs between equal runs, so there is no verdict.",
  };
  const times = (ratio) =>
    `${format.ratio(ratio.value)} times` +
    (format.known(ratio.low) && format.known(ratio.high)
      ? ` [${format.ratio(ratio.low)}, ${format.ratio(ratio.high)}]`
      : "");

  // One sentence of one comparison, as pieces: the first is printed in bold.
  const sentence = (data, row) => {
    const metric = data.metric(row.metric);
    const [name, baseline] = [data.names[row.scheduler], data.names[data.baseline]];
    const by = format.within(metric.name);
    const over = format.known(row.runs) ? `, over ${format.counted(row.runs, "pair")} of runs` : "";
    const shift = row.shift ? `, or ${format.signed(metric.unit, row.shift.value)}` : "";
    const size = row.ratio
      ? `: ${times(row.ratio)}${shift}${over}.`
      : row.shift
        ? `: ${format.interval(row.shift, (x) => format.signed(metric.unit, x))}${over}.`
        : `${over}.`;
    if (row.verdict === "better" || row.verdict === "worse")
      return [`${name} is ${row.verdict} than ${baseline} by ${by}`, size];
    if (row.verdict === "same") {
      return [
        `${name} and ${baseline} are as good as the same by ${by}`,
        `${size} A difference below ${format.percent(data.design.practical)} counts as none.`,
      ];
    }
    const more =
      format.known(row.more_runs) && row.more_runs > 0
        ? ` About ${format.counted(Math.ceil(row.more_runs), "more run")} of each would settle it.`
        : ` ${kUnjudged[row.no_verdict] ?? `Not even ${kMost} more runs would settle it.`}`;
    return [`Between ${name} and ${baseline} it is undecided by ${by}`, size + more];
  };

  const kTogether = {
    better: "are better than",
    worse: "are worse than",
    same: "are as good as the same as",
    undecided: "are undecided against",
  };

  // One sentence of several comparisons by one metric with one verdict.
  const together = (data, rows) => {
    const of = (row) => (row.ratio ? ` (${format.interval(row.ratio, format.ratio)})` : "");
    const list = format.joined(rows.map((row) => data.names[row.scheduler] + of(row)));
    const {metric, verdict} = rows[0];
    const bold =
      `${rows.length} schedulers ${kTogether[verdict]} ${data.names[data.baseline]} by ` +
      `${format.within(data.metric(metric).name)}`;
    if (verdict !== "undecided") return [bold, `: ${list}.`];
    const more = rows.every((row) => format.known(row.more_runs))
      ? `About ${format.counted(Math.ceil(Math.max(...rows.map((row) => row.more_runs))), "more run")} of each ` +
        "would settle them all."
      : rows.some((row) => row.no_verdict)
        ? "Of some there is no verdict; the table says why."
        : `Not even ${kMost} more runs would settle them all.`;
    return [bold, `: ${list}. ${more}`];
  };

  const sentences = (data) =>
    data.headline.flatMap(({key}) => {
      const rows = data.comparisons.filter((row) => row.metric === key && row.scheduler !== data.baseline);
      return ["better", "worse", "undecided", "same"].flatMap((verdict) => {
        const some = rows.filter((row) => row.verdict === verdict);
        return some.length > 2 ? [together(data, some)] : some.map((row) => sentence(data, row));
      });
    });

  const winners = (data) =>
    data.headline
      .filter(({key}) => data.winners(key).length > 0)
      .map(({key, name}) => {
        const best = data.winners(key).map((index) => data.names[index]);
        if (best.length === data.names.length) return `By ${format.within(name)}, none is shown to beat another.`;
        if (best.length === 1)
          return `By ${format.within(name)}, ${best[0]} is the only one that no other is shown to beat.`;
        return `By ${format.within(name)}, ${format.joined(best)} are those that no other is shown to beat.`;
      });

  const caveats = (data) => {
    const {repeat, significance_possible: possible, confidence, same_against_same: twice} = data.design;
    const out = [];
    if (possible === false) {
      out.push(
        `${format.known(repeat) ? format.counted(repeat, "run") : "So few runs"} of each ` +
          `${repeat === 1 ? "is" : "are"} too few for any verdict: ` +
          `no difference can be told from chance. At least ${data.design.fewest_runs ?? 6} runs of each make it possible.`,
      );
    }
    if (twice === true) {
      const agreement = data.headline
        .map(({key, name}) => [format.within(name), data.same(key)])
        .filter(([, same]) => same)
        .map(([name, same]) => `${times(same)} by ${name}`);
      if (agreement.length > 0) {
        out.push(
          `${data.names[data.baseline]} ran twice with each seed, and against itself it measures ` +
            `${format.joined(agreement)}: ` +
            "a difference within those bounds is none.",
        );
      }
    }
    const disturbed = data.runs.filter((run) => run.disturbed !== null).length;
    if (disturbed > 0)
      out.push(
        `${format.counted(disturbed, "run")} ${disturbed === 1 ? "was" : "were"} disturbed from outside; the ` +
          "table of runs says how.",
      );
    out.push(
      `Numbers in [brackets] are ${format.percent(confidence)} intervals: the true value is likely between them.`,
    );
    return out;
  };

  const matrix = (data) => {
    const rivals = data.schedulers.filter(({baseline}) => !baseline);
    return table(
      [{title: "scheduler"}, ...data.headline.map(({name, better}) => ({title: `${name} (${better} is better)`}))],
      rivals.map(({index, name}) => [
        name,
        ...data.headline.map(({key}) => {
          const row = data.comparison(index, key);
          return row ? [verdict(row.verdict), ` ${format.interval(row.ratio, format.ratio)}`] : format.kMissing;
        }),
      ]),
      `Against ${data.names[data.baseline]}, in times of its value`,
    );
  };

  const draw = (data) => {
    const section = report.chart.section("summary", "Summary", "What the runs say");
    const rivals = data.schedulers.length > 1;
    const lines = rivals ? sentences(data) : [];
    if (data.schedulers.length === 0)
      section.append(make("p", {class: "lead"}, "The document names no scheduler, so there is nothing to compare."));
    else if (!rivals) {
      section.append(
        make("p", {class: "lead"}, [
          make("strong", {}, `Only ${data.names[0]} ran`),
          ", so nothing is compared. The parts below show how it behaved.",
        ]),
      );
    } else if (lines.length === 0) {
      section.append(make("p", {class: "lead"}, "No comparison of a headline metric is in the document."));
    } else {
      const write = ([bold, rest]) => [make("strong", {}, bold), rest + " "];
      const shown = lines.slice(0, kSentences);
      section.append(
        shown.length <= 4
          ? make("p", {class: "lead"}, shown.map(write))
          : make(
              "ul",
              {class: "lead"},
              shown.map((line) => make("li", {}, write(line))),
            ),
      );
      if (lines.length > shown.length) section.append(make("p", {}, "The table has all verdicts."));
      for (const line of winners(data)) section.append(make("p", {}, line));
    }
    for (const line of data.warnings)
      section.append(make("p", {class: "warning"}, [make("strong", {}, "Mind: "), line]));
    if (rivals && lines.length > 1) section.append(matrix(data));
    if (rivals) section.append(report.chart.note(caveats(data).join(" ")));
    section.append(report.chart.key(data.schedulers));
    return section;
  };

  report.verdict = {draw, sentences};
}
