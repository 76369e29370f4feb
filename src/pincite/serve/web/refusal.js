/** "Not in these documents": what was looked at, and why it does not do. */

import { placeOf } from "./conversations.js";
import { button, el, fill, icon } from "./dom.js";
import { line, plural, snippet } from "./text.js";

/**
 * @param {any} answer
 * @param {import("./answer.js").Shown} can
 */
export function refusal(answer, can) {
  const gate = stage(answer, "sufficiency");
  const missing = String(gate.missing || "").split(", ").filter(Boolean);
  return el(
    "div.answer.refusal",
    {},
    el("h3", {}, icon("search"), "Not in these documents"),
    el("p.reading", { text: lookedAt(answer) }),
    missing.length > 0 &&
      el(
        "p",
        {},
        "No passage found mentions ",
        missing.map((term) => [el("span.tag.bad", { dir: "auto" }, icon("cross"), line(term)), " "]),
      ),
    answer.findings.map((finding) => el("p.small.muted", { dir: "auto", text: `${line(finding.message)} ${line(finding.fix)}` })),
    answer.nearest.length > 0 && nearest(answer, can),
    el(
      "div.row",
      {},
      button("Expected it in a document?", { icon: "why", on: () => can.whyNot() }),
      button("What was done", { kind: "quiet", icon: "clock", on: can.why }),
      can.app.canEdit && button("Add documents", { kind: "quiet", icon: "plus", on: () => can.app.go("/library") }),
    ),
  );
}

const stage = (answer, name) => answer.trace.stages.find((one) => one.name === name) || {};

/** One sentence on what was searched and read. */
function lookedAt(answer) {
  const [vector, keyword, read] = ["vector", "keyword", "rank_sentences"].map((name) => stage(answer, name));
  const searched = [
    vector.passages && `${plural(vector.passages, "passage")} near in meaning`,
    keyword.passages && `${keyword.passages} by their words`,
  ].filter(Boolean);
  if (!searched.length) return "Nothing was found to look at.";
  return `Looked at ${searched.join(" and ")}${read.sentences ? `, and read ${plural(read.sentences, "sentence")} of the best closely` : ""}. None of them answers the question well enough to be quoted.`;
}

/** The nearest passages, each with the terms of the question that it has and lacks. */
function nearest(answer, can) {
  const cards = answer.nearest.map((hit, index) => {
    const terms = el("p.terms.small");
    return {
      hit,
      terms,
      card: el(
        "li",
        {},
        el(
          "button.near",
          { type: "button", on: { click: () => can.evidence(index) } },
          el("span.small.muted", { dir: "auto", text: placeOf(hit) }),
          el("span.reading", { dir: "auto", text: snippet(hit.text, 220) }),
        ),
        terms,
      ),
    };
  });
  can
    .searched({})
    .then((found) => {
      for (const { hit, terms } of cards) {
        const told = found.hits.find((other) => other.passage_id === hit.passage_id);
        if (told) fill(terms, termTags(told));
      }
    })
    .catch(() => {
      for (const { terms } of cards) terms.remove(); // they are an extra; the passages stand without them
    });
  return el(
    "section.nearest",
    {},
    el("h3.small.muted", { text: "What came closest" }),
    el(
      "ol.plain",
      {},
      cards.map(({ card }) => card),
    ),
  );
}

/** Which terms of the question a passage has, and which it lacks. @param {{matched: string[], lacking: string[]}} told */
export function termTags({ matched, lacking }) {
  return [
    matched.map((term) => [el("span.tag.good", { title: "This passage has it" }, icon("check"), line(term)), " "]),
    lacking.map((term) => [el("span.tag.bad", { title: "This passage lacks it" }, icon("cross"), line(term)), " "]),
  ];
}
