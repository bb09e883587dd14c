// The few estimates that the page makes itself, of what the document gives as raw values: means over runs with an
// interval, quantiles, and curves of shares. All that is compared was compared by `millrace compare`, and is in the
// document.
"use strict";
{
  const {known} = report.format;

  // 97.5% quantile of Student's t by degrees of freedom (1 to 30); further ones are close to 1.96.
  const kStudent = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
    2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
  ];
  const student = (freedom) => (freedom < 1 ? Infinity : (kStudent[freedom - 1] ?? 1.96 + 2.4 / freedom));

  // {value, low, high, n}: the mean with its 95% interval; null without values, and without an interval from one value.
  const mean = (values) => {
    const some = values.filter(known);
    if (some.length === 0) return null;
    const value = d3.mean(some);
    if (some.length < 2) return {value, low: null, high: null, n: some.length};
    const reach = (student(some.length - 1) * d3.deviation(some)) / Math.sqrt(some.length);
    return {value, low: value - reach, high: value + reach, n: some.length};
  };

  const sorted = (values) => Float64Array.from(values.filter(known)).sort();
  const quantile = (ordered, share) => (ordered.length === 0 ? null : d3.quantileSorted(ordered, share));
  // Share of the values that are at most x.
  const shareUpTo = (ordered, x) => (ordered.length === 0 ? 0 : d3.bisectRight(ordered, x) / ordered.length);

  report.statistics = {mean, sorted, quantile, shareUpTo};
}
