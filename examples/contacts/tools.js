// Imports contacts from a CSV, and asks what to do with those that are there twice.

import { askAll, defineTools, form, log, progress, resource, Result, step, task, text, ToolError } from "./cofferdam/index.js";
import { parse } from "./csv.js";

/** Rows between two reports of progress. */
const STRIDE = 100;

/** Most questions at once. */
const AT_ONCE = 32;

const ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

/** What the user may do with contacts of the same address. */
const CHOICE = {
  type: "string",
  title: "What to do",
  oneOf: [
    { const: "merge", title: "Merge them" },
    { const: "first", title: "Keep the first" },
    { const: "last", title: "Keep the last" },
    { const: "all", title: "Keep all" },
  ],
  default: "merge",
};

export const handler = defineTools({
  "import-contacts": {
    title: "Import contacts",
    description:
      "Reads contacts from a CSV with the columns name, email and phone, and makes vCards of them. Asks about those with the same address.",
    task: "optional",
    hints: { readOnly: true, openWorld: false },
    input: { csv: { type: "string", description: "The CSV as text. Its first line names the columns." } },
    output: {
      rows: { type: "integer" },
      contacts: { type: "integer" },
      duplicates: { type: "integer" },
      faulty: {
        type: "array",
        items: {
          type: "object",
          properties: { row: { type: "integer" }, why: { type: "string" } },
          required: ["row", "why"],
        },
      },
    },

    run({ csv }) {
      task.start({ status: "Reading" });
      const { groups, faulty, rows } = step("read", () => read(csv));
      const kept = decide(groups);
      log.info("imported", { rows, contacts: kept.length });
      return new Result({
        content: [
          text(`${kept.length} contacts from ${rows} rows`),
          resource("contacts:///contacts.vcf", "text/vcard", kept.map(vcard).join("")),
        ],
        structured: {
          rows,
          contacts: kept.length,
          duplicates: groups.filter((group) => group.length > 1).length,
          faulty,
        },
      });
    },
  },
});

/** The contacts of the CSV, grouped by their addresses, and the rows that are none. */
function read(csv) {
  let rows;
  try {
    rows = parse(csv);
  } catch (error) {
    throw new ToolError(`This is no CSV: ${error.message}`);
  }
  const groups = new Map();
  const faulty = [];
  for (const [n, { name = "", email = "", phone = "" }] of rows.entries()) {
    const address = email.toLowerCase();
    if (name === "") faulty.push({ row: n + 1, why: "it has no name" });
    else if (!ADDRESS.test(address)) faulty.push({ row: n + 1, why: `"${email}" is no address` });
    else groups.set(address, [...(groups.get(address) ?? []), { name, email: address, phone }]);
    if ((n + 1) % STRIDE === 0) progress(n + 1, rows.length, `${n + 1} rows`);
  }
  return { groups: [...groups.values()], faulty, rows: rows.length };
}

/** One contact of each group, or what the user says of those with several. */
function decide(groups) {
  const several = groups.filter((group) => group.length > 1);
  const choices = new Map();
  for (let n = 0; n < several.length; n += AT_ONCE) {
    const questions = several.slice(n, n + AT_ONCE).map((group) => [group[0].email, question(group)]);
    const answers = askAll(Object.fromEntries(questions));
    for (const [address, answer] of Object.entries(answers)) choices.set(address, answer);
  }
  return groups.flatMap((group) => {
    if (group.length === 1) return group;
    // Without an answer nothing gets lost.
    const { action, content } = choices.get(group[0].email);
    switch (action === "accept" ? content.what : "all") {
      case "first":
        return group.slice(0, 1);
      case "last":
        return group.slice(-1);
      case "merge":
        return [merge(group)];
      default:
        return group;
    }
  });
}

function question(group) {
  const who = group.map(({ name, phone }) => (phone ? `${name} (${phone})` : name)).join(", ");
  return form(`${group.length} contacts have the address ${group[0].email}: ${who}.`, { what: CHOICE });
}

/** The longest name, and all numbers. */
function merge(group) {
  const phones = new Set(group.flatMap(({ phone }) => (phone ? phone.split(" / ") : [])));
  const names = group.map(({ name }) => name).sort((a, b) => b.length - a.length);
  return { name: names[0], email: group[0].email, phone: [...phones].join(" / ") };
}

/** A vCard (RFC 6350). */
function vcard({ name, email, phone }) {
  const escaped = (value) => value.replace(/[\\,;]/g, "\\$&").replaceAll("\n", "\\n");
  const phones = phone.split(" / ").filter((number) => number !== "");
  const lines = ["BEGIN:VCARD", "VERSION:4.0", `FN:${escaped(name)}`, `EMAIL:${escaped(email)}`];
  lines.push(...phones.map((number) => `TEL:${escaped(number)}`), "END:VCARD");
  return lines.map((line) => `${line}\r\n`).join("");
}
