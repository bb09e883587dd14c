// Every slot of the cluster over time, the schedulers below each other on one clock: zoom, pan, pointer and keys.
"use strict";
{
  const {format, look} = report;
  const {make, behind, table, tip, follow, redrawNow} = report.chart;
  const {build, at} = report.ganttRows;
  const {paint, kNames, kAxis} = report.ganttPaint;
  const kWords = [
    "ended well",
    "failed",
    "was killed",
    "was lost with its node",
    "was preempted",
    "still ran at the end",
  ];

  // What is one for all panels: the part of the clock in sight, the height of rows, the colours, the job that was
  // picked.
  class Clock {
    constructor(models) {
      this.end = d3.max(models, ({makespan}) => makespan) || 1;
      this.transform = d3.zoomIdentity;
      this.colour = "job";
      this.rows = 1; // times the height at which all rows fit
      this.chosen = null;
      this.printing = false;
      this.panels = [];
      this.frame = 0;
    }
    // Seconds in sight of a panel that is `width` pixels wide.
    Sight(width) {
      const room = Math.max(1, width - kNames);
      const {k, x} = this.transform;
      const from = Math.min(Math.max(0, ((kNames - x) / k - kNames) / room), 1 - 1 / k) * this.end;
      return [from, from + this.end / k];
    }
    Changed() {
      if (this.frame === 0) {
        this.frame = requestAnimationFrame(() => {
          this.frame = 0;
          this.panels.forEach((panel) => panel.Paint());
        });
      }
    }
  }

  // A number for the colour of an attempt. Equal names have equal colours under every scheduler.
  const colouring = (models) => {
    const numbers = new Map();
    const number = (name) => {
      if (!numbers.has(name)) numbers.set(name, numbers.size);
      return numbers.get(name);
    };
    for (const model of models) {
      const names = report.array(report.object(model.detail.jobs).name);
      model.jobNumber = Int32Array.from(model.job, (job) => number(`job ${names[job] ?? job}`));
    }
    const by = {
      job: (model) => (i) => model.jobNumber[i],
      locality: (model) => (i) => (model.reduce[i] ? 4 : model.locality[i] < 0 ? 5 : model.locality[i]),
    };
    for (const name of ["pool", "user", "group"]) {
      const seen = new Map();
      by[name] = (model) => (i) => {
        const value = model.ofJob(i, name);
        if (!seen.has(value)) seen.set(value, seen.size);
        return seen.get(value);
      };
    }
    return by;
  };

  const words = (model, i) => {
    const kind = model.reduce[i] ? "reduce" : "map";
    const lines = [
      `${kind} ${report.text(model.task(i), "?")} of ${model.jobName(i)}, attempt ` +
        `${report.text(model.attempt(i), "?")}${model.speculative[i] ? " (speculative)" : ""}`,
    ];
    const owner = [
      ["pool", model.ofJob(i, "pool")],
      ["user", model.ofJob(i, "user")],
      ["class", model.ofJob(i, "group")],
    ].filter(([, value]) => value);
    if (owner.length > 0) lines.push(owner.map(([name, value]) => `${name} ${value}`).join(", "));
    lines.push(
      `${format.figures(model.start[i], 4)} s to ${format.figures(model.end[i], 4)} s: ` +
        `${format.seconds(model.end[i] - model.start[i])}, ${kWords[model.ended[i]]}`,
    );
    if (!model.reduce[i]) {
      if (Number.isFinite(model.read[i]))
        lines.push(`its input was there after ${format.seconds(model.read[i] - model.start[i])}`);
      if (model.locality[i] >= 0) lines.push(`read from: ${look.kDistances[model.locality[i]] ?? "?"}`);
    } else if (Number.isFinite(model.read[i])) {
      const compute = Number.isFinite(model.compute[i]) ? model.compute[i] : model.read[i];
      lines.push(
        `copied ${format.seconds(model.read[i] - model.start[i])}, waited ` +
          `${format.seconds(compute - model.read[i])} for a permit, computed ` +
          `${format.seconds(Math.max(0, model.end[i] - compute))}`,
      );
    }
    return lines.join("\n");
  };

  class Panel {
    constructor(clock, model, colours, most) {
      this.clock = clock;
      this.model = model;
      this.colours = colours;
      this.most = most; // pixels that the rows may take
      this.canvas = make("canvas", {role: "img", "aria-label": this.Label()});
      this.spacer = make("div");
      this.element = make(
        "div",
        {
          class: "panel",
          tabindex: 0,
          role: "group",
          "aria-label":
            "Slots over time. Keys: plus and minus zoom, left and right move, 0 shows all, up and down scroll.",
        },
        [this.canvas, this.spacer],
      );
      this.element.addEventListener("scroll", () => this.Paint());
      this.element.addEventListener("keydown", (event) => this.Key(event));
      this.canvas.addEventListener("pointermove", (event) => this.Hover(event));
      this.canvas.addEventListener("pointerleave", (event) => tip(event, null));
      this.canvas.addEventListener("click", (event) => this.Pick(event));
      follow(this.element, () => this.Fit());
      this.zoom = d3
        .zoom()
        .scaleExtent([1, 5000])
        .filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : !event.button))
        .wheelDelta((event) => -event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.004))
        .on("zoom", (event) => {
          if (!event.sourceEvent) return;
          this.clock.transform = event.transform;
          this.clock.panels.forEach((panel) => {
            panel.canvas.__zoom = event.transform;
          });
          tip(event.sourceEvent, null);
          this.clock.Changed();
        });
      d3.select(this.canvas).call(this.zoom);
    }
    Label() {
      const {model} = this;
      return `${model.count} attempts in ${model.rows.length} slots over ${format.seconds(model.makespan)}`;
    }
    get rowHeight() {
      const fitting = Math.min(
        14,
        Math.max(this.clock.printing ? 0.5 : 1.5, this.most / Math.max(1, this.model.rows.length)),
      );
      return Math.min(40, fitting * this.clock.rows);
    }
    // Follows a change of the width or of the height of rows.
    Fit() {
      this.width = this.element.clientWidth;
      const all = this.model.rows.length * this.rowHeight;
      this.height = Math.ceil(Math.min(all, this.most)) + kAxis;
      this.element.style.height = `${this.height + 2}px`;
      this.spacer.style.height = `${Math.max(0, all + kAxis - this.height)}px`;
      const dense = this.clock.printing ? 2 : Math.min(3, devicePixelRatio || 1);
      this.canvas.width = Math.max(1, Math.round(this.width * dense));
      this.canvas.height = Math.max(1, Math.round(this.height * dense));
      this.canvas.style.height = `${this.height}px`;
      this.dense = dense;
      const sight = [
        [kNames, 0],
        [Math.max(kNames + 1, this.width), this.height],
      ];
      this.zoom.extent(sight).translateExtent(sight);
      this.Paint();
    }
    Paint() {
      if (!this.width) return;
      const [from, to] = this.clock.Sight(this.width);
      const context = this.canvas.getContext("2d");
      context.setTransform(this.dense, 0, 0, this.dense, 0, 0);
      const view = {
        from,
        to,
        top: this.element.scrollTop,
        rowHeight: this.rowHeight,
        width: this.width,
        height: this.height,
      };
      this.element.dataset.painted = paint(context, this.model, view, {
        theme: look.theme(this.clock.printing),
        colourOf: this.colours[this.clock.colour](this.model),
        chosen: this.clock.chosen,
      });
      this.element.dataset.from = from;
      this.element.dataset.to = to;
    }
    // The attempt under the pointer, or -1.
    Find(event) {
      const {left, top} = this.canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - left - kNames, event.clientY - top - kAxis + this.element.scrollTop];
      const row = this.model.rows[Math.floor(y / this.rowHeight)];
      if (x < 0 || event.clientY - top < kAxis || !row) return -1;
      const [from, to] = this.clock.Sight(this.width);
      const second = (to - from) / Math.max(1, this.width - kNames); // per pixel
      return at(this.model, row, from + x * second, 1.5 * second);
    }
    Hover(event) {
      const found = event.buttons ? -1 : this.Find(event);
      tip(event, found < 0 ? null : words(this.model, found));
    }
    Pick(event) {
      const found = this.Find(event);
      const name = found < 0 ? null : this.model.jobName(found);
      this.clock.Choose(name === this.clock.chosen ? null : name);
    }
    Key(event) {
      const act = {
        "+": () => this.clock.Zoom(1.6),
        "=": () => this.clock.Zoom(1.6),
        "-": () => this.clock.Zoom(1 / 1.6),
        0: () => this.clock.Reset(),
        ArrowLeft: () => this.clock.Move(-0.2),
        ArrowRight: () => this.clock.Move(0.2),
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    }
  }

  // Zooming and moving without a pointer: about the middle of what is in sight.
  const steer = (clock) => {
    const width = () => clock.panels.find((panel) => panel.width)?.width ?? 800;
    const put = (k, x) => {
      const scale = Math.min(5000, Math.max(1, k));
      const within = Math.min(kNames * (1 - scale), Math.max(width() * (1 - scale), x));
      clock.transform = d3.zoomIdentity.translate(within, 0).scale(scale);
      clock.panels.forEach((panel) => {
        panel.canvas.__zoom = clock.transform;
      });
      clock.Changed();
    };
    clock.Zoom = (factor) => {
      const {k, x} = clock.transform;
      const scale = Math.min(5000, Math.max(1, k * factor));
      const middle = (kNames + width()) / 2;
      put(scale, middle - ((middle - x) / k) * scale);
    };
    clock.Move = (share) => put(clock.transform.k, clock.transform.x - share * (width() - kNames));
    clock.Reset = () => put(1, 0);
  };

  const summary = (data, models) =>
    table(
      [
        {title: "scheduler"},
        {title: "seed"},
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
        const count = (test) => format.figures(all.filter(test).length);
        return [
          data.names[model.detail.scheduler],
          report.text(model.detail.seed, format.kMissing),
          format.seconds(model.makespan),
          format.figures(model.rows.length),
          format.figures(maps.length),
          mean(maps, (i) => model.end[i] - model.start[i]),
          format.figures(reduces.length),
          mean(reduces, (i) => model.read[i] - model.start[i]),
          mean(reduces, (i) => model.compute[i] - model.read[i]),
          mean(reduces, (i) => model.end[i] - model.compute[i]),
          count((i) => model.speculative[i]),
          count((i) => model.ended[i] === 1),
          count((i) => [2, 3, 4].includes(model.ended[i])),
        ];
      }),
    );

  const legend = () =>
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

  const bar = (clock, redraw) => {
    const button = (text, label, act) =>
      make("button", {type: "button", "aria-label": label, title: label, onclick: act}, text);
    const select = make(
      "select",
      {
        onchange: () => {
          clock.colour = select.value;
          clock.Changed();
        },
      },
      ["job", "pool", "user", "group", "locality"].map((name) =>
        make("option", {value: name}, name === "group" ? "class of jobs" : name),
      ),
    );
    const picked = make("span", {"aria-live": "polite"});
    clock.Choose = (name) => {
      clock.chosen = name;
      picked.textContent = name === null ? "" : `Picked: ${format.short(name, 40)} (click it again to see all)`;
      clock.Changed();
    };
    const rows = (factor) => () => {
      clock.rows = Math.min(16, Math.max(1, clock.rows * factor));
      redraw();
    };
    return make("div", {class: "bar", role: "group", "aria-label": "What the chart of slots shows"}, [
      button("+", "Zoom in", () => clock.Zoom(1.6)),
      button("−", "Zoom out", () => clock.Zoom(1 / 1.6)),
      button("◀", "Earlier", () => clock.Move(-0.3)),
      button("▶", "Later", () => clock.Move(0.3)),
      button("All", "Show the whole run", () => clock.Reset()),
      button("Taller rows", "Taller rows", rows(1.6)),
      button("Flatter rows", "Flatter rows", rows(1 / 1.6)),
      make("label", {}, ["Colour by ", select]),
      picked,
    ]);
  };

  const draw = (data) => {
    const nodes = report.array(data.cluster.nodes);
    const models = data.details
      .map((detail) => build(detail, nodes))
      .filter(({count}) => count > 0)
      .sort((a, b) => a.detail.scheduler - b.detail.scheduler);
    if (models.length === 0) return null;
    const seeds = new Set(models.map(({detail}) => report.text(detail.seed)));
    const section = report.chart.section(
      "slots",
      "Slots",
      "Every slot over time",
      "A row is one slot of a node, a box one attempt of a task in it; the schedulers are below each other " +
        "on one clock, so that less width is an earlier end, and a gap is an idle slot. Slots of reduces are " +
        "on a shaded ground. " +
        "Drag to move; turn the wheel with Ctrl held, or use the buttons, to zoom; point at a box to read " +
        "it; click it to see its job alone. " +
        (seeds.size > 1
          ? "Each scheduler shows its run of median mean turnaround, of a seed of its own."
          : "It is the run of median mean turnaround."),
    );
    const clock = new Clock(models);
    steer(clock);
    const colours = colouring(models);
    const most = models.length <= 3 ? 330 : 220;
    clock.panels = models.map((model) => new Panel(clock, model, colours, most));
    const redraw = () => clock.panels.forEach(({element}) => redrawNow(element));
    section.append(
      legend(),
      bar(clock, redraw),
      ...models.map((model, i) =>
        make("figure", {class: "keep"}, [
          make(
            "figcaption",
            {},
            `${data.names[model.detail.scheduler]}: ${format.counted(model.count, "attempt")}, makespan ` +
              `${format.seconds(model.makespan)}, seed ${report.text(model.detail.seed, "unknown")}`,
          ),
          clock.panels[i].element,
        ]),
      ),
      behind("The numbers behind it", () => summary(data, models)),
    );
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => clock.Changed());
    const print = (printing) => () => {
      clock.printing = printing;
      clock.panels.forEach((panel) => panel.width && panel.Fit());
    };
    addEventListener("beforeprint", print(true));
    addEventListener("afterprint", print(false));
    return section;
  };

  report.gantt = {draw};
}
