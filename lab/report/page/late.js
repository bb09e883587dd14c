// Jobs that missed their deadlines.
"use strict";
{
  const {format, look} = report;
  const {make, figure, leftAxis, label, behind, table, tipped, note} = report.chart;
  const kRows = 300,
    kDots = 1500,
    kMost = 500;

  const draw = (data) => {
    const late = data.late
      .map((row) => ({...row, by: format.known(row.end) && format.known(row.deadline) ? row.end - row.deadline : null}))
      .sort((a, b) => (b.by ?? Infinity) - (a.by ?? Infinity));
    const deadlines = data.details.reduce(
      (sum, {jobs}) =>
        sum + report.array(report.object(jobs).deadline).filter((time) => format.known(time) && time > 0).length,
      0,
    );
    if (late.length === 0 && deadlines === 0) return null;
    const every = Math.ceil(late.length / kDots); // one in so many is drawn
    const section = report.chart.section(
      "late",
      "Late jobs",
      "Late jobs",
      "A dot is a job that ended after its deadline, in any run; the higher, the later. The number below a " +
        "column counts them, and the runs they are of." +
        (every > 1 ? ` There are so many that one in ${every} is drawn.` : ""),
    );
    if (late.length === 0) {
      section.append(note("No job of any run missed its deadline."));
      return section;
    }
    const known = late.filter(({by}) => by !== null);
    const unit = format.unit("s", d3.max(known, ({by}) => by) || 1);
    const count = ({index}) => late.filter(({scheduler}) => scheduler === index).length;
    // The document holds so many of a scheduler at most (docs/schedulers/comparison.md).
    const counted = (scheduler) => (count(scheduler) >= kMost ? `${kMost} or more` : String(count(scheduler)));
    const runs = ({index}) => data.runs.filter((run) => run.scheduler === index && !run.second).length;
    const alt =
      "Late jobs: " + data.schedulers.map((scheduler) => `${scheduler.name}: ${counted(scheduler)}`).join("; ");
    section.append(
      figure({
        alt,
        size: () => ({height: 250, margin: [22, 8, 40, 50]}),
        draw: (g, w, h) => {
          const y = d3
            .scaleLinear()
            .domain([0, (d3.max(known, ({by}) => by) || 1) / unit.factor])
            .nice()
            .range([h, 0]);
          const x = d3
            .scaleBand()
            .domain(data.schedulers.map(({index}) => index))
            .range([0, w])
            .padding(0.25);
          leftAxis(g, y, w, {title: `${unit.name} after the deadline`});
          // Dots of one column are spread by their order, so that they do not hide each other.
          const place = (row, i) => x(row.scheduler) + x.bandwidth() * ((i * 0.618) % 1);
          const dots = g
            .selectAll("path.dot")
            .data(known.filter((_, i) => i % every === 0))
            .join("path")
            .attr("class", "dot")
            .attr("d", (row) => look.symbol(row.scheduler, 34))
            .attr("transform", (row, i) => `translate(${place(row, i)},${y(row.by / unit.factor)})`)
            .style("fill", "none")
            .style("stroke", (row) => look.colour(row.scheduler))
            .style("stroke-width", 1.4);
          tipped(
            dots,
            (row) =>
              `${report.text(row.job, "?")} (seed ${report.text(row.seed, "unknown")})\n` +
              `${format.seconds(row.by)} after its deadline`,
          );
          for (const scheduler of data.schedulers) {
            const middle = x(scheduler.index) + x.bandwidth() / 2;
            label(g, middle, h + 17, scheduler.name, {anchor: "middle", room: x.step() - 4});
            const whole = `${counted(scheduler)} late in ${format.counted(runs(scheduler), "run")}`;
            const words = x.step() > whole.length * 7 ? whole : counted(scheduler);
            label(g, middle, h + 33, words, {anchor: "middle", look: "quiet"});
          }
        },
      }),
      behind("All late jobs", () =>
        make("div", {}, [
          table(
            [
              {title: "job"},
              {title: "scheduler"},
              {title: "seed"},
              {title: "deadline", number: true},
              {title: "end", number: true},
              {title: "late by", number: true},
            ],
            late
              .slice(0, kRows)
              .map(({job, scheduler, seed, deadline, end, by}) => [
                report.text(job, "?"),
                data.names[scheduler],
                report.text(seed, format.kMissing),
                format.seconds(deadline),
                format.seconds(end),
                by === null ? "never ended" : format.seconds(by),
              ]),
          ),
          late.length > kRows
            ? note(`The ${kRows} latest of ${late.length.toLocaleString("en")}; the JSON has all.`)
            : null,
        ]),
      ),
    );
    return section;
  };

  report.late = {draw};
}
