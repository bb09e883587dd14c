// The clock that the panels of the chart of slots share: which part of it is in sight, and what else is one for all of
// them.
"use strict";
{
  const {kNames} = report.ganttPaint;
  const kDeepest = 5000; // times that the whole run is magnified at most
  const kTallest = 16; // times that rows are taller than where all fit

  class Clock {
    constructor(end) {
      this.end = end; // seconds
      this.transform = d3.zoomIdentity; // of the pixels of a panel, as d3.zoom gives it
      this.rows = 1; // times the height at which all rows fit
      this.colouring = null; // (model) -> (attempt) -> number of a colour
      this.chosen = null; // the name of the job that is seen alone
      this.printing = false;
      this.panels = [];
      this.frame = 0;
    }
    // Returns the first and the last second in sight of a panel that is `width` pixels wide.
    Sight(width) {
      const {k, x} = this.transform;
      const from = ((kNames - x) / k - kNames) / Math.max(1, width - kNames);
      const first = Math.min(Math.max(0, from), 1 - 1 / k) * this.end;
      return [first, first + this.end / k];
    }
    // Paints all panels before the next picture, once for however many changes.
    Changed() {
      if (this.frame !== 0) return;
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.panels.forEach((panel) => panel.Paint());
      });
    }
    Show(transform) {
      this.transform = transform;
      this.panels.forEach((panel) => panel.Remember(transform));
      this.Changed();
    }
    // Zooms about the middle of what is in sight.
    Zoom(factor) {
      const {k, x} = this.transform;
      const scale = Math.min(kDeepest, Math.max(1, k * factor));
      const middle = (kNames + this.Width()) / 2;
      this.Place(scale, middle - ((middle - x) / k) * scale);
    }
    // Moves by a share of what is in sight.
    Move(share) {
      this.Place(this.transform.k, this.transform.x - share * (this.Width() - kNames));
    }
    Reset() {
      this.Place(1, 0);
    }
    // Shows one job alone, or all for null.
    Choose(name) {
      this.chosen = name;
      this.Changed();
    }
    Stretch(factor) {
      this.rows = Math.min(kTallest, Math.max(1, this.rows * factor));
      this.panels.forEach((panel) => panel.Fit());
    }
    Print(printing) {
      this.printing = printing;
      this.panels.forEach((panel) => panel.Fit());
    }
    Width() {
      return this.panels.find((panel) => panel.width)?.width ?? 800;
    }
    // No second before the start or after the end comes into sight.
    Place(scale, x) {
      const within = Math.min(kNames * (1 - scale), Math.max(this.Width() * (1 - scale), x));
      this.Show(d3.zoomIdentity.translate(within, 0).scale(scale));
    }
  }

  report.ganttClock = {Clock, kDeepest};
}
