import { create } from "@bufbuild/protobuf";
import type { ChatParameters } from "@switchyard/proto/inference/v1/chat";
import { ChatResponseSchema, EmbedResponseSchema } from "@switchyard/proto/inference/v1/inference_service";
import type { InferenceService } from "@switchyard/proto/inference/v1/inference_service";
import { failure } from "@switchyard/rpc";
import type { ServiceImpl } from "@switchyard/rpc";
import { readBeside, readChoices } from "./chat-answer.ts";
import { chatBody } from "./chat-body.ts";
import { ChatStream } from "./chat-stream.ts";
import { embedBody, readEmbeddings } from "./embed.ts";
import { innerCall, innerRequest } from "./inner-call.ts";
import type { Serve } from "./inner-call.ts";
import { present, textOf } from "./json.ts";
import { readAttempts, servedFields } from "./served.ts";
import { wholeAnswer } from "./whole-answer.ts";

const CHAT = "/v1/chat/completions";
const EMBEDDINGS = "/v1/embeddings";

/** The methods in types. They only translate: `serve` routes, tries again and counts, as it does for bytes. */
export function createTypedMethods(
  serve: Serve,
): Pick<ServiceImpl<typeof InferenceService>, "chat" | "streamChat" | "embed"> {
  return {
    async chat(request, call) {
      const body = chatBody(given(request.parameters), false);
      const { head, answer, trailer } = await wholeAnswer(serve, innerRequest(CHAT, request, body), call);
      return create(ChatResponseSchema, {
        id: textOf(answer["id"]) ?? "",
        model: textOf(answer["model"]) ?? trailer.model,
        choices: readChoices(answer),
        attempts: readAttempts(head),
        ...servedFields(trailer),
        ...present({ extra: readBeside(answer) }),
      });
    },
    streamChat(request, sink, call) {
      const asked = innerRequest(CHAT, request, chatBody(given(request.parameters), true));
      const inner = innerCall(call);
      serve(asked, new ChatStream(sink, inner), inner);
    },
    async embed(request, call) {
      const asked = innerRequest(EMBEDDINGS, request, embedBody(request));
      const { head, answer, trailer } = await wholeAnswer(serve, asked, call);
      return create(EmbedResponseSchema, {
        model: textOf(answer["model"]) ?? trailer.model,
        embeddings: readEmbeddings(answer),
        attempts: readAttempts(head),
        ...servedFields(trailer),
      });
    },
  };
}

/** On the wire the schema has checked it. */
function given(parameters: ChatParameters | undefined): ChatParameters {
  if (parameters === undefined) throw failure("invalid_request", "parameters are required", { status: 400 });
  return parameters;
}
