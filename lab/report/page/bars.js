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

  const mapsOf = (detail) => {
    const tasks = report.object(detail.tasks);
    const parts = [0, 0, 0, 0];
    report.array(tasks.locality).forEach((level, i) => {
      if (report.array(tasks.kind)[i] !== "r" && parts[level] !== undefined) parts[level]++;
    });
    return parts;
  };
  const bytesOf = (detail) =>
    look.kBytes.map((name) => Math.max(0, report.number(report.object(detail.bytes)[name]) ?? 0));

  const locality = (data) =>
    report.pictures.section(data, {
      id: "locality",
      name: "Distance",
      title: "How far data travelled",
      how:
        "Above, how far launched maps were from their input; below, how many bytes of input and shuffle " +
        "crossed which link at the farthest. More of the full, left part is less load on the network. What they come " +
        "to over all runs, with intervals, stands under Metrics.",
      usable: (detail) => d3.sum(mapsOf(detail)) + d3.sum(bytesOf(detail)) > 0,
      fill: (details) => distanceBars(data, details),
    });

  const distanceBars = (data, details) => {
    const rowsOf = (partsOf) =>
      details
        .map((detail) => ({name: data.names[detail.scheduler], parts: partsOf(detail)}))
        .filter(({parts}) => d3.sum(parts) > 0);
    const [maps, bytes] = [rowsOf(mapsOf), rowsOf(bytesOf)];
    const shares = maps.map(({name, parts}) => ({
      name,
      parts: parts.map((part) => part / d3.sum(parts)),
      remark: `n = ${format.counted(d3.sum(parts), "map")}`,
    }));
    const ofMaps = {
      top: 1,
      kind: "share",
      names: look.kDistances,
      title: "share of maps",
      rows: shares,
      write: (part) => format.percent(part),
    };
    const ofBytes = {
      rows: bytes,
      top: d3.max(bytes, ({parts}) => d3.sum(parts)),
      kind: "bytes",
      names: look.kDistances,
      title: "input and shuffle",
      write: (part) => format.bytes(part),
    };
    return [
      distances(),
      maps.length > 0 ? [make("h3", {}, "Maps by distance from their input"), stacked(ofMaps)] : null,
      bytes.length > 0 ? [make("h3", {}, "Bytes by the farthest link that they crossed"), stacked(ofBytes)] : null,
      behind("The numbers behind it", () =>
        table(
          [{title: "scheduler"}, {title: "what"}, ...look.kDistances.map((title) => ({title, number: true}))],
          [
            ...maps.map(({name, parts}) => [name, "maps", ...parts.map(format.count)]),
            ...bytes.map(({name, parts}) => [name, "bytes", ...parts.map(format.bytes)]),
          ],
        ),
      ),
    ];
  };

  // What stands for many runs is the median; the line reaches from the lowest to the highest.
  const kCosts = [
    ["microseconds_per_event", "a decision, per event", "time per event", 1e-6],
    ["seconds", "in the scheduler, whole run", "processor time", 1],
    ["master_cpu", "the master process, whole run", "processor time", 1],
  ];
  const costsOf = (data, [member, caption, title, factor]) => ({
    caption,
    title,
    rows: data.deciding
      .map((row) => {
        const {median, lowest, highest} = report.object(row[member]);
        const seconds = (value) => (format.known(value) && value >= 0 ? value * factor : null);
        return {
          index: row.scheduler,
          name: data.names[row.scheduler],
          value: seconds(median),
          low: seconds(lowest) ?? seconds(median),
          high: seconds(highest) ?? seconds(median),
        };
      })
      .filter(({value}) => value !== null),
  });
  const costWords = (row) => (row ? `${format.seconds(row.value)} (${range(row)})` : format.kMissing);
  const range = ({low, high}) => `${format.seconds(low)} to ${format.seconds(high)}`;

  const medians = ({caption, rows, title}) =>
    figure({
      caption,
      alt: `${caption}, median over runs: ` + rows.map((row) => `${row.name} ${costWords(row)}`).join("; "),
      size: (width) => ({height: rows.length * 26 + 46, margin: [4, 66, 42, side(width)]}),
      draw: (g, w, h, svg, width) => {
        // A run that is far off must not press the medians together.
        const most = d3.max(rows, ({value}) => value);
        const top =
          Math.min(
            d3.max(rows, ({high}) => high),
            most * 3,
          ) || 1;
        const unit = format.unit("s", top);
        const x = d3
          .scaleLinear()
          .domain([0, top / unit.factor])
          .range([0, w]);
        bottomAxis(g, x, h, {ticks: Math.max(2, Math.min(5, w / 60)), title: `${title}, ${unit.name}`, width: w});
        rows.forEach((row, i) => {
          const y = i * 26;
          const at = (seconds) => Math.min(w, x(seconds / unit.factor));
          label(g, -side(width), y + 17, row.name, {room: side(width) - 8});
          const bar = g
            .append("rect")
            .attr("class", "bar-mark")
            .attr("width", Math.max(1, at(row.value)))
            .attr("y", y + 4)
            .attr("height", 17)
            .style("fill", look.colour(row.index));
          g.append("path")
            .attr("d", `M${at(row.low)},${y + 12.5}H${at(row.high)}M${at(row.high)},${y + 8.5}v8`)
            .style("stroke", "var(--ink)")
            .style("fill", "none");
          tipped(bar, () => `${row.name}\nmedian ${format.seconds(row.value)}\n${range(row)}`);
          label(g, w + 6, y + 17, format.seconds(row.value));
        });
      },
    });

  const deciding = (data) => {
    const charts = kCosts.map((cost) => costsOf(data, cost));
    const drawn = charts.filter(({rows}) => rows.length > 0);
    if (drawn.length === 0) return null;
    const runs = d3.max(data.deciding, (row) => report.number(row.runs) ?? 0);
    const section = report.chart.section(
      "deciding",
      "Deciding",
      "What deciding cost",
      "Processor time that the scheduler and the master took: a bar is the median over the " +
        `${runs > 1 ? `${format.count(runs)} runs` : "runs"} of each scheduler, its line reaches from the lowest run ` +
        "to the highest. It differs between equal runs. It matters when it nears the time between heartbeats, not " +
        "before.",
    );
    const find = ({rows}, scheduler) => costWords(rows.find(({index}) => index === scheduler));
    section.append(
      make("div", {class: "grid"}, drawn.map(medians)),
      behind("The numbers behind it", () =>
        table(
          [
            {title: "scheduler"},
            ...["per event", "in the scheduler", "of the master"].map((title) => ({title, number: true})),
          ],
          data.deciding.map(({scheduler}) => [data.names[scheduler], ...charts.map((chart) => find(chart, scheduler))]),
          "Median over runs, and from the lowest run to the highest",
        ),
      ),
    );
    if (charts[2].rows.length === 0)
      section.append(note("The processor time of the master was not measured: a simulation has no master process."));
    return section;
  };

  report.bars = {locality, deciding};
}
