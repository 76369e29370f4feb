/** Text as the server counts it (Unicode code points) and as people may see it (nothing hidden in it). Pure functions. */

/**
 * Turn code-point offsets into offsets of a JavaScript string, which counts UTF-16 units.
 * @param {string} text
 * @returns {(offset: number) => number} for offsets from 0 to the length in code points; larger ones give the end
 */
export function units(text) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return (offset) => Math.max(0, Math.min(offset, text.length));
  const starts = [];
  for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) starts.push(at);
  return (offset) => (offset <= 0 ? 0 : offset < starts.length ? starts[offset] : text.length);
}

/** Cut by code points. @param {string} text @param {number} start @param {number} [end] */
export function cut(text, start, end = Infinity) {
  const at = units(text);
  return text.slice(at(start), end === Infinity ? text.length : at(end));
}

/** Count code points. @param {string} text */
export function length(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

// Controls, soft hyphen aside: C0 and C1, bidirectional controls, invisible joiners and spaces, tag characters.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Cs}]/gu;

/**
 * Make what is hidden in a text visible: bidirectional controls, tag and control characters become their code in brackets.
 * @param {string} text
 */
export function visible(text) {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll("\f", "\n")
    .replace(HIDDEN, (c) => `⟨U+${/** @type {number} */ (c.codePointAt(0)).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** One line of it. @param {string} text @param {number} [most] code points */
export function line(text, most = Infinity) {
  const flat = visible(text.replace(/\s+/g, " ").trim());
  return length(flat) > most ? `${cut(flat, 0, most - 1).trimEnd()}…` : flat;
}

/** The beginning of a passage in one line; headings at its top are left out, as its place names them, and so are fences. @param {string} text @param {number} most */
export function snippet(text, most) {
  return line(text.replace(/^(\s*#{1,6} [^\n]*\n)+/, "").replace(/^\s*(```|~~~).*$/gm, ""), most);
}

/** The number and its noun. @param {number} count @param {string} noun @param {string} [many] */
export function plural(count, noun, many = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : many}`;
}

/** The name of a source: the last part of its path. @param {string} uri */
export function fileName(uri) {
  return line(decoded(uri).replace(/\/+$/, "").split("/").pop() || decoded(uri));
}

/** Whether a source is an upload: its path is the server's own business, its file's name nearly its own. @param {string} uri */
export const uploaded = (uri) => /\/uploads\/[0-9a-f]{24}\//.test(uri);

/** The readable form of a URI. @param {string} uri */
export function decoded(uri) {
  try {
    return decodeURIComponent(uri.replace(/^file:\/\//, ""));
  } catch {
    return uri;
  }
}

/** What the server reports, its files called by their names. @param {{message: string, fix?: string}} report */
export function told({ message, fix = "" }) {
  return line(`${message} ${fix}`).replace(/file:\/\/\S+?(?=[:,;.]?(\s|$))/g, fileName);
}

/** Words for a document: its title, else its file's name. @param {{title?: string, name?: string, uri: string}} document */
export function documentName(document) {
  return line(document.title || document.name || fileName(document.uri), 120);
}

/** @param {number | string | null | undefined} when nanoseconds, seconds or milliseconds since the epoch, or ISO 8601 */
function toDate(when) {
  let value = /** @type {any} */ (when || NaN);
  if (typeof value === "number") value = value > 1e17 ? value / 1e6 : value < 1e11 ? value * 1e3 : value;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** A date as people write it, "" when there is none. @param {any} when as in `toDate` */
export function day(when) {
  const date = toDate(when);
  return date ? date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" }) : "";
}

/** How long ago, in words. @param {any} when as in `toDate` */
export function ago(when) {
  const date = toDate(when);
  if (!date) return "";
  const seconds = (Date.now() - date.getTime()) / 1000;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${plural(Math.floor(seconds / 60), "minute")} ago`;
  if (seconds < 86_400) return `${plural(Math.floor(seconds / 3600), "hour")} ago`;
  return seconds < 7 * 86_400 ? `${plural(Math.floor(seconds / 86_400), "day")} ago` : day(when);
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const step = Math.min(4, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** step;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${["B", "kB", "MB", "GB", "TB"][step]}`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 0.0095) return `${(seconds * 1000).toFixed(seconds < 0.00095 ? 1 : 0)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 100) * 10} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
