import type { JsonObject } from "../../json/lossless.ts";
import type { CitedPlace } from "../../neutral/events.ts";

/** A citation of one of the request's documents; undefined for one that this dialect can't name. */
export function writeCitation(place: CitedPlace | undefined): JsonObject | undefined {
  if (place === undefined) return undefined;
  const { unit, document, start, end, text, title } = place;
  const what = {
    cited_text: text,
    document_index: document,
    document_title: title ?? null,
    file_id: null,
  };
  switch (unit) {
    case "characters":
      return { type: "char_location", ...what, start_char_index: start, end_char_index: end };
    case "pages":
      return { type: "page_location", ...what, start_page_number: start, end_page_number: end };
    case "blocks":
      return { type: "content_block_location", ...what, start_block_index: start, end_block_index: end };
  }
}
