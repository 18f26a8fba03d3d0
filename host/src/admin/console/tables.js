// Tables whose rows stay while what they tell changes, so that focus and what was opened stay, too.

/** A table by its columns, each {title, number, cell, key}: `cell` makes what a row shows in it. */
function table(element, caption, columns) {
  const head = columns.map(({ title, number }) => el("th", { scope: "col", role: "columnheader", class: number ? "number" : null }, title));
  const body = el("tbody", { role: "rowgroup" });
  element.setAttribute("role", "table");
  show(element,
    el("caption", {}, caption),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...head)),
    body);
  const rows = new Map();
  const update = (items, key) => {
    const order = items.map((item) => {
      const name = key(item);
      const row = rows.get(name) ?? newRow(columns);
      rows.set(name, row);
      row.cells.forEach((cell) => cell.update(item));
      return row;
    });
    const kept = new Set(order);
    for (const [name, row] of rows) if (!kept.has(row)) rows.delete(name);
    const elements = order.map((row) => row.element);
    // Moving a row takes the focus from it.
    if (elements.length !== body.children.length || elements.some((row, at) => row !== body.children[at])) show(body, ...elements);
  };
  return update;
}

function newRow(columns) {
  const cells = columns.map(({ title, number, cell }, at) => {
    const attributes = at === 0
      ? { scope: "row", role: "rowheader" }
      : { role: "cell", "data-label": title, class: number ? "number" : null };
    const element = el(at === 0 ? "th" : "td", attributes);
    return { element, update: cell(element) };
  });
  return { element: el("tr", { role: "row" }, ...cells.map((cell) => cell.element)), cells };
}

/** A cell that is a text. */
const text = (of) => (cell) => (item) => say(cell, of(item));

/** A cell that is made anew when what it shows is another. */
const made = (of, make) => (cell) => {
  let shown = null;
  return (item) => {
    const value = JSON.stringify(of(item));
    if (value !== shown) show(cell, make(of(item)));
    shown = value;
  };
};

/** A cell that is a small chart; `of` gives its points. */
const drawn = (title, lines, format, of) => (cell) => {
  const { picture, update } = spark(title, lines, format);
  cell.append(picture);
  return (item) => update(of(item), past.span());
};

const counted = [
  { title: "Calls", number: true, cell: text((it) => count(it.calls)) },
  { title: "Errors", number: true, cell: text((it) => count(it.errors)) },
  { title: "p50", number: true, cell: text((it) => millis(it.latency_ms?.p50 ?? null)) },
  { title: "p99", number: true, cell: text((it) => millis(it.latency_ms?.p99 ?? null)) },
  { title: "CPU", number: true, cell: text((it) => seconds(it.cpu_seconds)) },
];
const overTime = (kind) => [
  { title: "Latency", cell: drawn("Latency", ["p50", "p99"], millis, (it) => past.latency(kind, it.name)) },
  { title: "CPU used", cell: drawn("CPU", ["of a core"], percent, (it) => past.cpu(kind, it.name)) },
];

function percent(part) {
  return `${digits(part * 100)} %`;
}

/** The end of a path, which is whole in the table of components. */
function fileName(path) {
  return el("span", { title: path }, path.split("/").at(-1));
}

/** What a component may reach, each in a line. */
function grants({ environment, directories, http, sockets }) {
  const lines = [
    ...environment.map((it) => ["variable", it]),
    ...directories.map((it) => ["directory", it]),
    ...http.map((it) => ["http", it]),
    ...sockets.map((it) => ["tcp", it]),
  ];
  if (lines.length === 0) return el("span", { class: "quiet" }, "nothing");
  const line = ([kind, what]) => el("li", {}, el("span", { class: "quiet" }, `${kind} `), el("span", { class: "code" }, what));
  return el("ul", {}, ...lines.map(line));
}

const updateTools = table(byId("tools"), "Since the server started; charts of the time above.", [
  { title: "Tool", cell: text((it) => it.name) },
  { title: "Component", cell: made((it) => it.component, fileName) },
  { title: "Version", cell: made((it) => it.digest, digest) },
  { title: "Tasks", cell: text((it) => it.task_support) },
  ...counted,
  ...overTime("tools"),
]);
const updateTenants = table(byId("tenants"), "Tenants of the configuration, and all other callers together.", [
  { title: "Tenant", cell: made((it) => it.name, (name) => name === "" ? el("span", { class: "quiet" }, "all others") : name) },
  ...counted,
  ...overTime("tenants"),
]);
const updateComponents = table(byId("components"), "What serves now, and what each may reach beside its calls.", [
  { title: "Component", cell: text((it) => it.name) },
  { title: "Version", cell: made((it) => it.digest, digest) },
  { title: "Serves since", cell: text((it) => it.serving_since) },
  { title: "Tools", number: true, cell: text((it) => count(it.tools)) },
  { title: "Prompts", number: true, cell: text((it) => count(it.prompts)) },
  { title: "Resources", number: true, cell: text((it) => count(it.resources)) },
  { title: "Signed by", cell: text((it) => it.signed_by ?? "–") },
  { title: "May reach", cell: made((it) => it.grants, grants) },
]);
const updateLimits = table(byId("limits"), "Since the server started.", [
  { title: "Limit", cell: text((it) => it.limit.replaceAll("_", " ")) },
  { title: "Times", number: true, cell: text((it) => count(it.times)) },
]);

/** What does not serve as it is. */
function updateRefused(refused) {
  const item = ({ name, reason, serving }) => {
    const instead = serving
      ? el("p", { class: "quiet" }, "In its place serves ", digest(serving))
      : el("p", { class: "quiet" }, "Nothing serves in its place.");
    return el("li", {}, el("p", { class: "code" }, name), el("p", {}, reason), instead);
  };
  const shown = JSON.stringify(refused);
  const list = byId("refused");
  if (list.dataset.shown !== shown) {
    list.dataset.shown = shown;
    show(list, ...refused.map(item));
  }
  byId("errors").hidden = refused.length === 0;
}
