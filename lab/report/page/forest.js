// How far each scheduler is from the baseline, a picture with an axis of its own for each metric: ratios on a
// logarithmic scale, or, of what can be 0, differences in its own unit. The interval is a line, the estimate the
// scheduler's symbol, and behind them is the zone in which a difference counts as none.
"use strict";
{
  const {format, look} = report;
  const {make, figure, label, behind, table, note} = report.chart;
  const kTicks = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50];
  const kRow = 27;

  // The rows of a metric: the rivals, and the baseline against itself.
  const rowsOf = (data, metric) => {
    const rows = data.comparisons
      .filter((row) => row.metric === metric.key && row.scheduler !== data.baseline)
      .map((row) => ({
        verdict: row.verdict,
        estimate: metric.difference ? row.difference : row.ratio,
        scheduler: row.scheduler,
        name: data.names[row.scheduler],
      }));
    rows.push({
      verdict: null,
      estimate: metric.difference ? data.sameDifference(metric.key) : data.same(metric.key),
      scheduler: data.baseline,
      name: `${data.names[data.baseline]}, again`,
    });
    return rows.filter(({estimate}) => estimate !== null);
  };

  // The scale of a picture. All estimates are on it, and of the intervals of ratios what is not too far off.
  const ratios = (rows, practical, region) => {
    const known = rows.map(({estimate}) => estimate).filter(({value}) => value > 0);
    const values = known.map(({value}) => value);
    const [low, high] = [Math.min(practical ** -3, ...values), Math.max(practical ** 3, ...values)];
    const ends = known.flatMap((one) => [one.low, one.high]).filter((x) => format.known(x) && x > 0);
    const from = Math.max(low / 2, Math.min(low, 1 / Math.min(region, 2), ...ends)) / 1.03;
    const to = Math.min(high * 2, Math.max(high, Math.min(region, 2), ...ends)) * 1.03;
    return {
      scale: d3.scaleLog().domain([from, to]),
      none: 1,
      at: (x) => x,
      zone: (x) => [1 / x, x],
      write: format.ratio,
    };
  };
  const differences = (rows, practical, region, kind) => {
    const ends = rows.flatMap(({estimate: {value, low, high}}) => [value, low, high]).filter(format.known);
    const least = Math.max((practical ?? 0) * 3, region ?? 0);
    const [from, to] = [Math.min(-least, ...ends), Math.max(least, ...ends)];
    const unit = format.unitOfDifference(kind, Math.max(-from, to));
    const pad = (to - from || 1) * 0.04;
    return {
      scale: d3.scaleLinear().domain([(from - pad) / unit.factor, (to + pad) / unit.factor]),
      none: 0,
      at: (x) => x / unit.factor,
      zone: (x) => [-x, x],
      unit: unit.name,
    };
  };

  // plot: {caption, better, rows: [{name, scheduler, estimate, verdict}], kind, difference, practical, region}: `kind`
  // is the unit of the metric; `difference` if the estimates are no ratios.
  const picture = (data, plot) => {
    const {rows, difference, practical, region} = plot;
    const baseline = format.short(data.names[data.baseline], 24);
    const size = ({estimate}) =>
      difference ? format.difference(plot.kind, estimate) : format.interval(estimate, format.ratio);
    const words = (row) =>
      row.verdict === null ? `${size(row)}  run twice` : `${size(row)}  ${look.kVerdicts[row.verdict].join(" ")}`;
    const scaled = () =>
      difference ? differences(rows, practical, region, plot.kind) : ratios(rows, practical, region);
    const title = (unit) =>
      difference ? `difference to ${baseline}${unit ? `, ${unit}` : ""}` : `times the value of ${baseline}`;
    const direction = plot.better === "lower" ? "← better is left" : "better is right →";
    return figure({
      caption: [make("span", {}, plot.caption), make("span", {class: "direction"}, direction)],
      alt: `${plot.caption}, ${title(scaled().unit)}: ` + rows.map((row) => `${row.name} ${words(row)}`).join("; "),
      size: (width) => {
        const {narrow, step, names} = room(width);
        return {
          height: rows.length * kRow * step + 48,
          margin: narrow ? [2, 12, 46, 12] : [2, Math.min(280, width * 0.33), 46, names],
        };
      },
      draw: (g, w, h, svg, width) => {
        const {narrow, step, names} = room(width);
        const axis = scaled();
        axis.scale.range([0, w]);
        ground(g, axis, {w, h, practical, region, title: title(axis.unit)});
        rows.forEach((row, i) => {
          const y = i * kRow * step;
          const faint = row.verdict === null ? "quiet" : null;
          const strong = row.verdict !== null && row.verdict !== "undecided" ? "strong" : faint;
          const text = narrow ? y + 14 : y + kRow / 2 + 4;
          one(g, row, axis, narrow ? y + 29 : y + kRow / 2, w);
          label(g, narrow ? 0 : 8 - names, text, row.name, {look: faint, room: narrow ? w * 0.36 : names - 12});
          label(g, narrow ? w : w + 12, text, words(row), {look: strong, anchor: narrow ? "end" : "start"});
        });
      },
    });
  };

  // A narrow chart has names and numbers above the lines instead of beside them.
  const room = (width) => ({narrow: width < 640, step: width < 640 ? 1.45 : 1, names: Math.min(200, width * 0.22)});

  // The zone of no difference and the wider one of chance, the scale, and the line of the baseline.
  const ground = (g, {scale: x, none, at, zone}, {w, h, practical, region, title}) => {
    const [from, to] = x.domain();
    const within = (value) => Math.min(w, Math.max(0, x(Math.min(to, Math.max(from, value)))));
    for (const [look, reach] of [
      ["zone chance", region],
      ["zone", practical],
    ]) {
      if (!format.known(reach) || (look !== "zone" && !(reach > practical))) continue;
      const [low, high] = zone(reach).map((value) => within(at(value)));
      g.append("rect")
        .attr("class", look)
        .attr("x", low)
        .attr("width", Math.max(0, high - low))
        .attr("height", h);
    }
    const apart = (ticks, tick) => ticks.every((other) => Math.abs(x(tick) - x(other)) > 32);
    const ticks = none === 0 ? x.ticks(Math.max(2, Math.min(7, w / 70))) : [];
    if (none === 1)
      for (const tick of [1, ...kTicks.filter((tick) => tick >= from && tick <= to)])
        if (apart(ticks, tick)) ticks.push(tick);
    const axis = (size) => d3.axisBottom(x).tickValues(ticks).tickSize(size);
    const place = (look) => g.append("g").attr("class", look).attr("transform", `translate(0,${h})`);
    const write = none === 0 ? x.tickFormat(7) : String;
    place("axis grid-lines").call(axis(-h).tickFormat(""));
    place("axis").call(axis(4).tickFormat(write));
    label(g, w / 2, h + 34, title, {anchor: "middle", look: "quiet"});
    g.append("line").attr("class", "unity").attr("x1", x(none)).attr("x2", x(none)).attr("y2", h);
  };

  const one = (g, {estimate, scheduler, verdict}, {scale, none, at}, y, w) => {
    const colour = look.colour(scheduler);
    const {value, low, high} = estimate;
    const faint = verdict === null;
    const placed = (number) => format.known(number) && (none === 0 || number > 0);
    const x = (number) => scale(at(number));
    if (placed(low) && placed(high)) {
      const [left, right] = [Math.max(0, x(low)), Math.min(w, x(high))];
      const line = g
        .append("g")
        .style("stroke", colour)
        .style("stroke-width", 2.4)
        .style("opacity", faint ? 0.55 : 1);
      line
        .append("line")
        .attr("x1", left)
        .attr("x2", right)
        .attr("y1", y)
        .attr("y2", y)
        .style("stroke-dasharray", faint ? "3 3" : null);
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
    if (!placed(value)) return;
    g.append("path")
      .attr("class", "mark")
      .attr("d", look.symbol(scheduler, 90))
      .attr("transform", `translate(${x(value)},${y})`)
      .style("fill", faint ? "var(--back)" : colour)
      .style("stroke", colour)
      .style("stroke-width", 1.6);
  };

  const chart = (data, metrics) => {
    const known = (x, least) => (format.known(x) && x > least ? x : null);
    const pictures = metrics
      .map((metric) => {
        const least = metric.difference ? 0 : 1;
        const practical = known(metric.practical, least) ?? (metric.difference ? null : 1 + data.design.practical);
        return {
          caption: metric.name,
          better: metric.better,
          rows: rowsOf(data, metric),
          kind: metric.unit,
          difference: metric.difference,
          practical,
          region: known(metric.region, least) ?? practical,
        };
      })
      .filter(({rows}) => rows.length > 0);
    if (pictures.length === 0) return note("No comparison with the baseline is in the document for these metrics.");
    return make(
      "div",
      {},
      pictures.map((plot) => picture(data, plot)),
    );
  };

  const numbers = (data, metrics) =>
    table(
      [
        {title: "metric"},
        {title: "scheduler"},
        {title: "verdict"},
        {title: "ratio [interval]"},
        {title: "difference [interval]"},
        {title: "shift [interval]"},
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
            format.difference(unit, row.difference),
            format.difference(unit, row.shift),
            format.count(row.runs),
            format.probability(row.p),
            format.probability(row.p_adjusted),
            format.count(row.more_runs),
          ]),
      ),
      "Ratio: geometric mean over pairs of runs of one seed, bootstrap-t interval. Difference: mean over the pairs, " +
        "bootstrap-t interval. Shift: Hodges-Lehmann. p: sign-flip test; adjusted over all metrics and all pairs of " +
        "schedulers.",
    );

  const draw = (data) => {
    if (data.schedulers.length < 2) return null;
    const section = report.chart.section(
      "ratios",
      "Ratios",
      "How much better or worse",
      `Each metric has an axis of its own. A symbol is how many times the value of ${data.names[data.baseline]} a ` +
        "scheduler has, or, of a metric that is 0 somewhere, by how much it differs; its line is the interval in " +
        "which the truth is likely. A line wholly outside of the grey zones is a difference, if it is more than one " +
        "of all these comparisons shows by chance. A line wholly inside of the darker zone (below " +
        `${format.percent(data.design.practical)}, or what is too little to matter) is none; any other is undecided. ` +
        "The lighter zone, where there is one, is what equal runs differ by.",
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

  report.forest = {draw, picture};
}
