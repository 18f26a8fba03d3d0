// Asks the server every so often, and shows what it says.

const PERIOD = 5_000;
const PATIENCE = 10_000;
/** The last hour, and as much of it as there is; but no less than this. */
const [LONGEST, SHORTEST] = [3_600_000, 300_000];

class TokenWanted extends Error {
  message = "the server wants its admin token";
}

let token = null;

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token !== null) headers.authorization = `Bearer ${token}`;
  const answer = await fetch(path, {
    ...options, headers, cache: "no-store", credentials: "omit", redirect: "error",
    signal: options.signal ?? AbortSignal.timeout(PATIENCE),
  });
  if (answer.status === 401) throw new TokenWanted();
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

/** What the server keeps of the last hour. */
const past = {
  samples: [],

  async fetch() {
    const last = this.samples.at(-1)?.time ?? 0;
    const { samples } = await ask(`/history?since=${last}`);
    // One that started anew counts anew, and its clock may be another.
    this.samples = this.samples.concat(samples);
    const oldest = (this.samples.at(-1)?.time ?? 0) - LONGEST;
    this.samples = this.samples.filter((sample) => sample.time > oldest);
  },

  span() {
    const to = this.samples.at(-1)?.time ?? Date.now();
    const from = this.samples[0]?.time ?? to;
    return { from: Math.min(from, to - SHORTEST), to };
  },

  points(values) {
    return this.samples.map((sample) => ({ time: sample.time, values: values(sample) }));
  },

  of(kind, name, values) {
    return this.points((sample) => values(sample[kind].find((it) => it.name === name), sample));
  },

  latency(kind, name) {
    return this.of(kind, name, (it) => [it?.p50_ms ?? null, it?.p99_ms ?? null]);
  },

  cpu(kind, name) {
    return this.of(kind, name, (it, sample) => [(it?.cpu_seconds ?? 0) / sample.seconds]);
  },
};

const perMinute = (number, sample) => (number * 60) / sample.seconds;
const sum = (numbers) => Object.values(numbers).reduce((all, one) => all + one, 0);
const CHARTS = [
  [chart("Calls per second", ["calls", "errors"], digits), (it) => [it.calls / it.seconds, it.errors / it.seconds]],
  [chart("Latency of calls", ["p50", "p99"], millis), (it) => [it.p50_ms, it.p99_ms]],
  [chart("Instances", ["running", "queued"], count), (it) => [it.running, it.waiting]],
  [chart("Tasks", ["running", "parked"], count), (it) => it.tasks ? [it.tasks.running, parked(it.tasks)] : [null, null]],
  [chart("Tasks ended per minute", ["done", "failed", "cancelled"], digits),
    (it) => it.tasks ? [it.tasks.completed, it.tasks.failed, it.tasks.cancelled].map((number) => perMinute(number, it)) : [null, null, null]],
  [chart("CPU of tools", ["of a core"], percent), (it) => [it.cpu_seconds / it.seconds]],
  [chart("Memory", ["in RAM"], mebibytes), (it) => [it.memory_bytes]],
  [chart("Refusals per minute", ["all limits"], digits), (it) => [perMinute(sum(it.refusals), it)]],
];
show(byId("charts"), ...CHARTS.map(([{ figure }]) => figure));

/** Unfinished, and without a run. */
function parked({ working, input_required, running }) {
  return Math.max(0, working + input_required - running);
}

function updateNow({ instances, tasks, connections, listens }) {
  const of = (number, limit) => [count(number), el("small", {}, ` of ${count(limit)}`)];
  const tiles = [
    ["Instances running", of(instances.running, instances.limit)],
    ["Calls queued", [count(instances.waiting)]],
    ["Connections", of(connections.open, connections.limit)],
    ["Streams", of(listens.open, listens.limit)],
  ];
  if (tasks) {
    tiles.splice(2, 0,
      ["Tasks running", [count(tasks.running)]],
      ["Tasks parked", [count(parked(tasks))]],
      ["Tasks that ask", [count(tasks.input_required)]],
      ["Completed", [count(tasks.completed)]],
      ["Failed", [count(tasks.failed)]],
      ["Cancelled", [count(tasks.cancelled)]]);
  }
  show(byId("now"), ...tiles.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, ...value))));
}

