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
 * Four-digit numbers are Z.ai's.
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
    "(?:accountoverdue|serviceoverdue)(?:error)?|operationdeniedserviceoverdue",
    "setlimitexceeded|inferencelimitexceeded",
    "quotaexceeded(?:error)?|servicequotaexceededexception",
    "quota:[a-z0-9]*perday[a-z0-9]*",
    "1113|1304|1308|1309|1310",
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
    "1302|1303",
  ]),
  codes("auth", refusal, [
    "(?:invalid|incorrect|missing|expired|wrong)apikey",
    "apikey(?:invalid|expired|missing)",
    "(?:invalid|expired)(?:accesstoken|authenticationtoken|authtoken|jwt)|tokenexpired",
    "expiredtoken(?:exception)?|unrecognizedclient(?:exception)?|invalidclienttokenid",
    "(?:invalidsignature|incompletesignature|missingauthenticationtoken)(?:exception)?|signaturedoesnotmatch",
    "(?:requesttimetooskewed|requestexpired)(?:exception)?",
    "accesstokenexpired|accesstokentypeunsupported|credentialsmissing",
    "noapikey|noauth",
  ]),
  codes("content_filter", bound, [
    "contentfilter(?:ed)?(?:error)?",
    "content(?:policy|moderation)(?:violation|blocked|flagged)?(?:error)?",
    "responsibleaipolicyviolation",
    "moderation(?:blocked|error|flagged)?",
    "datainspectionfailed",
    "(?:input|output)?(?:text|image|video|audio)?(?:sensitivecontentdetected|riskdetection)[a-z0-9]*",
    "prohibitedcontent|flaggedinput|safetycheck[a-z0-9]*",
    "imagegenerationcontentfilter|promptblocked|sensitivewordsdetected|refusal",
    "1301",
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
    "(?:model|deployment|endpoint|resource|engine|project|previousresponse|response|thread|assistant|vectorstore)notfound(?:error|exception)?",
    "invalidendpointormodelnotfound",
    "modelnotexists?|modeldoesnotexist|unknownmodel|invalidmodel(?:name|error|id)?|modeldecommissioned|modeldeprecated",
    "modelnotavailable|modelnotsupported",
    "1211|1500",
  ]),
];

/** Codes that only name a kind of error; what the message says in so many words comes before them. */
export const broadCodes: readonly ErrorRule[] = [
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
  codes("not_found", vagueButForbidden, ["notfound(?:error)?|[a-z0-9]*modelnotfound[a-z0-9]*"]),
  codes("not_implemented", badRequest, ["unimplemented|notimplemented(?:error)?"]),
  codes("server_error", badRequest, [
    "servererror|internal(?:server)?(?:error|exception)?|modelerrorexception|engineerror|inferencefailed",
  ]),
  codes("server_error", afterSuccess, ["apierror|server|badgateway|upstreamerror"]),
  codes("invalid_request", afterSuccess, [
    "invalidrequest(?:error)?|badrequest(?:error)?|invalidargument|validationexception|invalidparameter(?:error)?",
  ]),
];

/** Codes of a time-out; the class depends on where it came (see `classOfTimeout`). */
export const timeoutCodes =
  /^(?:model|request|gateway|upstream)?(?:timeout|timedout|deadlineexceeded)(?:error|exception)?$|^internalerrortimeout$/;
