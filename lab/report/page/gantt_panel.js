// The slots of one run on a canvas, as much of them as the clock has in sight. The canvas stays in place while the
// element around it scrolls, and paints the rows that have come into sight.
"use strict";
{
  const {format, look} = report;
  const {make, tip, follow} = report.chart;
  const {at} = report.ganttRows;
  const {paint, kNames, kAxis} = report.ganttPaint;
  const {kDeepest} = report.ganttClock;
  const kWords = [
    "ended well",
    "failed",
    "was killed",
    "was lost with its node",
    "was preempted",
    "still ran at the end",
  ];

  // What the tip says of an attempt.
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
      `${format.seconds(model.start[i])} to ${format.seconds(model.end[i])}: ` +
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
    constructor(clock, model, most, picked) {
      this.clock = clock;
      this.model = model;
      this.picked = picked; // is told the name of a job that is clicked at, or null
      this.most = most; // pixels that the rows may take
      this.canvas = make("canvas", {
        role: "img",
        "aria-label": `${model.count} attempts in ${model.rows.length} slots over ${format.seconds(model.makespan)}`,
      });
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
        .scaleExtent([1, kDeepest])
        .filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : !event.button))
        .wheelDelta((event) => -event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.004))
        .on("zoom", (event) => {
          if (!event.sourceEvent) return;
          tip(event.sourceEvent, null);
          this.clock.Show(event.transform);
        });
      d3.select(this.canvas).call(this.zoom);
    }
    get rowHeight() {
      const fitting = Math.min(
        14,
        Math.max(this.clock.printing ? 0.5 : 1.5, this.most / Math.max(1, this.model.rows.length)),
      );
      return Math.min(40, fitting * this.clock.rows);
    }
    // Goes on zooming from here: d3.zoom keeps what it has shown with the element.
    Remember(transform) {
      this.canvas.__zoom = transform;
    }
    // Follows a change of the width, of the height of rows, or of what it is drawn for.
    Fit() {
      this.width = this.element.clientWidth;
      if (!this.width) return;
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
        colourOf: this.clock.colouring(this.model),
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
      this.picked(name === this.clock.chosen ? null : name);
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

  report.ganttPanel = {Panel};
}
