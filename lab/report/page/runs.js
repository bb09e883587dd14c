// Every run as a dot: a column a scheduler, the runs of one seed joined, the mean of a scheduler beside its dots.
"use strict";
{
  const {format, look, statistics} = report;
  const {make, figure, leftAxis, label, behind, table, tipped, note} = report.chart;

  const columnsOf = (data) =>
    data.schedulers.flatMap((scheduler) => {
      const first = {...scheduler, second: false};
      const again = data.runs.some((run) => run.scheduler === scheduler.index && run.second);
      return again ? [first, {...scheduler, second: true, name: "again"}] : [first];
    });

  const panel = (data, metric) => {
    const columns = columnsOf(data);
    const dots = data.runs.filter((run) => format.known(run.metrics[metric.key]));
    const caption = metric.name;
    if (dots.length === 0)
      return make("figure", {}, [make("figcaption", {}, caption), note("No run has a value of it.")]);
    const unit = format.unit(
      metric.unit,
      d3.max(dots, (run) => Math.abs(run.metrics[metric.key])),
    );
    const of = (run) => run.metrics[metric.key] / unit.factor;
    const over = (values) => {
      if (!metric.median || values.length === 0) return statistics.mean(values);
      return {value: statistics.quantile(statistics.sorted(values), 0.5), low: null, high: null, n: values.length};
    };
    const means = columns.map((column) =>
      over(dots.filter((run) => run.scheduler === column.index && run.second === column.second).map(of)),
    );
    const alt =
      `${caption}: ` +
      columns
        .map(
          (column, i) =>
            `${column.name} ${format.interval(means[i], format.figures)} ${unit.name} over ${means[i]?.n ?? 0} runs`,
        )
        .join("; ");
    return figure({
      caption,
      alt,
      size: () => ({height: 270, margin: [20, 6, 40, 50]}),
      draw: (g, w, h) => {
        const values = [
          ...dots.map(of),
          ...means.flatMap((mean) => (mean ? [mean.low ?? mean.value, mean.high ?? mean.value] : [])),
        ];
        const y = d3
          .scaleLinear()
          .domain([Math.min(0, d3.min(values)), Math.max(d3.max(values), 1e-9)])
          .nice()
          .range([h, 0]);
        const x = d3.scalePoint().domain(d3.range(columns.length)).range([0, w]).padding(0.5);
        leftAxis(g, y, w, {title: `${unit.name || "value"}, ${metric.better} is better`});
        const at = (run) =>
          x(columns.findIndex((column) => column.index === run.scheduler && column.second === run.second)) - 9;
        for (const [, block] of d3.group(dots, (run) => run.block)) {
          const path = block.map((run) => [at(run), y(of(run))]).sort((a, b) => a[0] - b[0]);
          g.append("path")
            .attr("d", d3.line()(path))
            .style("fill", "none")
            .style("stroke", "var(--quiet)")
            .style("stroke-width", 1)
            .style("opacity", 0.45);
        }
        const dot = g
          .selectAll("path.dot")
          .data(dots)
          .join("path")
          .attr("class", "dot")
          .attr("d", (run) => look.symbol(run.scheduler, 46))
          .attr("transform", (run) => `translate(${at(run)},${y(of(run))})`)
          .style("fill", (run) => (run.second || run.disturbed ? "var(--back)" : look.colour(run.scheduler)))
          .style("stroke", (run) => look.colour(run.scheduler))
          .style("stroke-width", 1.5);
        g.selectAll("path.out")
          .data(dots.filter((run) => run.disturbed))
          .join("path")
          .attr("class", "out")
          .attr("d", "M-4,-4L4,4M4,-4L-4,4")
          .attr("transform", (run) => `translate(${at(run)},${y(of(run))})`)
          .style("stroke", "var(--ink)");
        tipped(
          dot,
          (run) =>
            `${data.names[run.scheduler]}${run.second ? ", run again" : ""}\nseed ` +
            `${report.text(run.seed, "unknown")}: ` +
            format.value(metric.unit, run.metrics[metric.key]) +
            (run.disturbed ? `\ndisturbed: ${run.disturbed}` : ""),
        );
        columns.forEach((column, i) => {
          label(g, x(i), h + 17, column.name, {anchor: "middle", room: w / columns.length - 4});
          const mean = means[i];
          label(g, x(i), h + 33, `n = ${mean?.n ?? 0}`, {anchor: "middle", look: "quiet"});
          if (!mean) return;
          const bar = g
            .append("g")
            .attr("transform", `translate(${x(i) + 11},0)`)
            .style("stroke", look.colour(column.index))
            .style("stroke-width", 2.4);
          if (mean.low !== null)
            bar
              .append("path")
              .style("fill", "none")
              .attr("d", `M-4,${y(mean.low)}h8M0,${y(mean.low)}V${y(mean.high)}M-4,${y(mean.high)}h8`);
          bar
            .append("path")
            .attr("d", `M-6,${y(mean.value)}h12`)
            .style("stroke-width", 3.5);
        });
      },
    });
  };

  const draw = (data) => {
    if (data.runs.length === 0) return null;
    const section = report.chart.section(
      "runs",
      "Runs",
      "Every run",
      "A dot is one run; a thin line joins the runs of one seed, which had the same jobs, arrivals and data. " +
        "If nearly all lines go the same way, " +
        "the difference is not chance. The bar beside the dots is the mean with its 95% interval, or the median of " +
        "what a few runs can be far off in, such as deciding; hollow dots are second runs of the baseline, crossed " +
        "ones were disturbed.",
    );
    const grid = make("div", {class: "grid"});
    const chosen = data.headline.length > 0 ? data.headline : data.metrics.slice(0, 3);
    const show = (metrics) => {
      grid.replaceChildren(...metrics.map((metric) => panel(data, metric)));
      report.chart.drawAll();
    };
    const others = data.metrics.filter((metric) => !chosen.includes(metric));
    if (others.length > 0) {
      const select = make(
        "select",
        {onchange: () => show(select.value === "" ? chosen : [data.metric(select.value)])},
        [
          make("option", {value: ""}, "the headline metrics"),
          ...data.metrics.map(({key, name}) => make("option", {value: key}, name)),
        ],
      );
      section.append(make("div", {class: "bar"}, make("label", {}, ["Show ", select])));
    }
    section.append(grid);
    show(chosen);
    section.append(
      behind("All runs in a table", () =>
        table(
          [
            {title: "scheduler"},
            {title: "block", number: true},
            {title: "seed", number: true},
            {title: "place in the block", number: true},
            {title: "remarks"},
            ...data.metrics.map(({name}) => ({title: name, number: true})),
          ],
          data.runs.map((run) => [
            data.names[run.scheduler],
            format.count(run.block),
            report.text(run.seed, format.kMissing),
            format.count(run.order),
            [run.second ? "run again" : null, run.disturbed].filter(Boolean).join("; "),
            ...data.metrics.map(({key, unit}) => format.value(unit, run.metrics[key])),
          ]),
        ),
      ),
    );
    return section;
  };

  report.runs = {draw};
}
