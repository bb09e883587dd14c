// Who wins and who loses: the mean turnaround of the jobs of each class, pool and user under each scheduler.
"use strict";
{
  const {format} = report;
  const {make, section, table, behind, note} = report.chart;
  const kNamed = 4; // groups that a sentence names
  const kDrawn = 24; // rows of a picture that is drawn without being asked for

  const nameOf = (kinds, row) => (row.name === "" ? `jobs without a ${kinds[0]}` : row.name);

  // What is shown of a scheduler: one sentence, of all groups.
  const sentence = (data, {index, name}) => {
    const groups = data.groups.flatMap(({kinds, rows}) =>
      rows.map((row) => ({
        words: row.name === "" ? nameOf(kinds, row) : `${kinds[0]} ${row.name}`,
        row: row.comparisons.find(({scheduler}) => scheduler === index),
      })),
    );
    const list = (verdict) => {
      const some = groups.filter(({row}) => row?.verdict === verdict);
      const named = some
        .slice(0, kNamed)
        .map(({words, row}) => words + (row.ratio ? ` (${format.ratio(row.ratio.value)} times)` : ""));
      return some.length > kNamed ? [...named, `${some.length - kNamed} more`] : named;
    };
    const [win, lose] = [list("better"), list("worse")];
    const parts = [
      win.length > 0 ? `${format.joined(win)} ${win.length > 1 ? "win" : "wins"}` : null,
      lose.length > 0 ? `${format.joined(lose)} ${lose.length > 1 ? "lose" : "loses"}` : null,
    ].filter(Boolean);
    const words = parts.length > 0 ? format.joined(parts) : "no class, pool or user is shown to win or to lose";
    return make("li", {}, [make("strong", {}, `Under ${name}`), ` ${words}.`]);
  };

  const grid = (data, {kinds, rows}) => {
    const rivals = data.schedulers.filter(({baseline}) => !baseline);
    const cell = (row, {index}) => {
      const found = row.comparisons.find(({scheduler}) => scheduler === index);
      return [
        make("div", {class: "strong"}, format.alike("s", row.means)(row.means[index])),
        ...(found ? report.verdict.cell(found, "s") : ["not in every run"]),
      ];
    };
    return table(
      [
        {title: kinds.join(" and ")},
        {title: "jobs a run", number: true},
        {title: `${data.names[data.baseline]} (baseline)`},
        ...rivals.map(({name}) => ({title: name})),
      ],
      rows.map((row) => [
        nameOf(kinds, row),
        format.count(row.jobs),
        make("div", {class: "strong"}, format.alike("s", row.means)(row.means[data.baseline])),
        ...rivals.map((rival) => cell(row, rival)),
      ]),
      `Mean turnaround over the runs; below it the verdict, and times that under ${data.names[data.baseline]}`,
    );
  };

  const chart = (data, {kinds, rows}) => {
    const all = rows.flatMap((row) =>
      row.comparisons
        .filter(({ratio}) => ratio !== null)
        .map(({scheduler, ratio, verdict}) => ({
          name: `${nameOf(kinds, row)}: ${data.names[scheduler]}`,
          scheduler,
          estimate: ratio,
          verdict,
        })),
    );
    if (all.length === 0) return null;
    const practical = 1 + data.design.practical;
    const draw = () =>
      report.forest.picture(data, {
        caption: `Mean turnaround by ${kinds.join(" and ")}`,
        better: "lower",
        rows: all,
        kind: "s",
        difference: false,
        practical,
        region: practical,
      });
    return all.length > kDrawn ? behind("As a picture", draw) : draw();
  };

  const draw = (data) => {
    if (data.groups.length === 0) return null;
    const rivals = data.schedulers.filter(({baseline}) => !baseline);
    const element = section(
      "groups",
      "Who wins",
      "By class, pool and user",
      "Which jobs gain, and which pay for it. The verdicts are by the rule of the summary, adjusted over all " +
        "that is compared here: of 100 comparisons of schedulers that are all alike, 5 at most would show anything.",
    );
    if (rivals.length > 0)
      element.append(
        make(
          "ul",
          {},
          rivals.map((rival) => sentence(data, rival)),
        ),
      );
    for (const grouping of data.groups) {
      const {kinds, rows, groups} = grouping;
      element.append(
        ...[
          make("h3", {}, `By ${kinds.join(" and ")}`),
          grid(data, grouping),
          format.known(groups) && groups > rows.length
            ? note(`The ${rows.length} with most jobs, of ${format.count(groups)}.`)
            : null,
          chart(data, grouping),
        ].filter(Boolean),
      );
    }
    return element;
  };

  report.groups = {draw};
}
