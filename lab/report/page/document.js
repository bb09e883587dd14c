// The document of docs/schedulers/comparison.md as the page reads it: every member is there, with the type that the page expects
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

  // What makes runs a pair: their block, which has one seed; where that is not known, the seed.
  const pairOf = (row) => (known(row.block) ? `block ${row.block}` : `seed ${text(row.seed, "unknown")}`);

  // The runs that are shown in full, by pair: those that the document names, in its order, then any others.
  const picturesOf = (named, details) => {
    const pictures = new Map();
    for (const row of [...named, ...details]) {
      const {block, seed, of_baseline: what} = row;
      if (!pictures.has(pairOf(row)))
        pictures.set(pairOf(row), {pair: pairOf(row), block, seed, what: text(what), details: []});
    }
    for (const detail of details) {
      const own = pictures.get(pairOf(detail)).details;
      if (!own.some(({scheduler}) => scheduler === detail.scheduler)) own.push(detail);
    }
    for (const {details: own} of pictures.values()) own.sort((a, b) => a.scheduler - b.scheduler);
    return [...pictures.values()].filter(({details: own}) => own.length > 0);
  };

  const read = (raw) => {
    const design = object(raw.design);
    const names = array(raw.schedulers).map((name, index) => text(name, `scheduler ${index + 1}`));
    const baseline = names[design.baseline] !== undefined ? design.baseline : 0;
    const schedulers = names.map((name, index) => ({index, name, baseline: index === baseline}));
    const variants = names.map((name, index) => {
      const variant = object(array(raw.variants)[index]);
      return {
        name,
        scheduler: text(variant.scheduler, name),
        settings: text(variant.settings, object(raw.made).settings),
      };
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
        difference: metric.scale === "difference", // it has no ratios, since it can be 0
        practical: number(metric.practical),
        region: number(metric.region),
        median: metric.over_runs === "median",
      }));
    const metric = (key) =>
      metrics.find((one) => one.key === key) ?? {
        key,
        name: text(key, "?"),
        unit: "",
        says: "",
        better: "lower",
        headline: false,
        difference: false,
        practical: null,
        region: null,
        median: false,
      };

    const runs = rows(raw.runs).map((run) => ({
      ...run,
      scheduler: run.scheduler,
      second: run.second === true,
      disturbed: text(run.disturbed) || null,
      metrics: object(run.metrics),
    }));
    const compared = (value) =>
      rows(value).map((row) => ({
        ...row,
        ratio: estimate(row.ratio),
        difference: estimate(row.difference) ?? estimate(row.shift),
        shift: estimate(row.shift),
        runs: number(row.runs),
        p: number(row.p),
        p_adjusted: number(row.p_adjusted),
        more_runs: number(row.more_runs),
        no_verdict: typeof row.no_verdict === "string" ? row.no_verdict : null,
        verdict: ["better", "worse", "same"].includes(row.verdict) ? row.verdict : "undecided",
      }));
    const comparisons = compared(raw.comparisons);
    const groups = array(raw.groups)
      .map(object)
      .map((grouping) => ({
        kinds: array(grouping.kinds).map((kind) => text(kind, "?")),
        groups: number(grouping.groups),
        rows: array(grouping.rows)
          .map(object)
          .map((row) => ({
            name: text(row.name),
            jobs: number(row.jobs),
            means: names.map((_, index) => number(array(row.means)[index])),
            comparisons: compared(row.comparisons).filter(({scheduler}) => scheduler !== baseline),
          })),
      }))
      .filter(({kinds, rows}) => kinds.length > 0 && rows.length > 0);
    const details = rows(raw.details);
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
      sameDifference: (key) => estimate(object(raw.same_against_same_difference)[key]),
      winners: (key) => array(object(raw.winners)[key]).filter((index) => names[index] !== undefined),
      design: {
        ...design,
        practical,
        confidence: number(design.confidence) ?? 0.95,
        repeat: number(design.repeat),
        fewest_runs: number(design.fewest_runs),
      },
      made: object(raw.made),
      machine: object(object(raw.made).machine),
      workload: object(raw.workload),
      cluster: object(raw.cluster),
      groups,
      sources: rows(raw.sources),
      deciding: rows(raw.deciding),
      details,
      pictures: picturesOf(array(raw.pictures).map(object), details),
      late: rows(raw.late),
      warnings: array(raw.warnings).map((line) => text(line)),
      row: (member, scheduler) => array(array(raw[member])[scheduler]),
      simulated: raw.simulated ? object(raw.simulated) : null,
    };
  };

  Object.assign(report, {array, object, text, number, estimate, pairOf, read});
}
