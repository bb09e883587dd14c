// SPDX-License-Identifier: Apache-2.0
// The last decisions of the scheduler, and what else happened to the cluster, with the reasons that the journal has.
import {html, useState} from "./preact.js";
import {instant} from "./format.js";
import {Pending, Section, Table} from "./pieces.js";
import {useDocument} from "./source.js";

/** @param {any} event */
function what(event) {
  const attempt = event.attempt && event.attempt.replace(/^job(\d+)\.([mr])\.(\d+)\.(\d+)$/, (_, job, kind, task, number) =>
    `${kind === "m" ? "map" : "reduce"} ${task} of job ${job}${number === "0" ? "" : `, attempt ${number}`}`);
  switch (event.event) {
    case "AttemptLaunched": return `${attempt} starts on node ${event.node}`;
    case "AttemptPreempted": return `${attempt} has to give its slot back`;
    case "JobEvicted": return `job ${event.job} is put aside`;
    case "JobGivenUp": return `job ${event.job} is given up`;
    case "JobHeld": return `job ${event.job} is ${event.held ? "held" : "released"}`;
    case "JobKilled": return `job ${event.job} is killed`;
    case "JobPrioritySet": return `job ${event.job} gets priority ${event.priority}`;
    case "NodeBlamed": return `job ${event.by} avoids node ${event.node}`;
    case "NodeDrained": return `node ${event.node}: ${event.drained ? "decommissioned or in maintenance" : "recommissioned"}`;
    case "NodeJoined": return `node ${event.node} joins`;
    case "NodeLost": return `node ${event.node} is lost`;
    case "SchedulerSet": return `the scheduler is ${event.name}`;
    default: return event.event;
  }
}

/** @param {any} event */
const jobOf = (event) => event.job ?? event.by ?? (event.attempt && Number(/^job(\d+)\./.exec(event.attempt)?.[1]));

/** @param {{last?: number, title?: boolean}} props */
export function Decisions({last = 100}) {
  const [launches, setLaunches] = useState(true);
  const decisions = useDocument(`decisions?last=${last}${launches ? "&launches" : ""}`, 2);
  return html`<${Section} id="decisions" title="Decisions" note=${html`<label><input type="checkbox" checked=${launches} onChange=${(event) => setLaunches(event.target.checked)}/> starts of tasks, too</label>`}>
    ${decisions.value === null ? html`<${Pending} of=${decisions}/>` : decisions.value.length === 0 ? html`<p class="faint">None yet.</p>` : html`
    <${Table} label="Decisions" stack head=${["When", "What", "Why"]}>${decisions.value.map((event) => html`<tr key=${event.number}>
      <td class="time">${instant(event.at)}</td><td>${jobOf(event) ? html`<a href=${`#/job/${jobOf(event)}`}>${what(event)}</a>` : what(event)}</td><td class="why">${event.why}</td></tr>`)}<//>`}
  <//>`;
}
