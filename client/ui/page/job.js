// SPDX-License-Identifier: Apache-2.0
// One job: how far it is, why it waits, where its time went, which nodes and reduces are slow, its attempts and their logs.
import {html, useEffect, useState} from "./preact.js";
import {behind, bytes, count, done, duration, foretold, instant, percent} from "./format.js";
import {Bar, Dot, Histogram, Parts, Pending, Section, State, Table} from "./pieces.js";
import {Stream, Sums, useStream} from "./stream.js";
import {journal, kept, load, now, useDocument} from "./source.js";

/** @param {{job: any}} props */
function Facts({job}) {
  const slots = (phase) => `${phase.done} of ${phase.total}${phase.running > 0 ? `, ${phase.running} run` : ""}`;
  const facts = [
    ["Owner, pool", `${job.owner || "nobody"}, ${job.pool || job.owner || "–"}`], ["Priority", job.priority], ["Submitted", instant(job.submitted_at)],
    ["First task", job.first_launched_at === null ? "not yet" : `${instant(job.first_launched_at)}, after ${duration(job.first_launched_at - job.submitted_at)}`],
    ...(job.ended_at === null ? [] : [["Ended", `${instant(job.ended_at)}, after ${duration(job.ended_at - job.submitted_at)}`]]),
    ...[["start", "Likely starts"], ["end", "Likely ends"]].filter(([which]) => job.foretold?.[which]).map(([which, term]) =>
      [term, html`${foretold(job, which) || "unknown"}<span class="small faint">${behind(job.foretold[which])}</span>`]),
    ...(job.after?.length > 0 ? [["After", html`${job.after.map((other, i) => html`${i > 0 ? ", " : ""}<a href=${`#/job/${other}`}>job ${other}</a>`)}${job.even_if_failed ? ", however they end" : ""}`]] : []),
    ...(job.deadline_at === null ? [] : [["Deadline", instant(job.deadline_at)]]),
    ["Maps", slots(job.maps)], ["Reduces", job.reduces.total === 0 ? "none" : slots(job.reduces)],
    ["Input", bytes(job.input_bytes)], ["Read, shuffled, written", `${bytes(job.bytes_read)}, ${bytes(job.bytes_shuffled)}, ${bytes(job.bytes_written)}`],
    ["Maps at their data", `${job.maps_launched.node} on the node, ${job.maps_launched.rack} in its rack, ${job.maps_launched.datacenter + job.maps_launched.off} elsewhere`],
    ["Attempts", [[job.failed_attempts, "failed"], [job.killed_attempts, "killed"], [job.preempted_attempts, "preempted"], [job.speculative_attempts, "speculative"]].filter(([n]) => n > 0).map(([n, text]) => `${n} ${text}`).join(", ") || "none failed"],
    ["Output", job.output === null ? "not in the journal" : job.output || "–"],
  ];
  return html`<dl class="facts">${facts.map(([term, text]) => html`<div><dt>${term}</dt><dd>${text}</dd></div>`)}</dl>`;
}

/** @param {{summary: any, job: any}} props */
function Where({summary, job}) {
  const time = summary.time;
  return html`
    <p>${[`Waited ${duration(time.waited_s)} for its first slot`, time.until_last_map_s === null ? null : `${duration(time.until_last_map_s)} from there to ${job.maps.done < job.maps.total ? "now, with maps to do" : "the end of its last map"}`,
          time.after_last_map_s === null || job.reduces.total === 0 || job.maps.done < job.maps.total ? null : `${duration(time.after_last_map_s)} after that`].filter(Boolean).join(", ")}.</p>
    <h3>What its slots did, ${duration(time.slots_s)} in all</h3>
    <${Parts} text=${(value) => duration(value)} parts=${[{name: "maps", value: time.map_s, kind: "map"}, {name: "reduces copy", value: time.copy_s, kind: "copy"},
      {name: "reduces wait to compute", value: time.wait_s, kind: "wait"}, {name: "reduces compute", value: time.compute_s, kind: "compute"}, {name: "without success", value: time.wasted_s, kind: "wasted"}]}/>`;
}

