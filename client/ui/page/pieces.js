// SPDX-License-Identifier: Apache-2.0
// Small parts that several views have.
import {html, useEffect, useLayoutEffect, useRef, useState} from "./preact.js";
import uPlot from "./uplot.js";
import {hue, percent} from "./format.js";

/** @param {{title: string, note?: any, children?: any, id: string}} props */
export const Section = ({title, note, children, id}) => html`
  <section id=${id} aria-labelledby=${id + "-title"}>
    <header><h2 id=${id + "-title"}>${title}</h2>${note && html`<div class="note">${note}</div>`}</header>
    ${children}
  </section>`;

/** What is shown in place of a document that has not come. @param {{of: {value: any, failure: string}}} props */
export const Pending = ({of}) => of.failure ? html`<p class="failure" role="alert">${of.failure}</p>` : html`<p class="faint">asking …</p>`;

/** @param {{fraction: number, label: string, job?: number, state?: string}} props */
export const Bar = ({fraction, label, job, state}) => html`
  <div class=${"bar " + (state ?? "")} role="progressbar" aria-label=${label} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${Math.floor(fraction * 100)}>
    <div class="track"><div class="filled" style=${{width: `${fraction * 100}%`, ...(job === undefined ? {} : {background: `hsl(${hue(job)} 55% var(--job-light))`})}}></div></div>
    <span class="figures">${percent(fraction)}</span>
  </div>`;

/** @param {{job: number}} props */
export const Dot = ({job}) => html`<i class="dot" aria-hidden="true" style=${{background: `hsl(${hue(job)} 55% var(--job-light))`}}></i>`;

/** @param {{state: string}} props */
export const State = ({state}) => html`<span class=${"state " + state.replace(/[^a-z]/g, "-")}>${state}</span>`;

/**
 * A bar of parts that add up to a whole, with its legend.
 * @param {{parts: {name: string, value: number, kind: string}[], text: (value: number) => string}} props
 */
export function Parts({parts, text}) {
  const sum = parts.reduce((all, part) => all + part.value, 0);
  return html`<div class="parts">
    <div class="whole" aria-hidden="true">${parts.filter((part) => part.value > 0).map((part) => html`
      <div class=${"part " + part.kind} style=${{flexGrow: part.value / (sum || 1)}}></div>`)}</div>
    <ul class="legend">${parts.map((part) => html`<li><i class=${"swatch part " + part.kind} aria-hidden="true"></i>${part.name} <b>${text(part.value)}</b></li>`)}</ul>
  </div>`;
}

/**
 * A table whose rows open something. The columns of class "extra" are left out where there is little room.
 * `stack`: where there is little room, a row is a paragraph.
 * @param {{head: any[], children?: any, label: string, stack?: boolean}} props
 */
export const Table = ({head, children, label, stack}) => html`
  <div class="wide" tabindex="0" role="region" aria-label=${label}><table class=${stack ? "stack" : ""}><thead><tr>${head.map((cell) => {
    const [text, kind] = Array.isArray(cell) ? cell : [cell, ""];
    return html`<th scope="col" class=${kind}>${text}</th>`;
  })}</tr></thead><tbody>${children}</tbody></table></div>`;

/** @param {{buckets: number[], width: number, text: (value: number) => string, label: string}} props */
export function Histogram({buckets, width, text, label}) {
  const most = Math.max(1, ...buckets);
  return html`<figure class="histogram" role="img" aria-label=${label}>
    <div class="columns">${buckets.map((count, i) => html`
      <div class="column" title=${`${text(i * width)} to ${text((i + 1) * width)}: ${count}`}><div style=${{height: `${count === 0 ? 0 : Math.max(2, count / most * 100)}%`}}></div></div>`)}</div>
    <figcaption><span>0</span><span>${text(width * buckets.length)}</span></figcaption>
  </figure>`;
}

/** @returns {number} the width of the element that has the ref */
export function useWidth(ref) {
  const [width, set] = useState(0);
  useLayoutEffect(() => {
    const look = () => { if (ref.current) set(Math.floor(ref.current.clientWidth)); };
    const observer = new ResizeObserver(look);
    observer.observe(ref.current);
    look();
    return () => observer.disconnect();
  }, []);
  return width;
}

/** True while the user's system is dark. */
export function useDark() {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const [dark, set] = useState(query.matches);
  useEffect(() => {
    const listener = () => set(query.matches);
    query.addEventListener("change", listener);
    return () => query.removeEventListener("change", listener);
  }, []);
  return dark;
}

/** The value of a colour of the style. @param {string} name */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * A chart over time. data: [times in seconds, values, values, ...]; series: one for each list of values.
 * @param {{data: number[][], series: {label: string, stroke: string, fill?: string, dash?: number[]}[], height: number, label: string}} props
 */
export function Chart({data, series, height, label}) {
  const box = useRef(null), plot = useRef(null), width = useWidth(box), dark = useDark();
  useEffect(() => {
    if (width === 0) return undefined;
    const line = {stroke: colour("--faint"), grid: {stroke: colour("--line"), width: 1}, ticks: {stroke: colour("--line"), width: 1}, font: "11px system-ui"};
    plot.current = new uPlot({
      width, height, legend: {show: false}, cursor: {drag: {x: false, y: false}}, scales: {y: {range: (_, low, high) => [0, Math.max(1, high * 1.05)]}},
      axes: [{...line, size: 28, values: [[60, "{HH}:{mm}", null, null, null, null, null, null, 1], [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1]]},
             {...line, size: 40, space: 18, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]}],
      series: [{}, ...series.map((one) => ({label: one.label, stroke: colour(one.stroke), fill: one.fill && colour(one.fill), width: 1.25, dash: one.dash, points: {show: false}}))],
    }, data, box.current);
    return () => { plot.current.destroy(); plot.current = null; };
  }, [width, height, dark, series.length]);
  useEffect(() => { plot.current?.setData(data); }, [data]);
  return html`<figure class="chart" role="img" aria-label=${label}><div ref=${box} style=${{minHeight: `${height}px`}}></div>
    <ul class="legend">${series.map((one) => html`<li><i class="swatch" aria-hidden="true" style=${{background: `var(${one.stroke})`}}></i>${one.label}</li>`)}</ul></figure>`;
}
