// CSV (RFC 4180): rows of fields, separated by commas or semicolons.

/** The rows of a text as objects, by the names in its first row. Throws a `SyntaxError`. */
export function parse(text) {
  const [names, ...rows] = rowsOf(text.replace(/^\ufeff/, ""));
  if (!names) throw new SyntaxError("the CSV is empty");
  const keys = names.map((name) => name.trim().toLowerCase());
  return rows.map((fields) => Object.fromEntries(keys.map((key, n) => [key, (fields[n] ?? "").trim()])));
}

function rowsOf(text) {
  const firstLine = text.split("\n", 1)[0];
  const separator = firstLine.includes(";") && !firstLine.includes(",") ? ";" : ",";
  const rows = [];
  let fields = [];
  let at = 0;
  while (at < text.length) {
    let field = "";
    if (text[at] === '"') {
      const begin = at++;
      for (;;) {
        const quote = text.indexOf('"', at);
        if (quote < 0) throw new SyntaxError(`row ${rows.length + 1}: the quote at ${begin} is not closed`);
        field += text.slice(at, quote);
        at = quote + 1;
        if (text[at] !== '"') break;
        field += '"';
        at++;
      }
    }
    const end = nextOf(text, at, separator);
    fields.push(field + text.slice(at, end).replace(/\r$/, ""));
    at = end + 1;
    if (text[end] !== separator) {
      // A line that holds nothing is no row.
      if (fields.length > 1 || fields[0].trim() !== "") rows.push(fields);
      fields = [];
    }
  }
  return rows;
}

/** Where the next separator or line ends what begins here. */
function nextOf(text, from, separator) {
  for (let at = from; at < text.length; at++) {
    if (text[at] === separator || text[at] === "\n") return at;
  }
  return text.length;
}
