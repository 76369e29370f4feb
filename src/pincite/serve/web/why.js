/** Why this answer: the stages, the candidates, what was cut; and why not another document. */

import { post } from "./api.js";
import { placeOf } from "./conversations.js";
import { lookUp, suggested } from "./documents.js";
import { el, failed, field, fill, form, icon, loading, notice, tabs } from "./dom.js";
import { termTags } from "./refusal.js";
import { openSide } from "./side.js";
import { documentName, duration, line, plural, snippet } from "./text.js";

/** What the stages of a trace are called, and what their figures say. */
const STAGES = {
  understand: ["Read the follow-up", (s) => (s.depends ? "together with the question before" : "as a question of its own")],
  refresh: ["Looked for changes on disk", () => ""],
  embed: ["Prepared the search by meaning", () => ""],
  vector: ["Searched by meaning", (s) => plural(s.passages, "passage")],
  keyword: ["Searched by words", (s) => `${plural(s.passages, "passage")} for ${plural(s.terms || 0, "term")}`],
  fuse: ["Merged both lists", (s) => plural(s.passages, "passage")],
  rerank: ["Read the best again", (s) => (s.passages ? plural(s.passages, "passage") : "")],
  passages: ["Took the best", (s) => plural(s.passages, "passage")],
  rank_sentences: ["Compared their sentences with the question", (s) => plural(s.sentences, "sentence")],
  sufficiency: [
    "Judged whether they answer it",
    (s) => `${JUDGED[s.outcome] || s.outcome}, score ${Number(s.score).toFixed(2)}${s.missing ? `; missing: ${line(s.missing)}` : ""}`,
  ],
  load_generator: ["Loaded the model", (s) => line(s.model || "")],
  evidence: ["Chose what the model reads", (s) => `${plural(s.items, "quote")}, ${plural(s.tokens, "token")}; ${s.dropped} did not fit`],
  draft: [
    "Wrote a draft",
    (s) => (s.failed ? `failed: ${line(s.failed)}` : `${s.prompt_tokens} tokens read, ${s.generated_tokens} written`),
  ],
  verify: [
    "Checked each sentence",
    (s) =>
      ["supported", "partly", "unsupported", "conflicting"]
        .filter((v) => s[v])
        .map((v) => `${s[v]} ${v}`)
        .join(", "),
  ],
  cite: ["Checked every quote against its document", (s) => plural(s.citations, "quote")],
};
const JUDGED = { answered: "they do", partial: "in part", not_in_documents: "they do not" };

/**
 * @param {import("./conversations.js").Turn} turn
 * @param {(more: Record<string, any>) => Promise<any>} searched search for it again
 * @param {{target?: string, asked?: boolean}} focus `asked`: go to "why not this document?" at once
 */
export function showWhy(turn, searched, { target = "", asked = false }) {
  const { answer } = turn;
  const found = el("section.why-part", el("h3", { text: "What was found" }), loading("Searching again, to show the lists…"));
  const all = { Found: found, Read: cut(answer), Steps: stages(answer.trace), "Why not…?": whyNot(turn, target) };
  const parts = Object.fromEntries(Object.entries(all).filter(([, part]) => part));
  const only = (name) => () => Object.entries(parts).forEach(([other, part]) => (part.hidden = other !== name));
  const { node, choose } = tabs("Parts", Object.fromEntries(Object.keys(parts).map((name) => [name, only(name)])));
  openSide("Why this answer", { body: el("div.why", node, Object.values(parts)) });
  candidates(turn, searched, found);
  choose(asked ? "Why not…?" : "Found");
  if (asked) all["Why not…?"].querySelector("input")?.focus({ preventScroll: true });
}

/** The stages with their share of the time. */
function stages(trace) {
  const most = Math.max(...trace.stages.map((stage) => stage.seconds), 1e-9);
  return el(
    "section.why-part",
    el("h3", "What was done", el("span.muted", { text: ` in ${duration(trace.seconds)}` })),
    el(
      "ol.stages",
      trace.stages.map((stage) => {
        const [name, words] = STAGES[stage.name] || [stage.name, () => ""];
        return el(
          "li",
          el("span", el("span.stage-name", { text: name }), words(stage) && el("span.small.muted", { text: ` · ${words(stage)}` })),
          el("span.stage-time.small.muted", { text: duration(stage.seconds) }),
          stage.seconds > most / 50 && el("span.spent", { "aria-hidden": "true", style: { width: `${(100 * stage.seconds) / most}%` } }),
        );
      }),
    ),
  );
}

/** Passages with their places. @param {any[]} list @param {number} most characters of each @param {(item: any) => string} [more] */
const quotes = (list, most, more = () => "") =>
  el(
    "ol.plain.quotes",
    list.map((item) =>
      el(
        "li",
        el("span.small.muted", { dir: "auto", text: placeOf(item) + more(item) }),
        el("span.reading", { dir: "auto", text: snippet(item.text, most) }),
      ),
    ),
  );
const scored = (item) => ` · score ${item.score.toFixed(2)}`;

/** What went to the model, and what was relevant and did not fit. */
function cut(answer) {
  const { evidence = [], dropped = [] } = answer;
  if (!evidence.length && !dropped.length) return null;
  return el(
    "section.why-part",
    el("h3", { text: "What the model was given" }),
    quotes(evidence, 240, scored),
    dropped.length > 0 &&
      el(
        "details",
        el("summary", { text: `${plural(dropped.length, "sentence")} cut: relevant, but over the room for evidence` }),
        quotes(dropped, 240, scored),
      ),
  );
}

