import { EVENT_STREAM_TYPE } from "../../event-stream/framer.ts";
import { awsAuth, withoutAwsHeaders } from "../aws-auth.ts";
import { type Family, FamilyError } from "../family.ts";
import { callerHeadersOf, requestHeaders } from "../request-headers.ts";
import { addressOf } from "./address.ts";

/** Amazon Bedrock's own API, Converse. */
export const family: Family = {
  name: "bedrock",
  tokens: "aws",
  wireOf({ endpoint }) {
    if (endpoint === "native") return endpoint;
    if (endpoint === "chat" || endpoint === "messages" || endpoint === "responses") return "converse";
    throw new FamilyError(`the provider's family has no endpoint ${endpoint}`);
  },
  buildRequest(input) {
    const { headers, signing } = awsAuth(input.secret, input.account, "bedrock");
    const accept = input.stream === true ? EVENT_STREAM_TYPE : "application/json";
    const own = input.endpoint === "native" ? headers : ["accept", accept, ...headers];
    const passed = withoutAwsHeaders(callerHeadersOf(input));
    return {
      method: "POST",
      ...addressOf(input),
      headers: requestHeaders(passed, own),
      body: input.body,
      signing,
    };
  },
};
