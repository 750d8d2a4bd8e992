const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const time = String.raw`(\d{2}):(\d{2}):(\d{2})`;
const imf = new RegExp(String.raw`^[a-z]{3}, (\d{2}) ([a-z]{3}) (\d{4}) ${time} gmt$`);
const rfc850 = new RegExp(String.raw`^[a-z]{6,9}, (\d{2})-([a-z]{3})-(\d{2}) ${time} gmt$`);
const asctime = new RegExp(String.raw`^[a-z]{3} ([a-z]{3}) ([ \d]\d) ${time} (\d{4})$`);

const dayMs = 86_400_000;
const yearMs = 365.2425 * dayMs;

interface Moment {
  readonly year: number;
  readonly month: string;
  readonly day: number;
  readonly clock: readonly [number, number, number];
}

/**
 * Reads an HTTP-date in any of the three forms of RFC 9110 section 5.6.7.
 * @param now epoch milliseconds; decides the century of the two-digit year of the RFC 850 form
 * @returns epoch milliseconds, or undefined where the text is no date
 */
export function parseHttpDate(text: string, now: number): number | undefined {
  const lower = text.trim().toLowerCase();
  if (lower.length > 40) return undefined;
  const a = imf.exec(lower);
  if (a !== null)
    return toEpoch({ year: Number(a[3]), month: a[2] ?? "", day: Number(a[1]), clock: clockOf(a, 4) });
  const b = asctime.exec(lower);
  if (b !== null)
    return toEpoch({ year: Number(b[6]), month: b[1] ?? "", day: Number(b[2]), clock: clockOf(b, 3) });
  const c = rfc850.exec(lower);
  if (c === null) return undefined;
  const moment = { month: c[2] ?? "", day: Number(c[1]), clock: clockOf(c, 4) };
  const century = Math.floor((1970 + now / yearMs) / 100) * 100;
  const year = century + Number(c[3]);
  const epoch = toEpoch({ ...moment, year });
  // The RFC: a date that seems to lie more than 50 years ahead is the most recent year with those digits.
  if (epoch !== undefined && epoch > now + 50 * yearMs) return toEpoch({ ...moment, year: year - 100 });
  return epoch;
}

function clockOf(match: RegExpExecArray, from: number): readonly [number, number, number] {
  return [Number(match[from]), Number(match[from + 1]), Number(match[from + 2])];
}

function toEpoch(moment: Moment): number | undefined {
  const month = months.indexOf(moment.month) + 1;
  const [hour, minute, second] = moment.clock;
  if (month === 0 || moment.day < 1 || moment.day > daysIn(moment.year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  return daysSinceEpoch(moment.year, month, moment.day) * dayMs + ((hour * 60 + minute) * 60 + second) * 1000;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** Days from 1970-01-01 in the proleptic Gregorian calendar; years start in March, so that leap days come last. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
