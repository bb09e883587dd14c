// How a scheduler, a distance and a phase look: by colour, and by shape, dashes or pattern, so that no meaning hangs on
// colour alone.
"use strict";
{
  const kColours = 8;
  const kDashes = [null, "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "9 2 2 2 2 2"];
  const kSymbols = [
    d3.symbolCircle,
    d3.symbolSquare,
    d3.symbolTriangle,
    d3.symbolDiamond,
    d3.symbolStar,
    d3.symbolCross,
    d3.symbolWye,
  ];

  const colour = (index) => `var(--s${index % kColours})`;
  const dash = (index) => kDashes[index % kDashes.length];
  const symbol = (index, size = 60) => d3.symbol(kSymbols[index % kSymbols.length], size)();

  // The four distances, nearest first, with the patterns that print in black and white.
  const kDistances = ["same node", "same rack", "same datacenter", "another datacenter"];
  const kBytes = ["node", "rack", "datacenter", "beyond"];
  const patterns = (svg, prefix) => {
    const defs = svg.append("defs");
    const tile = (name, colours, draw) => {
      const pattern = defs
        .append("pattern")
        .attr("id", `${prefix}-${name}`)
        .attr("patternUnits", "userSpaceOnUse")
        .attr("width", 8)
        .attr("height", 8);
      pattern.append("rect").attr("width", 8).attr("height", 8).style("fill", colours);
      draw(pattern);
      return pattern;
    };
    const stroke = (mark) => mark.style("stroke", "var(--back)").style("stroke-width", 1.6).style("fill", "none");
    tile(0, "var(--l0)", () => {});
    tile(1, "var(--l1)", (p) => stroke(p.append("path").attr("d", "M-2,2l4,-4M0,8l8,-8M6,10l4,-4")));
    tile(2, "var(--l2)", (p) =>
      p.append("circle").attr("cx", 4).attr("cy", 4).attr("r", 1.6).style("fill", "var(--back)"),
    );
    tile(3, "var(--l3)", (p) => stroke(p.append("path").attr("d", "M0,0l8,8M8,0l-8,8")));
    return (index) => `url(#${prefix}-${index})`;
  };

  // What the canvas of the Gantt chart paints with; a canvas knows no variables of the style sheet.
  const theme = (printing) => {
    const dark = !printing && matchMedia("(prefers-color-scheme: dark)").matches;
    return dark
      ? {
          dark,
          back: "#12161d",
          ink: "#e6eaf1",
          quiet: "#a3adbd",
          line: "#364051",
          stripe: "#1a2029",
          light: 62,
        }
      : {
          dark,
          back: "#ffffff",
          ink: "#1b2230",
          quiet: "#566072",
          line: "#d5dae2",
          stripe: "#f4f6f8",
          light: 50,
        };
  };

  const kVerdicts = {
    better: ["▲", "better"],
    worse: ["▼", "worse"],
    same: ["≈", "same"],
    undecided: ["?", "undecided"],
  };

  report.look = {colour, dash, symbol, patterns, theme, kDistances, kBytes, kVerdicts};
}
