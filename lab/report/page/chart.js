// What all parts of the page are made of: elements, sections with the sentence that says how to read them, charts that
// follow the width of the window, tables behind charts, and the tip under the pointer. Text from the document enters
// the page as text alone.
"use strict";
{
  const {known} = report.format;

  // Makes an element. `content`: text, an element, or a list of these.
  const make = (tag, attributes = {}, content = []) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...[content].flat(9).filter((part) => part !== null && part !== undefined && part !== false));
    return element;
  };

  // `name` is the word for it in the list of contents.
  const section = (id, name, title, how) => {
    const element = make(
      "section",
      {id, "aria-labelledby": `${id}-title`, "data-name": name},
      make("h2", {id: `${id}-title`}, title),
    );
    if (how) element.append(make("p", {class: "how"}, how));
    return element;
  };
  const note = (words) => make("p", {class: "note"}, words);

  // --- charts ---
  const drawers = new Map(); // element -> {draw, width}
  const observer = new ResizeObserver((entries) => {
    for (const {target} of entries) redraw(target);
  });
  const redraw = (element) => {
    const state = drawers.get(element);
    const width = Math.floor(element.clientWidth);
    if (!state || width === 0 || width === state.width) return;
    state.width = width;
    state.draw(width);
  };
  // Calls draw(width) as soon as the element has a width, and again when that changes.
  const follow = (element, draw) => {
    drawers.set(element, {draw, width: 0});
    observer.observe(element);
  };
  // Draws what has come into the page just now, without waiting for the observer.
  const drawAll = () => [...drawers.keys()].forEach(redraw);

  // Paper is narrower than most windows.
  const print = (printing) => () => {
    document.body.classList.toggle("printing", printing);
    drawAll();
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));

  // A figure with one SVG picture. size(width) gives {height, margin: [top, right, bottom, left]}; draw(g, w, h, svg,
  // width) fills the inner part. `alt` is the text alternative.
  const figure = ({caption, alt, size, draw}) => {
    const frame = make("figure", {}, [caption ? make("figcaption", {}, caption) : null]);
    const hold = make("div");
    frame.append(hold);
    follow(hold, (width) => {
      const {height, margin} = size(width);
      const [top, right, bottom, left] = margin;
      const svg = d3
        .create("svg")
        .attr("viewBox", `0 0 ${width} ${height}`)
        .attr("role", "img")
        .attr("aria-label", alt ?? (typeof caption === "string" ? caption : ""));
      const g = svg.append("g").attr("transform", `translate(${left},${top})`);
      hold.replaceChildren(svg.node());
      draw(g, Math.max(40, width - left - right), Math.max(10, height - top - bottom), svg, width);
    });
    return frame;
  };

  const bottomAxis = (g, scale, height, {ticks = 6, format = null, title = null, width = 0} = {}) => {
    g.append("g")
      .attr("class", "axis grid-lines")
      .attr("transform", `translate(0,${height})`)
      .call(d3.axisBottom(scale).ticks(ticks).tickSize(-height).tickFormat(""));
    const axis = g
      .append("g")
      .attr("class", "axis")
      .attr("transform", `translate(0,${height})`)
      .call(
        d3
          .axisBottom(scale)
          .ticks(ticks, format === null ? undefined : format)
          .tickSize(4),
      );
    if (typeof format === "function") axis.call(d3.axisBottom(scale).ticks(ticks).tickFormat(format).tickSize(4));
    if (title) label(g, width, height + 33, title, {anchor: "end", look: "quiet"});
  };
  const leftAxis = (g, scale, width, {ticks = 5, format = null, title = null} = {}) => {
    const axis = d3.axisLeft(scale).ticks(ticks).tickSize(-width);
    if (format) axis.tickFormat(format);
    g.append("g").attr("class", "axis grid-lines").call(axis).selectAll("text").remove();
    const labels = d3.axisLeft(scale).ticks(ticks).tickSize(4);
    if (format) labels.tickFormat(format);
    g.append("g").attr("class", "axis").call(labels);
    if (title) label(g, -4, -9, title, {look: "quiet"});
  };
  // Writes `words` at (x, y). Beyond `room` pixels they are cut, and the whole is their title.
  const label = (g, x, y, words, {anchor = "start", look = null, room = Infinity} = {}) => {
    const cut = report.format.short(words, Math.max(3, Math.floor(room / 6.7)));
    const text = g.append("text").attr("class", look).attr("x", x).attr("y", y).attr("text-anchor", anchor).text(cut);
    if (cut !== words) text.append("title").text(words);
    return text;
  };

  // --- the tip under the pointer ---
  const tip = (event, words) => {
    const box = document.getElementById("tip");
    box.hidden = words === null;
    if (words === null) return;
    box.textContent = words;
    const {offsetWidth: width, offsetHeight: height} = box;
    const x = event.clientX + 14 + width > innerWidth ? event.clientX - width - 10 : event.clientX + 14;
    const y = event.clientY + 14 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 14;
    box.style.left = `${Math.max(4, x)}px`;
    box.style.top = `${Math.max(4, y)}px`;
  };
  const tipped = (selection, words) =>
    selection
      .on("pointermove", (event, datum) => tip(event, words(datum)))
      .on("pointerleave", (event) => tip(event, null));

  // --- tables --- columns: [{title, number: bool}]; rows: lists of cells, text or elements. The first cell of a row
  // heads it.
  const table = (columns, rows, caption = null) =>
    make(
      "div",
      {class: "scroll"},
      make("table", {}, [
        caption ? make("caption", {}, caption) : null,
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            columns.map(({title, number}) => make("th", {scope: "col", class: number ? "number" : null}, title)),
          ),
        ),
        make(
          "tbody",
          {},
          rows.map((row) =>
            make(
              "tr",
              {},
              row.map((cell, index) =>
                make(
                  index === 0 ? "th" : "td",
                  {scope: index === 0 ? "row" : null, class: columns[index]?.number ? "number" : null},
                  cell,
                ),
              ),
            ),
          ),
        ),
      ]),
    );
  // A table that is made when somebody opens it.
  const behind = (title, build) => {
    const details = make("details", {}, make("summary", {}, title));
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(build());
      drawAll();
    });
    return details;
  };

  const verdict = (kind) => make("span", {class: `verdict ${kind}`}, report.look.kVerdicts[kind].join(" "));

  // The key of schedulers: line, dashes and symbol beside the name.
  const key = (schedulers, line = true) =>
    make(
      "ul",
      {class: "key"},
      schedulers.map(({index, name, baseline}) => {
        const svg = d3.create("svg").attr("viewBox", "0 0 37 16").attr("aria-hidden", "true");
        if (line) {
          svg
            .append("line")
            .attr("x1", 1)
            .attr("x2", 36)
            .attr("y1", 8)
            .attr("y2", 8)
            .style("stroke", report.look.colour(index))
            .style("stroke-width", 2.2)
            .style("stroke-dasharray", report.look.dash(index));
        }
        svg
          .append("path")
          .attr("d", report.look.symbol(index, 70))
          .attr("transform", "translate(18,8)")
          .style("fill", report.look.colour(index));
        return make("li", {}, [svg.node(), baseline ? `${name} (baseline)` : name]);
      }),
    );

  const most = (values, otherwise = 1) =>
    values.reduce((top, value) => (known(value) && value > top ? value : top), 0) || otherwise;

  report.chart = {
    make,
    section,
    note,
    follow,
    drawAll,
    figure,
    bottomAxis,
    leftAxis,
    label,
    tip,
    tipped,
    table,
    behind,
    verdict,
    key,
    most,
  };
}
