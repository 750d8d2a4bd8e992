import type { GroupSummary } from "@switchyard/proto/routing/v1/routing_service";

/** Groups have no age of their own, and clients want a whole number. */
const CREATED = 1_700_000_000;
const CREATED_AT = new Date(CREATED * 1_000).toISOString();
/** Anthropic's page where the caller says nothing, and its longest. */
const PAGE = 20;
const LONGEST_PAGE = 1_000;

/** How one vendor's clients read what they may call as `model`. */
export interface ModelShape {
  /** `query`: the caller's, without its question mark. */
  list(groups: readonly GroupSummary[], query: string): object;
  one(group: GroupSummary): object;
}

/** OpenAI's: all at once. */
export const OPENAI_MODELS: ModelShape = {
  list: (groups) => ({ object: "list", data: groups.map(openAiModel) }),
  one: openAiModel,
};

/** Anthropic's: in pages, which its clients ask for by the ids at their ends. */
export const ANTHROPIC_MODELS: ModelShape = {
  list(groups, query) {
    const { page, hasMore } = pageOf(groups, new URLSearchParams(query));
    return {
      data: page.map(anthropicModel),
      has_more: hasMore,
      first_id: page.at(0)?.name ?? null,
      last_id: page.at(-1)?.name ?? null,
    };
  },
  one: anthropicModel,
};

function openAiModel({ name, project }: GroupSummary): object {
  return { id: name, object: "model", created: CREATED, owned_by: project };
}

function anthropicModel({ name }: GroupSummary): object {
  return { type: "model", id: name, display_name: name, created_at: CREATED_AT };
}

/** An id that is not there, such as of a group that went between two pages, ends the list: its start would be listed again. */
function pageOf(
  groups: readonly GroupSummary[],
  asked: URLSearchParams,
): { readonly page: readonly GroupSummary[]; readonly hasMore: boolean } {
  const size = sizeOf(asked.get("limit"));
  const place = (id: string): number => groups.findIndex(({ name }) => name === id);
  const before = asked.get("before_id");
  if (before !== null) {
    const end = Math.max(0, place(before));
    const start = Math.max(0, end - size);
    return { page: groups.slice(start, end), hasMore: start > 0 };
  }
  const after = asked.get("after_id");
  const last = after === null ? -1 : place(after);
  const start = after !== null && last < 0 ? groups.length : last + 1;
  return { page: groups.slice(start, start + size), hasMore: start + size < groups.length };
}

function sizeOf(limit: string | null): number {
  if (limit === null || !/^\d{1,9}$/.test(limit)) return PAGE;
  return Math.min(LONGEST_PAGE, Math.max(1, Number(limit)));
}
