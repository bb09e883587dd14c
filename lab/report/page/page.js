// Puts the page together. A part that cannot be drawn says so and leaves the others alone.
"use strict";
{
  const {format} = report;
  const {make, drawAll} = report.chart;

  const parts = [
    report.verdict.draw,
    report.groups.draw,
    report.verdict.inWords,
    report.forest.draw,
    report.runs.draw,
    report.distribution.draw,
    report.slowdown.draw,
    report.sources.draw,
    report.gantt.draw,
    report.series.use,
    report.series.pools,
    report.series.fairness,
    report.bars.locality,
    report.late.draw,
    report.bars.deciding,
    report.simulated.draw,
    report.tables.metrics,
    report.tables.made,
  ];

  const head = (data) => {
    const {workload, design} = data;
    const name = report.text(workload.name, "one workload");
    const who = data.names.length === 0 ? "No scheduler" : format.joined(data.names);
    const title = `${who} on ${name}`;
    document.title = title;
    const facts = [
      format.known(design.repeat) ? `${format.counted(design.repeat, "run")} of each` : null,
      format.known(workload.jobs) ? `${format.counted(workload.jobs, "job")} a run` : null,
      report.tables.kPlaces[workload.where] ?? null,
      data.made.at ? `made ${report.text(data.made.at).replace("T", " ").replace("Z", " UTC")}` : null,
    ].filter(Boolean);
    document.getElementById("head").append(make("h1", {}, title), make("p", {}, facts.join(" · ")));
  };

  const failed = (error) => {
    console.error(error);
    return make(
      "p",
      {class: "warning"},
      `A part of the report could not be drawn (${error.message}); the data is in the file all the same.`,
    );
  };

  // The document lies in the page as base64 of gzip, which is a quarter of its size and holds nothing that HTML knows.
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  };

  const draw = async () => {
    const sections = document.getElementById("sections");
    let data = null;
    try {
      data = report.read(report.object(await unpack(document.getElementById("document").textContent)));
      head(data);
    } catch (error) {
      sections.append(failed(error));
      return;
    }
    const contents = document.getElementById("contents");
    for (const part of parts) {
      let element = null;
      try {
        element = part(data);
      } catch (error) {
        element = failed(error);
      }
      if (element === null) continue;
      sections.append(element);
      if (element.id) contents.append(make("a", {href: `#${element.id}`}, element.dataset.name));
    }
    drawAll();
  };

  // How long it took, from the first byte to the last chart, in ms.
  draw().finally(() => {
    document.documentElement.dataset.drawn = performance.now().toFixed(0);
  });
}
