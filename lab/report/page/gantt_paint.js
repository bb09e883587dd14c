// Paints what is in sight of one run's slots onto a canvas. Pure: the same model and view give the same picture.
"use strict";
{
  const {firstAfter} = report.ganttRows;
  const kNames = 92; // pixels on the left, for the names of nodes
  const kAxis = 20; // pixels at the top, for the time

  // Twenty colours; a job has the one of its number. The first differ in lightness as well as in hue, so that a few can
  // be told apart without seeing all hues.
  const kHues = [212, 28, 165, 285, 46, 340, 192, 95, 245, 12, 130, 310, 70, 225, 20, 175, 265, 358, 150, 328];
  const kLights = [-6, 8, -8, 6, 2, -4, 12, 0];
  const kColours = kHues.length;
  const palette = (theme) =>
    kHues.map((hue, i) => {
      const light = theme.light + kLights[i % kLights.length] + (i >= kLights.length ? 3 : 0);
      const of = (alpha) => `hsla(${hue},${theme.dark ? 48 : 55}%,${light}%,${alpha})`;
      return {full: of(1), half: of(0.42), faint: of(0.12), ink: light > 54 ? "#10141b" : "#ffffff"};
    });

  const hatch = (context, theme) => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.strokeStyle = theme.back;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const shift of [-6, 0, 6]) {
      pen.moveTo(shift - 1, 7);
      pen.lineTo(shift + 7, -1);
    }
    pen.stroke();
    return context.createPattern(tile, "repeat");
  };
  const dots = (context, theme) => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 5;
    const pen = tile.getContext("2d");
    pen.fillStyle = theme.ink;
    pen.fillRect(1, 1, 1.4, 1.4);
    return context.createPattern(tile, "repeat");
  };

  // view: {from, to (seconds), top (pixels scrolled), rowHeight, width, height}. look: {theme, colourOf(at) -> number,
  // chosen: name of a job or null}. Returns how many attempts were painted.
  const paint = (context, model, view, look) => {
    const {theme} = look;
    const {from, to, top, rowHeight, width, height} = view;
    const colours = palette(theme);
    const [lines, points] = [hatch(context, theme), dots(context, theme)];
    const scale = (width - kNames) / (to - from);
    const x = (time) => kNames + (time - from) * scale;
    context.fillStyle = theme.back;
    context.fillRect(0, 0, width, height);

    const firstRow = Math.max(0, Math.floor(top / rowHeight));
    const lastRow = Math.min(model.rows.length, Math.ceil((top + height - kAxis) / rowHeight));
    context.save();
    context.beginPath();
    context.rect(kNames, kAxis, width - kNames, height - kAxis);
    context.clip();
    let painted = 0;
    const gap = rowHeight >= 5 ? 1 : rowHeight >= 3 ? 0.5 : 0;
    for (let r = firstRow; r < lastRow; r++) {
      const row = model.rows[r];
      const y = kAxis + r * rowHeight - top;
      const tall = rowHeight - gap;
      if (row.kind === "r") {
        context.fillStyle = theme.stripe;
        context.fillRect(kNames, y, width - kNames, rowHeight);
      }
      let covered = -1; // right end of what is painted: an attempt within it could not be seen
      for (let i = firstAfter(model, row, from); i < row.first + row.count && model.start[i] <= to; i++) {
        const left = x(model.start[i]);
        const right = Math.max(left + 0.8, x(model.end[i]));
        if (right <= covered) continue;
        covered = right < left + 1 ? left + 1 : right;
        painted++;
        context.globalAlpha = look.chosen !== null && model.jobName(i) !== look.chosen ? 0.13 : 1;
        attempt(
          context,
          model,
          i,
          {left, right, y, tall, x},
          colours[look.colourOf(i) % kColours],
          theme,
          lines,
          points,
        );
      }
    }
    context.globalAlpha = 1;
    context.restore();
    names(context, model, view, theme, firstRow, lastRow);
    axis(context, view, theme, x);
    return painted;
  };

  const attempt = (context, model, i, {left, right, y, tall, x}, colour, theme, lines, points) => {
    const wide = right - left >= 5 && tall >= 3;
    const fill = (a, b, style) => {
      if (b <= a) return;
      context.fillStyle = style;
      context.fillRect(a, y, b - a, tall);
    };
    if (!model.reduce[i]) {
      fill(left, right, colour.full);
    } else {
      const read = Math.min(right, Number.isFinite(model.read[i]) ? x(model.read[i]) : right);
      const compute = Math.min(
        right,
        Number.isFinite(model.compute[i]) ? x(model.compute[i]) : Number.isFinite(model.read[i]) ? read : right,
      );
      fill(left, read, wide ? colour.full : colour.half);
      if (wide) fill(left, read, lines);
      fill(read, compute, colour.faint);
      if (wide) fill(read, compute, points);
      fill(compute, right, colour.full);
      if (wide && right > compute) {
        context.fillStyle = theme.ink;
        context.fillRect(compute, y, right - compute, Math.max(1, tall * 0.16));
      }
    }
    if (wide && model.ended[i] !== 0) {
      context.strokeStyle = theme.ink;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(left, y + tall);
      context.lineTo(right, y);
      if (model.ended[i] === 1) {
        context.moveTo(left, y);
        context.lineTo(right, y + tall);
      }
      context.stroke();
    }
    if (wide) {
      context.strokeStyle = theme.back;
      context.lineWidth = 0.6;
      context.strokeRect(left, y, right - left, tall);
      if (model.speculative[i]) {
        context.strokeStyle = theme.ink;
        context.setLineDash([3, 2]);
        context.strokeRect(left + 0.8, y + 0.8, Math.max(0, right - left - 1.6), tall - 1.6);
        context.setLineDash([]);
      }
    }
    if (tall >= 11 && right - left > 46) {
      const visible = Math.max(left, kNames);
      const from =
        model.reduce[i] && Number.isFinite(model.compute[i]) ? Math.max(visible, x(model.compute[i])) : visible;
      const name = model.jobName(i);
      const room = Math.floor((right - from - 6) / 5.8); // letters
      if (room >= Math.min(name.length, 10)) {
        context.font = "10px system-ui, sans-serif";
        context.fillStyle = colour.ink;
        context.fillText(report.format.short(name, room), from + 3, y + tall / 2 + 3.5);
      }
    }
  };

  const names = (context, model, view, theme, firstRow, lastRow) => {
    context.fillStyle = theme.back;
    context.fillRect(0, 0, kNames, view.height);
    context.font = "11px system-ui, sans-serif";
    let free = kAxis - 2; // first height at which a name may stand
    for (let r = firstRow; r < lastRow; r++) {
      const row = model.rows[r];
      const starts = r === 0 || model.rows[r - 1].node !== row.node || model.rows[r - 1].kind !== row.kind;
      const y = kAxis + r * view.rowHeight - view.top;
      if (!starts) continue;
      const node = r === 0 || model.rows[r - 1].node !== row.node;
      if (node) {
        context.fillStyle = theme.line;
        context.fillRect(0, y, view.width, view.rowHeight >= 3 ? 1 : 0.4);
      }
      // The name of the next node goes before the word for its reduces.
      if (y < free || y + 10 > view.height || (!node && view.rowHeight < 12)) continue;
      context.fillStyle = node ? theme.ink : theme.quiet;
      context.fillText(node ? report.format.short(row.name, 13) : "   reduces", 4, y + 10);
      free = y + 12;
    }
  };

  const axis = (context, view, theme, x) => {
    context.fillStyle = theme.back;
    context.fillRect(0, 0, view.width, kAxis);
    const unit = report.format.unit("s", view.to);
    const scale = d3.scaleLinear().domain([view.from / unit.factor, view.to / unit.factor]);
    const ticks = scale.ticks(Math.max(2, Math.floor((view.width - kNames) / 85)));
    const write = scale.tickFormat(ticks.length);
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    for (const tick of ticks) {
      const at = x(tick * unit.factor);
      if (at < kNames || at > view.width) continue;
      context.fillStyle = theme.line;
      context.fillRect(at, kAxis - 4, 1, 4);
      context.fillStyle = theme.quiet;
      if (at < view.width - 14) context.fillText(write(tick), at, kAxis - 7);
    }
    context.textAlign = "left";
    context.fillStyle = theme.quiet;
    context.fillText(`time, ${unit.name}`, 4, kAxis - 7);
    context.fillStyle = theme.line;
    context.fillRect(0, kAxis - 1, view.width, 1);
  };

  const swatch = (theme, number) => palette(theme)[number % kColours].full;

  report.ganttPaint = {paint, swatch, kNames, kAxis, kColours};
}
