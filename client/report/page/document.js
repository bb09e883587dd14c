// The document of docs/comparison.md as the page reads it: every member is there, with the type that the page expects
// of it, whatever the file says. Numbers that are none are null.
"use strict";
{
  const {known} = report.format;
  const array = (value) => (Array.isArray(value) ? value : []);
  const object = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});
  const text = (value, otherwise = "") =>
    typeof value === "string" ? value : typeof value === "number" ? String(value) : otherwise;
  const number = (value) => (known(value) ? value : null);
  const estimate = (value) =>
    known(object(value).value) ? {value: value.value, low: number(value.low), high: number(value.high)} : null;

  const read = (raw) => {
    const design = object(raw.design);
    const names = array(raw.schedulers).map((name, index) => text(name, `scheduler ${index + 1}`));
    const baseline = names[design.baseline] !== undefined ? design.baseline : 0;
    const schedulers = names.map((name, index) => ({index, name, baseline: index === baseline}));
    const variants = names.map((name, index) => {
      const variant = object(array(raw.variants)[index]);
      return {name, scheduler: text(variant.scheduler, name), settings: text(variant.settings, object(raw.made).settings)};
    });
    const of = (row) => schedulers[object(row).scheduler];
    const rows = (value) =>
      array(value)
        .map(object)
        .filter((row) => of(row) !== undefined);

    const headline = array(design.headline);
    const metrics = array(raw.metrics)
      .map(object)
      .filter((metric) => typeof metric.key === "string")
      .map((metric) => ({
        key: metric.key,
        name: text(metric.name, metric.key),
        unit: text(metric.unit),
        says: text(metric.says),
        better: metric.better === "higher" ? "higher" : "lower",
        headline: typeof metric.headline === "boolean" ? metric.headline : headline.includes(metric.key),
      }));
    const metric = (key) =>
      metrics.find((one) => one.key === key) ?? {
        key,
        name: text(key, "?"),
        unit: "",
        says: "",
        better: "lower",
        headline: false,
      };

    const runs = rows(raw.runs).map((run) => ({
      ...run,
      scheduler: run.scheduler,
      second: run.second === true,
      disturbed: text(run.disturbed) || null,
      metrics: object(run.metrics),
    }));
    const comparisons = rows(raw.comparisons).map((row) => ({
      ...row,
      ratio: estimate(row.ratio),
      shift: estimate(row.shift),
      runs: number(row.runs),
      p: number(row.p),
      p_adjusted: number(row.p_adjusted),
      more_runs: number(row.more_runs),
      no_verdict: typeof row.no_verdict === "string" ? row.no_verdict : null,
      verdict: ["better", "worse", "same"].includes(row.verdict) ? row.verdict : "undecided",
    }));
    const practical = design.practical > 0 && design.practical < 1 ? design.practical : 0.03;

    return {
      raw,
      schedulers,
      names,
      variants,
      baseline,
      metrics,
      metric,
      runs,
      comparisons,
      headline: metrics.filter((one) => one.headline),
      comparison: (scheduler, key) =>
        comparisons.find((row) => row.scheduler === scheduler && row.metric === key) ?? null,
      // Values of a metric over the first runs of a scheduler, one a block.
      values: (scheduler, key) =>
        runs.filter((run) => run.scheduler === scheduler && !run.second).map((run) => number(run.metrics[key])),
      same: (key) => estimate(object(raw.same_against_same)[key]),
      winners: (key) => array(object(raw.winners)[key]).filter((index) => names[index] !== undefined),
      design: {...design, practical, confidence: number(design.confidence) ?? 0.95, repeat: number(design.repeat), fewest_runs: number(design.fewest_runs)},
      made: object(raw.made),
      machine: object(object(raw.made).machine),
      workload: object(raw.workload),
      cluster: object(raw.cluster),
      sources: rows(raw.sources),
      details: rows(raw.details),
      late: rows(raw.late),
      warnings: array(raw.warnings).map((line) => text(line)),
      row: (member, scheduler) => array(array(raw[member])[scheduler]),
      simulated: raw.simulated ? object(raw.simulated) : null,
    };
  };

  Object.assign(report, {array, object, text, number, estimate, read});
}
