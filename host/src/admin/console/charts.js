// Lines over time. A point is {time, values}, with one value for each line; null is a gap.

const WIDTH = 300;
const HEIGHT = 72;
/** Room for half of a line's width. */
const MARGIN = 3;

/** Where lines go: the path of each, its last value, and the largest of all. */
function trace(points, lines, span) {
  const known = points.flatMap((point) => point.values).filter((value) => value !== null);
  const most = Math.max(0, ...known);
  const x = (time) => (WIDTH * (time - span.from)) / (span.to - span.from);
  const y = (value) => HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (value / most);
  // Nothing but the ground.
  if (most === 0) return { paths: Array(lines).fill(""), last: lastOf(points, lines), most };
  const paths = Array.from({ length: lines }, (_, line) => {
    const steps = [];
    let open = false;
    for (const { time, values } of points) {
      const value = values[line];
      if (value === null) {
        open = false;
        continue;
      }
      const at = `${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
      // A point alone is a dot.
      steps.push(open ? `L${at}` : `M${at}h.1`);
      open = true;
    }
    return steps.join("");
  });
  return { paths, last: lastOf(points, lines), most };
}

function lastOf(points, lines) {
  return points.at(-1)?.values ?? Array(lines).fill(null);
}

/** The plot itself. */
function plot(lines, kind) {
  const paths = lines.map((_, line) => svg("path", { class: `line-${line}` }));
  const base = svg("line", { class: "base", x1: 0, y1: HEIGHT - 1, x2: WIDTH, y2: HEIGHT - 1 });
  const options = { class: kind, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" };
  const picture = svg("svg", options, base, ...paths);
  const draw = (title, points, span, format) => {
    const traced = trace(points, lines.length, span);
    traced.paths.forEach((path, line) => paths[line].setAttribute("d", path));
    const words = lines.map((name, line) => `${name} ${format(traced.last[line])}`);
    picture.setAttribute("aria-label", `${title}: now ${words.join(", ")}; at most ${format(traced.most)}`);
    return traced;
  };
  return { picture, draw };
}

/** A chart with its title, what its lines are and their last values. */
function chart(title, lines, format) {
  const written = (value) => (value === null ? "–" : format(value));
  const { picture, draw } = plot(lines, "plot");
  const values = lines.map(() => el("b"));
  const legend = lines.map((name, line) => {
    const sample = svg("svg", { viewBox: "0 0 18 8", "aria-hidden": "true" }, svg("path", { class: `line-${line}`, d: "M1 4h16" }));
    return el("li", {}, sample, `${name} `, values[line]);
  });
  const [most, from] = [el("span", { class: "quiet" }), el("span")];
  const figure = el("figure", {},
    el("figcaption", {}, title, most),
    el("ul", { class: "legend" }, ...legend),
    picture,
    el("div", { class: "scale" }, from, el("span", {}, "now")));
  const update = (points, span) => {
    const traced = draw(title, points, span, written);
    values.forEach((value, line) => say(value, written(traced.last[line])));
    say(most, `at most ${written(traced.most)}`);
    say(from, `${duration((span.to - span.from) / 1_000)} ago`);
  };
  return { figure, update };
}

/** A small one, for a row of a table. */
function spark(title, lines, format) {
  const { picture, draw } = plot(lines, "spark");
  const written = (value) => (value === null ? "–" : format(value));
  return { picture, update: (points, span) => draw(title, points, span, written) };
}
