// SPDX-License-Identifier: Apache-2.0
// The file system: its space and health, and what is in its directories.
import {html, useState} from "./preact.js";
import {bytes, count, instant, rights} from "./format.js";
import {Pending, Section, Table} from "./pieces.js";
import {useDocument} from "./source.js";

/** @param {{cluster: any}} props */
export function Space({cluster}) {
  if (cluster.disks === null) return html`<p class="faint">A journal has nothing of the file system.</p>`;
  const {disks, blocks, files} = cluster, other = Math.max(0, disks.capacity - disks.used - disks.free);
  const wrong = [[blocks.missing, "missing", "bad"], [blocks.single_replica, "with a single replica", "warn"], [blocks.under_replicated, "under-replicated", "warn"],
                 [blocks.short_of_nodes, "short of nodes", "warn"], [blocks.corrupt_replicas, "corrupt replicas", "bad"]].filter(([n]) => n > 0);
  return html`<div class="space">
    <div class="scale tall" role="img" aria-label=${`${bytes(disks.used)} used by blocks of ${bytes(disks.capacity)}`}>
      <div class="filled map" style=${{width: `${disks.used / (disks.capacity || 1) * 100}%`}}></div><div class="filled other" style=${{width: `${other / (disks.capacity || 1) * 100}%`}}></div></div>
    <p><b>${bytes(disks.used)}</b> used by blocks, ${bytes(other)} by other things, <b>${bytes(disks.free)}</b> free of ${bytes(disks.capacity)}. ${count(files.files, "file")} of ${bytes(files.bytes)} in ${count(files.directories, "directory", "directories")}.</p>
    <p>${count(blocks.blocks, "block")}: ${wrong.length === 0 ? "all have the replicas that they should have." : wrong.map(([n, text, kind], i) => html`${i > 0 ? ", " : ""}<b class=${kind}>${n.toLocaleString("en")} ${text}</b>`)}</p>
  </div>`;
}

/** @param {string} path */
const link = (path) => "#/files" + path.split("/").map(encodeURIComponent).join("/");

const kPage = 200;

/** @param {{path: string, cluster: any}} props */
export function Files({path, cluster}) {
  const [page, setPage] = useState({path, offset: 0});
  const offset = page.path === path ? page.offset : 0;
  const list = useDocument(`files?path=${encodeURIComponent(path)}&offset=${offset}&limit=${kPage}`, 5);
  const parts = path.split("/").filter(Boolean), more = list.headers?.get("Millrace-More") === "yes";
  return html`<${Section} id="space" title="File system">${cluster ? html`<${Space} cluster=${cluster}/>` : ""}<//>
  <${Section} id="directory" title="Directory">
    <nav class="crumbs" aria-label="Path"><a href="#/files/">/</a>${parts.map((part, i) => html`<a href=${link("/" + parts.slice(0, i + 1).join("/"))}>${part}</a>${i < parts.length - 1 ? html`<span>/</span>` : ""}`)}</nav>
    ${list.value === null ? html`<${Pending} of=${list}/>` : html`
    ${list.failure ? html`<${Pending} of=${list}/>` : ""}
    ${list.value.length === 0 ? html`<p class="faint">Nothing is in it.</p>` : html`<${Table} label="Directory" head=${["Name", "Size", ["Replicas", "extra"], "Rights", "Owner", ["Group", "extra"], ["Changed", "extra"]]}>
      ${list.value.map((file) => {
        const name = file.path.slice(file.path.lastIndexOf("/") + 1), directory = file.type === "directory";
        return html`<tr key=${file.path}><td class="name">${directory && !file.path_encoding ? html`<a href=${link(file.path)}>${name}/</a>` : name}</td>
          <td>${directory ? "" : bytes(file.length)}</td><td class="extra">${directory ? "" : file.replication}</td><td><code title=${file.mode}>${rights(file.mode, directory)}</code></td>
          <td>${file.owner || "–"}</td><td class="extra">${file.group || "–"}</td><td class="extra time">${instant(file.modified_at)}</td></tr>`;
      })}<//>`}
    <p class="turn"><button disabled=${offset === 0} onClick=${() => setPage({path, offset: Math.max(0, offset - kPage)})}>previous page</button>
      <button disabled=${!more} onClick=${() => setPage({path, offset: offset + kPage})}>next page</button></p>`}
  <//>`;
}
