"use strict";
// Elements, and numbers as people read them. What others wrote gets into the page as text only: nothing
// here or elsewhere in the console reads HTML.

const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** An element with attributes and children; a string is a text. */
function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same of SVG. */
function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/** Changes a text, if it is another: who listens to the page hears of it once. */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows these in place of an element's children. */
function show(element, ...children) {
  element.replaceChildren(...children);
}

const count = (number) => number.toLocaleString("en");

/** With three digits, about. */
function digits(number) {
  if (number === 0 || number >= 100) return count(Math.round(number));
  return number >= 10 ? number.toFixed(1) : number.toFixed(2);
}

const millis = (ms) => (ms === null ? "–" : ms < 10_000 ? `${digits(ms)} ms` : `${digits(ms / 1_000)} s`);
const seconds = (s) => (s < 1 ? `${digits(s * 1_000)} ms` : `${digits(s)} s`);
const mebibytes = (bytes) => (bytes === null ? "–" : `${digits(bytes / (1 << 20))} MiB`);

/** In its two largest units. */
function duration(total) {
  const [minutes, hours] = [Math.floor(total / 60), Math.floor(total / 3_600)];
  const both = (large, small, unit) => (small === 0 ? large : `${large} ${small} ${unit}`);
  if (minutes === 0) return `${Math.floor(total)} s`;
  if (hours === 0) return both(`${minutes} min`, Math.floor(total % 60), "s");
  if (hours < 48) return both(`${hours} h`, minutes % 60, "min");
  return both(`${Math.floor(hours / 24)} days`, hours % 24, "h");
}

/** A digest's beginning, and the whole when it is asked for. */
function digest(whole) {
  const button = el("button", { type: "button", class: "digest", "aria-expanded": "false", title: "Show the whole digest" }, whole.slice(0, 12));
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    say(button, open ? whole : whole.slice(0, 12));
  });
  return button;
}
