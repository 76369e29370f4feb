/**
 * A tiny subset of Markdown: paragraphs, lists, bold, italic, code. It gives spans of the source text, never HTML, so that
 * what stands on them (sentences, citations) keeps its place. Links and images are no part of it. Pure functions.
 *
 * @typedef {{start: number, end: number, strong?: boolean, em?: boolean, code?: boolean}} Run  a piece of text to show, in
 *   UTF-16 units of the source; the marks around it are left out
 * @typedef {{kind: "p" | "li" | "pre", runs: Run[], start: number, end: number, gap: boolean, ordered?: boolean,
 *   number?: number, strong?: boolean}} Block  `gap`: an empty line stands before it
 */

const FENCE = /^\s{0,3}(```+|~~~+)/;
const BULLET = /^(\s*)(?:[-*+•])\s+(?=\S)/;
const NUMBER = /^(\s*)(\d{1,3})[.)]\s+(?=\S)/;
const HEADING = /^\s{0,3}#{1,6}\s+(?=\S)/;
const INLINE =
  /(`{1,3})([^`]{1,2000}?)\1|(?<![\w*])(\*\*|__)(?=\S)((?:(?!\3).){0,1999}\S)\3(?!\w)|(?<![\w*_])([*_])(?=[^\s*_])([^*_]{0,1999}[^\s*_]|[^\s*_])\5(?!\w)/gu;

/** @param {string} text @returns {Block[]} */
export function parse(text) {
  const blocks = [];
  let gap = false;
  let fence = null;
  for (const { start, end } of lines(text)) {
    const source = text.slice(start, end);
    if (fence) {
      if (source.trimStart().startsWith(fence.mark)) fence = null;
      else extend(fence.block, start, end);
    } else if (FENCE.test(source)) {
      const block = { kind: "pre", runs: [], start: end, end, gap };
      fence = { mark: FENCE.exec(source)[1], block };
      blocks.push(block);
    } else if (!source.trim()) {
      gap = true;
      continue;
    } else blocks.push(block(text, source, start, end, gap));
    gap = false;
  }
  return blocks;
}

/** Add a line to a block of code. */
function extend(block, start, end) {
  if (block.runs.length) block.runs[0].end = end;
  else block.runs.push({ start, end, code: true });
  block.end = end;
}

/** @returns {Block} */
function block(text, source, start, end, gap) {
  const bullet = BULLET.exec(source);
  const number = NUMBER.exec(source);
  const heading = HEADING.exec(source);
  const mark = bullet || number || heading;
  const from = start + (mark ? mark[0].length : source.length - source.trimStart().length);
  const runs = inline(text, from, end, {});
  if (heading) return { kind: "p", runs: runs.map((run) => ({ ...run, strong: true })), start: from, end, gap };
  if (bullet || number)
    return { kind: "li", runs, start: from, end, gap, ordered: Boolean(number), number: number ? Number(number[2]) : 0 };
  return { kind: "p", runs, start: from, end, gap };
}

/** Give the lines of a text without their ends. */
function* lines(text) {
  let start = 0;
  while (start <= text.length) {
    const at = text.indexOf("\n", start);
    const end = at < 0 ? text.length : at;
    yield { start, end: text[end - 1] === "\r" && end > start ? end - 1 : end };
    if (at < 0) return;
    start = at + 1;
  }
}

/**
 * Find bold, italic and code between two places.
 * @param {string} text
 * @param {number} start
 * @param {number} end
 * @param {{strong?: boolean, em?: boolean}} style
 * @returns {Run[]}
 */
function inline(text, start, end, style) {
  const runs = [];
  const add = (from, to, more = {}) => to > from && runs.push({ start: from, end: to, ...style, ...more });
  let at = start;
  for (const found of text.slice(start, end).matchAll(INLINE)) {
    const [whole, ticks, code, , bold, sign, slanted] = found;
    const from = start + found.index;
    const mark = ticks ? ticks.length : sign ? 1 : 2;
    const to = from + whole.length;
    add(at, from);
    if (code !== undefined) add(from + mark, to - mark, { code: true });
    else
      runs.push(
        ...inline(text, from + mark, to - mark, {
          ...style,
          ...(bold !== undefined ? { strong: true } : { em: slanted !== undefined }),
        }),
      );
    at = to;
  }
  add(at, end);
  return runs;
}

const URL_IN_TEXT = /https?:\/\/[^\s<>"'`()[\]{}|\\^]+/gi;

/**
 * Find the web addresses in a text; punctuation that ends a sentence is no part of one.
 * @param {string} text
 * @returns {{start: number, end: number, url: string}[]}
 */
export function addresses(text) {
  return [...text.matchAll(URL_IN_TEXT)].map((found) => {
    const url = found[0].replace(/[.,;:!?*_]+$/, "");
    return { start: found.index, end: found.index + url.length, url };
  });
}

/**
 * Tell whether an address may be opened: exactly this one stands in a cited passage, it is a web address without a user name,
 * and nothing in it is hidden or looks like what it is not.
 * @param {string} url
 * @param {Iterable<string>} passages texts that the answer cites
 */
export function linkable(url, passages) {
  if (!/^[\x21-\x7e]+$/.test(url) || !URL.canParse(url)) return false;
  const parsed = new URL(url);
  if (!["http:", "https:"].includes(parsed.protocol) || parsed.username || parsed.password) return false;
  for (const passage of passages) if (addresses(passage).some((found) => found.url === url)) return true;
  return false;
}
