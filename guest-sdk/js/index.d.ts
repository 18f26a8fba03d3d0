// Write Cofferdam tools in JavaScript or TypeScript.
//
// A handler is straight-line code. `task.start` makes its call a task, `ask` waits for the user, `sleep`
// for time. A server may run it again from its first line, after a crash or a long wait; verbs, clocks
// and random numbers then answer as they did before. `step` spares what was worked out.

// ---- Tools ----

/** A JSON schema of one value, and whether a member of it may be left out. */
export interface Field {
  type?: "string" | "number" | "integer" | "boolean" | "array" | "object" | "null";
  title?: string;
  description?: string;
  enum?: readonly unknown[];
  oneOf?: readonly unknown[];
  default?: unknown;
  /** The member may be left out. One with a default may be, too, and has that value then. */
  optional?: boolean;
  [keyword: string]: unknown;
}

/** The members of an object; or the whole schema of one. */
export type Fields = Record<string, Field>;
export type ObjectSchema = { type: "object"; properties?: Fields; [keyword: string]: unknown };

/** What a value of such a field is. */
export type ValueOf<F> = F extends { enum: readonly (infer V)[] }
  ? V
  : F extends { oneOf: readonly { const: infer V }[] }
    ? V
    : F extends { type: "string" }
      ? string
      : F extends { type: "number" | "integer" }
        ? number
        : F extends { type: "boolean" }
          ? boolean
          : any;

type Optional<F> = { [N in keyof F]: F[N] extends { optional: true } ? N : never }[keyof F];

/** What an object of such fields is. */
export type ObjectOf<F> = { [N in Exclude<keyof F, Optional<F>>]: ValueOf<F[N]> } & {
  [N in Optional<F>]?: ValueOf<F[N]>;
};

export interface Hints {
  readOnly?: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  openWorld?: boolean;
}

export interface Tool<A = any> {
  title?: string;
  description?: string;
  /** The arguments. What does not fit never reaches `run`; no other members are allowed unless said. */
  input?: Fields | ObjectSchema;
  /** The structured result. What does not fit never reaches the client. */
  output?: Fields | ObjectSchema;
  hints?: Hints;
  /** May a call become a task? `none` unless said. `required` refuses clients that know no tasks. */
  task?: "none" | "optional" | "required";
  meta?: Record<string, unknown>;
  /**
   * Runs the tool. It may be `async` on StarlingMonkey, which has something to wait for.
   *
   * A thrown `ToolError` is a result that a model reads, an `RpcError` a JSON-RPC error. Anything else
   * ends the run like a crash, and is logged.
   */
  run(given: A): Returned | Promise<Returned>;
}

/** Makes the component's export: `export const handler = defineTools({ … })`. */
export function defineTools(tools: Record<string, Tool>): unknown;

// ---- Results ----

export interface Annotations {
  audience?: ("user" | "assistant")[];
  /** 0.0 to 1.0. */
  priority?: number;
  /** ISO 8601. */
  lastModified?: string;
}

/** One block of a result. */
export interface Block {
  with(annotations: Annotations): Block;
}

export function text(text: string): Block;
export function image(data: Uint8Array, mimeType: string): Block;
export function audio(data: Uint8Array, mimeType: string): Block;
/** A pointer to a resource that the client may read; `size` in bytes. */
export function link(
  uri: string,
  name: string,
  more?: { title?: string; description?: string; mimeType?: string; size?: number },
): Block;
/** A resource inside the result that is text. */
export function resource(uri: string, mimeType: string | undefined, text: string): Block;
/** A resource inside the result that is bytes. */
export function blob(uri: string, mimeType: string | undefined, bytes: Uint8Array): Block;

/** All that a result may hold. Without any block, the server shows `structured` as text, too. */
export class Result {
  constructor(parts?: {
    content?: (string | Block)[];
    structured?: unknown;
    isError?: boolean;
    meta?: Record<string, unknown>;
  });
}

/**
 * What a tool returns: nothing; a text or a block, or an array of those; a `Result`; anything else is
 * the structured result.
 */