function health(state, words) {
  const pill = byId("health");
  pill.className = `pill ${state}`;
  say(pill, words);
}

function tell(words, bad = false) {
  const message = byId("message");
  message.classList.toggle("bad", bad);
  message.hidden = words === "";
  say(message, words);
}

function update(status) {
  const { node, store, refused } = status;
  const parts = [node.host, `version ${status.version}`, `tasks in ${store ?? "no store"}`,
    `up ${duration(status.uptime_seconds)}`, mebibytes(status.memory_bytes)];
  say(byId("node"), parts.filter((part) => part !== "").join(" · "));
  if (store && !status.tasks) health("bad", "The task store fails");
  else if (refused.length > 0) health("warn", refused.length === 1 ? "1 load error" : `${count(refused.length)} load errors`);
  else health("good", "Healthy");
  updateNow(status);
  updateRefused(refused);
  for (const [{ update }, values] of CHARTS) update(past.points(values), past.span());
  say(byId("window"), `the last ${duration((past.span().to - past.span().from) / 1_000)}`);
  updateTools(status.tools, (it) => it.name);
  updateTenants(status.tenants, (it) => it.name);
  updateComponents(status.components, (it) => it.name);
  const limits = Object.entries(status.refusals).map(([limit, times]) => ({ limit, times })).filter(({ times }) => times > 0);
  updateLimits(limits, (it) => it.limit);
  byId("limits").hidden = limits.length === 0;
  byId("no-limits").hidden = limits.length > 0;
  byId("main").hidden = false;
  byId("reload").disabled = reloading;
}

/** True if what the page says of the server is not what it says now. */
let lost = false;

async function look() {
  try {
    const [status] = await Promise.all([ask("/status"), past.fetch()]);
    update(status);
    if (lost) tell("");
    lost = false;
  } catch (error) {
    if (error instanceof TokenWanted) return askForToken();
    lost = true;
    health("bad", "Not answering");
    tell(`The server does not answer: ${error.message}. What is below may be old.`, true);
  }
  return undefined;
}

/** Resolves when there is one to try. */
function askForToken() {
  const dialog = byId("asking");
  const [form, input] = [byId("token-form"), byId("token")];
  byId("wrong").hidden = token === null;
  health("warn", "Token wanted");
  input.value = "";
  dialog.showModal();
  return new Promise((resolve) => {
    // There is nothing to see without it.
    dialog.onclose = () => dialog.showModal();
    form.onsubmit = (event) => {
      event.preventDefault();
      // What is no visible ASCII is no token, and no header takes it.
      token = input.value.trim().replace(/[^\x21-\x7e]/g, "?");
      input.value = "";
      dialog.onclose = null;
      dialog.close();
      resolve(look());
    };
  });
}

let reloading = false;

async function reload() {
  reloading = true;
  byId("reload").disabled = true;
  tell("Looking at the components again …");
  try {
    const options = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    // However long it takes to compile what is new.
    const changes = await ask("/reload", { ...options, signal: new AbortController().signal });
    const parts = ["added", "changed", "removed", "refused"].map((what) => `${changes[what].length} ${what}`);
    tell(`Reloaded: ${parts.join(", ")}. ${changes.serving} components serve.`, changes.refused.length > 0);
  } catch (error) {
    tell(`The reload failed: ${error.message}`, true);
  }
  reloading = false;
  await look();
}

byId("reload").addEventListener("click", reload);

async function follow() {
  for (;;) {
    // Nobody looks at a page in the background.
    if (!document.hidden) await look();
    await new Promise((resolve) => {
      const timer = setTimeout(done, PERIOD);
      function done() {
        clearTimeout(timer);
        document.removeEventListener("visibilitychange", done);
        resolve();
      }
      document.addEventListener("visibilitychange", done);
    });
  }
}

follow();
