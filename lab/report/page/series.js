// What changed over the run: slots in use, slots of each pool against its fair share, and fairness.
"use strict";
{
  const {format, look} = report;
  const {make, figure, bottomAxis, leftAxis, behind, table, tip, key, note} = report.chart;
  const kPoints = 400,
    kSmooth = 80,
    kPools = 6;

  // Pairs [time, value] of two columns, thinned to the means of `most` spans if there are more than twice as many.
  const pairs = (times, values, most = kPoints) => {
    const all = report
      .array(times)
      .map((time, i) => [time, report.array(values)[i]])
      .filter(([time, value]) => format.known(time) && format.known(value));
    if (all.length <= 2 * most) return all;
    const size = all.length / most;
    return d3.range(most).map((i) => {
      const part = all.slice(Math.floor(i * size), Math.floor((i + 1) * size));
      return [part[0][0], d3.mean(part, ([, value]) => value)];
    });
  };
  const steps = (x, y) =>
    d3
      .line()
      .curve(d3.curveStepAfter)
      .x(([time]) => x(time))
      .y(([, value]) => y(value));
  const meanOver = (line) =>
    line.length < 2
      ? (line[0]?.[1] ?? null)
      : d3.sum(line.slice(1), ([time], i) => line[i][1] * (time - line[i][0])) /
        Math.max(1e-9, line[line.length - 1][0] - line[0][0]);

  // Areas and lines over one clock. layers: [{line, kind: "area" | "line" | "dashed", colour, name}].
  const timeChart = ({caption, layers, end, top, height = 150, title, percent = false}) => {
    const alt =
      `${caption}: ` +
      layers
        .map(
          ({name, line}) =>
            `${name} ${percent ? format.percent(meanOver(line)) : format.figures(meanOver(line))} on average`,
        )
        .join("; ");
    return figure({
      caption,
      alt,
      size: () => ({height, margin: [20, 10, 38, 44]}),
      draw: (g, w, h, svg) => {
        const unit = format.unit("s", end);
        const x = d3.scaleLinear().domain([0, end]).range([0, w]);
        const y = d3.scaleLinear().domain([0, top]).nice(4).range([h, 0]);
        bottomAxis(
          g,
          d3
            .scaleLinear()
            .domain([0, end / unit.factor])
            .range([0, w]),
          h,
          {ticks: Math.max(2, Math.min(8, w / 70)), title: `time, ${unit.name}`, width: w},
        );
        leftAxis(g, y, w, {ticks: 4, title, format: percent ? d3.format(".0%") : null});
        for (const {line, kind, colour, index} of layers) {
          if (line.length === 0) continue;
          if (kind === "area") {
            g.append("path")
              .attr(
                "d",
                d3
                  .area()
                  .curve(d3.curveStepAfter)
                  .x(([time]) => x(time))
                  .y0(h)
                  .y1(([, value]) => y(value))(line),
              )
              .style("fill", colour)
              .style("opacity", 0.32);
          }
          g.append("path")
            .attr("class", "curve")
            .attr("d", (kind === "line" ? steps(x, y).curve(d3.curveLinear) : steps(x, y))(line))
            .style("fill", "none")
            .style("stroke", kind === "dashed" ? "var(--ink)" : colour)
            .style("stroke-width", kind === "dashed" ? 1.4 : 1.8)
            .style("stroke-dasharray", kind === "dashed" ? "5 3" : index === undefined ? null : look.dash(index));
        }
        svg
          .on("pointermove", (event) => {
            const time = x.invert(d3.pointer(event, g.node())[0]);
            if (time < 0 || time > end) return;
            const value = (line) => line[d3.bisector(([t]) => t).right(line, time) - 1]?.[1];
            tip(
              event,
              `at ${format.seconds(time)}\n` +
                layers
                  .map(({name, line}) => `${name}: ${(percent ? format.percent : format.figures)(value(line))}`)
                  .join("\n"),
            );
          })
          .on("pointerleave", (event) => tip(event, null));
      },
    });
  };

  const timesOf = (detail, member) => report.array(report.object(detail[member]).time);
  // One clock for the runs that are shown together.
  const endOf = (details) =>
    d3.max(details, (detail) =>
      Math.max(
        format.known(detail.makespan) ? detail.makespan : 0,
        report.chart.most(timesOf(detail, "samples"), 0),
        report.chart.most(timesOf(detail, "pools"), 0),
      ),
    ) || 1;
  const gridOf = (charts) => (charts.length === 4 ? "grid four" : "grid"); // in one row, if the window is wide
  const kOneRun = "Means over the time of one run";

  const use = (data) =>
    report.pictures.section(data, {
      id: "use",
      name: "Use",
      title: "Slots in use",
      how:
        "Running maps and reduces over time; the dashed line is the number of slots. Room below the dashed " +
        "line is idle: if tasks waited meanwhile, the scheduler held slots back or the data was elsewhere.",
      usable: (detail) => timesOf(detail, "samples").length > 0,
      fill: (details) => [
        ...[
          ["maps", "map slots"],
          ["reduces", "reduce slots"],
        ].map(([kind, name]) => slotsInUse(data, details, kind, name)),
        behind("Averages in a table", () => meansOfUse(data, details)),
      ],
    });

  const slotsInUse = (data, details, kind, name) => {
    const end = endOf(details);
    const top =
      d3.max(details, ({samples}) =>
        Math.max(
          report.chart.most(report.array(samples[`running_${kind}`]), 0),
          report.chart.most(report.array(samples[`capacity_${kind}`]), 0),
        ),
      ) || 1;
    const chart = ({scheduler, samples}) =>
      timeChart({
        caption: data.names[scheduler],
        end,
        top,
        title: "tasks",
        layers: [
          {
            name: `running ${kind}`,
            kind: "area",
            colour: look.colour(scheduler),
            line: pairs(samples.time, samples[`running_${kind}`]),
          },
          {name: "slots", kind: "dashed", line: pairs(samples.time, samples[`capacity_${kind}`])},
        ],
      });
    return [make("h3", {}, name), make("div", {class: gridOf(details)}, details.map(chart))];
  };

  const meansOfUse = (data, details) =>
    table(
      [
        {title: "scheduler"},
        ...["running maps", "map slots", "running reduces", "reduce slots", "waiting maps", "jobs in the cluster"].map(
          (title) => ({title, number: true}),
        ),
      ],
      details.map(({scheduler, samples}) => [
        data.names[scheduler],
        ...["running_maps", "capacity_maps", "running_reduces", "capacity_reduces", "pending_maps", "jobs"].map(
          (name) => format.figures(meanOver(pairs(samples.time, samples[name]))),
        ),
      ]),
      kOneRun,
    );

  const pools = (data) =>
    report.pictures.section(data, {
      id: "pools",
      name: "Pools",
      title: "Slots of each pool and its fair share",
      how:
        "The filled area is the slots that a pool holds, the dashed line the slots that are its fair share at " +
        "that time. A pool below its line while its jobs wait is short; one above it uses what others leave.",
      usable: (detail) =>
        timesOf(detail, "pools").length > 0 && report.array(report.object(detail.pools).names).length > 0,
      fill: (details) => eachPool(data, details),
    });

  const eachPool = (data, details) => {
    const end = endOf(details);
    const runs = details.map(({scheduler, pools: own}) => ({
      scheduler,
      time: own.time,
      names: own.names.map((name) => report.text(name)),
      slots: report.array(own.slots),
      share: report.array(own.share),
    }));
    const lineOf = (run, member, name) => pairs(run.time, report.array(run[member][run.names.indexOf(name)]));
    const held = d3.rollup(
      runs.flatMap((run) => run.names.map((name) => [name, d3.sum(lineOf(run, "slots", name), ([, slots]) => slots)])),
      (list) => d3.sum(list, ([, sum]) => sum),
      ([name]) => name,
    );
    const names = [...held].sort((a, b) => b[1] - a[1]).map(([name]) => name);
    const shown = names.slice(0, kPools);
    const charts = (name) => {
      const some = runs.filter((run) => run.names.includes(name));
      const lines = some.map((run) => ["slots", "share"].map((member) => lineOf(run, member, name)));
      const top = d3.max(lines.flat(2), ([, value]) => value) || 1;
      return make("div", {class: "keep"}, [
        make("h3", {}, `pool ${name}`),
        make(
          "div",
          {class: gridOf(some)},
          some.map(({scheduler}, i) =>
            timeChart({
              caption: data.names[scheduler],
              end,
              top,
              height: 135,
              title: "slots",
              layers: [
                {name: "slots held", kind: "area", colour: look.colour(scheduler), line: lines[i][0]},
                {name: "fair share", kind: "dashed", line: lines[i][1]},
              ],
            }),
          ),
        ),
      ]);
    };
    const rows = names.flatMap((name) =>
      runs
        .filter((run) => run.names.includes(name))
        .map((run) => [
          name,
          data.names[run.scheduler],
          ...["slots", "share"].map((member) => format.figures(meanOver(lineOf(run, member, name)))),
        ]),
    );
    return [
      names.length > shown.length
        ? note(`The ${kPools} pools with most slots of ${names.length} are drawn; the table has all.`)
        : null,
      ...shown.map(charts),
      behind("Averages in a table", () =>
        table(
          [
            {title: "pool"},
            {title: "scheduler"},
            {title: "slots held", number: true},
            {title: "fair share", number: true},
          ],
          rows,
          kOneRun,
        ),
      ),
    ];
  };

  const fairness = (data) => {
    const line = ({samples}, name) => pairs(report.object(samples).time, report.object(samples)[name], kSmooth);
    return report.pictures.section(data, {
      id: "fairness",
      name: "Fairness",
      title: "Fairness over time",
      how:
        "Fairness (Jain's index over the jobs that run) is 100% when every job that has started has had slots in the " +
        "same proportion to its time in the cluster, and falls the more unequal that is. Jobs that still wait for " +
        "their first slot do not count, so a scheduler that lets them wait looks fair: read it beside the mean wait. " +
        "Distance is how far pools are on average from their shares: 0% is exact.",
      usable: (detail) => ["fairness", "distance"].some((name) => line(detail, name).length > 0),
      fill: (details) => {
        const [even, off] = ["fairness", "distance"].map((name) =>
          details
            .map((detail) => ({scheduler: detail.scheduler, line: line(detail, name)}))
            .filter(({line: own}) => own.length > 0),
        );
        return fairnessCharts(data, details, even, off);
      },
    });
  };

  const fairnessCharts = (data, details, even, off) => {
    const end = endOf(details);
    const chart = (caption, list, top, title) =>
      timeChart({
        caption,
        end,
        top,
        height: 230,
        title,
        percent: true,
        layers: list.map(({scheduler, line}) => ({
          name: data.names[scheduler],
          kind: "line",
          colour: look.colour(scheduler),
          index: scheduler,
          line,
        })),
      });
    const mean = (list, index) => meanOver(list.find(({scheduler}) => scheduler === index)?.line ?? []);
    const some = details.map(({scheduler}) => data.schedulers[scheduler]);
    const furthest = d3.max(off, ({line}) => d3.max(line, ([, value]) => value));
    return [
      key(some),
      make("div", {class: "grid"}, [
        even.length > 0 ? chart("fairness (higher is better)", even, 1, "of perfect") : null,
        off.length > 0
          ? chart("distance from the shares (lower is better)", off, Math.max(0.1, furthest), "of the share")
          : null,
      ]),
      behind("Averages in a table", () =>
        table(
          [{title: "scheduler"}, {title: "fairness", number: true}, {title: "distance", number: true}],
          some.map(({index, name}) => [name, ...[even, off].map((list) => format.percent(mean(list, index)))]),
          kOneRun,
        ),
      ),
    ];
  };

  report.series = {use, pools, fairness};
}
