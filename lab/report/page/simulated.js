// The simulation beside the cluster: how far it is off, and whether it ranks the schedulers alike.
"use strict";
{
  const {format} = report;
  const {make, section, table, figure, leftAxis, bottomAxis, tipped} = report.chart;

  const chart = (data, metric, rows) => {
    const unit = format.unit(
      metric.unit,
      d3.max(rows, ({live, simulated}) => Math.max(live, simulated)),
    );
    const alt =
      `${metric.name}: ` +
      rows
        .map(
          ({scheduler, live, simulated}) =>
            `${data.names[scheduler]} live ${format.value(metric.unit, live)}, simulated ` +
            `${format.value(metric.unit, simulated)}`,
        )
        .join("; ");
    return figure({
      caption: metric.name,
      alt,
      size: (width) => ({height: Math.min(300, Math.max(220, width * 0.75)), margin: [20, 12, 42, 48]}),
      draw: (g, w, h) => {
        const top = d3.max(rows, ({live, simulated}) => Math.max(live, simulated)) / unit.factor || 1;
        const x = d3
          .scaleLinear()
          .domain([0, top * 1.08])
          .range([0, w]);
        const y = d3
          .scaleLinear()
          .domain([0, top * 1.08])
          .range([h, 0]);
        bottomAxis(g, x, h, {ticks: 5, title: `on the cluster, ${unit.name || "value"}`, width: w});
        leftAxis(g, y, w, {title: `simulated, ${unit.name || "value"}`});
        g.append("path").attr("class", "unity").attr("d", `M0,${h}L${w},0`);
        for (const {scheduler, live, error} of rows) {
          if (!error || error.low === null || error.high === null) continue;
          const at = (share) => y((live * (1 + share)) / unit.factor);
          g.append("path")
            .attr("d", `M${x(live / unit.factor)},${at(error.low)}V${at(error.high)}`)
            .style("stroke", report.look.colour(scheduler))
            .style("stroke-width", 2);
        }
        const mark = g
          .selectAll("path.dot")
          .data(rows)
          .join("path")
          .attr("class", "dot")
          .attr("d", ({scheduler}) => report.look.symbol(scheduler, 80))
          .attr("transform", ({live, simulated}) => `translate(${x(live / unit.factor)},${y(simulated / unit.factor)})`)
          .style("fill", ({scheduler}) => report.look.colour(scheduler));
        tipped(
          mark,
          ({scheduler, live, simulated, error}) =>
            `${data.names[scheduler]}\non the cluster ${format.value(metric.unit, live)}\nsimulated ` +
            `${format.value(metric.unit, simulated)}\nerror ${format.estimated("share", error)}`,
        );
      },
    });
  };

  const draw = (data) => {
    if (data.simulated === null) return null;
    const metrics = Object.entries(report.object(data.simulated.metrics))
      .map(([key, rows]) => ({
        ...data.metric(key),
        rows: report
          .array(rows)
          .map(report.object)
          .filter(
            ({scheduler, live, simulated}) =>
              data.names[scheduler] !== undefined && format.known(live) && format.known(simulated),
          )
          .map((row) => ({...row, error: report.estimate(row.error)})),
      }))
      .filter(({rows}) => rows.length > 0);
    if (metrics.length === 0) return null;
    const element = section(
      "simulated",
      "Simulator",
      "The simulator beside the cluster",
      "The same workload, simulated with what was measured of the cluster. A symbol on the dotted line is a " +
        "simulation that met the cluster, and its bar the interval of its error; the order of the symbols " +
        "along both axes says whether both rank the schedulers alike.",
    );
    element.append(
      report.chart.key(data.schedulers, false),
      make(
        "div",
        {class: "grid"},
        metrics.map((metric) => chart(data, metric, metric.rows)),
      ),
      table(
        [
          {title: "metric"},
          {title: "scheduler"},
          {title: "on the cluster", number: true},
          {title: "simulated", number: true},
          {title: "error [interval]", number: true},
          {title: "rank agreement (Kendall's tau)", number: true},
        ],
        metrics.flatMap(({key, name, unit, rows}) =>
          rows.map(({scheduler, live, simulated, error}) => [
            name,
            data.names[scheduler],
            format.value(unit, live),
            format.value(unit, simulated),
            format.estimated("share", error),
            format.figures(report.object(data.simulated.tau)[key]),
          ]),
        ),
        "Tau is 1 when both rank all pairs of schedulers alike, and −1 when they rank all the other way round.",
      ),
    );
    return element;
  };

  report.simulated = {draw};
}
