// Bars from zero: where maps read their input, how far bytes went, and what deciding cost.
"use strict";
{
  const {format, look} = report;
  const {make, figure, bottomAxis, label, behind, table, tipped, note} = report.chart;
  const kRow = 34;
  let charts = 0; // for the names of patterns, which must differ within a page

  const side = (width) => Math.min(170, width * 0.3);

  // rows: [{name, parts: [number], note}]: a bar of parts a row. write(part, whole) is the label of a part.
  const stacked = ({rows, names, top, kind, write, title}) => {
    const alt = rows
      .map(
        ({name, parts}) => `${name}: ` + parts.map((part, i) => `${names[i]} ${write(part, d3.sum(parts))}`).join(", "),
      )
      .join("; ");
    return figure({
      alt,
      size: (width) => ({height: rows.length * kRow + 46, margin: [4, 12, 42, side(width)]}),
      draw: (g, w, h, svg, width) => {
        const fill = look.patterns(svg, `pattern-${++charts}`);
        const unit = format.unit(kind, top);
        const x = d3
          .scaleLinear()
          .domain([0, top / unit.factor])
          .range([0, w]);
        if (kind !== "share") x.nice();
        bottomAxis(g, x, h, {
          ticks: Math.max(2, Math.min(8, w / 70)),
          title: title + (unit.name ? `, ${unit.name}` : ""),
          width: w,
        });
        rows.forEach(({name, parts, remark}, row) => {
          const y = row * kRow;
          label(g, -side(width), remark ? y + 15 : y + 20, name, {room: side(width) - 8});
          if (remark) label(g, -side(width), y + 29, remark, {look: "quiet", room: side(width) - 8});
          let from = 0;
          parts.forEach((part, i) => {
            const [left, right] = [x(from / unit.factor), x((from + part) / unit.factor)];
            from += part;
            if (!(right > left)) return;
            const bar = g
              .append("rect")
              .attr("class", "bar-mark")
              .attr("x", left)
              .attr("width", right - left)
              .attr("y", y + 5)
              .attr("height", kRow - 12)
              .style("fill", fill(i))
              .style("stroke", "var(--back)");
            tipped(bar, () => `${name}\n${names[i]}: ${write(part, d3.sum(parts))}`);
            const words = write(part, d3.sum(parts));
            if (right - left > words.length * 7 + 12) {
              g.append("rect")
                .attr("x", (left + right) / 2 - words.length * 3.6 - 3)
                .attr("width", words.length * 7.2 + 6)
                .attr("y", y + 9)
                .attr("height", kRow - 20)
                .attr("rx", 3)
                .style("fill", "var(--back)")
                .style("opacity", 0.9)
                .style("pointer-events", "none");
              label(g, (left + right) / 2, y + 20, words, {anchor: "middle"}).style("pointer-events", "none");
            }
          });
        });
      },
    });
  };

  const distances = () =>
    make(
      "ul",
      {class: "key"},
      look.kDistances.map((name, i) => {
        const svg = d3.create("svg").attr("viewBox", "0 0 37 16").attr("aria-hidden", "true");
        const fill = look.patterns(svg, `key-${++charts}`);
        svg.append("rect").attr("width", 37).attr("height", 16).style("fill", fill(i));
        return make("li", {}, [svg.node(), name]);
      }),
    );

  const locality = (data) => {
    const rows = data.details
      .map((detail) => {
        const tasks = report.object(detail.tasks);
        const parts = [0, 0, 0, 0];
        report.array(tasks.locality).forEach((level, i) => {
          if (report.array(tasks.kind)[i] !== "r" && parts[level] !== undefined) parts[level]++;
        });
        const n = d3.sum(parts);
        return {name: data.names[detail.scheduler], parts, n, remark: `n = ${format.counted(n, "map")}`};
      })
      .filter(({n}) => n > 0);
    const bytes = data.details
      .map((detail) => ({
        name: data.names[detail.scheduler],
        parts: look.kBytes.map((name) => Math.max(0, report.number(report.object(detail.bytes)[name]) ?? 0)),
      }))
      .filter(({parts}) => d3.sum(parts) > 0);
    if (rows.length + bytes.length === 0) return null;
    const section = report.chart.section(
      "locality",
      "Distance",
      "How far data travelled",
      "Above, how far launched maps were from their input; below, how many bytes of input and shuffle " +
        "crossed which link at the farthest. More of the full, left part is less load on the network. Both are " +
        "of one run of each scheduler; what they come to over all runs, with intervals, stands under Metrics.",
    );
    section.append(distances());
    if (rows.length > 0) {
      section.append(
        make("h3", {}, "Maps by distance from their input"),
        stacked({
          top: 1,
          kind: "share",
          names: look.kDistances,
          title: "share of maps",
          rows: rows.map((row) => ({...row, parts: row.parts.map((part) => part / row.n)})),
          write: (part) => format.percent(part),
        }),
      );
    }
    if (bytes.length > 0) {
      section.append(
        make("h3", {}, "Bytes by the farthest link that they crossed"),
        stacked({
          rows: bytes,
          top: d3.max(bytes, ({parts}) => d3.sum(parts)),
          kind: "bytes",
          names: look.kDistances,
          title: "input and shuffle",
          write: (part) => format.bytes(part),
        }),
      );
    }
    section.append(
      behind("The numbers behind it", () =>
        table(
          [{title: "scheduler"}, {title: "what"}, ...look.kDistances.map((title) => ({title, number: true}))],
          [
            ...rows.map(({name, parts}) => [name, "maps", ...parts.map((part) => format.figures(part, 6))]),
            ...bytes.map(({name, parts}) => [name, "bytes", ...parts.map(format.bytes)]),
          ],
        ),
      ),
    );
    return section;
  };

  const simple = (caption, rows, kind, title) => {
    const alt =
      `${caption}: ` +
      rows
        .map(({name, value}) => `${name} ${kind === "us" ? `${format.figures(value)} µs` : format.value(kind, value)}`)
        .join("; ");
    return figure({
      caption,
      alt,
      size: (width) => ({height: rows.length * 26 + 46, margin: [4, 66, 42, side(width)]}),
      draw: (g, w, h, svg, width) => {
        const top = d3.max(rows, ({value}) => value) || 1;
        const unit = kind === "us" ? {name: "µs", factor: 1} : format.unit(kind, top);
        const x = d3
          .scaleLinear()
          .domain([0, top / unit.factor])
          .nice()
          .range([0, w]);
        bottomAxis(g, x, h, {ticks: Math.max(2, Math.min(5, w / 60)), title: `${title}, ${unit.name}`, width: w});
        rows.forEach(({name, value, index}, i) => {
          label(g, -side(width), i * 26 + 17, name, {room: side(width) - 8});
          g.append("rect")
            .attr("class", "bar-mark")
            .attr("width", Math.max(1, x(value / unit.factor)))
            .attr("y", i * 26 + 4)
            .attr("height", 17)
            .style("fill", look.colour(index));
          label(
            g,
            x(value / unit.factor) + 6,
            i * 26 + 17,
            kind === "us" ? `${format.figures(value)} µs` : format.value(kind, value),
          );
        });
      },
    });
  };

  const deciding = (data) => {
    const of = (name) =>
      data.details
        .map((detail) => ({
          index: detail.scheduler,
          name: data.names[detail.scheduler],
          value: report.number(report.object(detail.deciding)[name]),
        }))
        .filter(({value}) => value !== null && value >= 0);
    const charts = [
      ["a decision, per event", of("microseconds_per_event"), "us", "time per event"],
      ["in the scheduler, whole run", of("seconds"), "s", "processor time"],
      ["the master process, whole run", of("master_cpu"), "s", "processor time"],
    ].filter(([, rows]) => rows.length > 0);
    if (charts.length === 0) return null;
    const section = report.chart.section(
      "deciding",
      "Deciding",
      "What deciding cost",
      "Processor time that the scheduler and the master took, of one run of each scheduler (no interval: " +
        "small differences mean nothing). It matters when it nears the time between heartbeats, not before.",
    );
    section.append(
      make(
        "div",
        {class: "grid"},
        charts.map((chart) => simple(...chart)),
      ),
    );
    const cell = (name, write) => (index) => write(of(name).find((row) => row.index === index)?.value ?? null);
    const cells = [
      cell("microseconds_per_event", (us) => (us === null ? format.kMissing : `${format.figures(us)} µs`)),
      cell("seconds", format.seconds),
      cell("master_cpu", format.seconds),
    ];
    section.append(
      behind("The numbers behind it", () =>
        table(
          [
            {title: "scheduler"},
            ...["per event", "in the scheduler", "of the master"].map((title) => ({title, number: true})),
          ],
          data.details.map(({scheduler}) => [data.names[scheduler], ...cells.map((write) => write(scheduler))]),
        ),
      ),
    );
    if (of("master_cpu").length === 0)
      section.append(note("The processor time of the master was not measured: a simulation has no master process."));
    return section;
  };

  report.bars = {locality, deciding};
}
