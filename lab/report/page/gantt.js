// Every slot of the cluster over time, the schedulers below each other on one clock.
"use strict";
{
  const {format, look} = report;
  const {make, behind, table} = report.chart;
  const {kColours, swatch} = report.ganttPaint;
  const kBy = [
    ["job", "job"],
    ["pool", "pool"],
    ["user", "user"],
    ["group", "class of jobs"],
    ["locality", "distance from the input"],
  ];

  // Gives each value of the attempts a number, the same one under every scheduler. Returns {of(model)(attempt),
  // values}.
  const numbering = (by) => {
    if (by === "locality") {
      const place = (model, i) => (model.reduce[i] ? 4 : model.locality[i] < 0 ? 5 : model.locality[i]);
      return {of: (model) => (i) => place(model, i), values: [...look.kDistances, "reduces", "not known"]};
    }
    const values = [];
    const numbers = new Map();
    const number = (value) => {
      if (!numbers.has(value)) {
        numbers.set(value, values.length);
        values.push(value);
      }
      return numbers.get(value);
    };
    const models = new Map(); // those that were asked for, with the number of each of their jobs
    const ofJobs = (model) => {
      if (!models.has(model))
        models.set(
          model,
          d3.rollup(
            d3.range(model.count),
            ([i]) => number(by === "job" ? model.jobName(i) : model.ofJob(i, by)),
            (i) => model.job[i],
          ),
        );
      return models.get(model);
    };
    return {of: (model) => (i) => ofJobs(model).get(model.job[i]), values};
  };

  const summary = (data, models) =>
    table(
      [
        {title: "scheduler"},
        {title: "makespan", number: true},
        {title: "slots used", number: true},
        {title: "maps", number: true},
        {title: "mean map", number: true},
        {title: "reduces", number: true},
        {title: "mean copying", number: true},
        {title: "mean wait for a permit", number: true},
        {title: "mean computing", number: true},
        {title: "speculative", number: true},
        {title: "failed", number: true},
        {title: "killed, lost or preempted", number: true},
      ],
      models.map((model) => {
        const all = d3.range(model.count);
        const [maps, reduces] = [all.filter((i) => !model.reduce[i]), all.filter((i) => model.reduce[i])];
        const mean = (list, value) => format.seconds(d3.mean(list, value) ?? null);
        const count = (test) => format.count(all.filter(test).length);
        return [
          data.names[model.detail.scheduler],
          format.seconds(model.makespan),
          format.count(model.rows.length),
          format.count(maps.length),
          mean(maps, (i) => model.end[i] - model.start[i]),
          format.count(reduces.length),
          mean(reduces, (i) => model.read[i] - model.start[i]),
          mean(reduces, (i) => model.compute[i] - model.read[i]),
          mean(reduces, (i) => model.end[i] - model.compute[i]),
          count((i) => model.speculative[i]),
          count((i) => model.ended[i] === 1),
          count((i) => [2, 3, 4].includes(model.ended[i])),
        ];
      }),
    );

  const marks = () =>
    make(
      "ul",
      {class: "key"},
      [
        ["map", "map"],
        ["copy", "reduce: copying"],
        ["permit", "reduce: waiting for a permit"],
        ["compute", "reduce: computing"],
        ["ended", "one stroke: killed, lost or preempted; crossed: failed; dashed frame: speculative"],
      ].map(([name, text]) => make("li", {}, [make("span", {class: `swatch ${name}`}), text])),
    );

  // What the colours mean, where they are few enough to be told apart.
  const colours = (values) =>
    values.length > kColours
      ? []
      : values.map((value, i) => {
          const mark = make("span", {class: "swatch"});
          mark.style.background = swatch(look.theme(false), i);
          return make("li", {}, [mark, value || "none"]);
        });

  let by = kBy[0][0]; // by what the boxes are coloured, also when another seed is chosen
  let current = null; // {clock, colour} of the seed that is shown

  const bar = (clock, models, picked) => {
    const button = (text, name, act) =>
      make("button", {type: "button", "aria-label": name, title: name, onclick: act}, text);
    const list = make("ul", {class: "key"});
    const colour = () => {
      by = select.value;
      const {of, values} = numbering(by);
      models.forEach((model) => d3.range(model.count).forEach(of(model)));
      clock.colouring = of;
      list.replaceChildren(...(by === "job" ? [] : colours(values)));
      clock.Changed();
    };
    const select = make(
      "select",
      {class: "by", onchange: colour},
      kBy.map(([value, name]) => make("option", {value, selected: value === by}, name)),
    );
    current = {clock, colour};
    colour();
    return [
      make("div", {class: "bar", role: "group", "aria-label": "What the chart of slots shows"}, [
        button("+", "Zoom in", () => clock.Zoom(1.6)),
        button("−", "Zoom out", () => clock.Zoom(1 / 1.6)),
        button("◀", "Earlier", () => clock.Move(-0.3)),
        button("▶", "Later", () => clock.Move(0.3)),
        button("All", "Show the whole run", () => clock.Reset()),
        button("Taller rows", "Taller rows", () => clock.Stretch(1.6)),
        button("Flatter rows", "Flatter rows", () => clock.Stretch(1 / 1.6)),
        make("label", {}, ["Colour by ", select]),
        picked,
      ]),
      list,
    ];
  };

  const kHow =
    "A row is one slot of a node, a box one attempt of a task in it. The schedulers are below each other on one " +
    "clock, with the same jobs: a narrower chart ended earlier, and a gap is an idle slot. Slots of reduces are on a " +
    "shaded ground. Drag to move; turn the wheel with Ctrl held, or use the buttons, to zoom; point at a box to read " +
    "it; click it to see its job alone.";

  const draw = (data) => {
    const nodes = report.array(data.cluster.nodes);
    const models = new Map(); // those that were made, by member of `details`
    const modelOf = (detail) => {
      if (!models.has(detail)) models.set(detail, report.ganttRows.build(detail, nodes));
      return models.get(detail);
    };
    const section = report.pictures.section(data, {
      id: "slots",
      name: "Slots",
      title: "Every slot over time",
      how: kHow,
      usable: (detail) => report.array(report.object(detail.tasks).start).some(format.known),
      fill: (details) => fill(data, details.map(modelOf)),
    });
    if (section === null) return null;
    addEventListener("beforeprint", () => current.clock.Print(true));
    addEventListener("afterprint", () => current.clock.Print(false));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => current.colour());
    return section;
  };

  const fill = (data, models) => {
    const clock = new report.ganttClock.Clock(d3.max(models, ({makespan}) => makespan) || 1);
    const picked = make("span", {"aria-live": "polite"});
    const pick = (name) => {
      clock.Choose(name);
      picked.textContent = name === null ? "" : `Picked: ${format.short(name, 40)} (click it again to see all)`;
    };
    const most = models.length <= 3 ? 330 : 220;
    clock.panels = models.map((model) => new report.ganttPanel.Panel(clock, model, most, pick));
    const caption = ({detail, count, makespan}) =>
      `${data.names[detail.scheduler]}: ${format.counted(count, "attempt")}, makespan ` +
      `${format.seconds(makespan)}, ${report.pictures.seedOf(detail)}`;
    return [
      marks(),
      ...bar(clock, models, picked),
      ...clock.panels.map(({model, element}) =>
        make("figure", {class: "keep"}, [make("figcaption", {}, caption(model)), element]),
      ),
      behind("The numbers behind it", () => summary(data, models)),
    ];
  };

  report.gantt = {draw};
}
