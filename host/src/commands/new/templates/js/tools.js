// A tool that asks its user a question while it runs.

import { ask, defineTools, form, progress, step, task } from "./cofferdam/index.js";

export const handler = defineTools({
  greet: {
    title: "Greet",
    description: "Greets someone in the manner that the user chooses.",
    task: "optional",
    hints: { readOnly: true, openWorld: false },
    input: { name: { type: "string", description: "Who is greeted." } },

    run({ name }) {
      // A client that knows tasks is answered now, and need not wait for the user.
      task.start({ status: "Thinking" });
      // A step is done once, also if the server is stopped meanwhile and the tool run again.
      const letters = step("letters", () => [...name].length);
      progress(1, 2, `${letters} letters`);
      const question = form(`How shall ${name} be greeted?`, {
        manner: { type: "string", title: "How to greet", enum: ["formal", "friendly"] },
      });
      const { action, content } = ask("manner", question);
      if (action !== "accept") return `${name} was not greeted.`;
      return content.manner === "formal" ? `Good day, ${name}.` : `Hi ${name}!`;
    },
  },
});
