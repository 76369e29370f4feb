/** "Not in these documents": what was looked at, and why it does not do. */

import { placeOf } from "./conversations.js";
import { button, el, fill, icon } from "./dom.js";
import { line, plural, snippet, told } from "./text.js";

/** @param {any} answer @param {import("./answer.js").Shown} can */
export function refusal(answer, can) {
  const missing = String(stage(answer, "sufficiency").missing || "").split(", ").filter(Boolean);
  const notes = answer.findings.filter(({ kind }) => kind !== "not_in_documents"); // that one says how it was judged: see the steps
  return el(
    "div.answer.refusal",
    el("h3", icon("search"), "Not in these documents"),
    el("p.reading", { text: lookedAt(answer) }),
    missing.length > 0 && el("p.row", "Nothing that was found mentions", missing.map((term) => tag("bad", "cross", term))),
    notes.map((finding) => el("p.small.muted", { dir: "auto", text: told(finding) })),
    answer.nearest.length > 0 && nearest(answer, can),
    el(
      "div.row",
      button("Expected it in a document?", { icon: "why", on: () => can.whyNot() }),
      button("What was done", { kind: "quiet", icon: "clock", on: can.why }),
      can.app.canEdit && button("Add documents", { kind: "quiet", icon: "plus", on: () => can.app.go("/library") }),
    ),
  );
}

const stage = (answer, name) => answer.trace.stages.find((one) => one.name === name) || {};

/** One sentence on what was searched and read. */
function lookedAt(answer) {
  const { sentences } = stage(answer, "rank_sentences");
  if (!sentences) return "Nothing was found to look at.";
  return `Your documents were searched, and the ${plural(sentences, "closest sentence")} read. None of them answers the question well enough to be quoted.`;
}

/** The nearest passages, each with the terms of the question that it has and lacks. */
function nearest(answer, can) {
  const terms = answer.nearest.map(() => el("span.terms"));
  const card = (hit, index) =>
    el(
      "button.near",
      { type: "button", on: { click: () => can.evidence(index) } },
      el("span.small.muted", { dir: "auto", text: placeOf(hit) }),
      el("span.reading", { dir: "auto", text: snippet(hit.text, 220) }),
      terms[index],
    );
  const fillTerms = ({ hits }) => {
    for (const [index, { passage_id }] of answer.nearest.entries()) {
      const hit = hits.find((other) => other.passage_id === passage_id);
      if (hit) fill(terms[index], termTags(hit));
    }
  };
  can.searched({}).then(fillTerms, () => {}); // they are an extra; the passages stand without them
  return el("section.nearest", el("h3.small.muted", { text: "What came closest" }), el("ol.plain", answer.nearest.map((hit, index) => el("li", card(hit, index)))));
}

const tag = (colour, sign, term, title = "") => el("span.tag", { class: colour, dir: "auto", title: title || null }, icon(sign), line(term));

/** Which terms of the question a passage has, and which it lacks. @param {{matched: string[], lacking: string[]}} told */
export function termTags({ matched, lacking }) {
  return [
    matched.map((term) => [tag("good", "check", term, "This passage has it"), " "]),
    lacking.map((term) => [tag("lacks", "cross", term, "This passage lacks it"), " "]),
  ];
}
