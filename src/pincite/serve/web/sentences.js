/** The text of an answer as sentences with their chips. Text nodes only; addresses are inert unless a cited passage has them. */

import { el, icon } from "./dom.js";
import { addresses, linkable, parse } from "./markdown.js";
import { preview } from "./preview.js";
import { units, visible } from "./text.js";

/** What a verdict is called, its sign, and what it means. */
export const VERDICTS = {
  supported: { word: "Supported", sign: "check", means: "The cited words say this." },
  partly: { word: "Partly", sign: "half", means: "The cited words say some of this; what they lack is underlined." },
  unsupported: { word: "Unsupported", sign: "cross", means: "No passage that was found says this. Do not rely on it." },
  conflicting: { word: "Conflict", sign: "conflict", means: "Your sources say different things. Both are shown." },
  none: { word: "Unchecked", sign: "none", means: "This is no statement that was checked." },
};

const NUMBERS = /(?:\s*\[\d+\])+\s*$/;

/**
 * Lay out an answer's text.
 * @param {any} answer
 * @param {(claim: number) => void} open shows the evidence of a claim
 * @returns {HTMLElement[]} paragraphs and lists
 */
export function sentences(answer, open) {
  const at = units(answer.text);
  const claims = answer.claims.map((claim, index) => {
    const [start, whole] = [at(claim.start), at(claim.end)];
    const end = whole - (NUMBERS.exec(answer.text.slice(start, whole))?.[0].length || 0);
    return { claim, index, start, end, whole };
  });
  const passages = [...answer.citations.map((c) => c.quote), ...(answer.evidence || []).map((e) => e.text)];
  const lacking = claims.flatMap((c) => lackingIn(c, answer.text));
  const ctx = { text: answer.text, claims, lacking, passages, open, answer };
  return labelled(arranged(parse(answer.text), ctx), claims, answer);
}

/** Where quotes come before the model's own sentences, say which is which. */
function labelled(nodes, claims, answer) {
  const quotes = new Set(answer.citations.map((citation) => flat(citation.quote)));
  const own = claims.filter(({ start, end }) => !quotes.has(flat(answer.text.slice(start, end))));
  if (!own.length || own.length === claims.length || own[0].index === 0) return nodes;
  const first = nodes.findIndex((node) => node.querySelector(`[data-claim="${own[0].index}"]`));
  const label = (words) => el("p.whose", { text: words });
  const [quoted, written] = [nodes.slice(0, first), nodes.slice(first)];
  return [label("In the words of your documents"), ...quoted, label("In the model’s words"), ...written];
}

const flat = (text) => text.replace(/\s+/g, " ").trim();

/** Put blocks into paragraphs and lists. */
function arranged(blocks, ctx) {
  const out = [];
  let items = null;
  for (const block of blocks) {
    const content = inlines(block, ctx);
    if (block.kind === "li") {
      const tag = block.ordered ? "ol" : "ul";
      if (!items || items.localName !== tag)
        out.push((items = el(tag, { class: "reading", start: block.ordered ? block.number : null })));
      items.append(el("li", { dir: "auto" }, content));
      continue;
    }
    items = null;
    if (block.kind === "pre") out.push(el("pre", { tabindex: 0 }, el("code", content)));
    else out.push(el("p.reading", { dir: "auto", class: block.gap ? "gap" : "" }, content));
  }
  return out;
}

/** The words of a claim that the cited text does not have. */
function lackingIn({ claim, start, whole }, text) {
  return claim.parts.flatMap((part) => {
    const found = text.slice(start, whole).indexOf(part);
    return found < 0 ? [] : [{ start: start + found, end: start + found + part.length }];
  });
}

/** The pieces of one block, sentence by sentence, each followed by its chip. */
function inlines(block, ctx) {
  const out = [];
  let open = null; // the sentence being filled
  const close = () => {
    if (open && (open.claim === null || lastIn(block, open.claim))) tail(open.node, chipOf(open.claim, ctx));
    open = null;
  };
  for (const run of block.runs) {
    for (const piece of cutUp(run, ctx)) {
      const claim = ctx.claims.find((c) => piece.start >= c.start && piece.end <= c.whole) || null;
      if (claim && piece.start >= claim.end) continue; // the numbers: the chip has them
      const words = ctx.text.slice(piece.start, piece.end);
      if (!claim && (!words.trim() || !ctx.claims.length)) {
        close();
        out.push(document.createTextNode(visible(words)));
        continue;
      }
      if (!open || open.claim !== claim) {
        close();
        open = { claim, node: sentence(claim, ctx) };
        out.push(open.node);
      }
      open.node.append(styled(words, run, piece, ctx));
    }
  }
  close();
  return out;
}

