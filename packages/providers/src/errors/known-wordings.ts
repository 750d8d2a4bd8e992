import {
  badRequest,
  bound,
  anywhere,
  refusal,
  vague,
  vagueButForbidden,
  type At,
  type ErrorRule,
} from "./error-rule.ts";
import type { ErrorClass } from "@switchyard/core";

/** A status of a time-out says more than the words beside it. */
const overloadable: At = (status) => ![401, 404, 408, 504, 522, 524].includes(status);
const limited: At = (status) => status === 429 || status === 413 || bound(status);
const malformed: At = (status) => badRequest(status) || status === 413;

/** Alternatives are joined, so that a rule is one pass; gaps inside them are bounded to keep a pass linear. */
function says(errorClass: ErrorClass, at: At, alternatives: readonly RegExp[]): ErrorRule {
  return { class: errorClass, at, pattern: new RegExp(alternatives.map((one) => one.source).join("|")) };
}

/** What messages say in so many words, over lower-cased text with single spaces. First match wins. */
export const wordings: readonly ErrorRule[] = [
  // The whole account or resource is blocked: not this prompt's content, though the reason is often a policy.
  says("permission", vague, [
    /\b(?:resource|account|organi[sz]ation|project|team|workspace|api key)\b.{0,40} (?:has been|is|was) (?:temporarily )?(?:blocked|banned|disabled|deactivated|terminated|restricted)\b/,
    /\baccess (?:has been )?terminated\b/,
  ]),
  says("content_filter", bound, [
    /\bcontent[- ](?:management|filter(?:ing)?|moderation|safety)\b.{0,20}\b(?:polic|system|block|trigger)/,
    /\b(?:blocked|filtered|flagged|rejected|stopped) (?:by|due to|because of|for) (?:the |our |a )?(?:\w+ ){0,3}(?:content|safety|moderation|guardrail|policy)/,
    /\b(?:safety|moderation) system\b|\bfor safety reasons\b|\bcontent blocked\b|\bblocked (?:input|output|prompt)\b/,
    /\bguardrails?\b.{0,40}\b(?:blocked|block|intervened|violat\w{1,5}|triggered)\b|\b(?:blocked|detected|rejected|violat\w{1,5})\b.{0,30}\bguardrails?\b/,
    /\bviolat\w{1,5} .{0,60}\b(?:usage guidelines|usage polic|content polic|acceptable use|responsible ai|safety polic|terms of (?:use|service)|community guidelines)/,
    /\bcontent (?:exists risk|violates)\b|\bconsidered high risk\b|\bprohibited (?:use|content)\b/,
    /\binput was flagged\b|\bprompt was flagged\b|\bflagged as (?:potentially )?(?:violating|unsafe|inappropriate|harmful)/,
    /\b(?:inappropriate|sensitive|unsafe|harmful|prohibited|potentially unsafe or sensitive) (?:content|words?|information|material)\b/,
    /\b(?:input|output) (?:new_)?sensitive\b|不安全|敏感内容|敏感信息|敏感词|违规内容|内容安全/,
  ]),
  says("rate_limited", limited, [
    /\brate[- ]limits? (?:is |has been |was |been )?(?:reached|exceeded|hit)\b/,
    /\bexceed\w{0,3} .{0,50}\b(?:rate limit|(?:tokens?|requests?|queries) per (?:minute|second))/,
    /\b(?:been|are|being|is) (?:temporarily )?rate[- ]limited\b|\btoo many requests\b/,
    /\bper[-_ ]minute\b|\b(?:calls?|requests?|tokens?) ?\/ ?(?:minute|min|second|sec)\b|\b(?:rpm|tpm|qps)\b|\binput_token_count\b|速率限制|请求过于频繁|并发/,
  ]),
  says("quota_exhausted", anywhere, [
    /\b(?:insufficient|not enough) (?:\w+ )?(?:balance|credits?|funds|quota)\b/,
    /\b(?:balance|credits?|quota) (?:is |are )?(?:too low|insufficient|not enough|exhausted|depleted|used up|negative)\b/,
    /\b(?:credit|balance|spend(?:ing)?|billing|usage|budget|key)(?: hard| soft)? (?:limits?|caps?) (?:has |have )?(?:been )?(?:reached|exceeded|hit)\b/,
    /\b(?:reached|exceeded|exhausted|used up|over|hit|used all|all) .{0,60}\b(?:usage limits?|spend(?:ing)? (?:limit|cap)|(?:monthly|weekly|daily|included|available|free|prepaid) (?:\w+ ){0,2}(?:credits?|quota|allowance|allocation|usage|limit))\b/,
    /\bout of (?:\w+ ){0,3}(?:credits?|quota|funds|usage)\b|\brun out of (?:credits?|funds)\b|\bno (?:remaining )?credits? (?:left|remaining)\b/,
    /\brequires? more credits?\b|\bcan only afford\b|\b(?:credits|extra usage) (?:are|is) required\b|\b(?:purchase|buy) (?:more )?credits\b|\b(?:doesn't|does not) have (?:any |enough )?credits\b/,
    /\bexceeded (?:your|the|its) (?:current |monthly |daily |free |usage )?quota\b|\bexceeded current quota\b/,
    /\bbudget has been exceeded\b|\b(?:exceeded|over) budget\b|\bexceededbudget\b/,
    /\bfree (?:allocated |tier |trial )?(?:quota|tier|credits?)\b.{0,40}\b(?:exceeded|exhausted|used up|expired|ended)\b/,
    /\b(?:quota|allowance|credits?) (?:has |have )?(?:been )?(?:fully )?(?:exhausted|used up)\b/,
    /\bpayment required\b|\bplease (?:recharge|top up|add (?:more )?(?:funds|credits?))\b|\bin arrears\b|\boverdue (?:balance|payment|bill)|\b(?:balance|bill|account) is overdue\b|\bin good standing\b/,
    /\bcheck your (?:plan and )?billing details\b|\b(?:failure to pay|unpaid invoices?|past due invoices?)\b|\brequires billing to be enabled\b|\bbilling (?:account )?(?:is |has been )?(?:disabled|not (?:active|enabled))/,
    /\b(?:tokens|requests) per (?:day|month)\b|\b(?:calls?|requests?) ?\/ ?(?:month|day)\b|\b(?:daily|weekly|monthly) (?:\w+ ){0,3}(?:limit|quota|cap|allowance)\b.{0,30}\b(?:reached|exceeded|exhausted)/,
    /\b(?:usage|inference|quota|token) limit (?:reached|for)\b|\breached the set inference limit\b/,
    /余额不足|账户余额|欠费|额度(?:不足|已|用)|配额(?:不足|已)|请充值/,
  ]),
  says("overloaded", overloadable, [
    /\boverloaded\b|\bhigh (?:demand|traffic|load)\b|\bserver load\b|\bpeak load\b/,
    /\b(?:at|over|no|insufficient|out of|lacks?|exceeded) (?:\w+ )?capacity\b|\bcapacity (?:is |has been )?(?:temporarily )?(?:exceeded|exhausted|reached|unavailable)\b/,
    /\b(?:server|service|system|model|engine)s? (?:is |are )?(?:currently )?(?:too )?busy\b|\bno healthy upstream\b|\bqueue is full\b/,
    /繁忙|过载|负载(?:过高|已)/,
  ]),
  says("auth", refusal, [
    /\b(?:incorrect|invalid|expired|revoked|missing|wrong|malformed|no|leaked) (?:x-)?api[- ]?(?:key|token)\b/,
    /\bapi[- ]?(?:key|token)(?: (?:you )?provided)? (?:is |has |was |has been )?(?:not valid|not found|invalid|expired|incorrect|missing|revoked|reported as leaked|not provided|wrong|required)\b/,
    /\binvalid (?:access|bearer|auth\w{0,15}|subscription|security|credentials?) (?:token|key|header|credentials?)\b|\binvalid (?:authentication|credentials)\b/,
    /\bauthentication (?:fails|failed|parameter not received|required|error)\b|\b(?:missing|no) (?:auth\w{0,15}) (?:header|credentials|token)/,
    /\b(?:security|access|bearer|auth\w{0,10}|api|jwt) token (?:included in the request )?(?:is |has )?(?:invalid|expired|missing)\b|\brequest had invalid authentication|\btoken (?:seems|appears) (?:to be )?(?:invalid|expired)\b/,
    /\b(?:didn't|did not|must) provide (?:an|your) api key\b|\bwithout established identity\b|\brequest signature we calculated does not match\b|\bx-api-key header is required\b/,
    /^unauthorized\.?$|无效的(?:令牌|api)|令牌(?:已过期|无效)|身份验证失败/,
  ]),
  says("context_length", bound, [
    /\bmax_tokens must be at least 1, got -(?!1\b)\d/,
    /\binputs?` tokens \+ `max_new_tokens`|\binputs?` must have less than \d+ tokens/,
    /\bmaximum context length (?:is|of)\b|\bexceed\w{0,2} (?:the )?context limit\b/,
    /\bexceeds? (?:the |this |its )?(?:model's |available |maximum |max )*context[- _]?(?:window|length|size)\b/,
  ]),
  // Faults of an output cap share their words with overflows of the context, but are the caller's to correct.
  says("invalid_request", malformed, [
    /\bmax(?:imum)?[_ ](?:completion[_ ]|output[_ ]|new[_ ])?tokens\b.{0,60}(?:\b(?:must|should|cannot|exceeds?|too (?:large|high|small)|less than|at (?:least|most)|below|above|invalid|not valid)\b|[<>])/,
  ]),
  says("context_length", bound, [
    /\bmax(?:imum)? context (?:length|size|window)(?: of)? (?:is )?(?:by )?\d|\bexceeded max context length\b/,
    /\bexceeds? (?:the |this |its )?(?:model's |available |maximum |max |allowed )*(?:context|prompt)[- _]?(?:window|length|size|limit)\b/,
    /\b(?:inputs?|prompt|messages|text|request|conversation|query|document|context|sequence) (?:length )?(?:is |are )?(?:too long|too large for model)\b/,
    /\bprompt \([^()]{0,40}length \d{1,9}\) is (?:too long|longer)\b|\b(?:greater|larger|longer) than the (?:model's )?context (?:length|window|size)\b/,
    /\btotal length of all messages is too long\b|\blonger than the (?:model's |maximum )(?:model |context )?(?:length|context)/,
    /\breduce the length of (?:the |your )?(?:messages|prompt|input)|\breduce your prompt; or completion length/,
    /\b(?:input|prompt) tokens?(?: length)?(?: is| are)? too long\b|\bnumber of (?:input|prompt) tokens:? \d{1,9} (?:cannot exceed|exceeds)\b/,
    /\binput (?:token|length)(?: count)?(?: \(?\d+\)?)? (?:exceeds|is \d+ but)/,
    /\b(?:tokens?|length|count)(?: in the (?:prompt|input|messages?|request))?(?: of| \(?[\d,]+\)?)? (?:exceeds?|cannot exceed|must be less than|exceeded) .{0,40}\b(?:maximum (?:number of (?:input )?tokens|length|context|input|prompt|sequence)|context|max_seq_len|limit of \d+$|\d+ - received)/,
    /\binput tokens exceeded\b|\btoo many input tokens\b|\bexceeds? (?:the )?maximum (?:allowed )?(?:input|prompt|sequence) (?:length|tokens)\b/,
    /\bmaximum (?:prompt|input|sequence) length (?:is|of) \d|\bmaximum supported sequence length\b|\bmodel max length exceeded\b|\bexceed\w{0,3} (?:the )?(?:model token limit|max(?:imum)? (?:message |input |prompt )?tokens)\b|\bcontext (?:window|length) exceeds\b|\bprompt exceeds max length\b/,
    /\brange of input length should be\b|\bcontext the overflows\b|\bcontext length of only\b|\bcontext[_ ]?(?:window|length)[_ ]?(?:is )?(?:exceeded|overflow)/,
    /(?:malformed input request: |#\/(?:texts?|inputtext|prompt)(?:\/\d{1,4})?: )expected maxlength/,
    /\btoo many tokens(?: in batch| overall)?[:,.]? (?:total|size|max is|overall|the total)|\brequested \d+ tokens, max \d+ tokens per request/,
    /\bprompt_tokens \(\d+\) must be less than\b|\bmax(?:imum)? allowed tokens per (?:submitted )?(?:batch|request)\b/,
    /\bprompt token count of \d+ exceeds\b|\bmax size: \d+ tokens\b|\bprompt contains \d+ tokens\b|\btoken limit\b.{0,20}\bprompt\b|\bprompt .{0,20}exceeds .{0,30}token limit/,
    /上下文长度|输入(?:长度)?(?:过长|超过|超出)|超(?:过|出).{0,12}上下文/,
  ]),
  says("payload_too_large", malformed, [
    /\bvalue at 'body' failed to satisfy constraint: member must have length less than/,
    /\brequest (?:body|entity|payload)? ?(?:is )?too large\b|\brequest (?:body|payload) (?:size )?(?:exceeds|exceeded)\b|\bmaximum request body size\b|\brequest exceeds the maximum size\b/,
    /\brequest payload size exceeds the limit\b|\bpayload (?:is )?too large\b|\bcontent[- ]length .{0,20}exceed/,
  ]),
  says("not_found", vagueButForbidden, [
    /(?<!\b(?:for|with|by|in|on|of) (?:this |the |your )?)\bmodels?(?: or endpoint)?(?:(?: |: ?|\/)\S{1,120})?(?: \S{1,120})? (?:does not exist|doesn't exist|not exist|is not found|was not found|not found|could not be found|is unknown|(?:has been|was|is) (?:deprecated|decommissioned|retired|removed)|is no longer available)/,
    /\bcould not resolve the foundation model\b/,
    /\b(?:unknown|no such|invalid|unrecognized|nonexistent) model(?: name| id| identifier)?\b(?! (?:param|input|output|config|response))/,
    /\bmodel (?:identifier|id|name)(?: provided)? is invalid\b|\bis not a valid model\b|\bno endpoints found\b|\btry pulling it first\b/,
    /\bmodel \S{1,120} is not (?:supported|available)\. (?:supported|available) models\b|\brequested model is not (?:supported|available)\b|\bmodel .{0,80}reached (?:its )?end of (?:its )?life\b/,
    /\b(?:deployment|endpoint|inference profile)\b.{0,80} (?:does not exist|doesn't exist|not found)\b|\bwith id '?[\w-]{1,120}'? not found\b/,
    /模型不存在|未知模型|模型.{0,20}(?:不存在|已下线)/,
  ]),
  // Also from a 401: the key is right, what it may do is not.
  says("permission", (status) => status === 401, [/\binsufficient permissions?\b|\bmissing scopes?\b/]),
  says("permission", vague, [
    /\b(?:user )?location is not supported\b|\b(?:country|region|territory)\b.{0,30} (?:is )?not supported\b|\bunsupported (?:countr(?:y|ies)|regions?|territor(?:y|ies)|locations?)\b|\bnot (?:available|supported) in your (?:country|region|location)\b/,
    /\b(?:must|needs? to) be verified to\b|\bverify organization\b|\brequires terms acceptance\b|\baccept the terms\b/,
    /\b(?:don't|do not|doesn't|does not) have (?:access|permissions?)\b|\bnot (?:authorized|allowed|permitted|entitled) to (?:(?:access|perform|invoke)\b|(?:use|call|sample)\b.{0,40}\bmodel\b)|\binsufficient permissions?\b|\bmissing scopes?\b/,
    /\b(?:no|without|lacks?) (?:access|permission) to (?:the |this )?(?:model|deployment|resource)\b|\baccess to (?:the |this )?(?:\w+ )?(?:model|endpoint|resource) (?:is |has been )?(?:denied|not available|restricted)\b|\bmodel access is denied\b/,
    /\baccess denied due to\b|\bhas not been used in project\b|\bhas not (?:been )?(?:activated|enabled|opened)\b.{0,30}\bmodel\b|\buse case details have not been submitted\b|^operation not allowed\.?$|\bnot (?:yet )?available (?:for|on|to) (?:this|your) (?:current )?(?:subscription|plan|tier|account|organi[sz]ation)\b|\bcredential is only authorized for\b/,
    /无权(?:访问|限)|没有权限/,
  ]),
  says("server_error", badRequest, [
    /\bunexpected server status\b|\binternal (?:server )?error\b|\bserver had an error\b|\bmodel runner has unexpectedly stopped\b|\brunner process\b|\berror was encountered while running the model\b|\bprovider disconnected\b/,
    /\bupstream (?:error|request failed|connection|connect error)|\bfailed to (?:load|start) (?:the )?model\b|\bcuda (?:error|out of memory)\b|\bunable to process your request due to an? (?:internal|unexpected)/,
    /\bbackend returned unexpected response\b|\bunexpected error (?:occurred )?(?:while|during) (?:processing|inference)/,
  ]),
];
