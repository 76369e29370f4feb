/** The evidence beside the answer: one place at a time, from sentence to sentence. */

import { copy, download } from "./api.js";
import { placeOf } from "./conversations.js";
import { button, el, failed, fill, icon, loading, notice, tabs } from "./dom.js";
import { contextPane, documentOf, fetchContext, pagePane } from "./passage.js";
import { plain } from "./run.js";
import { underlined, VERDICTS } from "./sentences.js";
import { openSide } from "./side.js";
import { cut, day, documentName, fileName, line, told, visible } from "./text.js";

/**
 * What there is to look at: each citation of each sentence, in reading order; a sentence without any; or the nearest passages.
 * @param {any} answer
 * @returns {{index: number, claim: any, place: any}[]}
 */
export function items(answer) {
  if (answer.outcome === "not_in_documents") return answer.nearest.map((hit, index) => ({ index, claim: null, place: hit }));
  const place = new Map(answer.citations.map((citation) => [citation.number, citation]));
  return answer.claims.flatMap((claim, index) => {
    const cited = claim.citations.map((number) => place.get(number)).filter(Boolean);
    return cited.length ? cited.map((one) => ({ index, claim, place: one })) : [{ index, claim, place: null }];
  });
}

/**
 * Show an item of an answer's evidence.
 * @param {any} answer
 * @param {number} at
 * @param {{root: Element, app: import("./app.js").App, whyNot: (target: string) => void}} where `root` holds the sentences
 */
export function showEvidence(answer, at, where) {
  const all = items(answer);
  if (!all[at]) return;
  const body = el("div.evidence");
  const count = el("span.small.muted.count");
  let aborter = new AbortController();
  const go = (to) => {
    if (to < 0 || to >= all.length) return;
    aborter.abort();
    aborter = new AbortController();
    at = to;
    count.textContent = `${at + 1} of ${all.length}`;
    back.disabled = at === 0;
    next.disabled = at === all.length - 1;
    mark(where.root, all[at]);
    fill(body, itemShown(all[at], answer, where, aborter.signal));
    /** @type {Element} */ (body.parentElement || body).scrollTop = 0;
  };
  const back = button("Previous evidence", { icon: "back", bare: true, kind: "quiet", title: "Previous (k or ←)", on: () => go(at - 1) });
  const next = button("Next evidence", { icon: "forward", bare: true, kind: "quiet", title: "Next (j or →)", on: () => go(at + 1) });
  const keys = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 };
  openSide(answer.outcome === "not_in_documents" ? "What came closest" : "Evidence", {
    controls: [count, back, next],
    body,
    onKey: (event) => {
      if (!keys[event.key]) return false;
      go(at + keys[event.key]);
      where.app.say(`Evidence ${at + 1} of ${all.length}`);
      return true;
    },
    onClose: () => {
      aborter.abort();
      mark(where.root, null);
    },
  });
  go(at);
}

/** Mark the sentence that is looked at. */
function mark(root, item) {
  for (const node of root.querySelectorAll("[data-claim]")) {
    const here = item?.claim && node.dataset.claim === String(item.index);
    node.classList.toggle("active", Boolean(here));
    if (node.localName === "button") node.setAttribute("aria-expanded", String(Boolean(here)));
    if (here && node.localName === "span") node.scrollIntoView({ block: "nearest" });
  }
}

/** One item: what the answer says, and the place. */
function itemShown({ claim, place }, answer, where, signal) {
  return [claim && said(claim), place ? placeShown(place, Boolean(claim), answer, where, signal) : nothing(where)];
}

/** The sentence and what the check found. */
function said(claim) {
  const { word, sign, means } = VERDICTS[claim.verdict];
  const problems = claim.problems.map((message) => el("li", { text: told({ message }) }));
  return el(
    "section.said",
    { class: claim.verdict, "aria-label": "What the answer says" },
    el("p.reading", { dir: "auto" }, underlined(plain(claim.text), claim.parts)),
    el("p.small.verdict", { class: claim.verdict }, icon(sign), el("b", { text: word }), el("span", { text: means })),
    claim.problems.length > 0 && el("ul.plain.small", problems),
  );
}

