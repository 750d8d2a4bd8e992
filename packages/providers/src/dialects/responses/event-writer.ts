import { type JsonObject, printJson } from "../../json/lossless.ts";

/** Writes the events of one stream, numbered from 0 without gaps. */
export class EventWriter {
  /** Number of the event that comes next. */
  sequence = 0;

  write(type: string, fields: JsonObject): string {
    const data = { type, sequence_number: this.sequence++, ...fields };
    return `event: ${type}\ndata: ${printJson(data)}\n\n`;
  }
}
