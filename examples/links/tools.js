// Checks the links of a page: the web's own `fetch` and `URL`, each link a step that is done once.

import { ask, defineTools, form, log, progress, step, task, ToolError } from "./cofferdam/index.js";

/** Beyond so many, the user is asked how many to follow. */
const UNASKED = 10;

/** What an `href` may not be. */
const OTHER_SCHEMES = /^(?:mailto|tel|javascript|data):/i;

export const links = {
  "check-links": {
    title: "Check links",
    description: "Fetches a page and tells which of its links lead nowhere.",
    task: "optional",
    hints: { readOnly: true, openWorld: true },
    input: { url: { type: "string", format: "uri", description: "The page, on a host that is granted" } },
    output: {
      page: { type: "string" },
      found: { type: "integer" },
      checked: { type: "integer" },
      broken: {
        type: "array",
        items: {
          type: "object",
          properties: { url: { type: "string" }, why: { type: "string" } },
          required: ["url", "why"],
        },
      },
    },

    async run({ url }) {
      task.start({ status: `Fetching ${url}` });
      const page = await step("page", () => fetchPage(url));
      const targets = linksOf(page);
      const count = howMany(targets.length);
      const broken = [];
      for (const [n, target] of targets.slice(0, count).entries()) {
        progress(n + 1, count, target);
        const why = await step(`link ${n}`, () => faultOf(target));
        if (why) broken.push({ url: target, why });
      }
      log.info("checked", { page: url, checked: count, broken: broken.length });
      return { page: url, found: targets.length, checked: count, broken };
    },
  },
};

export const handler = defineTools(links);

/** The page's address, after redirects within the answer, and its text. */
async function fetchPage(url) {
  if (!parsed(url)) throw new ToolError(`${url} is no absolute URL`);
  let response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new ToolError(`${url} cannot be fetched: ${error.message}`);
  }
  if (!response.ok) throw new ToolError(`${url} answered ${response.status}`);
  return { url: response.url || url, html: await response.text() };
}

/** The URL, if it is one. The engine has no `URL.parse`. */
function parsed(url, base) {
  try {
    return new URL(url, base);
  } catch {
    return null;
  }
}

/** The addresses that a page leads to, each once, in the order of the page. */
function linksOf({ url, html }) {
  const found = new Set();
  for (const [, quoted, bare] of html.matchAll(/<a\s[^>]*?href\s*=\s*(?:["']([^"']*)["']|([^\s>]+))/gi)) {
    const href = (quoted ?? bare).replaceAll("&amp;", "&").trim();
    const target = parsed(href, url);
    if (!target || href.startsWith("#") || OTHER_SCHEMES.test(href)) continue;
    target.hash = "";
    found.add(target.href);
  }
  return [...found];
}

/** How many of the links to follow: few unasked, many as the user says. */
function howMany(found) {
  if (found <= UNASKED) return found;
  const limit = { type: "integer", title: "How many to follow", minimum: 0, maximum: found, default: UNASKED };
  const { action, content } = ask("limit", form(`The page has ${found} links. How many shall be followed?`, { limit }));
  return action === "accept" ? (content.limit ?? UNASKED) : 0;
}

/** Why a link leads nowhere; null if it does not. */
async function faultOf(url) {
  try {
    const { status } = await fetch(url, { method: "HEAD" });
    return status < 400 ? null : `it answered ${status}`;
  } catch (error) {
    return `it cannot be fetched: ${error.message}`;
  }
}
