// The result in words, made from the verdicts of the document alone: one sentence that says what to take, if they carry
// it; the table of the metrics that decide; and each verdict as a sentence.
"use strict";
{
  const {format} = report;
  const {make, section, note, verdict, table} = report.chart;
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

  // How far a scheduler is from the baseline: as times of it, or, where there is no ratio, as a difference.
  const sizeOf = (data, row) =>
    row.ratio
      ? times(row.ratio)
      : row.difference
        ? format.difference(data.metric(row.metric).unit, row.difference)
        : "";
  const runsOf = (data) => {
    const {repeat} = data.design;
    return format.known(repeat)
      ? `${format.counted(repeat, "run")} of each scheduler`
      : "So few runs of each scheduler";
  };
  const fewest = (data) => data.design.fewest_runs ?? 6;

  // One sentence of one comparison, as pieces: the first is printed in bold.
  const sentence = (data, row) => {
    const metric = data.metric(row.metric);
    const [name, baseline] = [data.names[row.scheduler], data.names[data.baseline]];
    const by = format.within(metric.name);
    const over = format.known(row.runs) ? `, over ${format.counted(row.runs, "pair")} of runs` : "";
    const shift = row.ratio && row.shift ? `, or ${format.signed(metric.unit, row.shift.value)}` : "";
    const size = sizeOf(data, row) === "" ? `${over}.` : `: ${sizeOf(data, row)}${shift}${over}.`;
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
    const of = (row) => (sizeOf(data, row) === "" ? "" : ` (${sizeOf(data, row)})`);
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

  // --- the one sentence ---
  // The metrics that decide and were compared, and who is how much better or worse than the baseline by them.
  const decided = (data) =>
    data.headline.filter(({key}) =>
      data.comparisons.some((row) => row.metric === key && row.scheduler !== data.baseline),
    );
  const rowsBy = (data, {index}, verdict) =>
    decided(data)
      .map(({key}) => data.comparison(index, key))
      .filter((row) => row !== null && row.verdict === verdict);
  const metricsOf = (data, rows, size = true) =>
    format.joined(
      rows.map((row) => {
        const words = size ? sizeOf(data, row) : "";
        return format.within(data.metric(row.metric).name) + (words === "" ? "" : ` (${words})`);
      }),
    );
  const namesOf = (schedulers, last = "and") =>
    format.joined(
      schedulers.map(({name}) => name),
      last,
    );

  // By what each of them is better or worse, as long as they are few.
  const kEach = 4;
  const each = (data, some, verdict) => {
    const by = (one) => `by ${metricsOf(data, rowsBy(data, one, verdict))}`;
    if (some.length === 1) return ` ${by(some[0])}`;
    return some.length > kEach ? "" : ` (${some.map((one) => `${one.name} ${by(one)}`).join("; ")})`;
  };

  // What it takes to know more, of those that are undecided.
  const moreRuns = (data) => {
    const open = data.comparisons.filter(
      (row) =>
        row.verdict === "undecided" &&
        row.scheduler !== data.baseline &&
        decided(data).some(({key}) => key === row.metric),
    );
    if (open.length === 0) return "";
    const possible =
      data.design.significance_possible === false
        ? ` ${runsOf(data)} are too few for any verdict: at least ${fewest(data)} make one possible.`
        : "";
    const known = open.filter((row) => row.more_runs > 0).sort((a, b) => a.more_runs - b.more_runs);
    if (known.length > 0) {
      const [first, last] = [known[0], known[known.length - 1]];
      const all = known.length === open.length && last.more_runs > first.more_runs;
      return (
        `${possible} About ${format.counted(Math.ceil(first.more_runs), "more run")} of each would settle ` +
        `${data.names[first.scheduler]} against ${data.names[data.baseline]} by ` +
        `${format.within(data.metric(first.metric).name)}` +
        `${all ? `, and about ${format.count(Math.ceil(last.more_runs))} all that is open` : ""}.`
      );
    }
    if (possible !== "") return possible;
    const why = open.map((row) => kUnjudged[row.no_verdict]).find(Boolean);
    return ` ${open.every((row) => row.no_verdict) && why ? why : `Not even ${kMost} more runs would settle it.`}`;
  };

  // Returns the sentence as two pieces, of which the first is printed in bold. It says "take" only of those that no
  // scheduler is shown to beat by any metric that decides, and that are shown to be better than the baseline; or of the
  // baseline, if each of the others is shown to be worse.
  const lead = (data) => {
    const base = data.schedulers[data.baseline];
    const rivals = data.schedulers.filter(({baseline}) => !baseline);
    const metrics = decided(data);
    if (metrics.length === 0)
      return ["Nothing is shown", ": no comparison by a metric that decides is in the document."];
    const unbeaten = rivals.filter(
      (one) =>
        metrics.every(({key}) => data.winners(key).includes(one.index)) && rowsBy(data, one, "worse").length === 0,
    );
    const better = rivals.filter((one) => rowsBy(data, one, "better").length > 0);
    const worse = rivals.filter((one) => rowsBy(data, one, "worse").length > 0);
    const take = unbeaten.filter((one) => better.includes(one));
    if (take.length > 0) return takeOneOf(data, take, unbeaten);
    if (better.length > 0) return itDepends(data, better);
    if (worse.length === rivals.length) {
      const who =
        (rivals.length === 1 ? `${rivals[0].name} is worse` : "the others are worse") + each(data, rivals, "worse");
      return [
        `Take ${base.name}`,
        `: ${who}, and ${rivals.length === 1 ? "not" : "none is"} shown to be better by any metric that decides.`,
      ];
    }
    const rows = rivals.flatMap(({index}) => metrics.map(({key}) => data.comparison(index, key)));
    if (rows.every((row) => row !== null && row.verdict === "same")) {
      const many = rivals.length > 1;
      return [
        "It makes no difference",
        `: ${namesOf(rivals)} ${many ? "are" : "is"} as good as the same as ${base.name} by ` +
          `${format.joined(metrics.map(({name}) => format.within(name)))}.`,
      ];
    }
    if (worse.length > 0) {
      const others = rivals.filter((one) => !worse.includes(one));
      return [
        `Nothing is shown to be better than ${base.name}`,
        `: ${namesOf(worse)} ${worse.length > 1 ? "are" : "is"} worse${each(data, worse, "worse")}, and of ` +
          `${namesOf(others)} neither is shown.${moreRuns(data)}`,
      ];
    }
    return [
      "Nothing is shown",
      `: no scheduler is shown to be better or worse than ${base.name} by any metric that decides.${moreRuns(data)}`,
    ];
  };

  const takeOneOf = (data, take, unbeaten) => {
    const base = data.names[data.baseline];
    const rest = unbeaten.filter((one) => !take.includes(one));
    const open =
      rest.length === 0
        ? ""
        : ` ${namesOf(rest)} ${rest.length > 1 ? "are" : "is"} not shown to be worse than that, nor better than ` +
          `${base}.`;
    if (take.length === 1) {
      return [
        `Take ${take[0].name}`,
        `: it is better than ${base} by ${metricsOf(data, rowsBy(data, take[0], "better"))}, and none is shown to be ` +
          `better than it by any metric that decides.${open}`,
      ];
    }
    return [
      `Take ${namesOf(take, "or")}`,
      `: all are better than ${base}${each(data, take, "better")}, and none is shown to be better than any of them by ` +
        `a metric that decides.${open}`,
    ];
  };

  // Some are better than the baseline, but each of these is beaten by a metric that decides.
  const itDepends = (data, better) => {
    const base = data.names[data.baseline];
    const clauses = better.map((one) => {
      const worse = rowsBy(data, one, "worse");
      const lost = decided(data).filter(
        ({key}) => data.winners(key).length > 0 && !data.winners(key).includes(one.index),
      );
      const but =
        worse.length > 0
          ? ` and worse by ${metricsOf(data, worse)}`
          : lost.length > 0
            ? `, but another is shown to be better than it by ` +
              `${format.joined(lost.map(({name}) => format.within(name)))}`
            : "";
      return `${one.name} is better than ${base} by ${metricsOf(data, rowsBy(data, one, "better"))}${but}`;
    });
    const left = clauses.length - kEach;
    const more = left > 0 ? `; and so on for ${format.counted(left, "other")}, as the table says` : "";
    return ["It depends on what counts", `: ${clauses.slice(0, kEach).join("; ")}${more}.`];
  };

  const caveats = (data) => {
    const {significance_possible: possible, confidence, same_against_same: twice} = data.design;
    const out = [];
    if (possible === false)
      out.push(
        `${runsOf(data)} are too few for any verdict: no difference can be told from chance. At least ` +
          `${fewest(data)} make it possible.`,
      );
    if (twice === true) {
      const agreement = data.headline
        .map(({key, name, unit}) => {
          const [same, difference] = [data.same(key), data.sameDifference(key)];
          const size = same ? times(same) : difference ? format.difference(unit, difference) : null;
          return size === null ? null : `${size} by ${format.within(name)}`;
        })
        .filter(Boolean);
      if (agreement.length > 0) {
        out.push(
          `${data.names[data.baseline]} ran twice with each seed, and against itself it measures ` +
            `${format.joined(agreement)}: a difference within those bounds is none.`,
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

  // What a comparison says in a cell: the verdict, and how large the difference is, with room for a break before the
  // interval.
  const cell = (row, unit) => {
    if (row === null) return [format.kMissing];
    const size = row.ratio ? times(row.ratio) : format.difference(unit, row.difference);
    const parts = size.split(/ (?=\[)/).map((part) => make("span", {class: "part"}, part));
    return [
      verdict(row.verdict),
      " ",
      make(
        "span",
        {class: "size"},
        parts.flatMap((part) => [part, " "]),
      ),
    ];
  };

  const matrix = (data) => {
    const means = new Map(
      data.headline.map(({key, unit}) => {
        const values = data.schedulers.map(({index}) => report.tables.overRuns(data, key, index)?.value ?? null);
        return [key, values.map(format.alike(unit, values))];
      }),
    );
    return table(
      [{title: "scheduler"}, ...data.headline.map(({name, better}) => ({title: `${name} (${better} is better)`}))],
      data.schedulers.map(({index, name, baseline}) => [
        name,
        ...data.headline.map(({key, unit}) => [
          make("div", {class: "strong"}, means.get(key)[index]),
          ...(baseline ? ["baseline"] : cell(data.comparison(index, key), unit)),
        ]),
      ]),
      `Means over the runs; below them the verdict, and times the value of ${data.names[data.baseline]}`,
    );
  };

  const draw = (data) => {
    const element = section("summary", "Summary", "What the runs say");
    const write = (bold, rest) => make("p", {class: "lead"}, [make("strong", {}, bold), rest]);
    const rivals = data.schedulers.length > 1;
    if (data.schedulers.length === 0)
      element.append(make("p", {class: "lead"}, "The document names no scheduler, so there is nothing to compare."));
    else if (!rivals)
      element.append(
        write(`Only ${data.names[0]} ran`, ", so nothing is compared. The parts below show how it behaved."),
      );
    else element.append(write(...lead(data)));
    if (rivals && data.headline.length > 0) element.append(matrix(data));
    for (const line of data.warnings)
      element.append(make("p", {class: "warning"}, [make("strong", {}, "Mind: "), line]));
    if (rivals) element.append(note(caveats(data).join(" ")));
    element.append(report.chart.key(data.schedulers));
    return element;
  };

  // The verdicts of the table as sentences.
  const inWords = (data) => {
    const lines = data.schedulers.length > 1 ? sentences(data) : [];
    if (lines.length === 0) return null;
    const element = section("words", "In words", "Each verdict in words");
    element.append(
      make(
        "ul",
        {},
        lines.slice(0, kSentences).map(([bold, rest]) => make("li", {}, [make("strong", {}, bold), rest])),
      ),
      ...winners(data).map((line) => make("p", {}, line)),
    );
    if (lines.length > kSentences) element.append(note("The table has all verdicts."));
    return element;
  };

  report.verdict = {draw, inWords, lead, cell};
}
