// SPDX-License-Identifier: Apache-2.0
// The groups of the scheduler: what they use, what is due to them, and what they ask for.
import {html} from "./preact.js";
import {duration} from "./format.js";
import {Table} from "./pieces.js";
import {journal, now} from "./source.js";

/** Use and share on one scale: the filled part is in use, the mark is the share. @param {{slots: any, most: number, kind: string}} props */
const Use = ({slots, most, kind}) => html`
  <div class="use" title=${`${slots.running} in use, ${slots.share === null ? "" : `share ${slots.share.toFixed(1)}, `}demand ${slots.demand}`}>
    <div class="scale"><div class="demand" style=${{width: `${Math.min(1, slots.demand / most) * 100}%`}}></div>
      <div class=${"filled " + kind} style=${{width: `${Math.min(1, slots.running / most) * 100}%`}}></div>
      ${slots.share === null ? "" : html`<div class="mark" style=${{left: `${Math.min(1, slots.share / most) * 100}%`}}></div>`}</div>
    <span class="figures">${slots.running}${slots.share === null ? "" : ` of ${Number(slots.share.toFixed(1))}`}</span>
  </div>`;

/** @param {{scheduler: any}} props */
export function Pools({scheduler}) {
  const groups = scheduler.groups;
  if (groups.length === 0) return html`<p class="faint">${journal ? "The journal has no jobs." : `${scheduler.name} knows no pools.`}</p>`;
  const most = Math.max(1, ...groups.flatMap((group) => [group.maps, group.reduces].flatMap((slots) => [slots.share, slots.running, slots.share === null ? slots.demand : Math.min(slots.demand, 2 * slots.share)])));
  const preempts = (group) => [group.maps.preempts_at, group.reduces.preempts_at].filter((at) => at !== null);
  return html`<${Table} label="Pools" head=${[scheduler.group_noun || "pool", "Jobs", ["Weight", "extra"], "Maps: use of share", "Reduces: use of share", ["Asks for", "extra"], ["Takes back in", "extra"]]}>
    ${groups.map((group) => html`<tr key=${group.name}><td class="name">${group.name}</td><td>${group.jobs}</td><td class="extra">${group.weight ?? "–"}</td>
      <td><${Use} slots=${group.maps} most=${most} kind="map"/></td><td><${Use} slots=${group.reduces} most=${most} kind="compute"/></td>
      <td class="extra">${group.maps.demand + group.reduces.demand}</td>
      <td class="extra">${preempts(group).length === 0 ? "–" : duration(Math.max(0, Math.min(...preempts(group)) - now()))}</td></tr>`)}
  <//>
  <p class="faint">Filled: slots in use. Pale: what its tasks ask for. ${journal ? "A journal does not tell what share was due to it." : "Mark: the share that is due to it now."}${scheduler.groups_not_listed > 0 ? ` ${scheduler.groups_not_listed} more are not listed.` : ""}</p>`;
}