export type Returned = void | string | Block | (string | Block)[] | Result | object | number | boolean;

// ---- Prompts and resources ----

/** Values for what a user types: all that there are, or those for this text. */
export type Complete = readonly string[] | ((typed: string, others: Record<string, string>) => readonly string[]);

/** Of these candidates, those that begin with the text, whatever the case. */
export function among(text: string, candidates: readonly string[]): string[];

/** A message of the user, or of the model. */
export interface Message {
  readonly role: "user" | "assistant";
}
export function user(content: string | Block): Message;
export function assistant(content: string | Block): Message;

type Spoken = string | Block | Message;

export interface Prompt {
  title?: string;
  description?: string;
  /** A client that leaves out one that is not optional is refused before `run`. */
  arguments?: Record<string, { title?: string; description?: string; optional?: boolean; complete?: Complete }>;
  meta?: Record<string, unknown>;
  /**
   * Makes the messages; a text or a block is one of the user. It may ask, like a tool, but is no task.
   *
   * A thrown `ToolError` is the JSON-RPC error -32603 with its message.
   */
  run(given: Record<string, string>): Said | Promise<Said>;
}
export type Said = Spoken | Spoken[] | { description?: string; messages: Spoken[]; meta?: Record<string, unknown> };

/** Makes the component's export: `export const prompts = definePrompts({ … })`. */
export function definePrompts(prompts: Record<string, Prompt>): unknown;

export interface Listed {
  uri: string;
  /** For programs. The title, or else the URI, if left out. */
  name?: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** In bytes. */
  size?: number;
}

export interface Resource {
  name?: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** How long a client may keep what it read; it reads again each time if left out. */
  ttlMs?: number;
  /** Only the caller may keep it. */
  private?: boolean;
  meta?: Record<string, unknown>;
  /** Of a template: the variables that complete. */
  variables?: Record<string, { complete?: Complete }>;
  /** Of a template: what it stands for, in the same order each time. */
  list?(): Listed[];
  /**
   * What it holds: text, bytes, `resource(…)` or `blob(…)` with a URI of their own, or several of them;
   * nothing if there is no such resource.
   *
   * Variables are what the client chose: whoever makes a path of one must look for `..`.
   */
  read(variables: Record<string, string>, uri: string): Held | Promise<Held>;
}
type Part = string | Uint8Array | Block;
export type Held = undefined | null | Part | Part[];

/**
 * Makes the component's export: `export const resources = defineResources({ … })`. A name is a URI, or a
 * template whose variables are `{name}` (no `/`, `?`, `#`) and `{+name}` (anything).
 */
export function defineResources(resources: Record<string, Resource>): unknown;

/** Makes the component's export: `export const completion = defineCompletion({ prompts, resources })`. */
export function defineCompletion(of: {
  prompts?: Record<string, Prompt>;
  resources?: Record<string, Resource>;
}): unknown;

// ---- Errors ----

/** The tool could not do what was asked. A model reads the message and may correct itself. */
export class ToolError extends Error {}

/** A JSON-RPC error. A task fails with it. */
export class RpcError extends Error {
  static readonly INVALID_PARAMS = -32602;
  static readonly INTERNAL = -32603;
  /** @param code -32602, -32603, or one of the tool's own outside -32768 to -32000 */
  constructor(code: number, message: string, data?: unknown);
}

/** The client did not declare what the tool needs. It gets the error -32021. */
export class MissingFeatures extends Error {
  constructor(features: Partial<Features>);
}

/** The call is over already: nobody waits for this handler any more. Verbs throw it; let it pass. */
export class CallOver extends Error {}

// ---- The running call ----

export interface Features {
  elicitationForm: boolean;
  elicitationUrl: boolean;
  sampling: boolean;
  samplingTools: boolean;
  roots: boolean;
  tasks: boolean;
}

/** What the calling client can do. */
export const features: Features;