/** There is no place. */
function nothing(where) {
  return notice("warn", "No passage carries this sentence.", {
    fix: "It was written by the model. Look for it yourself before you use it.",
    actions: [button("Expected it in a document?", { icon: "why", on: () => where.whyNot("") })],
  });
}

/** A place: its document, its words in their context or on the page. */
function placeShown(place, exact, answer, where, signal) {
  const card = el("section.place", { "aria-label": "The source" }, loading("The passage is being fetched…"));
  const show = async () => {
    try {
      const context = await fetchContext(place);
      if (!signal.aborted)
        fill(card, head(place, context, answer), panes(place, exact ? place : null, context), actions(place, context, where));
    } catch (failure) {
      if (!signal.aborted) fill(card, heading(place), quoted(place), failed(failure, show));
    }
  };
  show();
  return card;
}

/** What is known without the server: the quote itself. */
const quoted = (place) => place.quote && el("blockquote.reading", { dir: "auto" }, el("mark", { text: visible(place.quote) }));

const heading = (place) =>
  el(
    "div.place-head",
    el("h3", { dir: "auto", text: documentName(place) }),
    el("p.small.muted", { dir: "auto", text: placeOf(place) }),
  );

/** The document with its version and date, and what to mind of these. */
function head(place, context, answer) {
  const { document } = context;
  const stale = (answer.stale || []).find((source) => source.uri === place.uri);
  const changed = context.old || (document.version && document.version !== place.version);
  const where = [
    place.page ? `page ${place.page}` : `line ${place.line_from}`,
    ...place.heading_path.map((one) => line(one, 60)).filter((one) => one !== line(place.title)),
  ];
  return el(
    "div.place-head",
    el("h3", { dir: "auto", text: documentName(place) }),
    el("p.small.muted", { dir: "auto", text: [named(place, document), ...where].join(" · ") }),
    el(
      "p.row",
      el("span.tag", { text: `version ${place.version}` }),
      day(document.added) && el("span.tag", { text: `added ${day(document.added)}` }),
      stale && el("span.tag.warn", icon("clock"), "stale"),
      changed && el("span.tag.warn", icon("clock"), `newest is version ${document.version}`),
    ),
    stale && notice("warn", told({ message: stale.reason }), { fix: line(stale.fix) }),
    !stands(place, context) &&
      notice("error", "These words do not stand at the place that is cited.", { fix: "Do not rely on the quote." }),
    changed &&
      notice("warn", "The document has changed since this answer.", {
        fix: "You see the version that was cited. Ask again for an answer from the newest.",
      }),
  );
}

/** The file's name as it was when it was added. */
const named = (place, document) => line(document.name || "").split("/").pop() || fileName(place.uri);

/** Whether the quote is what the document has at the cited place. */
function stands(place, { text, from }) {
  return place.quote === undefined || cut(text, place.start - from, place.end - from) === place.quote;
}

/** The words in context; where there are pages, the page too. */
function panes(place, marked, context) {
  const holder = el("div.pane");
  const text = () => fill(holder, contextPane(place, marked, context));
  if (!place.page) return text();
  const { node, choose } = tabs("How to see it", { Text: text, [`Page ${place.page}`]: () => fill(holder, pagePane(place)) });
  choose("Text");
  return [node, holder];
}

function actions(place, context, where) {
  const id = documentOf(place.passage_id);
  return el(
    "div.row.place-actions",
    button("Copy with citation", { icon: "copy", on: () => copy(citation(place, context), "Copied, with its citation.", where.app) }),
    button("Open the document", {
      icon: "open",
      kind: "quiet",
      on: () => where.app.go(`/library/${id}?version=${place.version}&start=${place.start}&end=${place.end}`),
    }),
    button("Original file", {
      icon: "download",
      kind: "quiet",
      bare: true,
      on: () => download(`/v1/documents/${id}/original`, named(place, context.document)).catch(where.app.failed),
    }),
  );
}

/** A quote as one cites it. */
function citation(place, { document }) {
  const words = visible(place.quote ?? place.text)
    .replace(/\s+/g, " ")
    .trim();
  const added = day(document.added);
  return `“${words}”\n— ${placeOf(place)} (${named(place, document)}, version ${place.version}${added ? `, added ${added}` : ""}, characters ${place.start}–${place.end})`;
}
