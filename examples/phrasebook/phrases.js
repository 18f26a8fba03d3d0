// What is said, by language. Maps, since clients choose the names: an object also has names of its own.

const map = (object) => new Map(Object.entries(object));

export const PHRASES = map({
  finnish: map({ hello: "Hei", thanks: "Kiitos", "see-you": "Nähdään" }),
  italian: map({ hello: "Ciao", thanks: "Grazie", "see-you": "A presto" }),
  polish: map({ hello: "Cześć", thanks: "Dziękuję" }),
});
