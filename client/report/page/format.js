// Numbers and lists in words. A value that is missing is a dash.
"use strict";
const report = {};
{
  const kMissing = "–";
  // Whether a value is a number that a chart can have a place for.
  const known = (value) => typeof value === "number" && Math.abs(value) < 1e18;

  // Three figures are as many as a reader compares; a fraction is never written as 1e-7.
  const figures = (value, digits = 3) => {
    if (!known(value)) return kMissing;
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 10 ** digits) return Math.round(value).toLocaleString("en");
    if (size < 1e-6) return value.toExponential(1);
    return String(Number(value.toPrecision(digits)));
  };

  const kTimes = [
    [86400 * 3, 86400, "days"],
    [7200 * 2, 3600, "h"],
    [240, 60, "min"],
    [1, 1, "s"],
    [1e-3, 1e-3, "ms"],
    [0, 1e-6, "µs"],
  ];
  const kSizes = [
    [2 ** 40, 2 ** 40, "TiB"],
    [2 ** 30, 2 ** 30, "GiB"],
    [2 ** 20, 2 ** 20, "MiB"],
    [1024, 1024, "KiB"],
    [0, 1, "B"],
  ];
  const pick = (table, size) => table.find(([from]) => size >= from) ?? table[table.length - 1];

  // The unit in which values up to `most` are best written: {name, factor}, a value divided by the factor being in it.
  const unit = (kind, most) => {
    const size = Math.abs(most) || 1;
    if (kind === "s") return {name: pick(kTimes, size)[2], factor: pick(kTimes, size)[1]};
    if (kind === "bytes") return {name: pick(kSizes, size)[2], factor: pick(kSizes, size)[1]};
    if (kind === "share") return {name: "%", factor: 0.01};
    return {name: "", factor: 1};
  };

  const minus = (text) => text.replace("-", "−");
  const behind = (text, name) => `${text}${name === "%" || name === "" ? name : " " + name}`;
  const value = (kind, number) => {
    if (!known(number)) return kMissing;
    if (number === 0) return kind === "share" ? "0%" : kind === "s" ? "0 s" : kind === "bytes" ? "0 B" : "0";
    const {name, factor} = unit(kind, number);
    return behind(minus(figures(number / factor)), name);
  };
  // A difference, with its sign. One of shares is in points: 50% is 10 points more than 40%, and a quarter more.
  const signed = (kind, number) => {
    const text =
      kind === "share" && known(number)
        ? behind(minus(figures(number * 100)), Math.abs(number) === 0.01 ? "point" : "points")
        : value(kind, number);
    return known(number) && number > 0 ? "+" + text : text;
  };
  // An estimate of one unit: "14.5 [14.3, 14.7] min".
  const estimated = (kind, estimate) => {
    if (!estimate || !known(estimate.value)) return kMissing;
    const {name, factor} = unit(kind, estimate.value);
    return behind(
      interval(estimate, (number) => minus(figures(number / factor))),
      name,
    );
  };
  const ratio = (number) => (known(number) ? number.toFixed(number < 10 ? 2 : 1) : kMissing);
  const interval = (estimate, write) => {
    if (!estimate || !known(estimate.value)) return kMissing;
    const whole = known(estimate.low) && known(estimate.high);
    return whole ? `${write(estimate.value)} [${write(estimate.low)}, ${write(estimate.high)}]` : write(estimate.value);
  };
  const probability = (p) => (!known(p) ? kMissing : p < 0.001 ? "< 0.001" : p.toFixed(3));
  const counted = (n, one, many = one + "s") => `${known(n) ? n.toLocaleString("en") : "some"} ${n === 1 ? one : many}`;
  const joined = (names) =>
    names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
  // A name within a sentence: "Mean turnaround" loses its capital, "INT bytes" does not.
  const within = (name) => (/^\p{Lu}\p{Ll}/u.test(name) ? name[0].toLowerCase() + name.slice(1) : name);
  const short = (name, most) => (name.length > most ? name.slice(0, Math.max(1, most - 1)) + "…" : name);

  report.format = {
    kMissing,
    known,
    figures,
    unit,
    value,
    signed,
    estimated,
    ratio,
    interval,
    probability,
    counted,
    joined,
    within,
    short,
    seconds: (number) => value("s", number),
    bytes: (number) => value("bytes", number),
    percent: (number) => value("share", number),
  };
}
