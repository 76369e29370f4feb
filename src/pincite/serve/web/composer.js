/** Where a question is written, with how it is to be answered. */

import { suggested } from "./documents.js";
import { button, dialog, el, field, fill, icon } from "./dom.js";

const KEPT = "pincite.options";
const AS_SET = "As this library is set up";
export const MODES = { hybrid: "By meaning and by words", vector: "By meaning", keyword: "By words" };
const CHOICES = {
  answer: ["The answer", { "": "Sentences, each one checked", extract: "Only quotes from the documents" }],
  policy: ["Sentences without a source", { "": AS_SET, flag: "Mark them", drop: "Leave them out", strict: "Give quotes instead" }],
  mode: ["Search", { "": AS_SET, ...MODES }],
};

/** What the person chose last, for this tab. */
function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) || "{}");
  } catch {
    return {};
  }
}

/** Turn choices into fields of /v1/ask. @param {{answer?: string, policy?: string, mode?: string, within?: string}} chosen */
export function asked({ answer, policy, mode, within }) {
  const options = {};
  if (answer === "extract") options.extract = true;
  if (policy) options.policy = policy;
  if (mode) options.mode = mode;
  const glob = /[*?]/.test(within) ? within : `*${within?.replaceAll("[", "[[]")}*`;
  if (within) options.where = { or: ["path", "name", "title"].map((field) => ({ field, glob })) };
  return options;
}

/** The form. `node` is what is put on the page. */
export class Composer {
  /** @param {{onAsk: (question: string, options: Record<string, any>) => void, onStop: () => void, within?: string, question?: string}} how */
  constructor({ onAsk, onStop, within = "", question = "" }) {
    this.onAsk = onAsk;
    this.onStop = onStop;
    this.chosen = { ...kept(), within };
    this.asking = false;
    this.summary = el("span");
    const attributes = { id: "question", rows: 1, dir: "auto", maxlength: 10_000, enterkeyhint: "send", "aria-describedby": "hint" };
    this.input = el("textarea", { ...attributes, on: { input: () => this.grow(), keydown: (event) => this.key(event) } });
    this.send = el("button.button.primary.bare.send");
    this.options = el("div.options.card", { id: "options", hidden: true });
    const toggled = { "aria-expanded": "false", "aria-controls": "options", on: { click: () => this.open(this.options.hidden) } };
    this.toggle = el("button.button.quiet.tune", { type: "button", ...toggled }, icon("tune"), this.summary);
    const done = () => (this.open(false), this.input.focus());
    fill(
      this.options,
      fields(this.chosen, () => this.change()),
      el("div.row.end", button("Done", { on: done })),
    );
    this.node = this.form();
    this.input.value = question;
    this.change();
    this.busy(false);
    this.hint("Ask about your documents");
  }

  form() {
    const keys = [el("kbd", { text: "Enter" }), " asks, ", el("kbd", { text: "Shift Enter" }), " starts a new line. "];
    const more = el("button.link", { type: "button", text: "All shortcuts", on: { click: showKeys } });
    const label = el("label.visually-hidden", { for: "question", text: "Your question" });
    return el(
      "form.composer",
      { on: { submit: (event) => this.submit(event) }, "aria-label": "Ask a question" },
      this.options,
      el("div.box", label, this.input, el("div.row.spread", this.toggle, this.send)),
      el("p.hint.small.muted", el("span", { id: "hint" }, keys), more),
    );
  }

  /** @param {Event} event */
  submit(event) {
    event.preventDefault();
    if (this.asking) return this.onStop();
    const question = this.input.value.trim();
    if (!question) return this.input.focus();
    this.input.value = "";
    this.grow();
    this.open(false);
    if (!matchMedia("(hover: hover)").matches) this.input.blur(); // a keyboard on the screen would hide the answer
    this.onAsk(question, asked(this.chosen));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === "Escape" && this.asking) this.onStop();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!this.asking) this.submit(event); // what is written stays until the answer before is there
  }

  /** As high as what is written. */
  grow() {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, 220)}px`;
  }

  /** Show the choices. @param {boolean} on */
  open(on) {
    this.options.hidden = !on;
    this.toggle.setAttribute("aria-expanded", String(on));
  }

  /** Keep what is chosen, and say it in a few words. */
  change() {
    sessionStorage.setItem(KEPT, JSON.stringify({ ...this.chosen, within: "" }));
    this.summary.textContent = summed(this.chosen);
  }

  focus() {
    this.input.focus({ preventScroll: true });
  }

  /** @param {string} words */
  hint(words) {
    this.input.setAttribute("placeholder", words);
  }

  /** While an answer is on its way, the button stops it. @param {boolean} on */
  busy(on) {
    this.asking = on;
    fill(this.send, icon(on ? "stop" : "send"));
    this.send.setAttribute("aria-label", on ? "Stop" : "Ask");
    this.send.title = on ? "Stop (Esc)" : "Ask (Enter)";
  }
}

/** What is chosen, in a few words. */
function summed(chosen) {
  const said = Object.entries(CHOICES).map(([name, [, values]]) => chosen[name] && values[chosen[name]]);
  return [chosen.within ? `In “${chosen.within}”` : "All documents", ...said].filter(Boolean).join(" · ");
}

/** The choices as fields. */
function fields(chosen, change) {
  const set = (name) => (event) => {
    chosen[name] = event.target.value.trim();
    change();
  };
  const attributes = { id: "within", value: chosen.within, placeholder: "All documents", dir: "auto", spellcheck: "false" };
  const [where, names] = suggested(el("input.input", { ...attributes, on: { input: set("within") } }), (one) => one.title || one.name);
  const selects = Object.entries(CHOICES).map(([name, [label, values]]) => {
    const options = Object.entries(values).map(([value, text]) => el("option", { value, text, selected: (chosen[name] || "") === value }));
    const id = `option-${name}`;
    return field(label, el("select.input", { id, on: { change: set(name) } }, options));
  });
  return [field("Only in documents or folders called", where), names, selects];
}

/** All keys. */
export function showKeys() {
  const keys = [
    ["/", "Write a question"],
    ["n", "New conversation"],
    ["Enter", "On the mark behind a sentence: show its evidence"],
    ["j  →", "Next evidence"],
    ["k  ←", "Previous evidence"],
    ["Esc", "Close the evidence; while an answer is on its way, stop it"],
    ["?", "This list"],
  ];
  return dialog("Keyboard shortcuts", () => [
    el("dl.keys", keys.map(([key, words]) => [el("dt", key.split("  ").map((one) => el("kbd", { text: one }))), el("dd", { text: words })])),
  ]);
}
