// SPDX-License-Identifier: Apache-2.0
// Slots over time: a row for each node, a lane for each attempt that runs there at a time. The colour is that of the
// job; a reduce that copies is pale, one that waits for a permit is an outline; second attempts are hatched, and what
// ended without success is struck through in red.
import {html, useEffect, useMemo, useRef, useState} from "./preact.js";
import {duration, hue, instant} from "./format.js";
import {Chart, Dot, Pending, colour, useDark, useWidth} from "./pieces.js";
import {journal, load, link, now, useLink} from "./source.js";

/** @typedef {{job: number, kind: string, task: number, number: number, node: number, launched_at: number, copied_at: number|null,
 *   computing_at: number|null, ended_at: number|null, state: string, second: boolean}} Attempt */

const kMostKept = 60000;
const kBusyEvery = 10;  // events

/**
 * The attempts of the last seconds, of one job or all, kept up to date: only what has changed is asked for.
 * @param {string|null} parameters null: nothing is asked for yet @param {boolean} live
 */
export function useStream(parameters, live) {
  const [state, set] = useState({key: "", /** @type {Attempt[]|null} */ attempts: null, /** @type {Map<number, any>} */ jobs: new Map(), left_out: 0, jobs_left_out: 0, failure: "", version: 0, busy: null});
  const {ticks} = useLink();
  const memory = useRef({key: "", busy: false, sums: false, at: 0, version: 0, attempts: new Map(), jobs: new Map(), left_out: 0});
  useEffect(() => {
    const kept = memory.current;
    if (parameters === null) return;
    if (kept.key !== parameters) Object.assign(kept, {key: parameters, busy: false, sums: false, at: 0, version: 0, attempts: new Map(), jobs: new Map(), left_out: 0});
    if (kept.busy || (kept.version > 0 && (!live || !link.reachable))) return;
    // Of more than fit, only the sums over time are drawn, and these are asked for anew.
    if (kept.sums && ticks - kept.at < kBusyEvery) return;
    kept.busy = true;
    if (kept.sums) kept.version = 0;
    kept.at = ticks;
    const first = kept.version === 0, map = kept.attempts;
    load(`stream?${parameters}${first ? "" : `&since=${kept.version}`}`, false).then(({value}) => {
      if (kept.attempts !== map) return;
      kept.busy = false;
      // Columns have names, and their order may change.
      const at = Object.fromEntries(value.columns.map((column, i) => [column, i]));
      for (const row of value.attempts) {
        const attempt = /** @type {any} */ ({});
        for (const column of value.columns) attempt[column] = row[at[column]];
        map.set(`${attempt.job}.${attempt.kind}.${attempt.task}.${attempt.number}`, attempt);
      }
      for (const job of value.jobs) kept.jobs.set(job.job, job);
      // What ended before the time shown is of no use any more.
      const span = Number(/(?:^|&)last_s=(\d+)/.exec(parameters)?.[1] ?? Infinity), alive = new Set();
      for (const [key, attempt] of map) {
        if (attempt.ended_at !== null && attempt.ended_at < value.now_at - span) map.delete(key); else alive.add(attempt.job);
      }
      for (const job of kept.jobs.keys()) if (!alive.has(job)) kept.jobs.delete(job);
      while (map.size > kMostKept) map.delete(map.keys().next().value);
      if (first) {
        kept.left_out = value.left_out;
        kept.sums = value.busy !== null;
      }
      const changed = kept.version !== value.version;
      kept.version = value.version;
      if (changed || first) set({key: parameters, attempts: [...map.values()], jobs: new Map(kept.jobs), left_out: kept.left_out, jobs_left_out: value.jobs_left_out, failure: "", version: value.version, busy: value.busy});
    }, (failure) => {
      if (kept.attempts !== map) return;
      kept.busy = false;
      set((before) => ({...before, key: parameters, failure: String(failure.message)}));
    });
  }, [ticks, parameters, live]);
  return state.key === parameters ? state : {...state, attempts: null, failure: ""};
}

/** Gives every attempt a lane of its node, so that no two overlap. @param {Attempt[]} attempts @param {number} end */
export function layOut(attempts, end) {
  /** @type {Map<number, {node: number, ends: number[], from: number}>} */
  const nodes = new Map();
  const sorted = [...attempts].sort((a, b) => a.launched_at - b.launched_at);
  const lanes = new Map();
  for (const attempt of sorted) {
    let node = nodes.get(attempt.node);
    if (!node) nodes.set(attempt.node, node = {node: attempt.node, ends: [], from: 0});
    let lane = node.ends.findIndex((free) => free <= attempt.launched_at + 1e-6);
    if (lane < 0) lane = node.ends.push(0) - 1;
    node.ends[lane] = attempt.ended_at ?? end;
    lanes.set(attempt, lane);
  }
  const rows = [...nodes.values()].sort((a, b) => a.node - b.node);
  let from = 0;
  for (const row of rows) { row.from = from; from += row.ends.length; }
  return {rows, lanes, count: from, nodes};
}

