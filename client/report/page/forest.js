// Ratios to the baseline, a row a scheduler under each metric: the interval as a line, the estimate as the scheduler's
// symbol, and behind them the zone in which a difference counts as none.
"use strict";
{
  const {format, look} = report;
  const {make, figure, label, behind, table, note} = report.chart;
  const kTicks = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50];
  const kRow = 27,
    kHead = 30;

  const rowsOf = (data, metrics) =>
    metrics.flatMap((metric) => {
      const rows = data.comparisons
        .filter((row) => row.metric === metric.key && (row.ratio || row.shift) && row.scheduler !== data.baseline)
        .map((row) => ({
          // What has no ratio has no place on an axis of ratios, and is written in its own unit.
          kind: row.ratio ? "row" : "plain",
          metric,
          row,
          ratio: row.ratio,
          scheduler: row.scheduler,
          name: data.names[row.scheduler],
        }));
      const same = data.same(metric.key);
      if (same)
        rows.push({
          kind: "same",
          metric,
          ratio: same,
          scheduler: data.baseline,
          name: `${data.names[data.baseline]}, again`,
        });
      return rows.length === 0 ? [] : [{kind: "head", metric}, ...rows];
    });

  // The ends of the scale: all estimates and, up to a factor of two beyond them, their intervals.
  const domain = (rows, practical) => {
    const known = rows.filter(({ratio}) => ratio && ratio.value > 0);
    const values = known.map(({ratio}) => ratio.value);
    const [low, high] = [Math.min((1 + practical) ** -3, ...values), Math.max((1 + practical) ** 3, ...values)];
    const ends = known.flatMap(({ratio}) => [ratio.low, ratio.high]).filter((x) => format.known(x) && x > 0);
    return [Math.max(low / 2, Math.min(low, ...ends)) / 1.03, Math.min(high * 2, Math.max(high, ...ends)) * 1.03];
  };

  const size = ({kind, metric, ratio, row}) =>
    kind === "plain"
      ? format.interval(row.shift, (x) => format.signed(metric.unit, x))
      : format.interval(ratio, format.ratio);

  const words = (entry) =>
    entry.kind === "same"
      ? `${format.interval(entry.ratio, format.ratio)}  run twice`
      : `${size(entry)}  ${look.kVerdicts[entry.row.verdict][0]} ${entry.row.verdict}`;

  const chart = (data, metrics) => {
    const rows = rowsOf(data, metrics);
    if (rows.length === 0) return note("No comparison with the baseline is in the document for these metrics.");
    const height = rows.reduce((sum, {kind}) => sum + (kind === "head" ? kHead : kRow), 0);
    const [from, to] = domain(rows, data.design.practical);
    const alt =
      `Ratios to ${data.names[data.baseline]}. ` +
      rows
        .filter(({kind}) => kind !== "head")
        .map((entry) => `${entry.name}, ${entry.metric.name}: ${words(entry)}`)
        .join("; ");
    return figure({
      alt,
      size: (width) => {
        const {narrow, step, names} = room(width);
        return {
          height: height * step + 44,
          margin: narrow ? [0, 12, 44, 12] : [0, Math.min(230, width * 0.3), 44, names],
        };
      },
      draw: (g, w, h, svg, width) => {
        const {narrow, step, names} = room(width);
        const x = d3.scaleLog().domain([from, to]).range([0, w]);
        ground(g, data, x, w, h);
        let y = 0;
        for (const entry of rows) {
          if (entry.kind === "head") {
            head(g, entry.metric, narrow ? 0 : -names, y + 21, narrow);
            y += kHead * step;
            continue;
          }
          const faint = entry.kind === "same" ? "quiet" : null;
          const strong = entry.row && entry.row.verdict !== "undecided" ? "strong" : faint;
          const text = narrow ? y + 14 : y + kRow / 2 + 4;
          if (entry.kind !== "plain") one(g, entry, x, narrow ? y + 29 : y + kRow / 2, w);
          label(g, narrow ? 0 : 8 - names, text, entry.name, {look: faint, room: narrow ? w * 0.42 : names - 12});
          label(g, narrow ? w : w + 12, text, words(entry), {look: strong, anchor: narrow ? "end" : "start"});
          y += kRow * step;
        }
      },
    });
  };

  // A narrow chart has names and numbers above the lines instead of beside them.
  const room = (width) => ({narrow: width < 620, step: width < 620 ? 1.45 : 1, names: Math.min(200, width * 0.22)});

  const head = (g, metric, x, y, narrow) => {
    const text = label(g, x, y, "", {look: "strong"});
    text.append("tspan").text(format.short(metric.name, narrow ? 26 : 44));
    const better = metric.better === "lower" ? "← better is left" : "better is right →";
    text.append("tspan").attr("class", "quiet").attr("dx", 8).style("font-weight", 400).text(better);
  };

  // The zone of no difference, the scale, and the line of the baseline.
  const ground = (g, data, x, w, h) => {
    const [low, high] = [1 / (1 + data.design.practical), 1 + data.design.practical].map(x);
    g.append("rect")
      .attr("class", "zone")
      .attr("x", low)
      .attr("width", high - low)
      .attr("height", h);
    const [from, to] = x.domain();
    const ticks = [];
    for (const tick of kTicks) {
      if (
        tick >= from &&
        tick <= to &&
        [1, ...ticks].every((other) => tick === other || Math.abs(x(tick) - x(other)) > 30)
      ) {
        ticks.push(tick);
      }
    }
    const axis = (size, write) => d3.axisBottom(x).tickValues(ticks).tickSize(size).tickFormat(write);
    const place = (look) => g.append("g").attr("class", look).attr("transform", `translate(0,${h})`);
    place("axis grid-lines").call(axis(-h, ""));
    place("axis").call(axis(4, String));
    const baseline = format.short(data.names[data.baseline], 24);
    label(g, w / 2, h + 36, `times the value of ${baseline}`, {anchor: "middle", look: "quiet"});
    g.append("line").attr("class", "unity").attr("x1", x(1)).attr("x2", x(1)).attr("y2", h);
  };

  const one = (g, entry, x, y, w) => {
    const colour = look.colour(entry.scheduler);
    const {value, low, high} = entry.ratio;
    const faint = entry.kind === "same" ? 0.55 : 1;
    if (low > 0 && high > 0) {
      const [left, right] = [Math.max(0, x(low)), Math.min(w, x(high))];
      const line = g.append("g").style("stroke", colour).style("stroke-width", 2.4).style("opacity", faint);
      line
        .append("line")
        .attr("x1", left)
        .attr("x2", right)
        .attr("y1", y)
        .attr("y2", y)
        .style("stroke-dasharray", entry.kind === "same" ? "3 3" : null);
      // An end that lies beyond the scale is an arrow, else a bar.
      line
        .append("path")
        .style("fill", "none")
        .attr("d", x(low) < 0 ? `M6,${y - 5}L0,${y}L6,${y + 5}` : `M${left},${y - 4}v8`);
      line
        .append("path")
        .style("fill", "none")
        .attr("d", x(high) > w ? `M${w - 6},${y - 5}L${w},${y}L${w - 6},${y + 5}` : `M${right},${y - 4}v8`);
    }
    if (!(value > 0)) return;
    g.append("path")
      .attr("class", "mark")
      .attr("d", look.symbol(entry.scheduler, 90))
      .attr("transform", `translate(${x(value)},${y})`)
      .style("fill", entry.kind === "same" ? "var(--back)" : colour)
      .style("stroke", colour)
      .style("stroke-width", 1.6);
  };

  const numbers = (data, metrics) =>
    table(
      [
        {title: "metric"},
        {title: "scheduler"},
        {title: "verdict"},
        {title: "ratio [interval]"},
        {title: "difference [interval]"},
        {title: "pairs of runs", number: true},
        {title: "p", number: true},
        {title: "p, adjusted", number: true},
        {title: "more runs", number: true},
      ],
      metrics.flatMap(({key, name, unit}) =>
        data.comparisons
          .filter((row) => row.metric === key && row.scheduler !== data.baseline)
          .map((row) => [
            name,
            data.names[row.scheduler],
            report.chart.verdict(row.verdict),
            format.interval(row.ratio, format.ratio),
            format.interval(row.shift, (x) => format.signed(unit, x)),
            format.figures(row.runs),
            format.probability(row.p),
            format.probability(row.p_adjusted),
            format.figures(row.more_runs),
          ]),
      ),
      "Ratio: geometric mean over pairs of runs of one seed, bootstrap-t interval. Difference: " +
        "Hodges-Lehmann. p: exact sign-flip test; adjusted over all metrics and all pairs of schedulers.",
    );

  const draw = (data) => {
    if (data.schedulers.length < 2) return null;
    const section = report.chart.section(
      "ratios",
      "Ratios",
      "How much better or worse",
      `Each symbol is how many times the value of ${data.names[data.baseline]} a scheduler has, and its line ` +
        "the interval in which the truth is likely. " +
        "A line wholly outside of the grey zone is a difference, if it is more than one of all these comparisons shows by " +
        `chance; one wholly inside (differences below ${format.percent(data.design.practical)}) is none; any other is ` +
        "undecided.",
    );
    section.append(
      chart(data, data.headline),
      behind("The numbers behind it", () => numbers(data, data.headline)),
    );
    const others = data.metrics.filter(
      (metric) => !metric.headline && data.comparisons.some((row) => row.metric === metric.key),
    );
    if (others.length > 0) {
      section.append(
        behind(
          `${format.counted(others.length, "further metric")}, which were not chosen beforehand: take them as hints`,
          () => make("div", {}, [chart(data, others), numbers(data, others)]),
        ),
      );
    }
    return section;
  };

  report.forest = {draw};
}
