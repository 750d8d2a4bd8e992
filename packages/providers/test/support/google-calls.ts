/** What Google's compatible API has beside a call or a message that is signed (BH-26). */
export const signed = (thought_signature: string): object => ({
  extra_content: { google: { thought_signature } },
});

/** A call of a chat message. */
export const call = (id: string, more: object = {}): object => ({
  id,
  type: "function",
  function: { name: "f", arguments: "{}" },
  ...more,
});