/** @param {{title: string, kind: any}} props */
const Kind = ({title, kind}) => kind.took === null ? null : html`<div class="kind"><h3>${title}: ${count(kind.succeeded, "attempt")} that succeeded</h3>
  <${Histogram} buckets=${kind.took.buckets} width=${kind.took.bucket_s} text=${duration} label=${`${title} by duration`}/>
  <p class="faint">median ${duration(kind.took.median_s)}, 95% within ${duration(kind.took.p95_s)}, longest ${duration(kind.took.most_s)}${kind.took.median_s > 0 ? ` (${(kind.took.most_s / kind.took.median_s).toFixed(1)} times the median)` : ""}</p></div>`;

/** Nodes whose maps or reduces take much longer than elsewhere. @param {{summary: any}} props */
function SlowNodes({summary}) {
  const median = (list) => { const sorted = list.filter((n) => n !== null).sort((a, b) => a - b); return sorted.length === 0 ? null : sorted[Math.floor((sorted.length - 1) / 2)]; };
  const maps = median(summary.nodes.map((node) => node.map_median_s)), reduces = median(summary.nodes.map((node) => node.reduce_median_s));
  const factor = (node) => Math.max(maps > 0 && node.map_median_s !== null ? node.map_median_s / maps : 0, reduces > 0 && node.reduce_median_s !== null ? node.reduce_median_s / reduces : 0);
  const weight = (node) => factor(node) + 5 * node.failed / node.attempts;
  const nodes = [...summary.nodes].sort((a, b) => weight(b) - weight(a) || a.node - b.node).slice(0, 10);
  return html`<${Table} label="Nodes" head=${["Node", "Attempts", "Failed", "Median map", "Median reduce", "To the others"]}>${nodes.map((node) => html`<tr key=${node.node}>
    <td>${node.node}</td><td>${node.attempts}</td><td class=${node.failed > 0 ? "bad" : ""}>${node.failed}</td><td>${duration(node.map_median_s)}</td><td>${duration(node.reduce_median_s)}</td>
    <td class=${factor(node) > 1.5 ? "bad" : ""}>${factor(node) === 0 ? "–" : `${factor(node).toFixed(2)} times`}</td></tr>`)}<//>`;
}

/** The longest reduces, each in its parts. @param {{summary: any}} props */
function Reduces({summary}) {
  const list = summary.longest_reduces.slice(0, 12);
  if (list.length === 0) return null;
  const all = (one) => one.copy_s + one.wait_s + one.compute_s, most = Math.max(...list.map(all)) || 1;
  return html`<div><h3>The longest reduces</h3><div class="reduces">${list.map((one) => html`<div class="reduce" key=${one.attempt} title=${`copies ${duration(one.copy_s)}, waits ${duration(one.wait_s)}, computes ${duration(one.compute_s)}`}>
    <span class="label">${one.attempt.split(".").slice(1).join(".")} <span class="faint">node ${one.node}</span></span>
    <div class="whole">${["copy", "wait", "compute"].map((kind) => html`<div class=${"part " + kind} style=${{width: `${one[kind + "_s"] / most * 100}%`}}></div>`)}</div><span class="figures">${duration(all(one))}</span></div>`)}</div></div>`;
}

