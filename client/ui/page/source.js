// SPDX-License-Identifier: Apache-2.0
// The documents of the API, and the events that say which of them have changed.
import {useEffect, useState} from "./preact.js";

/** @typedef {{reachable: boolean, why: string, now_at?: number, tags?: Record<string, string>}} Digest */

/** @type {Map<string, {tag: string|null, value: any, headers: Headers}>} */
const known = new Map();
const kMostKnown = 60;

export class Refusal extends Error {
  /** @param {number} status @param {string} why */
  constructor(status, why) { super(why); this.status = status; }
}

// ---- a job as a file ----

/** What a file of `millrace job export` has in it; null where the page is served. @type {{job: number, now_at: number, documents: Record<string, any>, totals: Record<string, number>}|null} */
export const kept = JSON.parse(document.getElementById("kept")?.textContent ?? "null");

/** A document of the file, as the server would give it. @param {string} path */
function loadKept(path) {
  const tasks = /^(jobs\/\d+\/tasks)\?(.*)$/.exec(path);
  const value = kept.documents[tasks ? tasks[1] : path];
  if (value === undefined) throw new Refusal(404, path.includes("/logs/") ? "The logs are not in this file: `millrace job logs` has them." : "This file does not have it.");
  if (!tasks) return {tag: null, value, headers: new Headers()};
  const of = new URLSearchParams(tasks[2]), offset = Number(of.get("offset")), attempt = (one) => one.attempt.split(".").slice(1);
  let list = value.filter((one) => (!of.get("state") || one.state === of.get("state")) && (!of.get("kind") || attempt(one)[0] === of.get("kind")));
  if (of.get("sort") !== "took") list = [...list].sort((a, b) => a.launched_at - b.launched_at);
  return {tag: null, value: list.slice(offset, offset + Number(of.get("limit"))), headers: new Headers({"Millrace-Total": String(list.length)})};
}

/** @param {string} path of a document, below /api/v1/ @param {boolean} [keep] for the next time that it is asked for */
export async function load(path, keep = true) {
  if (kept) return loadKept(path);
  const before = known.get(path);
  const answer = await fetch("/api/v1/" + path, {headers: before?.tag ? {"If-None-Match": before.tag} : {}, cache: "no-store"});
  if (answer.status === 304 && before) return before;
  const json = (answer.headers.get("Content-Type") ?? "").startsWith("application/json");
  const value = json ? await answer.json() : await answer.text();
  if (!answer.ok) throw new Refusal(answer.status, json ? value.error : value);
  const document = {tag: answer.headers.get("ETag"), value, headers: answer.headers};
  known.delete(path);
  if (keep) known.set(path, document);
  if (known.size > kMostKnown) known.delete(known.keys().next().value);
  return document;
}

// ---- events ----

/** The state of the connection. `skew_s` is by how much the master's clock is ahead of this machine's. */
export const link = {reachable: true, why: "", proxy: true, since: 0, skew_s: 0, ticks: 0, /** @type {Record<string, string>} */ tags: {}};
/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {EventSource|null} */
let events = null;
let retry = 0;

/** As an event does: everybody looks whether something is new. */
export function tell() { for (const listener of [...listeners]) listener(); }

/** @param {boolean} proxy @param {boolean} reachable @param {string} why */
function note(proxy, reachable, why) {
  if ((link.proxy && link.reachable) !== (proxy && reachable)) link.since = Date.now();
  Object.assign(link, {proxy, reachable, why});
}

function listen() {
  clearTimeout(retry);
  events?.close();
  events = new EventSource("/api/v1/events");
  events.addEventListener("digest", (event) => {
    /** @type {Digest} */
    const digest = JSON.parse(event.data);
    note(true, digest.reachable, digest.why);
    if (digest.now_at && !journal) link.skew_s = digest.now_at - Date.now() / 1000;
    if (digest.tags) link.tags = digest.tags;
    link.ticks++;
    tell();
  });
  events.addEventListener("error", () => {
    note(false, false, "`millrace ui` does not answer; does it still run?");
    tell();
    if (events?.readyState === EventSource.CLOSED) retry = setTimeout(listen, 3000);
  });
}

/** Begins to listen; a page that nobody sees does not. */
export function begin() {
  listen();
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") return listen();
    events?.close();
    events = null;
    clearTimeout(retry);
  });
}

// ---- a journal ----

/** The journal that the page comes from; null where it comes from a master. @type {{file: string, lines: number, from_at: number, to_at: number, refused_lines: number, first_refused_line: number|null, jobs_without_attempts: number}|null} */
export let journal = null;

/** Asks where the page comes from, before anything is drawn. */
export async function findSource() {
  try { journal = (await load("source", false)).value.journal; } catch { /* the rest will say what is wrong */ }
}

/** The master's time, in seconds since 1970; of a journal that of its end. */
export const now = () => kept ? kept.now_at : journal ? journal.to_at : Date.now() / 1000 + link.skew_s;

/** Draws the component again with every event. */
export function useLink() {
  const [, set] = useState(0);
  useEffect(() => {
    const listener = () => set((n) => n + 1);
    listeners.add(listener);
    return () => { listeners.delete(listener); };
  }, []);
  return link;
}

/**
 * A document that is kept up to date. `every`: it is asked for with each so many events; 0: only if an event says that it
 * has changed; -1: once. The value of before stays while the master is away.
 * @param {string|null} path @param {number} [every]
 * @returns {{value: any, failure: string, headers: Headers|null}}
 */
export function useDocument(path, every = 0) {
  const [state, set] = useState({path, value: path === null ? null : known.get(path)?.value ?? null, failure: "", headers: null});
  useEffect(() => {
    if (path === null) return undefined;
    let gone = false, busy = false, ticks = 0;
    const ask = async () => {
      if (busy) return;
      busy = true;
      try {
        const {value, headers} = await load(path);
        if (!gone) set((before) => before.path === path && before.value === value && !before.failure ? before : {path, value, failure: "", headers});
      } catch (failure) {
        if (!gone) set((before) => ({path, value: before.path === path ? before.value : null, failure: String(failure.message), headers: null}));
      }
      busy = false;
    };
    const listener = () => {
      if (!link.reachable) return;
      const tag = link.tags[path];
      if (tag !== undefined ? known.get(path)?.tag !== tag : every > 0 && ++ticks % every === 0) ask();
    };
    ask();
    if (every >= 0) listeners.add(listener);
    return () => { gone = true; listeners.delete(listener); };
  }, [path, every]);
  return state.path === path ? state : {value: null, failure: "", headers: null};
}
