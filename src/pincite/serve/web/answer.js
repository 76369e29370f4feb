/** An answer: its sentences, conflicts, sources and what to mind; or that the documents do not answer. */

import { copy } from "./api.js";
import { placeOf, reference } from "./conversations.js";
import { button, el, icon, notice } from "./dom.js";
import { items } from "./evidence.js";
import { refusal } from "./refusal.js";
import { sentences, VERDICTS } from "./sentences.js";
import { documentName, duration, fileName, line, plural, told, uploaded, visible } from "./text.js";

/**
 * @typedef {object} Shown what an answer can do
 * @property {(item: number) => void} evidence show an item of `items(answer)`
 * @property {() => void} why
 * @property {(more: Record<string, any>) => Promise<any>} searched search for the question again as it was asked, explained
 * @property {(target?: string) => void} whyNot
 * @property {import("./app.js").App} app
 * @property {boolean} [streaming]
 */

/** @param {any} answer as /v1/ask gives it, or what there is of it so far @param {Shown} can @returns {HTMLElement} */
export function rendered(answer, can) {
  if (answer.outcome === "not_in_documents") return refusal(answer, can);
  const all = items(answer);
  const first = (claim) => all.findIndex((item) => item.index === claim);
  const open = (claim) => can.evidence(Math.max(0, first(claim)));
  return el(
    "div.answer",
    stale(answer),
    el("div.sentences", withConflicts(sentences(answer, open), answer, open)),
    !can.streaming && [verdicts(answer), sources(answer, all, can), minded(answer), foot(answer, can)],
  );
}

/** What may be out of date. */
function stale(answer) {
  if (!answer.stale?.length) return null;
  const row = ({ uri, reason, fix }) => el("li", { text: `${fileName(uri)}: ${told({ message: reason, fix })}` });
  return notice("warn", `${plural(answer.stale.length, "source")} may be out of date.`, { fix: el("ul.plain", answer.stale.map(row)) });
}

/** How many sentences have which verdict. */
function verdicts(answer) {
  const row = ([verdict, { word, sign, means }]) => {
    const { length } = answer.claims.filter((claim) => claim.verdict === verdict);
    return length > 0 && el("span.verdict", { class: verdict, title: means }, icon(sign), `${length} ${word.toLowerCase()}`);
  };
  return el("p.verdicts.small", { "aria-label": "What the check found" }, Object.entries(VERDICTS).map(row));
}

/** Put the sources that a sentence is in conflict with behind its paragraph. @param {HTMLElement[]} nodes */
function withConflicts(nodes, answer, open) {
  const place = new Map(answer.citations.map((citation) => [citation.number, citation]));
  for (const [index, claim] of answer.claims.entries()) {
    const sides = claim.verdict === "conflicting" ? claim.citations.map((number) => place.get(number)).filter(Boolean) : [];
    const at = nodes.findLastIndex((node) => node.querySelector(`[data-claim="${index}"]`));
    if (sides.length > 1) nodes.splice(at + 1, 0, conflict(sides, claim, () => open(index)));
  }
  return nodes;
}

/** Sources that say different things, side by side. */
function conflict(sides, claim, open) {
  const side = (citation) =>
    el(
      "blockquote",
      el("p.reading", { dir: "auto", text: visible(citation.quote) }),
      el(
        "footer.small",
        el("span.numeral", { text: citation.number }),
        el("span", { dir: "auto", text: `${placeOf(citation)} · version ${citation.version}` }),
      ),
    );
  return el(
    "section.conflict",
    { "aria-label": "Sources that conflict" },
    el("h3", icon("conflict"), "Your sources disagree"),
    el("div.sides", sides.map(side)),
    claim.problems.map((problem) => el("p.small", { dir: "auto", text: line(problem) })),
    button("Compare in context", { icon: "why", on: open }),
  );
}

/** The cited documents, each with the places in it. */
function sources(answer, all, can) {
  if (!answer.citations.length) return null;
  const stale = new Set((answer.stale || []).map((source) => source.uri));
  const cited = [...new Set(answer.citations.map((citation) => citation.uri))];
  const place = (citation) =>
    el(
      "button.spot",
      { type: "button", on: { click: () => can.evidence(all.findIndex((item) => item.place?.number === citation.number)) } },
      el("span.numeral", { text: citation.number }),
      el("span.where", { dir: "auto", text: spot(citation) }),
    );
  const source = (uri) => {
    const places = answer.citations.filter((citation) => citation.uri === uri);
    const name = documentName(places[0]);
    const file = uploaded(uri) ? name : fileName(uri);
    return el(
      "li.source",
      el("p.name", { dir: "auto", title: name, text: name }),
      el("p.small.muted", name !== file && el("bdi", { text: file }), stale.has(uri) && [" ", el("span.tag.warn", { text: "stale" })]),
      el("div.spots", places.map(place)),
    );
  };
  return el("section.sources", el("h3.small", { text: cited.length > 1 ? "Sources" : "Source" }), el("ol", cited.map(source)));
}

/** Page or line, heading. */
function spot(citation) {
  const heading = citation.heading_path.at(-1);
  const at = citation.page ? `page ${citation.page}` : `line ${citation.line_from}`;
  return heading && heading !== citation.title ? `${at} · ${line(heading, 60)}` : at;
}

const SAID_ELSEWHERE = new Set(["sources_conflict", "claim_left_out", "stale"]);

/** What the reader must know besides. */
function minded(answer) {
  const left = answer.findings.filter((finding) => finding.kind === "claim_left_out");
  const notes = answer.findings.filter((finding) => !SAID_ELSEWHERE.has(finding.kind));
  if (!left.length && !notes.length) return null;
  return el(
    "section.minded",
    { "aria-label": "Notes on this answer" },
    notes.map(({ kind, message, fix }) => notice(/^(instruction|citation)/.test(kind) ? "warn" : "info", told({ message }), { fix: line(fix) })),
    left.length > 0 &&
      el(
        "details",
        el("summary", { text: `${plural(left.length, "sentence")} of the draft left out: no source supports ${left.length > 1 ? "them" : "it"}` }),
        el("ul.plain", left.map((finding) => el("li", { dir: "auto", text: told(finding) }))),
      ),
  );
}

/** What can be done with the answer, and how it came. */
function foot(answer, can) {
  const drafted = answer.trace.stages.some((stage) => stage.name === "draft");
  const quotes = drafted ? "Quotes only, as the model’s draft did not hold" : "Quotes only";
  const by = answer.generator === "extractive" ? quotes : `Written by ${line(answer.generator)}`;
  const copied = () => copy(answerText(answer), "The answer and its sources are copied.", can.app);
  return el(
    "footer.row.spread.answer-foot",
    el(
      "div.row",
      button("Copy", { icon: "copy", kind: "quiet", on: copied }),
      button("Why this answer?", { icon: "why", kind: "quiet", on: can.why }),
    ),
    el("span.small.muted", { text: `${by} · ${duration(answer.trace.seconds)}` }),
  );
}

/** An answer as plain text with its references. */
function answerText(answer) {
  const notes = answer.citations.map((citation) => `[${citation.number}] ${reference(citation).replaceAll("\\", "")}`);
  return [visible(answer.text), ...(notes.length ? ["", ...notes] : [])].join("\n");
}
