import { isJsonList, isJsonObject, type Json } from "../../json/lossless.ts";

/**
 * Whether results of a content filter (Azure), of an answer or a prompt, found anything. Most find nothing, on every chunk, which says no
 * more than that there is a filter.
 */
export function hasFound(results: Json | undefined): boolean {
  if (isJsonList(results)) return results.some(hasFound);
  if (!isJsonObject(results)) return false;
  return (
    results["filtered"] === true || results["detected"] === true || Object.values(results).some(hasFound)
  );
}
