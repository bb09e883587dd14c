// SPDX-License-Identifier: Apache-2.0
// The nodes of the cluster.
import {html} from "./preact.js";
import {bytes, count, duration} from "./format.js";
import {Pending, Section, State, Table} from "./pieces.js";
import {useDocument} from "./source.js";

/** @param {any} node */
const wrong = (node) => node.ailing ?? node.reason ?? "";

export function Nodes() {
  const nodes = useDocument("nodes");
  if (nodes.value === null) return html`<${Pending} of=${nodes}/>`;
  return html`<${Section} id="nodes" title="Nodes" note=${count(nodes.value.length, "node")}>
    <${Table} label="Nodes" head=${["Node", "Host", ["Rack", "extra"], "State", "Maps", "Reduces", ["Used", "extra"], "Free", ["Blocks", "extra"], ["Heard", "extra"], ["What is wrong", "extra"]]}>
      ${nodes.value.map((node) => html`<tr key=${node.node}><td>${node.node}</td><td class="name">${node.name || (node.host === null ? "–" : `${node.host}:${node.port}`)}<span class="small narrow bad">${wrong(node)}</span></td><td class="extra">${node.rack}</td>
        <td><${State} state=${node.state}/></td><td>${node.maps_running} of ${node.map_slots}</td><td>${node.reduces_running} of ${node.reduce_slots}</td>
        <td class="extra">${bytes(node.used)}</td><td>${bytes(node.free)}</td><td class="extra">${node.blocks?.toLocaleString("en") ?? "–"}</td><td class="extra">${node.since_heartbeat_s === null ? "–" : `${duration(node.since_heartbeat_s)} ago`}</td>
        <td class="why extra">${wrong(node)}</td></tr>`)}
    <//><//>`;
}
