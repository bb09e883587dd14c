// Pictures: what is drawn of single runs. All of them show the runs of one seed, under which every scheduler had the
// same jobs, arrivals and data, so that what differs is the scheduler. Each part has the list of the seeds that are in
// the page, and a choice in one of them changes all.
"use strict";
{
  const {format} = report;
  const {make, note} = report.chart;
  const kWhich = {median: "median run", best: "best run", worst: "worst run"};
  const shown = []; // of each part: shows the runs of a picture
  let counted = false; // whether a part has said which seeds there are

  const seedOf = ({seed, block}) =>
    report.text(seed) !== ""
      ? `seed ${report.text(seed)}`
      : format.known(block)
        ? `repetition ${format.count(block + 1)}`
        : "one run";
  const nameOf = (data, picture) =>
    seedOf(picture) +
    (kWhich[picture.what] ? `: the ${kWhich[picture.what]} of ${format.short(data.names[data.baseline], 24)}` : "");

  // Who is not in a picture, and why.
  const missing = (data, picture, details) => {
    const out = data.schedulers.filter(({index}) => details.every(({scheduler}) => scheduler !== index));
    const ran = ({index}) =>
      data.runs.some((run) => run.scheduler === index && !run.second && report.pairOf(run) === picture.pair);
    const say = (some, words) =>
      some.length === 0
        ? null
        : make("p", {class: "warning"}, `${format.joined(some.map(({name}) => name))} ${words(some.length > 1)}`);
    return [
      say(
        out.filter((scheduler) => !ran(scheduler)),
        (many) => `did not run ${seedOf(picture)}, so there is nothing to show of ${many ? "them" : "it"}.`,
      ),
      say(out.filter(ran), () => `ran ${seedOf(picture)}, but the document has nothing of that run to show here.`),
    ];
  };

  const which = (data) => {
    const seeds = data.design.repeat;
    const some = data.pictures.length;
    if (!format.known(seeds) || some >= seeds) return null;
    const named = data.pictures.filter(({what}) => kWhich[what]).map(({what}) => what);
    const other = some - named.length;
    return note(
      `The page has room for ${some === 1 ? "one" : some} of the ${format.count(seeds)} seeds: ` +
        `the ${format.joined(named)} run of ${data.names[data.baseline]}, by mean turnaround` +
        `${other > 0 ? `, and ${format.counted(other, "other")}` : ""}. The parts above are of all runs.`,
    );
  };

  // Makes a part of single runs; null if the document has none to show. usable(detail): whether there is something of
  // the run to show. fill(details, picture): what is shown of the usable ones.
  const section = (data, {id, name, title, how, usable, fill}) => {
    if (!data.pictures.some(({details}) => details.some(usable))) return null;
    const element = report.chart.section(id, name, title, how);
    const hold = make("div");
    const select = make(
      "select",
      {class: "seed", onchange: () => choose(data.pictures[select.selectedIndex], select)},
      data.pictures.map((picture) => make("option", {}, nameOf(data, picture))),
    );
    const show = (picture) => {
      select.selectedIndex = data.pictures.indexOf(picture);
      const details = picture.details.filter(usable);
      hold.replaceChildren(
        ...[missing(data, picture, details), details.length > 0 ? fill(details, picture) : []].flat(9).filter(Boolean),
      );
    };
    element.append(
      data.pictures.length > 1
        ? make("div", {class: "bar which"}, make("label", {}, ["Runs of ", select]))
        : make("p", {class: "bar which"}, `Runs of ${nameOf(data, data.pictures[0])}`),
    );
    const said = counted ? null : which(data);
    counted = true;
    element.append(...[said, hold].filter(Boolean));
    shown.push(show);
    show(data.pictures[0]);
    return element;
  };

  // What was clicked at stays where it is, though the parts above may become higher.
  const choose = (picture, clicked) => {
    const place = () => clicked.getBoundingClientRect().top;
    const before = place();
    shown.forEach((show) => show(picture));
    report.chart.drawAll();
    scrollBy({top: place() - before, behavior: "instant"});
  };

  report.pictures = {section, seedOf};
}
