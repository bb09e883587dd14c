// The attempts of one run as rows of slots: in arrays, sorted by row and start, so that those in sight are found by
// halving.
"use strict";
{
  const {known} = report.format;
  const kEnded = ["succeeded", "failed", "killed", "lost", "preempted", "running"];

  // Gives each attempt without a slot the lowest one of its node that is free at its start.
  const pack = (start, end) => {
    const free = new Map(); // key of node and kind -> ends of its slots
    return (task, key) => {
      const ends = free.get(key) ?? [];
      free.set(key, ends);
      let slot = ends.findIndex((time) => time <= start[task]);
      if (slot < 0) slot = ends.length;
      ends[slot] = end[task];
      return slot;
    };
  };

  // detail: a member of `details`. Returns {count, rows: [{name, kind, first, count}], and columns by place in that
  // order}.
  const build = (detail, nodes) => {
    const tasks = report.object(detail.tasks);
    const jobs = report.object(detail.jobs);
    const column = (name) => report.array(tasks[name]);
    const size = column("start").length;
    const makespan = known(detail.makespan) ? detail.makespan : report.chart.most(column("end"));
    const start = Float64Array.from(column("start"), (time) => (known(time) ? time : NaN));
    const end = Float64Array.from({length: size}, (_, i) => (known(column("end")[i]) ? column("end")[i] : makespan));
    const order = d3
      .range(size)
      .filter((i) => Number.isFinite(start[i]))
      .sort((a, b) => start[a] - start[b]);

    const place = pack(start, end);
    const rows = new Map();
    const rowOf = new Array(size);
    for (const i of order) {
      const kind = column("kind")[i] === "r" ? "r" : "m";
      const node = known(column("node")[i]) ? column("node")[i] : -1;
      const slot = known(column("slot")[i]) ? column("slot")[i] : place(i, `${node}${kind}`);
      const key = (node + 1) * 2e6 + (kind === "r" ? 1e6 : 0) + slot;
      if (!rows.has(key))
        rows.set(key, {
          key,
          node,
          kind,
          slot,
          name: report.text(report.object(nodes[node]).name, node < 0 ? "?" : `node ${node}`),
          first: 0,
          count: 0,
        });
      rowOf[i] = rows.get(key);
      rowOf[i].count++;
    }
    const sorted = [...rows.values()].sort((a, b) => a.key - b.key);
    sorted.reduce((first, row) => ((row.first = first), first + row.count), 0);
    const next = new Map(sorted.map((row) => [row, row.first]));
    const from = new Int32Array(order.length); // the attempt's place in the document, by place here
    for (const i of order) {
      const row = rowOf[i];
      from[next.get(row)] = i;
      next.set(row, next.get(row) + 1);
    }
    const take = (values, otherwise) => Float64Array.from(from, (i) => (known(values[i]) ? values[i] : otherwise));
    const model = {
      detail,
      makespan,
      rows: sorted,
      count: from.length,
      from,
      start: Float64Array.from(from, (i) => start[i]),
      end: Float64Array.from(from, (i) => Math.max(start[i], end[i])),
      read: take(column("read"), NaN),
      compute: take(column("compute"), NaN),
      job: Int32Array.from(from, (i) => (known(column("job")[i]) ? column("job")[i] : -1)),
      reduce: Uint8Array.from(from, (i) => (column("kind")[i] === "r" ? 1 : 0)),
      ended: Uint8Array.from(from, (i) => Math.max(0, kEnded.indexOf(column("how")[i]))),
      locality: Int8Array.from(from, (i) => (known(column("locality")[i]) ? column("locality")[i] : -1)),
      speculative: Uint8Array.from(from, (i) => (column("speculative")[i] ? 1 : 0)),
    };
    model.task = (at) => column("task")[from[at]];
    model.attempt = (at) => column("attempt")[from[at]];
    model.ofJob = (at, name) => report.text(report.array(jobs[name])[model.job[at]]);
    model.jobName = (at) => model.ofJob(at, "name") || (model.job[at] < 0 ? "?" : `job ${model.job[at]}`);
    return model;
  };

  // The first attempt of a row that has not ended by `time`; the attempts of a slot follow one another.
  const firstAfter = (model, row, time) => {
    let [low, high] = [row.first, row.first + row.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (model.end[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  const at = (model, row, time, reach) => {
    for (
      let i = firstAfter(model, row, time - reach);
      i < row.first + row.count && model.start[i] <= time + reach;
      i++
    ) {
      if (model.end[i] >= time - reach) return i;
    }
    return -1;
  };

  report.ganttRows = {build, firstAfter, at};
}
