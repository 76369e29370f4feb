/** What became of the files that were added, as cards: how far they are, what went wrong and what to do about it. */

import { plainReason, progress } from "./documents.js";
import { button, el, fill, icon, notice } from "./dom.js";
import { duration, line, plural, size } from "./text.js";
import { batches, cancel, changed, ended, listeners, outcome, retry, WORDS } from "./upload.js";

const ROWS = 300; // of one batch that are listed; problems are listed all
const PROBLEMS = ["partly", "failed", "unsupported", "stopped"];

/** @typedef {import("./upload.js").Batch} Batch */
/** @typedef {import("./upload.js").Item} Item */

/** How far the jobs of a batch are, together. @param {Batch} batch */
function together(batch) {
  const sum = { files: 0, files_found: 0, embedded: 0, to_embed: 0, left_seconds: 0 };
  for (const at of batch.progress.values()) for (const name of Object.keys(sum)) sum[name] += at[name] || 0;
  return sum;
}

/** @param {Batch} batch */
function summary(batch) {
  if (batch.state === "finding") return "Looking through what was dropped";
  if (ended(batch)) return sentence(outcome(batch));
  const [total, at] = [bytes(batch), together(batch)];
  const parts = [];
  if (batch.state === "sending") parts.push(batch.sent < total ? `Sending: ${size(batch.sent)} of ${size(total)}` : "Sent");
  parts.push(`Reading: ${at.files.toLocaleString("en")} of ${plural(Math.max(at.files_found, batch.items.length), "file")}`);
  if (at.to_embed) parts.push(`${at.embedded.toLocaleString("en")} of ${plural(at.to_embed, "passage")} indexed`);
  if (at.left_seconds) parts.push(`about ${duration(Math.ceil(at.left_seconds))} left`);
  return parts.join(" · ");
}

/** @param {Batch} batch */
const bytes = (batch) => batch.items.reduce((sum, one) => sum + one.size, 0);

const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}.`;

/** How far a batch is, 0 to 1: sending is the small part of it. null: it cannot be said. */
function share(batch) {
  if (batch.state === "finding") return null;
  if (ended(batch)) return 1;
  const at = together(batch);
  const sent = batch.state === "reading" ? 1 : Math.min(1, batch.sent / Math.max(bytes(batch), 1));
  const read = at.files / Math.max(at.files_found, batch.items.length, 1);
  return 0.1 * sent + 0.9 * (at.to_embed ? (read + at.embedded / at.to_embed) / 2 : read);
}

/** Show the batches. @param {Element} root @param {import("./app.js").App} app @returns {() => void} ends it */
export function tray(root, app) {
  const cards = new Map();
  const show = () => {
    for (const batch of [...batches].reverse()) {
      if (!cards.has(batch)) {
        cards.set(batch, card(batch, app));
        root.prepend(cards.get(batch).node);
      }
      cards.get(batch).update();
    }
    for (const [batch, { node }] of cards) {
      if (batches.includes(batch)) continue;
      node.remove();
      cards.delete(batch);
    }
  };
  show();
  listeners.add(show);
  return () => listeners.delete(show);
}

/** Build the card of a batch once; `update` changes what has changed, so that focus stays where it is. */
function card(batch, app) {
  const name = el("h3", { dir: "auto" });
  const words = el("p.small.muted");
  const bar = progress("Files being added");
  const problems = el("ul.problems", { "aria-label": "Problems" });
  const rows = el("ul.sent");
  const count = el("summary");
  const all = el("details", { on: { toggle: () => update() } }, count, rows);
  const actions = el("div.row");
  const node = el("section.card.batch", { "aria-label": "Files" }, el("div.batch-head", icon("upload"), el("div.grow", name, words), actions), bar.node, problems, all);
  const buttons = {
    cancel: button("Cancel", { icon: "close", kind: "quiet", on: () => cancel(batch) }),
    retry: button("Try the failed ones again", { icon: "retry", on: () => retry(batch, app) }),
    close: button("Dismiss", { icon: "close", kind: "quiet", on: () => (batches.splice(batches.indexOf(batch), 1), changed()) }),
    ask: button("Ask about them", { icon: "ask", kind: "primary", on: () => app.go("/") }),
  };
  fill(actions, Object.values(buttons));
  const seen = { problems: "", rows: "" };
  const update = () => {
    const busy = !ended(batch);
    const bad = batch.items.filter((one) => PROBLEMS.includes(one.status) || one.reason);
    name.textContent = batch.name;
    words.textContent = summary(batch) + (batch.left ? ` ${plural(batch.left, "hidden file")} left out.` : "");
    bar.set(share(batch));
    bar.node.hidden = !busy;
    buttons.cancel.hidden = !busy;
    buttons.retry.hidden = busy || !bad.some((one) => one.file && one.status !== "unsupported");
    buttons.close.hidden = busy;
    buttons.ask.hidden = busy || !batch.items.some((one) => ["indexed", "updated", "partly"].includes(one.status));
    all.hidden = batch.items.length < 2;
    count.textContent = `All ${plural(batch.items.length, "file")}`;
    const failure = batch.failure && notice("error", batch.failure.message, { fix: batch.failure.fix });
    redraw(problems, seen, "problems", JSON.stringify([bad, String(batch.failure)]), () => [failure && el("li", failure), bad.map(problem)]);
    if (all.open) redraw(rows, seen, "rows", JSON.stringify(batch.items.slice(0, ROWS)), () => [batch.items.slice(0, ROWS).map(row), batch.items.length > ROWS && el("li.small.muted", { text: `and ${batch.items.length - ROWS} more` })]);
  };
  return { node, update };
}

/** Draw anew only what has changed. */
function redraw(node, seen, part, now, draw) {
  if (seen[part] === now) return;
  seen[part] = now;
  fill(node, draw());
}

/** @param {Item} one */
function problem(one) {
  return el(
    "li.problem-row", icon(one.status === "failed" ? "warn" : "info"),
    el("div", el("p", el("bdi", { class: "name", text: line(one.name, 160) }), ` ${WORDS[one.status]}${one.reason ? `: ${line(plainReason(one.reason, one.name))}` : ""}`), one.fix && el("p.fix.small.muted", { text: line(one.fix) })),
  );
}

/** @param {Item} one */
function row(one) {
  const state = WORDS[one.status] || { waiting: "waiting", sent: "being read" }[one.status] || one.status;
  const name = line(one.name, 160);
  return el("li", one.id ? el("a", { href: `#/library/${encodeURIComponent(one.id)}`, dir: "auto", text: name }) : el("bdi", { text: name }), el("span.small.muted", { text: state }));
}
