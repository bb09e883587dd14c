// SPDX-License-Identifier: Apache-2.0
// The jobs that have ended, the newest first, a page at a time.
import {html, useState} from "./preact.js";
import {Pending, Section} from "./pieces.js";
import {Jobs} from "./jobs.js";
import {useDocument} from "./source.js";

const kPage = 50;

export function History() {
  const [pages, setPages] = useState(/** @type {number[]} */ ([0]));  // the number before which each page begins
  const [name, setName] = useState("");
  const [state, setState] = useState("");
  const before = pages[pages.length - 1];
  const filter = `${name ? `&name=${encodeURIComponent(name)}` : ""}${state ? `&state=${state}` : ""}`;
  const jobs = useDocument(`jobs?ended&last=${kPage}&before=${before}${filter}`, before === 0 ? 3 : -1);
  const list = jobs.value ? [...jobs.value].reverse() : null;
  const first = (change) => (event) => { change(event.target.value); setPages([0]); };
  return html`<${Section} id="history" title="Ended jobs">
    <form class="filter" onSubmit=${(event) => event.preventDefault()}>
      <label>name <input type="search" value=${name} onInput=${first(setName)}/></label>
      <label>state <select value=${state} onChange=${first(setState)}>${["", "succeeded", "failed", "killed", "lost"].map((one) => html`<option value=${one}>${one || "any"}</option>`)}</select></label>
    </form>
    ${list === null ? html`<${Pending} of=${jobs}/>` : list.length === 0 ? html`<p class="faint">None.</p>` : html`<${Jobs} jobs=${list} ended/>`}
    <p class="turn"><button disabled=${pages.length === 1} onClick=${() => setPages(pages.slice(0, -1))}>newer</button>
      <button disabled=${list === null || list.length < kPage} onClick=${() => setPages([...pages, list[list.length - 1].job])}>older</button></p>
  <//>`;
}
