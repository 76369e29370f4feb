/** Where a question is written, with how it is to be answered. */

import { button, el, fill, icon } from "./dom.js";

const KEPT = "pincite.options";
const CHOICES = {
  answer: ["The answer", [["", "Sentences, each one checked"], ["extract", "Quotes only, nothing is written"]]],
  policy: ["What no source carries", [["", "As the library is set"], ["flag", "Mark it"], ["drop", "Leave it out"], ["strict", "Give quotes instead"]]],
  mode: ["Search", [["", "As the library is set"], ["hybrid", "By meaning and by words"], ["vector", "By meaning"], ["keyword", "By words"]]],
};

/** What the person chose last, for this tab. */
function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) || "{}");
  } catch {
    return {};
  }
}

/**
 * Turn choices into fields of /v1/ask.
 * @param {{answer?: string, policy?: string, mode?: string, within?: string}} chosen
 */
export function asked({ answer, policy, mode, within }) {
  const options = {};
  if (answer === "extract") options.extract = true;
  if (policy) options.policy = policy;
  if (mode) options.mode = mode;
  if (within) options.where = { field: "path", glob: /[*?]/.test(within) ? within : `*${within.replaceAll("[", "[[]")}*` };
  return options;
}

/**
 * @param {{onAsk: (question: string, options: Record<string, any>) => void, onStop: () => void, within?: string}} how
 */
export function composer({ onAsk, onStop, within = "" }) {
  const chosen = { ...kept(), within };
  let busy = false;
  const input = el("textarea", { id: "question", rows: 1, dir: "auto", maxlength: 10_000, placeholder: "Ask about your documents", enterkeyhint: "send", "aria-describedby": "hint" });
  const send = el("button.button.primary.bare.send", { "aria-label": "Ask", title: "Ask (Enter)" }, icon("send"));
  const options = el("div.options.card", { id: "options", hidden: true });
  const summary = el("span");
  const toggle = el("button.button.quiet.tune", { type: "button", "aria-expanded": "false", "aria-controls": "options" }, icon("tune"), summary);
  const grow = () => {
    input.style.height = "auto";
    input.style.height = `${Math.min(input.scrollHeight, 220)}px`;
  };
  const open = (on) => {
    options.hidden = !on;
    toggle.setAttribute("aria-expanded", String(on));
  };
  const change = () => {
    sessionStorage.setItem(KEPT, JSON.stringify({ ...chosen, within: "" }));
    summary.textContent = summed(chosen);
  };
  const submit = (event) => {
    event?.preventDefault();
    if (busy) return onStop();
    const question = input.value.trim();
    if (!question) return input.focus();
    input.value = "";
    grow();
    open(false);
    if (!matchMedia("(hover: hover)").matches) input.blur(); // a keyboard on the screen would hide the answer
    onAsk(question, asked(chosen));
  };
  const key = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!busy) submit(); // what is written stays until the answer before is there
    }
    if (event.key === "Escape" && busy) onStop();
  };
  toggle.addEventListener("click", () => open(options.hidden));
  input.addEventListener("input", grow);
  input.addEventListener("keydown", key);
  fill(options, fields(chosen, change), el("div.row.end", {}, button("Done", { on: () => (open(false), input.focus()) })));
  change();
  const node = el(
    "form.composer",
    { on: { submit }, "aria-label": "Ask a question" },
    options,
    el("div.box", {}, el("label.visually-hidden", { for: "question", text: "Your question" }), input, el("div.row.spread", {}, toggle, send)),
    el("p.hint.small.muted", { id: "hint" }, el("kbd", { text: "Enter" }), " asks, ", el("kbd", { text: "Shift Enter" }), " starts a new line, ", el("kbd", { text: "?" }), " shows all keys"),
  );
  return {
    node,
    focus: () => input.focus({ preventScroll: true }),
    /** @param {string} words */
    hint: (words) => input.setAttribute("placeholder", words),
    /** While an answer is on its way, the button stops it. @param {boolean} on */
    busy: (on) => {
      busy = on;
      fill(send, icon(on ? "stop" : "send"));
      send.setAttribute("aria-label", on ? "Stop" : "Ask");
      send.title = on ? "Stop (Esc)" : "Ask (Enter)";
    },
  };
}

/** What is chosen, in a few words. */
function summed({ answer, policy, mode, within }) {
  const others = [answer === "extract" && "quotes only", policy && CHOICES.policy[1].find(([value]) => value === policy)?.[1].toLowerCase(), mode && CHOICES.mode[1].find(([value]) => value === mode)?.[1].toLowerCase()];
  return [within ? `In “${within}”` : "All documents", ...others].filter(Boolean).join(" · ");
}

/** The choices as fields. */
function fields(chosen, change) {
  const where = el("input.input", { id: "within", value: chosen.within, placeholder: "All documents", dir: "auto", spellcheck: "false" });
  where.addEventListener("input", () => {
    chosen.within = where.value.trim();
    change();
  });
  const selects = Object.entries(CHOICES).map(([name, [label, values]]) => {
    const select = el("select.input", { id: `option-${name}` }, values.map(([value, words]) => el("option", { value, selected: (chosen[name] || "") === value, text: words })));
    select.addEventListener("change", () => {
      chosen[name] = select.value;
      change();
    });
    return el("label.field", { for: `option-${name}` }, label, select);
  });
  return [el("label.field", { for: "within" }, "Only in documents whose path has", where), selects];
}
