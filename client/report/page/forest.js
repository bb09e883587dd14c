// Ratios to the baseline, a row a scheduler under each metric: the interval as a line, the estimate as the scheduler's
// symbol, and behind them the zone in which a difference counts as none.
"use strict";
{
  const {format, look} = report;
  const {make, figure, fit, behind, table, note} = report.chart;
  const kRow = 27,
    kHead = 30;

  const rowsOf = (data, metrics) =>
    metrics.flatMap((metric) => {
      const rows = data.comparisons
        .filter((row) => row.metric === metric.key && row.ratio && row.scheduler !== data.baseline)
        .map((row) => ({
          kind: "row",
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
    const [low, high] = [Math.min(1 - 3 * practical, ...values), Math.max(1 + 3 * practical, ...values)];
    const ends = known.flatMap(({ratio}) => [ratio.low, ratio.high]).filter((x) => format.known(x) && x > 0);
    return [Math.max(low / 2, Math.min(low, ...ends)) / 1.03, Math.min(high * 2, Math.max(high, ...ends)) * 1.03];
  };

  const words = (entry) =>
    entry.kind === "same"
      ? `${format.interval(entry.ratio, format.ratio)}  run twice`
      : `${format.interval(entry.ratio, format.ratio)}  ${look.kVerdicts[entry.row.verdict][0]} ${entry.row.verdict}`;

  const chart = (data, metrics) => {
    const rows = rowsOf(data, metrics);
    if (rows.length === 0) return note("No ratio to the baseline is in the document for these metrics.");
    const height = rows.reduce((sum, {kind}) => sum + (kind === "head" ? kHead : kRow), 0);
    const [from, to] = domain(rows, data.design.practical);
    const label =
      `Ratios to ${data.names[data.baseline]}. ` +
      rows
        .filter(({kind}) => kind !== "head")
        .map((entry) => `${entry.name}, ${entry.metric.name}: ${words(entry)}`)
        .join("; ");
    return figure({
      label,
      size: (width) => ({
        height: height * (width < 620 ? 1.45 : 1) + 44,
        margin: width < 620 ? [0, 12, 44, 12] : [0, Math.min(230, width * 0.3), 44, Math.min(200, width * 0.22)],
      }),
      draw: (g, w, h, svg, width) => {
        const narrow = width < 620;
        const step = narrow ? 1.45 : 1;
        const x = d3.scaleLog().domain([from, to]).range([0, w]);
        const practical = data.design.practical;
        g.append("rect")
          .attr("class", "zone")
          .attr("x", x(1 / (1 + practical)))
          .attr("width", x(1 + practical) - x(1 / (1 + practical)))
          .attr("height", h);
        const ticks = [
          0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50,
        ].filter((t) => t >= from && t <= to);
        const kept = ticks.filter(
          (t, i) =>
            t === 1 ||
            (Math.abs(x(t) - x(1)) > 30 && (i === 0 || ticks.slice(0, i).every((s) => s === 1 || x(t) - x(s) > 30))),
        );
        g.append("g")
          .attr("class", "axis grid-lines")
          .attr("transform", `translate(0,${h})`)
          .call(d3.axisBottom(x).tickValues(kept).tickSize(-h).tickFormat(""));
        g.append("g")
          .attr("class", "axis")
          .attr("transform", `translate(0,${h})`)
          .call(
            d3
              .axisBottom(x)
              .tickValues(kept)
              .tickFormat((t) => String(t)),
          );
        g.append("text")
          .attr("class", "quiet")
          .attr("x", w / 2)
          .attr("y", h + 36)
          .attr("text-anchor", "middle")
          .text(`times the value of ${format.short(data.names[data.baseline], 24)}`);
        g.append("line").attr("class", "unity").attr("x1", x(1)).attr("x2", x(1)).attr("y2", h);
        let y = 0;
        for (const entry of rows) {
          if (entry.kind === "head") {
            const better = entry.metric.better === "lower" ? "← better is left" : "better is right →";
            const text = g
              .append("text")
              .attr("class", "strong")
              .attr("x", narrow ? 0 : -Math.min(200, width * 0.22))
              .attr("y", y + 21);
            text.append("tspan").text(format.short(entry.metric.name, narrow ? 26 : 44));
            text.append("tspan").attr("class", "quiet").attr("dx", 8).style("font-weight", 400).text(better);
            y += kHead * step;
            continue;
          }
          const middle = y + (narrow ? 29 : kRow / 2);
          one(g, entry, x, middle, w);
          const name = g
            .append("text")
            .attr("x", narrow ? 0 : -Math.min(200, width * 0.22) + 8)
            .attr("y", narrow ? y + 14 : middle + 4);
          fit(name, entry.name, narrow ? w * 0.42 : Math.min(200, width * 0.22) - 12);
          const value = g
            .append("text")
            .attr("x", narrow ? w : w + 12)
            .attr("y", narrow ? y + 14 : middle + 4)
            .attr("text-anchor", narrow ? "end" : "start")
            .style("font-variant-numeric", "tabular-nums")
            .text(words(entry));
          if (entry.kind === "same") {
            name.attr("class", "quiet");
            value.attr("class", "quiet");
          } else if (entry.row.verdict !== "undecided") value.attr("class", "strong");
          y += kRow * step;
        }
      },
    });
  };

  const one = (g, entry, x, y, w) => {
    const colour = look.colour(entry.scheduler);
    const {value, low, high} = entry.ratio;
    const faint = entry.kind === "same" ? 0.55 : 1;
    if (format.known(low) && format.known(high) && low > 0) {
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
      "Ratio: geometric mean over pairs of runs of one seed, bootstrap-t interval. Difference: Hodges-Lehmann. p: exact sign-flip test; adjusted by Holm over the headline metrics.",
    );

  const draw = (data) => {
    if (data.schedulers.length < 2) return null;
    const section = report.chart.section(
      "ratios",
      "Ratios",
      "How much better or worse",
      `Each symbol is how many times the value of ${data.names[data.baseline]} a scheduler has, and its line the interval in which the truth is likely. ` +
        `A line wholly outside of the grey zone is a difference; one wholly inside (differences below ${format.percent(data.design.practical)}) is none; any other is undecided.`,
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
