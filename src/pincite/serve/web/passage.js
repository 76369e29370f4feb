/** A place in a document: its words in their context, and its page as an image with the words boxed. */

import { ApiError, blob, get } from "./api.js";
import { button, el, failed, fill, flowing, loading, notice } from "./dom.js";
import { length, units, visible } from "./text.js";

const AROUND = 700; // code points on each side; each "more" gives three times as many
const MOST = 20_000;
export const CODE = /^(text\/x-|application\/(json|xml|yaml|toml|javascript))/; // kinds whose line breaks mean something

/** @typedef {{passage_id: string, uri: string, version: number, start: number, end: number, page: number | null}} Place */

/** The document that a passage's id names. @param {string} passageId */
export const documentOf = (passageId) => passageId.split("@")[0];

/**
 * Fetch the words around a place.
 * @param {Place} place
 * @param {number} around
 * @returns {Promise<{document: any, text: string, from: number, passage: [number, number], more: boolean, old: boolean}>} `from`:
 *   offset of the text in the document; `old`: the version is not the newest
 */
export async function fetchContext(place, around = AROUND) {
  try {
    const found = await get(`/v1/passages/${encodeURIComponent(place.passage_id)}`, { around });
    const { passage, before, after } = found;
    const from = passage.start - length(before);
    const more = from > 0 || length(after) >= around;
    return {
      document: found.document,
      text: before + passage.text + after,
      from,
      passage: [passage.start, passage.end],
      more,
      old: false,
    };
  } catch (failure) {
    if (!(failure instanceof ApiError) || failure.status !== 404) throw failure;
  }
  return earlier(place, around); // the document has changed since: the version that was cited is kept
}

/** @param {Place} place @param {number} around */
async function earlier(place, around) {
  const id = documentOf(place.passage_id);
  const from = Math.max(0, place.start - around);
  const [document, part] = await Promise.all([
    get(`/v1/documents/${id}`),
    get(`/v1/documents/${id}/text`, { version: place.version, start: from, end: place.end + around }),
  ]);
  return {
    document,
    text: part.text,
    from: part.start,
    passage: [place.start, place.end],
    more: part.start > 0 || part.end < part.length,
    old: true,
  };
}

/**
 * Show the words in their context, the exact span marked.
 * @param {any} context what `fetchContext` gave
 * @param {{start: number, end: number} | null} marked null marks nothing
 */
function contextShown(context, marked) {
  const { text, from, passage } = context;
  const code = CODE.test(context.document.media_type || "");
  const [at, flow] = [units(text), code ? (start, end) => visible(text.slice(start, end)) : flowing(text)];
  const piece = (start, end) => flow(at(start - from), end === Infinity ? text.length : at(end - from));
  const [start, end] = marked ? [marked.start, marked.end] : [passage[0], passage[0]];
  return el(
    "div.context",
    { dir: "auto", class: code ? "code" : "reading", tabindex: 0, role: "region", "aria-label": "The passage in its document" },
    from > 0 && el("span.cutoff", { text: "… " }),
    piece(from, Math.min(passage[0], start)),
    el(
      "span.passage",
      piece(passage[0], start),
      start < end && el("mark", piece(start, end)),
      piece(Math.max(end, passage[0]), passage[1]),
    ),
    piece(Math.max(passage[1], end), Infinity),
  );
}

/**
 * The words in their context, with a way to see more of it.
 * @param {Place} place
 * @param {{start: number, end: number} | null} marked
 * @param {any} context
 */
export function contextPane(place, marked, context) {
  const pane = el("div.context-pane");
  const show = (given, around) => {
    const more =
      given.more && around < MOST && button("Show more around it", { kind: "quiet", icon: "plus", on: () => widen(around * 3) });
    fill(pane, contextShown(given, marked), more && el("div.row", more));
    centre(pane);
  };
  const widen = async (around) => {
    try {
      show(await fetchContext(place, Math.min(around, MOST)), around);
    } catch (failure) {
      fill(pane, failed(failure, () => widen(around)));
    }
  };
  requestAnimationFrame(() => centre(pane)); // once it is on the page and has a height
  show(context, AROUND);
  return pane;
}

/** Scroll a pane, and nothing around it, until what is marked stands in its middle. @param {Element} pane */
function centre(pane) {
  const [box, marked] = [pane.querySelector(".context, .paper-scroll"), pane.querySelector("mark, .box") || pane.querySelector(".passage")];
  if (!box || !marked) return;
  const [outer, inner] = [box.getBoundingClientRect(), marked.getBoundingClientRect()];
  box.scrollTop += inner.top - outer.top - Math.max(24, (outer.height - inner.height) / 2);
  box.scrollLeft += inner.left - outer.left - Math.max(24, (outer.width - inner.width) / 2);
}

/** An image that the server gives. @param {string} path @param {string} alt @param {AbortSignal} [signal] */
export async function picture(path, alt, signal = undefined) {
  const src = URL.createObjectURL(await blob(path, signal));
  const image = el("img", { src, alt });
  await image.decode().finally(() => URL.revokeObjectURL(src));
  return image;
}

/** The page as an image, with boxes on the words. @param {Place} place with a page */
export function pagePane(place) {
  const pane = el("div.page-pane", loading("The page is being painted…"));
  const show = async () => {
    const base = `/v1/documents/${documentOf(place.passage_id)}/pages/${place.page}`;
    const asked = { version: place.version, start: place.start, end: place.end };
    try {
      const { boxes } = await get(`${base}/boxes`, asked);
      const alt = `Page ${place.page}${boxes.length ? ", the quoted words boxed" : ""}`;
      const image = await picture(`${base}.png?version=${place.version}&scale=2`, alt);
      fill(pane, ...painted(image, boxes, place.page));
      centre(pane);
    } catch (failure) {
      fill(pane, failure.status === 404 ? unpainted() : failed(failure, show));
    }
  };
  show();
  return pane;
}

/** A page that cannot be painted now, and will not be by trying again. */
export const unpainted = () =>
  notice("info", "There is no picture of this page.", {
    fix: "Its file lies inside an archive or a mail, or is no longer where it was read. The text is complete.",
  });

function painted(image, boxes, page) {
  const percent = (share) => `${(share * 100).toFixed(3)}%`;
  const sheet = el(
    "div.sheet-of-paper",
    image,
    boxes.map(([x0, y0, x1, y1]) =>
      el("span.box", { style: { left: percent(x0), top: percent(y0), width: percent(x1 - x0), height: percent(y1 - y0) } }),
    ),
  );
  const zoom = button("Larger", {
    kind: "quiet",
    icon: "search",
    "aria-pressed": "false",
    on: () => {
      const large = sheet.classList.toggle("large");
      zoom.setAttribute("aria-pressed", String(large));
      centre(/** @type {Element} */ (sheet.closest(".page-pane")));
    },
  });
  return [
    el("div.paper-scroll", { tabindex: 0, role: "region", "aria-label": `Page ${page}` }, sheet),
    el(
      "div.row.spread",
      el("span.small.muted", { text: boxes.length ? `Page ${page}` : `Page ${page}. The words could not be placed on it.` }),
      zoom,
    ),
  ];
}