/** @param {{job: number, attempt: string, close: () => void}} props */
function Logs({job, attempt, close}) {
  const [stream, setStream] = useState("stderr"), [log, setLog] = useState({text: "", failure: "", cut: 0, asked: false});
  useEffect(() => {
    let gone = false;
    setLog({text: "", failure: "", cut: 0, asked: false});
    load(`jobs/${job}/logs/${attempt}?stream=${stream}`).then(({value, headers}) => { if (!gone) setLog({text: value, failure: "", cut: Number(headers.get("Millrace-Cut-Bytes")), asked: true}); },
      (failure) => { if (!gone) setLog({text: "", failure: String(failure.message), cut: 0, asked: true}); });
    return () => { gone = true; };
  }, [job, attempt, stream]);
  return html`<div class="logs" role="region" aria-label=${`Logs of ${attempt}`}><p class="turn"><b>${attempt}</b>
    ${["stderr", "stdout"].map((one) => html`<button aria-pressed=${stream === one} onClick=${() => setStream(one)}>${one}</button>`)}<button onClick=${close}>close</button></p>
    ${log.failure ? html`<p class="failure" role="alert">${log.failure}</p>` : !log.asked ? html`<p class="faint">asking …</p>` : html`${log.cut > 0 ? html`<p class="faint">${bytes(log.cut)} before this are left out: <code>millrace job logs ${job} ${attempt}</code> has all.</p>` : ""}<pre tabindex="0">${log.text || "(nothing)"}</pre>`}</div>`;
}

const kPage = 100;

/** @param {{job: any}} props */
function Attempts({job}) {
  const [choice, choose] = useState({state: "", kind: "", sort: "took", offset: 0}), [logs, setLogs] = useState("");
  const live = job.ended_at === null && !kept && !journal;
  const list = useDocument(`jobs/${job.job}/tasks?limit=${kPage}&offset=${choice.offset}&sort=${choice.sort}${choice.state ? `&state=${choice.state}` : ""}${choice.kind ? `&kind=${choice.kind}` : ""}`, live ? 2 : -1);
  const total = Number(list.headers?.get("Millrace-Total") ?? 0);
  const set = (key) => (event) => choose({...choice, offset: 0, [key]: event.target.value});
  const select = (key, label, options) => html`<label>${label} <select value=${choice[key]} onChange=${set(key)}>${options.map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select></label>`;
  return html`<form class="filter" onSubmit=${(event) => event.preventDefault()}>
      ${select("sort", "order", [["took", "longest first"], ["launched", "as launched"]])}
      ${select("kind", "kind", [["", "all"], ["m", "maps"], ["r", "reduces"]])}
      ${select("state", "state", [["", "any"], ..."running succeeded failed killed lost preempted".split(" ").map((one) => [one, one])])}</form>
    ${logs ? html`<${Logs} job=${job.job} attempt=${logs} close=${() => setLogs("")}/>` : ""}
    ${list.value === null ? html`<${Pending} of=${list}/>` : html`<${Table} label="Attempts" stack head=${["Attempt", "State", "Node", ["Host", "extra"], "Took", ["Begun", "extra"], "Why", "Logs"]}>
      ${list.value.map((one) => html`<tr key=${one.attempt}><td>${one.attempt.split(".").slice(1).join(".")}</td><td><${State} state=${one.state}/></td><td>${one.node}</td><td class="extra">${one.host}</td>
        <td>${duration((one.ended_at ?? now()) - one.launched_at)}</td><td class="extra time">${instant(one.launched_at)}</td><td class="why">${one.reason}</td><td><button class="link" onClick=${() => setLogs(one.attempt)} aria-label=${`Logs of ${one.attempt}`}>logs</button></td></tr>`)}<//>
    ${kept && kept.totals[`jobs/${job.job}/tasks`] > kept.documents[`jobs/${job.job}/tasks`].length ? html`<p class="faint">This file has the ${kept.documents[`jobs/${job.job}/tasks`].length.toLocaleString("en")} attempts that took longest, of ${kept.totals[`jobs/${job.job}/tasks`].toLocaleString("en")}.</p>` : ""}
    <p class="turn"><button disabled=${choice.offset === 0} onClick=${() => choose({...choice, offset: Math.max(0, choice.offset - kPage)})}>previous page</button>
      <button disabled=${choice.offset + kPage >= total} onClick=${() => choose({...choice, offset: choice.offset + kPage})}>next page</button>
      <span class="faint">${total === 0 ? "none" : `${choice.offset + 1} to ${Math.min(total, choice.offset + kPage)} of ${total.toLocaleString("en")}`}</span></p>`}`;
}

