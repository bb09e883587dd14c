// Where the difference of mean turnaround to the baseline comes from: which class of jobs, and which phase of a job.
"use strict";
{
  const {format, look} = report;
  const {make, figure, bottomAxis, label, behind, table, tipped} = report.chart;
  const kRow = 24;
  const side = (width) => Math.min(190, width * 0.44); // for the names
  const kPhases = {
    wait: "waiting for a first slot",
    map: "maps",
    copy: "copying",
    permit: "waiting for a permit",
    compute: "reduces computing",
  };

  // Bars from zero to both sides, a row a name, in the order given.
  const bars = (caption, rows, scheduler) => {
    const alt =
      `${caption}: ` + rows.map(({name, difference}) => `${name} ${format.signed("s", difference)}`).join("; ");
    return figure({
      caption,
      alt,
      size: (width) => ({height: rows.length * kRow + 46, margin: [4, 64, 42, side(width)]}),
      draw: (g, w, h, svg, width) => {
        const largest = d3.max(rows, ({difference}) => Math.abs(difference)) || 1;
        const unit = format.unit("s", largest);
        const x = d3
          .scaleLinear()
          .domain([
            Math.min(
              0,
              d3.min(rows, (row) => row.difference),
            ) / unit.factor,
            Math.max(
              0,
              d3.max(rows, (row) => row.difference),
            ) / unit.factor,
          ])
          .nice()
          .range([0, w]);
        bottomAxis(g, x, h, {
          ticks: Math.max(2, Math.min(6, w / 60)),
          title: `${unit.name} a job; left of 0 is time saved`,
          width: w,
        });
        rows.forEach(({name, jobs, difference}, i) => {
          const y = i * kRow;
          const [from, to] = [x(0), x(difference / unit.factor)].sort((a, b) => a - b);
          label(g, -side(width), y + 16, format.known(jobs) ? `${name} (${format.counted(jobs, "job")})` : name, {
            room: side(width) - 8,
          });
          const bar = g
            .append("rect")
            .attr("class", "bar-mark")
            .attr("x", from)
            .attr("width", Math.max(1, to - from))
            .attr("y", y + 4)
            .attr("height", kRow - 8)
            .style("fill", difference > 0 ? "var(--back)" : look.colour(scheduler))
            .style("stroke", look.colour(scheduler))
            .style("stroke-width", 1.4);
          const words =
            Math.abs(difference) < Math.max(unit.factor / 10, 1e-3)
              ? format.signed("s", difference)
              : `${difference > 0 ? "+" : ""}${format.figures(difference / unit.factor)} ${unit.name}`;
          tipped(bar, () => `${name}: ${words} a job`);
          const inside = difference < 0;
          label(g, (inside ? x(0) : to) + 5, y + 16, words);
        });
        g.append("line").attr("x1", x(0)).attr("x2", x(0)).attr("y2", h).style("stroke", "var(--quiet)");
      },
    });
  };

  const rowsOf = (list, names = {}) =>
    report
      .array(list)
      .map(report.object)
      .filter(({difference}) => format.known(difference))
      .map(({name, jobs, difference}) => ({name: names[name] ?? report.text(name, "?"), jobs, difference}));

  const draw = (data) => {
    const sources = data.sources
      .filter(({scheduler}) => scheduler !== data.baseline)
      .map((source) => ({...source, groups: rowsOf(source.groups), phases: rowsOf(source.phases, kPhases)}))
      .filter(({groups, phases}) => groups.length + phases.length > 0);
    if (sources.length === 0) return null;
    const section = report.chart.section(
      "sources",
      "Causes",
      "Where the difference comes from",
      "How many seconds of mean turnaround each class of jobs and each phase of a job adds (hollow bars, to " +
        `the right) or saves (full bars, to the left) against ${data.names[data.baseline]}. ` +
        "The bars of one chart add up to the whole difference. They are means over all runs, without " +
        "intervals: they explain a verdict and are none.",
    );
    for (const {scheduler, groups, phases} of sources) {
      section.append(
        make("div", {class: "keep"}, [
          make("h3", {}, data.names[scheduler]),
          make("div", {class: "grid"}, [
            groups.length > 0
              ? bars(
                  "by class of jobs",
                  [...groups].sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference)).slice(0, 14),
                  scheduler,
                )
              : null,
            phases.length > 0 ? bars("by phase of a job", phases, scheduler) : null,
          ]),
        ]),
      );
    }
    section.append(
      behind("The numbers behind it", () =>
        table(
          [
            {title: "scheduler"},
            {title: "class or phase"},
            {title: "jobs", number: true},
            {title: "difference of mean turnaround", number: true},
          ],
          sources.flatMap(({scheduler, groups, phases}) =>
            [...groups, ...phases].map(({name, jobs, difference}) => [
              data.names[scheduler],
              name,
              format.count(jobs),
              format.signed("s", difference),
            ]),
          ),
        ),
      ),
    );
    return section;
  };

  report.sources = {draw};
}