/** How many slots are in use at each of some times. @param {Attempt[]} attempts @param {number} from @param {number} to */
export function useOverTime(attempts, from, to) {
  const points = 240, step = (to - from) / points;
  const lists = {maps: new Float64Array(points + 2), copy: new Float64Array(points + 2), wait: new Float64Array(points + 2), compute: new Float64Array(points + 2)};
  const add = (list, begin, end) => {
    if (end <= from || begin >= to) return;
    const first = Math.max(0, Math.ceil((begin - from) / step)), last = Math.min(points + 1, Math.ceil((end - from) / step));
    if (last > first) { list[first]++; list[last]--; }
  };
  for (const attempt of attempts) {
    const end = attempt.ended_at ?? to + step;
    if (attempt.kind === "m") { add(lists.maps, attempt.launched_at, end); continue; }
    const copied = attempt.copied_at ?? end, computing = attempt.computing_at ?? end;
    add(lists.copy, attempt.launched_at, copied);
    add(lists.wait, copied, computing);
    add(lists.compute, computing, end);
  }
  const times = [], out = {maps: [], copy: [], wait: [], compute: []};
  const sums = {maps: 0, copy: 0, wait: 0, compute: 0};
  for (let i = 0; i <= points; i++) {
    times.push(from + i * step);
    for (const key of Object.keys(out)) { sums[key] += lists[key][i]; out[key].push(sums[key]); }
  }
  return {times, ...out};
}

const kLeft = 64, kAxis = 18, kMostHeight = 420;

/** @param {CanvasRenderingContext2D} context @param {any} view */
function paint(context, {width, height, from, to, layout, attempts, lane, names, dark, scale}) {
  const text = colour("--faint"), lineColour = colour("--line"), bad = colour("--bad");
  const light = colour("--job-light");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const x = (at) => kLeft + (at - from) / (to - from) * (width - kLeft);
  context.font = "11px system-ui";
  context.textBaseline = "middle";
  // Rows.
  layout.rows.forEach((row, i) => {
    const top = row.from * lane + i * 3;
    context.fillStyle = lineColour;
    context.fillRect(0, top + row.ends.length * lane + 1, width, 1);
    if (row.ends.length * lane >= 11 || i % Math.ceil(12 / (row.ends.length * lane + 3)) === 0) {
      context.fillStyle = text;
      context.fillText(names(row.node), 2, top + row.ends.length * lane / 2, kLeft - 8);
    }
  });
  const tops = new Map(layout.rows.map((row, i) => [row.node, row.from * lane + i * 3]));
  // A browser takes long to read a colour, so each is read once, and set only where it changes.
  const colours = new Map();
  const coloursOf = (job) => {
    let found = colours.get(job);
    if (!found) colours.set(job, found = [`hsl(${hue(job)} 55% ${light})`, `hsl(${hue(job)} 55% ${light} / .35)`]);
    return found;
  };
  let filled = null;
  const fill = (style, left, top, wide, tall) => {
    if (style !== filled) context.fillStyle = filled = style;
    context.fillRect(left, top, wide, tall);
  };
  const tall = Math.max(1, lane - (lane > 4 ? 1 : 0));
  // Hatches are drawn once.
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const strokes = tile.getContext("2d");
  strokes.strokeStyle = dark ? "rgba(0,0,0,.75)" : "rgba(255,255,255,.85)";
  strokes.lineWidth = 1.6;
  strokes.beginPath();
  for (const shift of [-6, 0, 6]) { strokes.moveTo(shift, 6); strokes.lineTo(shift + 6, 0); }
  strokes.stroke();
  const hatch = context.createPattern(tile, "repeat");
  for (const attempt of attempts) {
    const end = attempt.ended_at ?? to;
    if (end < from || attempt.launched_at > to) continue;
    const top = tops.get(attempt.node) + layout.lanes.get(attempt) * lane;
    const [solid, pale] = coloursOf(attempt.job);
    const left = Math.max(kLeft, x(attempt.launched_at)), right = Math.max(left + 0.7, x(Math.min(end, to)) - (lane > 4 ? 0.6 : 0));
    if (right < kLeft) continue;
    if (attempt.kind === "m") {
      fill(solid, left, top, right - left, tall);
    } else {
      const copied = Math.min(right, Math.max(left, x(attempt.copied_at ?? end))), computing = Math.min(right, Math.max(copied, x(attempt.computing_at ?? end)));
      fill(pale, left, top, copied - left, tall);
      if (computing - copied > 1) {
        context.strokeStyle = solid;
        context.lineWidth = 1;
        context.strokeRect(copied + .5, top + .5, computing - copied - 1, Math.max(0.5, tall - 1));
      }
      fill(solid, computing, top, right - computing, tall);
    }
    if (attempt.second && right - left > 2) fill(hatch, left, top, right - left, tall);
    if (attempt.state !== "running" && attempt.state !== "succeeded") fill(bad, left, top + tall / 2 - .5, right - left, Math.min(tall, 1.5));
  }
  // Time.
  const bottom = height - kAxis, span = to - from;
  const step = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400].find((one) => span / one <= Math.max(2, (width - kLeft) / 90)) ?? 604800;
  const zone = new Date(from * 1000).getTimezoneOffset() * 60;
  for (let at = Math.ceil((from - zone) / step) * step + zone; at < to; at += step) {
    context.fillStyle = lineColour;
    context.fillRect(Math.round(x(at)), 0, 1, bottom);
    context.fillStyle = text;
    const date = new Date(at * 1000), pad = (n) => String(n).padStart(2, "0");
    const label = `${pad(date.getHours())}:${pad(date.getMinutes())}${step < 60 ? ":" + pad(date.getSeconds()) : ""}`;
    if (x(at) + 3 + context.measureText(label).width <= width) context.fillText(label, Math.round(x(at)) + 3, bottom + kAxis / 2 + 1);
  }
}