/** Put a chip at the end of a sentence, on one line with the last word. @param {Element} node @param {Element} chip */
function tail(node, chip) {
  let last = /** @type {ChildNode} */ (node.lastChild);
  if (last instanceof Text) last = last.splitText(last.length - /** @type {any} */ (/\S*\s*$/.exec(last.data))[0].length);
  const short = (last.textContent || "").length < LONG_WORD;
  node.append(el("span", { class: short ? "nobreak" : "" }, last, chip));
}

const LONG_WORD = 30;
const lastIn = (block, claim) => claim.end <= block.end;

function sentence(claim, ctx) {
  if (!claim) return el("span.sentence.none");
  return el("span.sentence", {
    class: claim.claim.verdict,
    data: { claim: claim.index },
    on: { click: () => selects() || ctx.open(claim.index) },
  });
}

/** A sentence alone, with the words underlined that its source lacks. @param {string} text @param {string[]} parts */
export function underlined(text, parts) {
  const found = parts.map((part) => ({ start: text.indexOf(part), part })).filter(({ start }) => start >= 0);
  const out = [];
  let at = 0;
  for (const { start, part } of found.sort((a, b) => a.start - b.start)) {
    if (start < at) continue;
    out.push(visible(text.slice(at, start)), el("span.lacking", { text: visible(part) }));
    at = start + part.length;
  }
  return [...out, visible(text.slice(at))];
}

/** Whether the person is selecting text, not clicking. */
function selects() {
  return !getSelection()?.isCollapsed;
}

/** Cut a run where claims, lacking words and addresses begin and end. */
function* cutUp(run, ctx) {
  const words = ctx.text.slice(run.start, run.end);
  const links = run.code ? [] : addresses(words).map((a) => ({ start: run.start + a.start, end: run.start + a.end, url: a.url }));
  const places = new Set([run.start, run.end]);
  for (const { start, end, whole } of [...ctx.claims, ...ctx.lacking, ...links])
    for (const at of [start, end, whole]) if (at > run.start && at < run.end) places.add(at);
  const sorted = [...places].sort((a, b) => a - b);
  for (let i = 1; i < sorted.length; i += 1) {
    const [start, end] = [sorted[i - 1], sorted[i]];
    yield { start, end, link: links.find((l) => start === l.start && end === l.end)?.url };
  }
}

/** The words of a piece in its style. */
function styled(words, run, piece, ctx) {
  let node = /** @type {Node} */ (document.createTextNode(visible(words)));
  const wrap = (tag, props = {}) => (node = el(tag, props, node));
  if (ctx.lacking.some((part) => piece.start >= part.start && piece.end <= part.end))
    wrap("span.lacking", { title: "The cited text does not have this." });
  if (run.code) wrap("code");
  if (run.em) wrap("em");
  if (run.strong) wrap("strong");
  if (piece.link && linkable(piece.link, ctx.passages))
    wrap("a", {
      href: piece.link,
      rel: "noopener noreferrer nofollow",
      target: "_blank",
      title: "This address stands in a cited passage. It leaves this page.",
    });
  return node;
}

/** The chip behind a sentence: verdict and sources; it opens the evidence. */
function chipOf(claim, ctx) {
  if (!claim) return el("span.chip.none", { title: VERDICTS.none.means }, icon("none"), el("span", { text: VERDICTS.none.word }));
  const { verdict, citations } = claim.claim;
  const { word, sign, means } = VERDICTS[verdict];
  const numbers = citations.join(", ");
  const label = `${word}${citations.length ? `, source ${citations.join(" and ")}` : ""}. Show the evidence.`;
  const open = (event) => {
    event.stopPropagation(); // the sentence around it would open it again
    ctx.open(claim.index);
  };
  const cited = ctx.answer.citations.find((citation) => citation.number === citations[0]);
  return el(
    "button.chip",
    {
      type: "button",
      class: verdict,
      "aria-label": label,
      title: cited ? null : means,
      data: { claim: claim.index },
      on: { click: open, ...(cited && preview(cited, means)) },
    },
    icon(sign),
    verdict !== "supported" && el("span", { text: word }),
    numbers && el("span.numbers", { text: numbers }),
  );
}
