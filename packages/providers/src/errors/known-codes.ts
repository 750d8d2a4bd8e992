import {
  afterSuccess,
  anywhere,
  badRequest,
  bound,
  refusal,
  vague,
  vagueButForbidden,
  type At,
  type ErrorRule,
} from "./error-rule.ts";
import type { ErrorClass } from "@switchyard/core";

function codes(errorClass: ErrorClass, at: At, alternatives: readonly string[]): ErrorRule {
  return { class: errorClass, at, pattern: new RegExp(`^(?:${alternatives.join("|")})$`) };
}

/**
 * Codes that name the cause so exactly that no wording is asked. First match wins: of several codes in
 * one body the earlier rule is the more specific one (`rate_limit_error` beside `1113` is an empty balance).
 * Four-digit numbers are Z.ai's; those behind `baseresp:` are MiniMax's.
 */
export const tellingCodes: readonly ErrorRule[] = [
  codes("quota_exhausted", anywhere, [
    "(?:insufficient|notenough)[a-z]{0,20}(?:quota|balance|credits?|funds)(?:error)?",
    "exceededcurrentquota(?:error)?",
    "(?:billing|account)notactive",
    "billinghardlimitreached",
    "billing(?:error|disabled)?",
    "(?:credit|usage)limitreached",
    "creditsexhausted",
    "paymentrequired(?:error)?",
    "budgetexceeded(?:error)?",
    "arrearage|allocationquotafreetieronly",
    "(?:accountoverdue|serviceoverdue)(?:error)?|operationdeniedserviceoverdue|(?:pre|post)paidbilloverdue|commoditynotpurchased",
    "setlimitexceeded|inferencelimitexceeded",
    "quotaexceeded(?:error)?|servicequotaexceededexception",
    "quota:[a-z0-9]*perday[a-z0-9]*",
    "1113|1304|1308|1309|1310|baseresp:(?:1008|2056)",
  ]),
  codes("overloaded", anywhere, [
    "(?:engine|server|service|model|provider|system)?overloaded(?:error)?",
    "modelnotreadyexception",
    "capacityexceeded(?:error)?|flextiercapacityexceeded|3505",
    "1305|1312",
  ]),
  codes("rate_limited", anywhere, [
    "ratelimit(?:ed|exceeded|reached|reachederror)",
    "ratelimitexceeded(?:endpoint|foundation|account)[a-z0-9]*",
    "(?:token|request)quotaexceeded",
    "requestlimitexceeded|requestburstrateexceeded",
    "throttling(?:ratequota|burstrate)",
    "quota:[a-z0-9]*per(?:minute|second)[a-z0-9]*",
    "1302|1303|baseresp:(?:1002|1039|1041)",
  ]),
  codes("auth", refusal, [
    "(?:invalid|incorrect|missing|expired|wrong)apikey",
    "apikey(?:invalid|expired|missing)",
    "(?:invalid|expired)(?:accesstoken|authenticationtoken|authtoken|jwt)|tokenexpired",
    "expiredtoken(?:exception)?|unrecognizedclient(?:exception)?|invalidclienttokenid",
    "(?:invalidsignature|incompletesignature|missingauthenticationtoken)(?:exception)?|signaturedoesnotmatch",
    "(?:requesttimetooskewed|requestexpired)(?:exception)?",
    "authfailure[a-z]{0,40}|accesstokenexpired|accesstokentypeunsupported|credentialsmissing",
    "noapikey|noauth|baseresp:(?:1004|2049)",
  ]),
  codes("content_filter", bound, [
    "contentfilter(?:ed)?(?:error)?",
    "(?:image)?content(?:policy|moderation)(?:violation|blocked|flagged)?(?:error)?",
    "responsibleaipolicyviolation",
    "moderation(?:blocked|error|flagged)?",
    "datainspectionfailed",
    "(?:input|output)?(?:text|image|video|audio)?(?:sensitivecontentdetected|riskdetection)[a-z0-9]*",
    "prohibitedcontent|flaggedinput|safetycheck[a-z0-9]*",
    "imagegenerationcontentfilter|promptblocked|sensitivewordsdetected|refusal",
    "1301|baseresp:(?:1026|1027)",
  ]),
  codes("context_length", bound, [
    "contextlengthexceeded(?:error)?",
    "context(?:window|size|length|limit)exceeded(?:error)?",
    "exceedcontextsize(?:error)?",
    "toomanyprompttokens",
    "tokenslimitreached",
    "modelmaxprompttokensexceeded",
    "(?:prompt|input)(?:istoolong|toolong|tokensexceeded)",
    "maxtokensperrequest",
    "1261",
  ]),
  codes("payload_too_large", refusal, [
    "request(?:entity)?toolarge(?:error)?",
    "payloadtoolarge(?:error)?",
    "contentlengthexceeded",
  ]),
  codes("permission", vague, [
    "unsupportedcountryregionterritory|requestforbidden",
    "servicedisabled|consumersuspended|consumerinvalid|iampermissiondenied|accesstokenscopeinsufficient",
    "apikey(?:serviceblocked|httpreferrerblocked|ipaddressblocked|androidappblocked|iosappblocked)",
    "modeltermsrequired|modelpermissionblocked[a-z0-9]*|permissionblocked[a-z0-9]*",
    "modelnotopen|modelaccessdenied|operationdeniedservicenotopen|invalidendpointormodelmodelidaccessdisabled",
    "modelnotavailableforplan|accessterminated(?:error)?",
    "1220|1311|1313",
  ]),
  codes("not_found", vagueButForbidden, [
    "(?:model|deployment|endpoint|engine|project|previousresponse|response|thread|assistant|vectorstore)notfound(?:error|exception)?",
    "invalidendpointormodelnotfound",
    "modelnotexists?|modeldoesnotexist|unknownmodel|invalidmodel(?:name|error|id)?|modeldecommissioned|modeldeprecated",
    "modelnotavailable|modelnotsupported",
    "1211|1500",
  ]),
];