/** The sums over time of more attempts than can be drawn: the fuller, the more ran. @param {CanvasRenderingContext2D} context @param {any} view */
function paintSums(context, {width, height, busy, row, scale, job}) {
  const text = colour("--faint"), lineColour = colour("--line"), light = colour("--job-light");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui";
  context.textBaseline = "middle";
  const parts = Math.max(...busy.nodes.map((node) => Math.max(node.maps.length, node.reduces.length))), wide = (width - kLeft) / parts;
  const sum = (node, i) => (node.maps[i] ?? 0) + (node.reduces[i] ?? 0);
  const most = busy.nodes.reduce((all, node) => { for (let i = 0; i < parts; i++) all = Math.max(all, sum(node, i)); return all; }, 1);
  busy.nodes.forEach((node, n) => {
    context.fillStyle = text;
    if (n % Math.ceil(12 / row) === 0) context.fillText(`node ${node.node}`, 2, Math.max(6, n * row + row / 2), kLeft - 8);
    for (let i = 0; i < parts; i++) {
      const full = sum(node, i) / most;
      if (full <= 0) continue;
      context.fillStyle = `hsl(${hue(job)} 55% ${light} / ${(0.12 + 0.88 * full).toFixed(2)})`;
      context.fillRect(kLeft + i * wide, n * row, wide + .4, row - 1);
    }
  });
  const end = busy.from_at + parts * busy.part_s;
  context.fillStyle = lineColour;
  context.fillRect(kLeft, height - kAxis, width - kLeft, 1);
  context.fillStyle = text;
  context.fillText(instant(busy.from_at), kLeft, height - kAxis / 2);
  const last = instant(end);
  context.fillText(last, width - context.measureText(last).width - 2, height - kAxis / 2);
}

