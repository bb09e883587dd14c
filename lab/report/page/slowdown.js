// Slowdown by the size of jobs: whom a scheduler lets wait, the small or the large.
"use strict";
{
  const {format, look, statistics} = report;
  const {figure, label, leftAxis, behind, table, tipped} = report.chart;
  const kClasses = [
    [1, 2],
    [3, 10],
    [11, 50],
    [51, 150],
    [151, 500],
    [501, 2000],
    [2001, Infinity],
  ];
  const range = ([from, to]) => (to === Infinity ? `over ${from - 1}` : `${from}–${to}`);
  const named = (limits) => `${range(limits)} maps`;

  const cellsOf = (data) =>
    data.schedulers
      .flatMap((scheduler) => {
        const jobs = data
          .row("slowdowns", scheduler.index)
          .map(report.object)
          .filter(({maps, slowdown}) => format.known(maps) && format.known(slowdown));
        return kClasses.map((limits, place) => {
          const values = statistics.sorted(
            jobs.filter(({maps}) => Math.max(1, maps) >= limits[0] && maps <= limits[1]).map(({slowdown}) => slowdown),
          );
          return {
            ...scheduler,
            place,
            n: values.length,
            ...Object.fromEntries(
              [
                ["low", 0.1],
                ["first", 0.25],
                ["median", 0.5],
                ["third", 0.75],
                ["high", 0.9],
              ].map(([name, share]) => [name, statistics.quantile(values, share)]),
            ),
          };
        });
      })
      .filter(({n}) => n > 0);

  const draw = (data) => {
    const cells = cellsOf(data);
    if (cells.length === 0) return null;
    const section = report.chart.section(
      "slowdown",
      "Slowdown",
      "Slowdown by size of job",
      "Slowdown is how many times longer a job took than alone on an empty cluster: 1 is no wait at all. The " +
        "symbol is the median job, the thick bar " +
        "holds the middle half of the jobs, the thin line all but the fastest and slowest tenth. " +
        "n counts the jobs that the document holds of the runs.",
    );
    const places = [...new Set(cells.map(({place}) => place))].sort((a, b) => a - b);
    const top = d3.max(cells, ({high}) => high);
    const alt =
      "Slowdown by size of job: " +
      cells
        .map(
          (cell) =>
            `${cell.name}, ${named(kClasses[cell.place])}: median ${format.figures(cell.median)}, n = ${cell.n}`,
        )
        .join("; ");
    section.append(
      report.chart.key([...new Map(cells.map((cell) => [cell.index, cell])).values()], false),
      figure({
        alt,
        size: (width) => ({height: Math.max(266, Math.min(346, width * 0.4)), margin: [22, 8, 56, 46]}),
        draw: (g, w, h) => {
          const y = d3
            .scaleLinear()
            .domain([0, Math.max(1, top)])
            .nice()
            .range([h, 0]);
          const x = d3.scaleBand().domain(places).range([0, w]).padding(0.15);
          const inner = d3
            .scalePoint()
            .domain(data.schedulers.map(({index}) => index))
            .range([0, x.bandwidth()])
            .padding(0.7);
          leftAxis(g, y, w, {title: "times as long as alone"});
          g.append("line").attr("class", "unity").attr("x2", w).attr("y1", y(1)).attr("y2", y(1));
          const mark = g
            .selectAll("g.cell")
            .data(cells)
            .join("g")
            .attr("class", "cell")
            .attr("transform", (cell) => `translate(${x(cell.place) + inner(cell.index)},0)`)
            .style("stroke", (cell) => look.colour(cell.index));
          mark
            .append("path")
            .attr("d", (cell) => `M0,${y(cell.low)}V${y(cell.high)}`)
            .style("stroke-width", 1.4);
          mark
            .append("path")
            .attr("d", (cell) => `M0,${y(cell.first)}V${y(cell.third)}`)
            .style("stroke-width", 6)
            .style("opacity", 0.55);
          mark
            .append("path")
            .attr("d", (cell) => look.symbol(cell.index, 60))
            .attr("transform", (cell) => `translate(0,${y(cell.median)})`)
            .style("fill", (cell) => look.colour(cell.index))
            .style("stroke", "var(--back)")
            .style("stroke-width", 1);
          tipped(
            mark,
            (cell) =>
              `${cell.name}, ${named(kClasses[cell.place])}\nmedian ${format.figures(cell.median)}\nhalf of ` +
              `the jobs: ${format.figures(cell.first)} to ${format.figures(cell.third)}\nn = ` +
              `${cell.n.toLocaleString("en")} jobs`,
          );
          for (const place of places) {
            const some = cells.filter((cell) => cell.place === place);
            const [least, most] = d3.extent(some, ({n}) => n);
            const middle = x(place) + x.bandwidth() / 2;
            label(g, middle, h + 17, range(kClasses[place]), {anchor: "middle", room: x.step()});
            label(
              g,
              middle,
              h + 33,
              least === most
                ? `n = ${least.toLocaleString("en")}`
                : `n = ${least.toLocaleString("en")} to ${most.toLocaleString("en")}`,
              {anchor: "middle", look: "quiet", room: x.step()},
            );
          }
          label(g, w, h + 50, "maps of a job, and number of jobs", {anchor: "end", look: "quiet"});
        },
      }),
      behind("The numbers behind it", () =>
        table(
          [
            {title: "scheduler"},
            {title: "size"},
            {title: "jobs", number: true},
            {title: "fastest tenth below", number: true},
            {title: "first quarter", number: true},
            {title: "median", number: true},
            {title: "third quarter", number: true},
            {title: "slowest tenth above", number: true},
          ],
          cells.map((cell) => [
            cell.name,
            named(kClasses[cell.place]),
            format.count(cell.n),
            ...["low", "first", "median", "third", "high"].map((name) => format.figures(cell[name])),
          ]),
        ),
      ),
    );
    return section;
  };

  report.slowdown = {draw};
}