export const task: {
  /**
   * Makes this call a task: its client is answered with the task's id at once. Times are milliseconds.
   *
   * `inline` for a client that does not know tasks: it waits, and nothing else happens. `ttl` is a
   * deadline for the work, then the end of the record. A crash or a limit ends an attempt, of which
   * there is one unless `maxAttempts` says more.
   */
  start(options?: {
    ttl?: number | "unlimited";
    pollInterval?: number;
    /** Shown to the client at first; at most 1024 bytes. */
    status?: string;
    maxAttempts?: number;
  }): "task" | "inline";
  status(): "inline" | "working" | "input-required" | "completed" | "failed" | "cancelled";
  /**
   * True once nobody wants the result. The instance is dropped after a short grace: clean up and
   * return. It tells nothing of a server that stops: the handler is run again when there is one.
   */
  cancelled(): boolean;
  /** Ends the call with a result. The handler may run on to clean up; what it returns is ignored. */
  complete(value: Returned): void;
  /** Ends the call with a JSON-RPC error. */
  fail(code: number, message: string, data?: unknown): void;
};

/** Reports progress, which must grow: `progress(3, 10, "reading")`. */
export function progress(done: number, total?: number, message?: string): void;

/** Waits, without use of CPU time; the instance may be given back meanwhile. */
export function sleep(milliseconds: number): void;

/** Keeps a value under a key for this call: at most 1 MiB a value, 16 MiB a call. */
export function record(key: string, value: Uint8Array | string): void;

/** The value last kept under a key, also when the handler is run again and has not come to it yet. */
export function recall(key: string): Uint8Array | undefined;

/**
 * Does a piece of work once in a call, and returns what was recorded of it: when the handler is run
 * again, that is recalled in place of working again.
 *
 * The value is kept as JSON, at most 1 MiB. The work is done at least once; what it reads (a clock, an
 * answer) reaches the rest of the handler only through the value.
 */
export function step<T>(name: string, work: () => Promise<T>): Promise<T>;
export function step<T>(name: string, work: () => T): T;

type Write = (message: string, fields?: Record<string, unknown>) => void;

/** Lines for the server's log, and for the client if it asked. Never log secrets. */
export const log: Record<
  "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency",
  Write
>;

// ---- Questions ----

/** A question whose answer is an `A`. */
export interface Request<A> {
  readonly tag: string;
  readonly answer?: A;
}

/** What the user did. A refusal is an answer, not an error. */
export type Answer<C> =
  | { action: "accept"; content: C }
  | { action: "decline"; content?: undefined }
  | { action: "cancel"; content?: undefined };

/** A form: a flat object of texts, numbers, truth values and choices. Never ask for secrets in it. */
export function form<const F extends Fields>(message: string, fields: F): Request<Answer<ObjectOf<F>>>;

/** A page for the user to visit: an absolute `http` or `https` URL. */
export function visit(message: string, url: string): Request<Answer<Record<string, never>>>;

/** A question to the client's model. */
export function prompt(
  text: string,
  options: {
    maxTokens: number;
    systemPrompt?: string;
    temperature?: number;
    stopSequences?: string[];
    modelPreferences?: unknown;
    metadata?: unknown;
    tools?: unknown;
    toolChoice?: unknown;
  },
): Request<{ text: string; model: string; role: "user" | "assistant"; stopReason?: string }>;

/** The client's root folders. */
export function roots(): Request<{ uri: string; name?: string }[]>;

/** Asks one thing under a key that is good once in a call, and returns when it is answered. */
export function ask<A>(key: string, request: Request<A>): A;

/** Asks up to 32 things at once, and returns when all are answered. */
export function askAll<R extends Record<string, Request<any>>>(
  requests: R,
): { [K in keyof R]: R[K] extends Request<infer A> ? A : never };

// ---- What QuickJS lacks ----

/** Random bytes of the host. A handler that is run again is given the same ones. */
export function randomBytes(length: number): Uint8Array;
/** The bytes of a text in UTF-8, and back. */
export function utf8(text: string): Uint8Array;
export function fromUtf8(bytes: Uint8Array): string;