/** @param {{stream: any, job: number}} props */
export function Sums({stream, job}) {
  const box = useRef(null), canvas = useRef(null), width = useWidth(box), dark = useDark(), [told, tell] = useState("");
  const busy = stream.busy, row = Math.max(5, Math.min(14, Math.floor(560 / busy.nodes.length))), height = busy.nodes.length * row + kAxis + 2;
  useEffect(() => {
    if (width === 0) return;
    const scale = devicePixelRatio || 1;
    canvas.current.width = Math.round(width * scale);
    canvas.current.height = Math.round(height * scale);
    paintSums(canvas.current.getContext("2d"), {width, height, busy, row, scale, job});
  }, [busy, width, dark]);
  const lines = useMemo(() => {
    const parts = Math.max(...busy.nodes.map((node) => Math.max(node.maps.length, node.reduces.length))), times = [], maps = [], reduces = [];
    for (let i = 0; i < parts; i++) {
      times.push(busy.from_at + (i + .5) * busy.part_s);
      maps.push(busy.nodes.reduce((all, node) => all + (node.maps[i] ?? 0), 0));
      reduces.push(busy.nodes.reduce((all, node) => all + (node.reduces[i] ?? 0), 0));
    }
    return [times, maps, reduces];
  }, [busy]);
  const find = (event) => {
    const area = canvas.current.getBoundingClientRect(), node = busy.nodes[Math.floor((event.clientY - area.top) / row)], i = Math.floor((event.clientX - area.left - kLeft) / (width - kLeft) * lines[0].length);
    if (!node || i < 0 || i >= lines[0].length) return tell("");
    return tell(`node ${node.node} at ${instant(lines[0][i])}: ${(node.maps[i] ?? 0).toFixed(1)} maps and ${(node.reduces[i] ?? 0).toFixed(1)} reduces`);
  };
  return html`<${Chart} label="Its attempts over time" height=${110} data=${lines} series=${[{label: "maps", stroke: "--map", fill: "--map-pale"}, {label: "reduces", stroke: "--compute"}]}/>
    <div class="stream" ref=${box}><div class="scroll"><canvas ref=${canvas} tabindex="0" role="img" aria-label=${`How many attempts ran on each of ${busy.nodes.length} nodes over time`}
      style=${{width: `${width}px`, height: `${height}px`}} onMouseMove=${find} onMouseLeave=${() => tell("")}></canvas></div></div>
    <p class="told">${told || html`<span class="faint">The job has more attempts than can be drawn one by one: the fuller a place, the more of them ran on the node at that time.</span>`}</p>`;
}

/** @param {Attempt} attempt @param {Map<number, any>} jobs @param {number} end */
function inWords(attempt, jobs, end) {
  const name = jobs.get(attempt.job)?.name;
  const parts = [`${attempt.kind === "m" ? "map" : "reduce"} ${attempt.task} of job ${attempt.job}${name ? ` (${name})` : ""}, node ${attempt.node}`,
    `${attempt.state} after ${duration((attempt.ended_at ?? end) - attempt.launched_at)}, begun ${instant(attempt.launched_at)}`];
  if (attempt.kind === "r" && attempt.copied_at !== null) parts.push(`copied in ${duration(attempt.copied_at - attempt.launched_at)}`);
  if (attempt.kind === "r" && attempt.computing_at !== null && attempt.copied_at !== null && attempt.computing_at - attempt.copied_at > .05)
    parts.push(`waited ${duration(attempt.computing_at - attempt.copied_at)} to compute`);
  if (attempt.number > 0) parts.push(`attempt ${attempt.number}${attempt.second ? ", beside another one" : ""}`);
  return parts.join("; ");
}

/**
 * The task stream. `span`: seconds up to now, or the whole time of the attempts if it is 0.
 * @param {{stream: any, span: number, slots?: number, live: boolean, names?: (node: number) => string, until?: number|null}} props
 */
