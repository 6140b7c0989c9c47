// XState: a machine with a persisted snapshot; where it is kept is the program's own affair: here a JSON file.
import { readFileSync, writeFileSync } from "node:fs";
import { assign, createActor, createMachine } from "xstate";

const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const [path, verb, outcome] = words;
const check = process.argv.includes("--edited") ? "verify" : "check"; // the step `check` was renamed
const machine = createMachine({
  id: "procedure",
  initial: "write",
  context: { rounds: 0 },
  states: {
    write: { on: { ok: check } },
    [check]: {
      on: {
        ok: "tell",
        iterate: [
          { target: check, guard: ({ context }) => context.rounds < 2, actions: assign({ rounds: ({ context }) => context.rounds + 1 }) },
          { target: "tell" },
        ],
      },
    },
    tell: { on: { ok: "end" } },
    end: { type: "final" },
  },
});
const snapshot = verb === "start" ? undefined : JSON.parse(readFileSync(path, "utf8"));
const actor = createActor(machine, { snapshot }).start();
if (verb === "report") actor.send({ type: outcome });
if (verb !== "where") writeFileSync(path, JSON.stringify(actor.getPersistedSnapshot()));
console.log(actor.getSnapshot().value, actor.getSnapshot().context.rounds + 1);
