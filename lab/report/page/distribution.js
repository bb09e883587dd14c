// Turnaround as a curve: which share of the jobs had ended after so long, with the spread over the runs.
"use strict";
{
  const {format, look, statistics} = report;
  const {make, figure, bottomAxis, leftAxis, behind, table, tip} = report.chart;
  const kPoints = 160;

  const seriesOf = (data) =>
    data.schedulers
      .map((scheduler) => {
        // A row is a list of all jobs, or a list of runs, each a list of its jobs.
        const row = data.row("turnarounds", scheduler.index);
        const runs = row
          .filter(Array.isArray)
          .map(statistics.sorted)
          .filter((run) => run.length > 0);
        return {...scheduler, jobs: statistics.sorted(row.flat()), runs: runs.length > 1 ? runs : null};
      })
      .filter(({jobs}) => jobs.length > 0);

  const curve = (data, series, logarithmic) => {
    const top = d3.max(series, ({jobs}) => jobs[jobs.length - 1]) || 1;
    const floor = Math.max(
      top / 1e5,
      d3.min(series, ({jobs}) => jobs.find((x) => x > 0) ?? top),
    );
    const unit = format.unit("s", logarithmic ? 1 : top);
    const xs = d3
      .range(kPoints + 1)
      .map((i) => (logarithmic ? floor * (top / floor) ** (i / kPoints) : (top * i) / kPoints));
    const alt =
      "Share of jobs that had ended by time since their submission. " +
      series
        .map(
          ({name, jobs}) =>
            `${name}: half within ${format.seconds(statistics.quantile(jobs, 0.5))}, 95% within ` +
            `${format.seconds(statistics.quantile(jobs, 0.95))}`,
        )
        .join("; ");
    return figure({
      alt,
      size: (width) => ({height: Math.max(260, Math.min(380, width * 0.42)), margin: [22, 16, 44, 46]}),
      draw: (g, w, h, svg) => {
        const x = (
          logarithmic
            ? d3.scaleLog().domain([floor / unit.factor, top / unit.factor])
            : d3.scaleLinear().domain([0, top / unit.factor])
        ).range([0, w]);
        const y = d3.scaleLinear().domain([0, 1]).range([h, 0]);
        bottomAxis(g, x, h, {
          ticks: Math.min(8, w / 70),
          title: `turnaround, ${unit.name}`,
          width: w,
          format: logarithmic ? "~g" : null,
        });
        leftAxis(g, y, w, {format: d3.format(".0%"), title: "of the jobs had ended"});
        for (const {index, runs} of series) {
          if (!runs) continue;
          const band = xs.map((t) => [t, ...d3.extent(runs, (run) => statistics.shareUpTo(run, t))]);
          g.append("path")
            .attr("class", "band")
            .attr(
              "d",
              d3
                .area()
                .x(([t]) => x(t / unit.factor))
                .y0(([, low]) => y(low))
                .y1(([, , high]) => y(high))(band),
            )
            .style("fill", look.colour(index))
            .style("opacity", series.length > 4 ? 0.07 : 0.16);
        }
        series.forEach(({index, jobs}, place) => {
          const line = xs.map((t) => [x(t / unit.factor), y(statistics.shareUpTo(jobs, t))]);
          g.append("path")
            .attr("class", "curve")
            .attr("d", d3.line()(line))
            .style("fill", "none")
            .style("stroke", look.colour(index))
            .style("stroke-width", 2)
            .style("stroke-dasharray", look.dash(index));
          // Symbols stand at shares that differ from curve to curve, so that they do not cover one another.
          for (const share of [0.2, 0.45, 0.7, 0.92]) {
            const at = Math.min(0.99, share + place * 0.04);
            g.append("path")
              .attr("d", look.symbol(index, 44))
              .attr(
                "transform",
                `translate(${x(Math.max(floor, statistics.quantile(jobs, at)) / unit.factor)},${y(at)})`,
              )
              .style("fill", look.colour(index));
          }
        });
        const guide = g.append("line").attr("y2", h).style("stroke", "var(--quiet)").style("display", "none");
        svg
          .on("pointermove", (event) => {
            const at = d3.pointer(event, g.node())[0];
            if (at < 0 || at > w) return;
            const t = x.invert(at) * unit.factor;
            guide.attr("x1", at).attr("x2", at).style("display", null);
            tip(
              event,
              `within ${format.seconds(t)}\n` +
                series
                  .map(({name, jobs}) => `${format.percent(statistics.shareUpTo(jobs, t))} under ${name}`)
                  .join("\n"),
            );
          })
          .on("pointerleave", (event) => {
            guide.style("display", "none");
            tip(event, null);
          });
      },
    });
  };

  const quantiles = (series) => {
    const kShares = [0.5, 0.75, 0.9, 0.95, 0.99];
    return table(
      [
        {title: "scheduler"},
        {title: "jobs", number: true},
        {title: "runs", number: true},
        ...kShares.map((share) => ({title: `${share * 100}% within`, number: true})),
        {title: "longest", number: true},
      ],
      series.map(({name, jobs, runs}) => [
        name,
        format.count(jobs.length),
        format.count(runs?.length ?? null),
        ...kShares.map((share) =>
          runs
            ? format.estimated("s", statistics.mean(runs.map((run) => statistics.quantile(run, share))))
            : format.seconds(statistics.quantile(jobs, share)),
        ),
        format.seconds(jobs[jobs.length - 1]),
      ]),
      "Mean over runs of each run's quantile, with its 95% interval",
    );
  };

  const draw = (data) => {
    const series = seriesOf(data);
    if (series.length === 0) return null;
    // The document may hold a part of very many jobs, evenly spread over them.
    const all =
      data.runs.filter((run) => run.scheduler === data.baseline && !run.second).length *
      (report.number(data.workload.jobs) ?? 0);
    const counts = [...new Set(series.map(({jobs}) => jobs.length))].map(
      (n) => n.toLocaleString("en") + (n < all ? ` of ${all.toLocaleString("en")}` : ""),
    );
    const banded = series.some(({runs}) => runs);
    const section = report.chart.section(
      "turnaround",
      "Turnaround",
      "Turnaround of jobs",
      "The higher a curve, the more jobs had ended by then: a curve to the left of another is better for " +
        "that part of the jobs. " +
        (banded
          ? "The pale band reaches from the lowest to the highest run. "
          : "The document does not say which run a job belongs to, so that no spread over runs is shown. ") +
        `n = ${format.joined(counts)} jobs of each scheduler.`,
    );
    const hold = make("div");
    const box = make("input", {type: "checkbox", onchange: () => show()});
    const show = () => {
      hold.replaceChildren(curve(data, series, box.checked));
      report.chart.drawAll();
    };
    // Where the longest job takes fifty times the median, a scale of equal steps would squeeze most jobs into its
    // start.
    box.checked = series.some(({jobs}) => jobs[jobs.length - 1] > 50 * statistics.quantile(jobs, 0.5));
    section.append(
      make("div", {class: "bar"}, make("label", {}, [box, "logarithmic time"])),
      report.chart.key(series),
      hold,
    );
    show();
    section.append(behind("Quantiles in a table", () => quantiles(series)));
    return section;
  };

  report.distribution = {draw};
}