/** @param {{job: number}} props */
function Counters({job}) {
  const counters = useDocument(`jobs/${job}/counters`, 5);
  if (counters.value === null) return html`<${Pending} of=${counters}/>`;
  return html`<${Table} label="Counters" head=${["Group", "Name", "Value"]}>${counters.value.map((one) => html`<tr><td>${one.group}</td><td class="name">${one.name}</td><td class="number">${one.value.toLocaleString("en")}</td></tr>`)}<//>`;
}

/** @param {{number: number}} props */
export function Job({number}) {
  const [counters, setCounters] = useState(false);
  const job = useDocument(`jobs/${number}`, 1), live = job.value !== null && job.value.ended_at === null, follows = live && !kept && !journal;
  const begun = job.value !== null && job.value.first_launched_at !== null;
  const summary = useDocument(begun ? `jobs/${number}/summary` : null, follows ? 2 : kept || journal ? -1 : 10);
  const stream = useStream(summary.value === null ? null : `job=${number}&limit=20000`, follows);  // which is large
  if (job.value === null) return html`<${Section} id="job" title=${`Job ${number}`}><${Pending} of=${job}/><//>`;
  const one = job.value;
  return html`
    <${Section} id="job" title=${html`<${Dot} job=${number}/>Job ${number} <span class="name">${one.name}</span>`} note=${html`<${State} state=${one.state}/>`}>
      ${live ? html`<${Bar} fraction=${done(one)} job=${number} label=${`job ${number}`}/>` : ""}
      ${live && one.reduces.total > 0 ? html`<p class="faint">maps ${percent(one.maps.fraction)}, copy ${percent(one.copy_fraction)}, reduces ${percent(one.reduces.fraction)}</p>` : ""}
      ${one.reason ? html`<p class=${live ? "because" : "failure"} id="reason">${live ? one.reason[0].toUpperCase() + one.reason.slice(1) : one.reason}</p>` : ""}
      ${(one.waits ?? []).map((wait) => html`<p class="because">${wait.kind === "permit" ? "Compute permits" : `${wait.kind === "map" ? "Map" : "Reduce"} slots`}: ${wait.reason}</p>`)}
      <${Facts} job=${one}/><//>
    ${summary.value === null ? html`<${Section} id="time" title="Where its time went"><${Pending} of=${one.first_launched_at === null ? {value: null, failure: "Nothing of it has run yet."} : summary}/><//>` : html`
    <${Section} id="time" title="Where its time went"><${Where} summary=${summary.value} job=${one}/><//>
    <${Section} id="stream" title="Its tasks over time">${stream.attempts === null ? html`<${Pending} of=${{value: null, failure: stream.failure}}/>` : stream.busy ? html`<${Sums} stream=${stream} job=${number}/>` : html`<${Stream} stream=${stream} span=${0} live=${follows} until=${one.ended_at}/>`}<//>
    <${Section} id="durations" title="How long its tasks took"><div class="side">
      <${Kind} title="Maps" kind=${summary.value.maps}/><${Kind} title="Reduces" kind=${summary.value.reduces}/></div>
      <div class="side"><${Reduces} summary=${summary.value}/><div><h3>Nodes, the slowest first</h3><${SlowNodes} summary=${summary.value}/></div></div><//>`}
    <${Section} id="attempts" title="Attempts"><${Attempts} job=${one}/><//>
    <${Section} id="counters" title="Counters" note=${html`<button aria-expanded=${counters} onClick=${() => setCounters(!counters)}>${counters ? "hide" : "show"}</button>`}>${counters ? html`<${Counters} job=${number}/>` : ""}<//>`;
}