export function Stream({stream, span, slots, live, names = (node) => `node ${node}`, until}) {
  const box = useRef(null), canvas = useRef(null), painted = useRef({look: "", element: null}), width = useWidth(box), dark = useDark();
  const [told, tell] = useState(""), [zoom, setZoom] = useState({by: 1, back: 0});
  useLink();
  const attempts = stream.attempts ?? [];
  const end = until ?? now();
  const whole = span || Math.max(1, end - Math.min(end, ...(attempts.length > 50000 ? [attempts[0].launched_at] : attempts.map((one) => one.launched_at))));
  const to = end - zoom.back * whole / zoom.by, from = to - whole / zoom.by;
  const shown = useMemo(() => attempts.filter((one) => one.launched_at < to && (one.ended_at ?? end) > from), [stream.version, attempts.length, Math.floor(end), zoom, span]);
  const layout = useMemo(() => layOut(shown, end), [shown]);
  const lane = layout.count === 0 ? 10 : Math.max(2, Math.min(12, Math.floor((kMostHeight * 2 - layout.rows.length * 3) / layout.count)));
  const height = layout.count * lane + layout.rows.length * 3 + kAxis + 2;
  const view = {width, height, from, to, layout, attempts: shown, lane, names, dark, scale: devicePixelRatio || 1};
  useEffect(() => {
    const element = canvas.current, look = [width, height, from, to, stream.version, shown.length, dark].join();
    if (!element || width === 0 || (painted.current.look === look && painted.current.element === element)) return;
    painted.current = {look, element};
    element.width = Math.round(width * view.scale);
    element.height = Math.round(height * view.scale);
    paint(element.getContext("2d"), view);
  });
  /** @param {MouseEvent} event */
  const find = (event) => {
    const area = canvas.current.getBoundingClientRect(), px = event.clientX - area.left, py = event.clientY - area.top;
    const at = from + (px - kLeft) / (width - kLeft) * (to - from), slack = 2 / (width - kLeft) * (to - from);
    const i = layout.rows.findIndex((row, n) => py >= row.from * lane + n * 3 && py < (row.from + row.ends.length) * lane + n * 3 + 2);
    if (i < 0) return undefined;
    const wanted = Math.floor((py - i * 3) / lane) - layout.rows[i].from;
    return shown.find((one) => one.node === layout.rows[i].node && layout.lanes.get(one) === wanted && one.launched_at - slack <= at && (one.ended_at ?? end) + slack >= at);
  };
  const keys = (event) => {
    const change = {"+": [2, 0], "=": [2, 0], "-": [.5, 0], ArrowLeft: [1, .25], ArrowRight: [1, -.25], "0": [0, 0]}[event.key];
    if (!change) return;
    event.preventDefault();
    setZoom(({by, back}) => {
      const next = change[0] === 0 ? 1 : Math.max(1, Math.min(512, by * change[0]));
      return {by: next, back: change[0] === 0 ? 0 : Math.max(0, Math.min(next - 1, back * next / by + change[1]))};
    });
  };
  const series = useMemo(() => useOverTime(attempts, from, to), [stream.version, Math.floor(end), zoom, span]);
  const lines = useMemo(() => [series.times, series.maps, series.copy, series.wait, series.compute, ...(slots === undefined ? [] : [series.times.map(() => slots)])], [series, slots]);
  const drawn = [...new Set(shown.map((one) => one.job))].slice(0, 12);
  return html`
    <${Chart} label="Slots in use over time" height=${110} data=${lines} series=${[
      {label: "maps", stroke: "--map", fill: "--map-pale"}, {label: "reduces that copy", stroke: "--copy"}, {label: "that wait to compute", stroke: "--wait"},
      {label: "that compute", stroke: "--compute"}, ...(slots === undefined ? [] : [{label: "all slots", stroke: "--faint", dash: [4, 4]}])]}/>
    <div class="stream" ref=${box}>
      ${shown.length === 0 ? html`<p class="faint">Nothing ran in this time.</p>` : html`<div class="scroll"><canvas ref=${canvas} tabindex="0" role="img" aria-label=${`Task stream: ${shown.length} attempts on ${layout.rows.length} nodes, ${instant(from)} to ${instant(to)}. Keys: plus and minus zoom, left and right move, 0 shows all.`}
        style=${{width: `${width}px`, height: `${height}px`}} onKeyDown=${keys}
        onMouseMove=${(event) => { const found = find(event); tell(found ? inWords(found, stream.jobs, end) : ""); }} onMouseLeave=${() => tell("")}
        onClick=${(event) => { const found = find(event); if (found) location.hash = `#/job/${found.job}`; }}></canvas></div>`}
    </div>
    <p class="told">${told || html`<span class="faint">${drawn.map((job) => html`<a href=${`#/job/${job}`}><${Dot} job=${job}/>job ${job}</a> `)}solid: computes · pale: copies · outline: waits · hatched: second attempt · red: no success</span>`}</p>
    ${stream.left_out > 0 ? html`<p class="faint">${stream.left_out.toLocaleString("en")} attempts that began earlier are not drawn.</p>` : ""}
    ${stream.jobs_left_out > 0 ? html`<p class="faint">${stream.jobs_left_out} jobs that run have too many tasks to be drawn with the others; each has its own page.</p>` : ""}`;
}

/** The stream of the whole cluster, with a choice of how far back. @param {{slots?: number}} props */
export function ClusterStream({slots}) {
  // Of a journal all is shown at first, since its end may be idle.
  const [span, setSpan] = useState(journal ? 0 : 600);
  const stream = useStream(`${span === 0 ? "" : `last_s=${span}&`}limit=20000`, !journal);
  return html`<div class="choice" role="group" aria-label="Time shown">${[[120, "2 min"], [600, "10 min"], [3600, "1 h"], [21600, "6 h"], ...(journal ? [[0, "all"]] : [])].map(([seconds, text]) => html`
      <button aria-pressed=${span === seconds} onClick=${() => setSpan(seconds)}>${text}</button>`)}</div>
    ${stream.attempts === null ? html`<${Pending} of=${{value: null, failure: stream.failure}}/>` : html`<${Stream} key=${span} stream=${stream} span=${span} slots=${slots} live=${!journal}/>`}`;
}