/** The candidates with their place in each list. */
async function candidates(turn, searched, part) {
  const heading = /** @type {Element} */ (part.firstElementChild);
  try {
    const found = await searched({ limit: SHOWN });
    const went = turn.answer.trace.stages.find((stage) => stage.name === "passages")?.passages ?? SHOWN;
    const lists = [...new Set(found.hits.flatMap((hit) => Object.keys(hit.ranks)))];
    const cited = new Set(turn.answer.citations.map((citation) => citation.passage_id));
    const given = new Set((turn.answer.evidence || []).map((item) => item.passage_id));
    const rows = found.hits.map((hit) => candidate(hit, lists, cited, given, went));
    fill(part, heading, rows.length ? el("ol.hits", rows) : el("p.muted", { text: "Nothing was found." }));
  } catch (failure) {
    const again = () => candidates(turn, searched, part);
    fill(part, heading, failed(failure, again));
  }
}

const SHOWN = 20; // candidates
const LISTS = { vector: "meaning", keyword: "words", fused: "merged", rerank: "read again" };

function candidate(hit, lists, cited, given, went) {
  let use = el("span.tag", { text: hit.rank > went ? "cut: not among the best" : "read, not used" });
  if (cited.has(hit.passage_id)) use = el("span.tag.good", icon("check"), "cited");
  else if (given.has(hit.passage_id)) use = el("span.tag.accent", { text: "given to the model" });
  const score = (list) => (hit.scores[list] === undefined ? "" : ` (${hit.scores[list].toFixed(2)})`);
  const place = (list, name) => (hit.ranks[list] ? `${name} #${hit.ranks[list]}${score(list)}` : `not by ${name}`);
  const places = lists.map((list) => place(list, LISTS[list] || list));
  return el(
    "li",
    { class: hit.rank > went ? "over" : "" },
    el(
      "details",
      el(
        "summary",
        el("span.numeral", { text: hit.rank }),
        el("span.name", { dir: "auto", text: documentName(hit) }),
        el("span.where.small.muted", { text: hit.page ? `page ${hit.page}` : `line ${hit.line_from}` }),
        use,
        el("span.glimpse.small.muted", { dir: "auto", text: snippet(hit.text, 120) }),
      ),
      el("p.small.muted", { dir: "auto", text: placeOf(hit) }),
      el("p.small", { text: places.join(" · ") }),
      el("p.small", termTags(hit)),
      el("p.reading", { dir: "auto", text: snippet(hit.text, 400) }),
    ),
  );
}

/** "Why not this document?": choose one, and see where it was lost. */
function whyNot(turn, target) {
  const result = el("div.why-not", { "aria-live": "polite" });
  const attributes = { required: true, dir: "auto", spellcheck: "false", placeholder: "Its name or path" };
  const [input, names] = suggested(el("input.input", { id: "target", value: target, ...attributes }));
  const quote = el("input.input", { id: "words", dir: "auto", placeholder: "Leave empty for anything in it" });
  const submit = async () => {
    fill(result, loading("Following it through the stages…"));
    try {
      const asked = { question: turn.question, target: await lookUp(input.value.trim()), quote: quote.value.trim() };
      fill(result, verdict(await post("/v1/why", asked)));
    } catch (failure) {
      fill(result, failed(failure));
    }
    result.scrollIntoView({ block: "nearest" });
  };
  return el(
    "section.why-part",
    el("h3", { text: "Why not this document?" }),
    el("p.small.muted", { text: "Name a document that you expected to see, and the words if you know them." }),
    form("Find out", [field("Document", input), names, field("Words in it", quote)], submit),
    result,
  );
}

// Where an answer can be lost, in the order of the way; what comes before the loss was passed.
const WAY = [
  ["in the library", ["document_missing", "document_stale"]],
  ["its text was read", ["text_not_extracted", "filtered_out", "split_across_passages"]],
  ["a candidate", ["not_a_candidate"]],
  ["among the best", ["lost_in_fusion", "lost_in_reranking"]],
  ["thought to answer", ["refused"]],
  ["given as evidence", ["cut_from_prompt"]],
  ["used in the answer", ["not_used", "unsupported"]],
];

const SIGNS = { passed: "check", lost: "cross", unreached: "none" };

/** Where it was lost, why, and what to do. */
function verdict(why) {
  const lost = WAY.findIndex(([, stages]) => stages.includes(why.stage));
  const steps = WAY.map(([name], index) => {
    const state = lost < 0 || index < lost ? "passed" : index === lost ? "lost" : "unreached";
    return el("li", { class: state }, icon(SIGNS[state], state), el("span", { text: name }));
  });
  const places = why.places.map(({ stage, rank, depth }) => `${LISTS[stage] || stage} ${rank ? `#${rank}` : `beyond #${depth}`}`);
  return [
    el("ol.way", { "aria-label": "How far it came" }, steps),
    notice(why.found ? "good" : "warn", line(why.reason), { fix: line(why.fix || "") }),
    why.nearest && el("blockquote.reading", { dir: "auto", text: line(why.nearest, 300) }),
    places.length > 0 && el("p.small", { text: `Its best passage: ${places.join(" · ")}` }),
    (why.matched.length > 0 || why.lacking.length > 0) && el("p.small", termTags(why)),
    why.ahead.length > 0 &&
      el(
        "details",
        el("summary", { text: `${plural(why.ahead.length, "passage")} found instead` }),
        quotes(why.ahead.slice(0, 10), 160),
      ),
  ];
}
