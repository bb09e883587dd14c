// Numbers and lists in words. A value that is missing is a dash.
"use strict";
const report = {};
{
  const kMissing = "–";
  // Whether a value is a number that a chart can have a place for.
  const known = (value) => typeof value === "number" && Math.abs(value) < 1e18;

  const minus = (text) => text.replaceAll("-", "−");
  // What was measured has three significant figures: more say nothing, and hide what does.
  const figures = (value) => {
    if (!known(value)) return kMissing;
    if (value === 0) return "0";
    if (Math.abs(value) < 1e-6) return minus(value.toExponential(1));
    const rounded = Number(value.toPrecision(3));
    return minus(Math.abs(rounded) >= 1000 ? rounded.toLocaleString("en") : String(rounded));
  };
  // What was counted is exact; a mean of counts is measured.
  const count = (n) => (Number.isInteger(n) && known(n) ? minus(n.toLocaleString("en")) : figures(n));

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
    const size = known(most) ? Math.abs(Number(most.toPrecision(3))) || 1 : 1;
    if (kind === "s") return {name: pick(kTimes, size)[2], factor: pick(kTimes, size)[1]};
    if (kind === "bytes") return {name: pick(kSizes, size)[2], factor: pick(kSizes, size)[1]};
    if (kind === "share") return {name: "%", factor: 0.01};
    return {name: "", factor: 1};
  };

  const behind = (text, name) => (name === "" || name === "%" ? text + name : `${text} ${name}`);
  const value = (kind, number) => {
    if (!known(number)) return kMissing;
    if (number === 0) return kind === "share" ? "0%" : kind === "s" ? "0 s" : kind === "bytes" ? "0 B" : "0";
    if (kind === "count") return count(number);
    const {name, factor} = unit(kind, number);
    return behind(figures(number / factor), name);
  };
  // The unit of differences. One of shares is in points: 50% is 10 points more than 40%, and a quarter more.
  const unitOfDifference = (kind, most) => (kind === "share" ? {name: "points", factor: 0.01} : unit(kind, most));
  const plus = (number, text) => (number > 0 && text !== "0" ? "+" + text : text);
  // A difference, with its sign. Two times that differ by less than a millisecond differ by tenths of one.
  const signed = (kind, number) => {
    if (!known(number) || number === 0) return value(kind, number);
    const size = Math.abs(number);
    if (kind === "share") return plus(number, behind(figures(number * 100), size === 0.01 ? "point" : "points"));
    if (kind === "s" && size >= 5e-5 && size < 1e-3)
      return plus(number, minus(`${Number((number * 1e3).toFixed(1))} ms`));
    return plus(number, value(kind, number));
  };
  // A difference with its interval, all in one unit and to one place: "−0.4 [−1.25, +0.1] s".
  const difference = (kind, estimate) => {
    if (!estimate || !known(estimate.value)) return kMissing;
    const most = Math.max(...[estimate.value, estimate.low, estimate.high].filter(known).map(Math.abs));
    const {name, factor} = unitOfDifference(kind, most);
    if (most === 0) return behind("0", name);
    const places = Math.max(0, Math.min(9, 2 - Math.floor(Math.log10(most / factor))));
    return behind(
      interval(estimate, (number) => {
        const rounded = Number((number / factor).toFixed(places));
        return plus(rounded, figures(rounded));
      }),
      name,
    );
  };
  // Writes values that stand beside each other in one unit, but for what is far too small for it.
  const alike = (kind, values) => {
    const {name, factor} = unit(kind, Math.max(0, ...values.filter(known).map(Math.abs)));
    return (number) =>
      known(number) && Math.abs(number) >= factor / 10 ? behind(figures(number / factor), name) : value(kind, number);
  };
  // An estimate of one unit: "14.5 [14.3, 14.7] min". `most` is the largest value beside it, whose unit it takes.
  const estimated = (kind, estimate, most = null) => {
    if (!estimate || !known(estimate.value)) return kMissing;
    const far = known(most) && Math.abs(estimate.value) > Math.abs(most) / 1000;
    const {name, factor} = unit(kind, far ? most : estimate.value);
    return behind(
      interval(estimate, (number) => figures(number / factor)),
      name,
    );
  };
  const ratio = (number) => {
    if (!known(number) || number >= 99.95) return figures(number);
    if (number > 0 && number < 0.0995) return figures(Number(number.toPrecision(2)));
    return number.toFixed(number < 9.995 ? 2 : 1);
  };
  const interval = (estimate, write) => {
    if (!estimate || !known(estimate.value)) return kMissing;
    const whole = known(estimate.low) && known(estimate.high);
    return whole ? `${write(estimate.value)} [${write(estimate.low)}, ${write(estimate.high)}]` : write(estimate.value);
  };
  const probability = (p) => (!known(p) ? kMissing : p < 0.001 ? "< 0.001" : String(Number(p.toFixed(3))));
  const counted = (n, one, many = one + "s") => `${known(n) ? count(n) : "some"} ${n === 1 ? one : many}`;
  const joined = (names, last = "and") =>
    names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} ${last} ${names[names.length - 1]}`;
  // A name within a sentence: "Mean turnaround" loses its capital, "INT bytes" does not.
  const within = (name) => (/^\p{Lu}\p{Ll}/u.test(name) ? name[0].toLowerCase() + name.slice(1) : name);
  const short = (name, most) => (name.length > most ? name.slice(0, Math.max(1, most - 1)) + "…" : name);

  report.format = {
    kMissing,
    known,
    figures,
    count,
    unit,
    unitOfDifference,
    value,
    alike,
    signed,
    difference,
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
