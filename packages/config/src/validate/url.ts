/** Why a text is no plain URL of one of `schemes`; undefined when it is. Never shows the text: it may hold a password. */
export function urlFault(text: string, schemes: readonly string[]): string | undefined {
  const named = schemes.map((scheme) => `${scheme}://`).join(" or ");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !schemes.includes(url.protocol.slice(0, -1)) || url.host === "") {
    return `must be a URL that starts with ${named}`;
  }
  if (url.username !== "" || url.password !== "") return "must not hold a user name or password";
  if (url.search !== "" || text.includes("?")) return "must not hold a query";
  return url.hash !== "" || text.includes("#") ? "must not hold a fragment" : undefined;
}