/** Codes that only name a kind of error; what the message says in so many words comes before them. */
export const broadCodes: readonly ErrorRule[] = [
  // Also from a 401: Azure knows the caller, who may not.
  codes("permission", (status) => status === 401, ["permissiondenied"]),
  codes("overloaded", anywhere, [
    "unavailable|(?:service|model|provider)unavailable(?:error|exception)?|noavailablecapacity",
  ]),
  codes("rate_limited", anywhere, [
    "ratelimit(?:error)?",
    "throttling[a-z0-9]*|throttled(?:exception)?",
    "toomanyrequests(?:error|exception)?",
    "resourceexhausted",
    "freeusagelimiterror|userratelimitexceeded",
  ]),
  codes("auth", refusal, [
    "authentication(?:error|failed|fails)?|unauthenticated|unauthorized(?:error|exception)?|autherror|invalidauthentication(?:error)?",
  ]),
  codes("permission", vagueButForbidden, [
    "permission(?:error|denied|deniederror)|accessdenied(?:exception|error)?|forbidden(?:error)?",
  ]),
  codes("not_found", vagueButForbidden, [
    "(?:resource)?notfound(?:error|exception)?|[a-z0-9]*modelnotfound[a-z0-9]*",
  ]),
  codes("not_implemented", badRequest, ["unimplemented|notimplemented(?:error)?"]),
  codes("server_error", badRequest, [
    "baseresp:(?:1000|1013|1024|1033)|servererror|internal(?:server)?(?:error|exception)?|modelerrorexception|engineerror|inferencefailed",
  ]),
  codes("invalid_request", afterSuccess, ["baseresp:2013"]),
  codes("server_error", afterSuccess, ["apierror|server|badgateway|upstreamerror"]),
  codes("invalid_request", afterSuccess, [
    "invalid[a-z0-9]{1,40}|badrequest(?:error)?|validation(?:exception|error)|unsupported[a-z0-9]{1,40}",
    "(?:unknown|missing(?:required)?)parameter|image(?:toolarge|toosmall|parseerror|filetoolarge|filenotfound)|emptyimagefile|failedtodownloadimage",
  ]),
];

/** Codes of a time-out; the class depends on where it came (see `classOfTimeout`). */
export const timeoutCodes =
  /^(?:model|request|gateway|upstream|provider|vectorstore)?(?:timeout|timedout|deadlineexceeded)(?:error|exception)?$|^internalerrortimeout$|^baseresp:1001$/;
