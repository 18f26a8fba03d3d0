// Where the two engines differ: QuickJS has the language and nothing else, StarlingMonkey has the
// web's interfaces, too, and wants a BigInt for 64 bits.

import { getRandomBytes } from "wasi:random/random@0.2.0";

const isWeb = typeof TextEncoder === "function";

/** Does the engine wait for what an `async` function returns? */
export const waits = isWeb;

/** A whole number as the engine's bindings want 64 bits. */
export const u64 = isWeb ? BigInt : Number;

/** The bytes of a text. */
export function utf8(text) {
  if (isWeb) return new TextEncoder().encode(text);
  const bytes = unescape(encodeURIComponent(text.toWellFormed()));
  return Uint8Array.from(bytes, (byte) => byte.charCodeAt(0));
}

/** The text of bytes. Throws a `URIError` or `TypeError` if they are no UTF-8. */
export function fromUtf8(bytes) {
  if (isWeb) return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  let text = "";
  // In pieces: a function takes only so many arguments.
  for (let n = 0; n < bytes.length; n += 4096) {
    text += String.fromCharCode(...bytes.subarray(n, n + 4096));
  }
  return decodeURIComponent(escape(text));
}

/** Random bytes of the host. A handler that is run again is given the same ones. */
export const randomBytes = (length) => getRandomBytes(u64(length));

// QuickJS seeds its own when the component is made: every instance would draw the same numbers.
if (!isWeb) {
  Math.random = () => {
    const bits = new DataView(randomBytes(8).buffer).getBigUint64(0) >> 11n;
    return Number(bits) / 2 ** 53;
  };
}
