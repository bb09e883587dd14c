// SPDX-License-Identifier: Apache-2.0
// The page: what is shown for which address, the head with the state of the connection, and the overview.
import {html, render, useEffect, useState} from "./preact.js";
import {count, duration, instant} from "./format.js";
import {Pending, Section} from "./pieces.js";
import {begin, findSource, journal, kept, link, useDocument, useLink} from "./source.js";
import {Facts, Notices, Words} from "./words.js";
import {ClusterStream} from "./stream.js";
import {Decisions} from "./decisions.js";
import {Files, Space} from "./files.js";
import {History} from "./history.js";
import {Job} from "./job.js";
import {Jobs} from "./jobs.js";
import {Nodes} from "./cluster.js";
import {Pools} from "./pools.js";

const kMostSkew = 2;  // seconds

function useHash() {
  const [hash, set] = useState(location.hash);
  useEffect(() => {
    const listener = () => { set(location.hash); scrollTo(0, 0); };
    addEventListener("hashchange", listener);
    return () => removeEventListener("hashchange", listener);
  }, []);
  return hash;
}

function Overview({cluster}) {
  const jobs = useDocument("jobs?live"), scheduler = useDocument("scheduler");
  if (cluster.value === null) return html`<${Pending} of=${cluster}/>`;
  const slots = cluster.value.slots.maps + cluster.value.slots.reduces;
  return html`
    <${Words} cluster=${cluster.value} jobs=${jobs.value}/>
    <${Notices} cluster=${cluster.value}/>
    <${Section} id="jobs" title="Jobs" note=${html`<a href="#/history">those that have ended</a>`}>
      ${jobs.value === null ? html`<${Pending} of=${jobs}/>` : jobs.value.length === 0 ? html`<p class="faint">None ${journal ? "ran and none waited at the end of the journal" : "runs and none waits"}.</p>` : html`<${Jobs} jobs=${jobs.value}/>`}<//>
    <${Section} id="stream" title="Slots over time"><${ClusterStream} slots=${slots}/><//>
    <${Section} id="pools" title=${scheduler.value ? scheduler.value.group_noun === "pool" || !scheduler.value.group_noun ? "Pools" : `Shares by ${scheduler.value.group_noun}` : "Pools"} note=${scheduler.value?.name ?? ""}>
      ${scheduler.value === null ? html`<${Pending} of=${scheduler}/>` : html`<${Pools} scheduler=${scheduler.value}/>`}<//>
    <${Section} id="space" title="File system" note=${journal ? "" : html`<a href="#/files/">look into it</a>`}><${Space} cluster=${cluster.value}/><//>
    <${Decisions} last=${12}/>`;
}

/** The page of an address. @param {{hash: string, cluster: any}} props */
function View({hash, cluster}) {
  const job = /^#\/job\/(\d+)$/.exec(hash);
  if (job) return html`<${Job} key=${job[1]} number=${Number(job[1])}/>`;
  if (hash.startsWith("#/files")) {
    let path = "/";
    try { path = decodeURIComponent(hash.slice("#/files".length)) || "/"; } catch { /* an address that somebody typed */ }
    return html`<${Files} path=${path} cluster=${cluster.value}/>`;
  }
  switch (hash) {
    case "#/nodes": return html`<${Nodes}/>`;
    case "#/decisions": return html`<${Decisions} last=${300}/>`;
    case "#/history": return html`<${History}/>`;
    default: return html`<${Overview} cluster=${cluster}/>`;
  }
}

function Banner() {
  useLink();
  const lost = !link.proxy || !link.reachable;
  return html`<div aria-live="assertive">${lost ? html`<p class="banner" id="lost"><b>${link.proxy ? "The master is out of reach" : "`millrace ui` is out of reach"}</b> since ${instant(link.since / 1000)}: ${link.why}. What is shown is old; it goes on by itself.</p>` : ""}</div>
    ${journal ? html`<p class="banner mild" id="journal">${journal.file}: a journal of ${count(journal.lines, "line")} from ${instant(journal.from_at)} to ${instant(journal.to_at)}. What is shown is the end of it. It has no files, logs, counters and forecasts.${
      journal.refused_lines > 0 ? ` ${count(journal.refused_lines, "line does", "lines do")} not fit what came before and ${journal.refused_lines === 1 ? "is" : "are"} left out; the first is line ${journal.first_refused_line.toLocaleString("en")}.` : ""}${
      journal.jobs_without_attempts > 0 ? ` The attempts of the ${count(journal.jobs_without_attempts, "oldest job")} are too many to be kept.` : ""}</p>` : ""}
    ${Math.abs(link.skew_s) > kMostSkew && !lost ? html`<p class="banner mild" id="skew">The master's clock is ${duration(Math.abs(link.skew_s))} ${link.skew_s > 0 ? "ahead of" : "behind"} this machine's; times are the master's.</p>` : ""}`;
}

function Page() {
  const hash = useHash(), cluster = useDocument("cluster");
  useLink();
  useEffect(() => {
    if (cluster.value) document.title = `${cluster.value.jobs.running + cluster.value.jobs.waiting > 0 ? `${count(cluster.value.jobs.running, "job")} · ` : ""}Millrace`;
    if (cluster.value || cluster.failure) document.documentElement.dataset.drawn = String(Math.round(performance.now()));
  }, [cluster.value, cluster.failure]);
  const here = (hash.split("/")[1] ?? "") || "now";
  const places = [["now", "#/", "Now"], ["nodes", "#/nodes", "Nodes"], ...(journal ? [] : [["files", "#/files/", "Files"]]), ["decisions", "#/decisions", "Decisions"], ["history", "#/history", "History"]];
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>to the content</a>
    <header class="top"><a class="mark" href="#/">Millrace</a>
      <nav aria-label="Views">${places.map(([key, address, text]) => html`<a href=${address} aria-current=${here === key ? "page" : undefined}>${text}</a>`)}</nav>
      <span class="facts-of-cluster">${cluster.value ? html`<${Facts} cluster=${cluster.value}/>` : ""}</span></header>
    <${Banner}/>
    <main id="main" tabindex="-1" class=${link.reachable && link.proxy ? "" : "old"}><${View} hash=${hash} cluster=${cluster}/></main>`;
}

/** A job by itself, as a file. */
function KeptPage() {
  useEffect(() => {
    document.title = `Job ${kept.job} · Millrace`;
    document.documentElement.dataset.drawn = String(Math.round(performance.now()));
  }, []);
  return html`<header class="top"><span class="mark">Millrace</span><span class="facts-of-cluster faint">as it was ${instant(kept.now_at)}</span></header>
    <main id="main"><${Job} number=${kept.job}/></main>`;
}

if (!kept) await findSource();
render(kept ? html`<${KeptPage}/>` : html`<${Page}/>`, document.getElementById("page"));
if (!kept) begin();
