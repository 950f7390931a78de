import { MAX_COMMAS, MAX_NESTING, MAX_STRUCTURE } from './limits.ts';

export type Scan = {
  /** Why the body is rejected, as a sentence for the client. */
  refusal?: string;
  /** The number of structural characters and commas outside strings. */
  marks: number;
};

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Estimates what parsing would build. The input must be UTF-8, but may be invalid JSON. Contract section 6. */
export function scanJson(body: Uint8Array): Scan {
  let depth = 0;
  let structure = 0;
  let commas = 0;
  const { length } = body;
  for (let index = 0; index < length; index++) {
    const byte = body[index] as number;
    if (byte === QUOTE) {
      for (index++; index < length; index++) {
        const inside = body[index];
        if (inside === QUOTE) break;
        if (inside === BACKSLASH) index++;
      }
    } else if (byte === COMMA) {
      if (++commas > MAX_COMMAS) return refused(`${MAX_COMMAS.toLocaleString('en')} commas`);
    } else if (byte === COLON || byte === 0x5b || byte === 0x5d || byte === 0x7b || byte === 0x7d) {
      if (++structure > MAX_STRUCTURE)
        return refused(`${MAX_STRUCTURE.toLocaleString('en')} braces, brackets, and colons`);
      if (byte === 0x5b || byte === 0x7b) {
        if (++depth > MAX_NESTING)
          return { refusal: `The request body is nested deeper than ${MAX_NESTING} levels.`, marks: 0 };
      } else if (byte !== COLON) depth--;
    }
  }
  return { marks: structure + commas };
}

const refused = (what: string): Scan => ({
  refusal: `The request body has more than ${what} outside strings. Send less, or split the request.`,
  marks: 0,
});
