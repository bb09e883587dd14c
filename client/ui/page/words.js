// SPDX-License-Identifier: Apache-2.0
// The state of the cluster in a line of words, and what is wrong with it.
import {html} from "./preact.js";
import {count, duration, instant, why} from "./format.js";
import {journal} from "./source.js";

/** @param {{cluster: any, jobs: any[]|null}} props */
export function Words({cluster, jobs}) {
  const slots = cluster.slots, all = slots.maps + slots.reduces, busy = slots.maps_running + slots.reduces_running;
  const waiting = (jobs ?? []).filter((job) => why(job)).sort((a, b) => (a.state === "waiting" ? 0 : 1) - (b.state === "waiting" ? 0 : 1));
  const {running, waiting: queued, held = 0, after = 0} = cluster.jobs, idle = running + queued === 0;
  const apart = [...(held > 0 ? [`${held.toLocaleString("en")} held`] : []), ...(after > 0 ? [`${after.toLocaleString("en")} for other jobs`] : [])];  // as `millrace cluster status` has it
  const counts = `${count(running, "job")} ${running === 1 ? "runs" : "run"}${queued > 0 ? `, ${count(queued, "waits", "wait")}` : ""}${apart.length > 0 ? ` (${apart.join(", ")})` : ""}`;
  return html`<p class="words" id="words">
    ${journal ? `At the end of the journal, ${instant(journal.to_at)}: ` : ""}<strong>${busy} of ${count(all, "slot")} busy</strong>${idle ? "; no jobs" : `; ${counts}`}${
    waiting.length === 0 ? "." : html`. ${waiting.slice(0, 2).map((job) => html`<span class="because"><a href=${`#/job/${job.job}`}>job ${job.job}</a>: ${why(job)}. </span>`)}${
    waiting.length > 2 ? html`<span class="faint">${count(waiting.length - 2, "other")} wait or could use more slots, too.</span>` : ""}`}
  </p>`;
}

/** @param {{cluster: any}} props */
export function Notices({cluster}) {
  const all = [...(cluster.faults ?? []), ...(cluster.warnings ?? [])];
  if (all.length === 0) return null;
  return html`<ul class="notices">${all.slice(0, 8).map((notice) => html`<li class=${notice.level}><b>${notice.level}</b> ${notice.text}</li>`)}${
    all.length > 8 ? html`<li>and ${all.length - 8} more: <code>millrace cluster status</code></li>` : ""}</ul>`;
}

/** @param {{cluster: any}} props */
export const Facts = ({cluster}) => html`<span class="faint">${count(cluster.nodes.live, "node")} live${cluster.nodes.lost > 0 ? `, ${cluster.nodes.lost} lost` : ""} · scheduler ${cluster.scheduler ?? "unknown"}${cluster.up_s === null ? "" : ` · up ${duration(Math.floor(cluster.up_s))}`}</span>`;
