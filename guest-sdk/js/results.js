// From what a tool returns to the contract's `tool-result`.

import { u64 } from "./engine.js";

/** One block of a result. */
class Block {
  constructor(tag, val) {
    this.tag = tag;
    this.val = val;
  }

  /** The same block with hints: `{ audience, priority, lastModified }`. */
  with({ audience = [], priority, lastModified }) {
    return new Block(this.tag, { ...this.val, annotations: { audience, priority, lastModified } });
  }
}

export const text = (text) => new Block("text", { text });
export const image = (data, mimeType) => new Block("image", { data, mimeType });
export const audio = (data, mimeType) => new Block("audio", { data, mimeType });

/** A pointer to a resource that the client may read. */
export function link(uri, name, { title, description, mimeType, size } = {}) {
  size = size === undefined ? undefined : u64(size);
  return new Block("resource-link", { uri, name, title, description, mimeType, size });
}

/** A resource inside the result that is text. */
export const resource = (uri, mimeType, text) =>
  new Block("embedded-resource", { uri, mimeType, body: { tag: "text", val: text } });

/** A resource inside the result that is bytes. */
export const blob = (uri, mimeType, bytes) =>
  new Block("embedded-resource", { uri, mimeType, body: { tag: "blob", val: bytes } });

/** All that a result may hold. */
export class Result {
  constructor({ content = [], structured, isError = false, meta } = {}) {
    Object.assign(this, { content, structured, isError, meta });
  }

  /** What was returned, as a result. */
  static of(value) {
    if (value instanceof Result) return value;
    if (value === undefined) return new Result();
    const blocks = Array.isArray(value) ? value : [value];
    if (blocks.length > 0 && blocks.every((block) => typeof block === "string" || block instanceof Block)) {
      return new Result({ content: blocks });
    }
    return new Result({ structured: value });
  }

  /** As the contract has it. */
  lower() {
    return {
      content: this.content.map(lowerBlock),
      structured: json(this.structured),
      isError: this.isError,
      meta: json(this.meta),
    };
  }
}

/** A block, of which text is the plainest. */
export const lowerBlock = (block) => (typeof block === "string" ? text(block) : block);

/** JSON, or nothing of nothing. */
export const json = (value) => (value === undefined ? undefined : JSON.stringify(value));
