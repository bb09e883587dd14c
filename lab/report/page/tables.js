// How the comparison was made, with all that is needed to make it again, and the document to take away.
"use strict";
{
  const {format} = report;
  const {make, section, table, behind, note} = report.chart;
  const kPlaces = {
    sim: "in the simulator",
    local: "on a cluster of local processes",
    cluster: "on a live cluster",
    testbed: "on the testbed",
  };

  // What a metric comes to over the runs of a scheduler: {value, low, high}, without an interval if it is the median.
  const overRuns = (data, key, scheduler) => {
    const values = data.values(scheduler, key);
    if (!data.metric(key).median) return report.statistics.mean(values);
    const value = report.statistics.quantile(report.statistics.sorted(values), 0.5);
    return value === null ? null : {value, low: null, high: null};
  };

  const metrics = (data) => {
    if (data.metrics.length === 0) return null;
    const element = section(
      "metrics",
      "Metrics",
      "All metrics",
      "The mean over the runs of each scheduler, with its 95% interval, or, where a few runs can be far off, the " +
        "median; the sentence says what the metric measures.",
    );
    element.append(
      table(
        [
          {title: "metric"},
          ...data.schedulers.map(({name}) => ({title: name, number: true})),
          {title: "better"},
          {title: "what it is"},
        ],
        data.metrics.map(({key, name, unit, median, better, says, headline}) => {
          const cells = data.schedulers.map(({index}) => overRuns(data, key, index));
          const most = report.chart.most(cells.map((cell) => Math.abs(cell?.value ?? 0)));
          return [
            make("span", {}, headline ? [name, " (headline)"] : name),
            ...cells.map((cell) => format.estimated(unit, cell, most) + (median ? " (median)" : "")),
            better,
            make("span", {class: "says"}, says),
          ];
        }),
      ),
    );
    return element;
  };

  // Pairs of a name and a value; what is not known is left out.
  const facts = (pairs) =>
    table(
      [{title: "what"}, {title: "value"}],
      pairs.filter(([, value]) => value !== null && value !== undefined && value !== ""),
    );

  const download = (data) => {
    const name = `${report.text(data.workload.name, "comparison").replace(/[^A-Za-z0-9._-]+/g, "-")}.json`;
    return make(
      "button",
      {
        type: "button",
        onclick: () => {
          const url = URL.createObjectURL(new Blob([JSON.stringify(data.raw)], {type: "application/json"}));
          make("a", {href: url, download: name}).click();
          setTimeout(() => URL.revokeObjectURL(url), 10000);
        },
      },
      "Save the data as JSON",
    );
  };

  const nodes = (data) => {
    const list = report.array(data.cluster.nodes).map(report.object);
    return behind(`The ${format.counted(list.length, "node")}`, () =>
      table(
        [
          {title: "node"},
          {title: "rack"},
          {title: "datacenter"},
          {title: "map slots", number: true},
          {title: "reduce slots", number: true},
        ],
        list.map(({name, rack, datacenter, map_slots: maps, reduce_slots: reduces}) => [
          report.text(name, "?"),
          report.text(rack, format.kMissing),
          report.text(datacenter, format.kMissing),
          format.count(maps),
          format.count(reduces),
        ]),
      ),
    );
  };

  const made = (data) => {
    const {design, machine, workload, cluster} = data;
    const list = report.array(cluster.nodes).map(report.object);
    const distinct = (name) => new Set(list.map((node) => report.text(node[name]))).size;
    const element = section("made", "Method", "How it was made", "What it takes to make this comparison again.");
    const twice = design.same_against_same === true ? "; the baseline twice with each seed" : "";
    element.append(
      make("div", {class: "bar"}, download(data)),
      facts([
        [
          "command",
          report
            .array(data.made.command)
            .map((word) => report.text(word))
            .join(" "),
        ],
        [
          "made",
          [
            report.text(data.made.at),
            report.text(data.made.millrace) && `by Millrace ${report.text(data.made.millrace)}`,
          ]
            .filter(Boolean)
            .join(", "),
        ],
        [
          "workload",
          [
            report.text(workload.name),
            format.known(workload.jobs) ? `${format.counted(workload.jobs, "job")} a run` : "",
            kPlaces[workload.where] ?? "",
          ]
            .filter(Boolean)
            .join(", "),
        ],
        ["runs", format.known(design.repeat) ? `${design.repeat} of each scheduler${twice}` : ""],
        [
          "seeds",
          report
            .array(design.seeds)
            .map((seed) => report.text(seed))
            .join(", "),
        ],
        ["baseline", data.names[data.baseline]],
        ["headline metrics, chosen beforehand", format.joined(data.headline.map(({name}) => name))],
        ["counts as no difference", `less than ${format.percent(design.practical)}`],
        ["confidence of intervals", format.percent(design.confidence)],
        [
          "cluster",
          list.length > 0
            ? `${format.counted(list.length, "node")} in ${format.counted(distinct("rack"), "rack")} and ` +
              `${format.counted(distinct("datacenter"), "datacenter")}, ` +
              `${format.count(report.number(cluster.map_slots))} map slots and ` +
              `${format.count(report.number(cluster.reduce_slots))} reduce slots`
            : "",
        ],
        [
          "machine",
          [
            report.text(machine.processor),
            format.known(machine.cores) ? format.counted(machine.cores, "core") : "",
            format.known(machine.memory) ? format.bytes(machine.memory) : "",
            report.text(machine.kernel),
          ]
            .filter(Boolean)
            .join(", "),
        ],
      ]),
    );
    if (list.length > 0) element.append(nodes(data));
    const common = report.text(data.made.settings);
    const own = data.variants
      .filter(({name, scheduler, settings}) => name !== scheduler || settings !== common)
      .map(({name, scheduler, settings}) => [`${name}: the settings of ${scheduler}`, settings || "none"]);
    for (const [title, text] of [
      ["The workload file", workload.file],
      ["The settings of the schedulers", common],
      ...own,
    ]) {
      if (report.text(text) !== "") element.append(behind(title, () => make("pre", {tabindex: 0}, report.text(text))));
    }
    element.append(
      note(
        "The file holds all figures: the text of the element whose id is “document” is the same JSON, as " +
          "base64 of gzip.",
      ),
    );
    return element;
  };

  report.tables = {metrics, made, overRuns, kPlaces};
}
