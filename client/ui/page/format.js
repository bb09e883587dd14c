// SPDX-License-Identifier: Apache-2.0
// Numbers, times and names as people read them. Times are those of the browser's zone.

/** @param {number} n @param {string} one @param {string} [many] */
export const count = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many ?? one + "s"}`;

/** @param {number|null} bytes null: nobody can tell */
export function bytes(bytes) {
  if (bytes === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit++; }
  return `${unit === 0 || bytes >= 100 ? Math.round(bytes) : bytes.toFixed(1)} ${units[unit]}`;
}

/** @param {number|null|undefined} seconds */
export function duration(seconds) {
  if (seconds == null || !isFinite(seconds)) return "–";
  if (seconds < 0) return "-" + duration(-seconds);
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds), hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

const clock = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
const day = new Intl.DateTimeFormat(undefined, {year: "numeric", month: "short", day: "numeric"});

/** The time of day; with the date if it is not today. @param {number|null|undefined} at seconds since 1970 */
export function instant(at) {
  if (at == null) return "–";
  const date = new Date(at * 1000);
  return date.toDateString() === new Date().toDateString() ? clock.format(date) : `${day.format(date)} ${clock.format(date)}`;
}

/** @param {number} fraction */
export const percent = (fraction) => `${Math.floor(Math.min(1, Math.max(0, fraction)) * 100 + 1e-6)}%`;

/** The part of the whole job that is done; maps, copies and reduces have equal weights. @param {any} job */
export const done = (job) => job.reduces.total === 0 ? job.maps.fraction : (job.maps.fraction + job.copy_fraction + job.reduces.fraction) / 3;

/** Why a live job has no more slots, or what it waits for besides slots; a journal does not tell. @param {any} job */
export const why = (job) => job.waits?.[0]?.reason ?? job.reason;

/** When the job will probably start or end, where the master says so. @param {any} job @param {"start"|"end"} which */
export function foretold(job, which) {
  const time = job.foretold?.[which];
  if (!time || time.at == null) return "";
  const interval = time.intervals.find((one) => one.percent === 90);
  return instant(time.at) + (interval ? ` (${instant(interval.from_at)} to ${instant(interval.to_at)})` : "");
}

/** What is behind a statement: what its interval follows from and how often such ones have held, or why there is none. @param {any} time */
export function behind(time) {
  if (!time) return "";
  if (time.at == null) return time.why ?? "";
  if (!time.intervals.some((one) => one.percent === 90)) return `how sure this is, is not known yet: so far ${count(time.records, "such statement")} put to the test`;
  return `meant to hold in 90% of cases; it follows from ${count(time.records, "earlier statement")}${time.elsewhere > 0 ? `, ${time.elsewhere} of them under another scheduler` : ""}${time.stated > 0 ? `; of the last ${time.stated} such intervals ${time.held} held` : ""}`;
}

/** The colour of a job is the same in every view. @param {number} job @param {number} [light] */
export const hue = (job) => Math.round((job * 137.508) % 360);

/** @param {string} mode in octal @param {boolean} directory */
export function rights(mode, directory) {
  let text = directory ? "d" : "-";
  for (const digit of mode.padStart(3, "0").slice(-3)) {
    const bits = parseInt(digit, 8);
    text += (bits & 4 ? "r" : "-") + (bits & 2 ? "w" : "-") + (bits & 1 ? "x" : "-");
  }
  return text;
}

/** A name whose bytes are not UTF-8 comes percent-encoded. @param {any} object @param {string} key */
export const name = (object, key = "name") => object[key];
