// SPDX-License-Identifier: Apache-2.0
// Jobs as a table: live ones, or those of the history.
import {html, useState} from "./preact.js";
import {done, duration, foretold, instant, why} from "./format.js";
import {Bar, Dot, State, Table} from "./pieces.js";
import {now} from "./source.js";

const kAtFirst = 15, kMore = 200;

/** @param {any} job */
const likely = (job) => [foretold(job, "start") && `starts ${foretold(job, "start")}`, foretold(job, "end") && `ends ${foretold(job, "end")}`].filter(Boolean).join(", ");

/** @param {{jobs: any[], ended?: boolean}} props */
export function Jobs({jobs, ended}) {
  const [shown, show] = useState(ended ? Infinity : kAtFirst);
  const foretells = !ended && jobs.some((job) => likely(job) !== "");
  return html`<${Table} label="Jobs" stack head=${["Job", "Name", ["Owner", "extra"], ["Pool", "extra"], "State", ended ? "Took" : "Done", ...(ended ? ["Ended"] : ["Ran"]), ...(foretells ? ["Likely"] : []), ended ? "Why" : "Why it has no more"]}>
    ${jobs.slice(0, shown).map((job) => html`<tr key=${job.job}>
      <td><a href=${`#/job/${job.job}`}><${Dot} job=${job.job}/>${job.job}</a></td>
      <td class="name">${job.name}</td><td class="name extra">${job.owner}</td><td class="name extra">${job.pool || job.owner}</td>
      <td><${State} state=${job.state}/></td>
      <td class=${ended ? "time" : "done"}>${ended ? duration(job.ended_at - job.submitted_at) : html`<${Bar} fraction=${done(job)} job=${job.job} label=${`job ${job.job}`}/>`}</td>
      <td class="time">${ended ? instant(job.ended_at) : job.first_launched_at === null ? "–" : duration(Math.max(0, now() - job.first_launched_at))}</td>
      ${foretells ? html`<td class="time">${likely(job)}</td>` : ""}
      <td class="why">${ended ? job.reason : why(job) || (job.waits === null ? "the journal does not tell" : "")}</td></tr>`)}
  <//>
  ${jobs.length > shown ? html`<p><button onClick=${() => show(shown + kMore)}>${jobs.length - shown} more jobs</button></p>` : ""}`;
}
