/** Parses bodies into values that Parley can store. Contract section 6, reliability tests 41 to 43. */
import { parse } from 'secure-json-parse';

/** A rejected body. The message is for the client. */
export class BodyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BodyError';
  }
}

/** In valid UTF-8, only an escape can produce these characters, so one search suffices for most bodies. */
const couldHoldForbiddenText = /\\u(?:0000|[dD][89a-fA-F])/;

const isForbidden = (text: string) => text.includes('\u0000') || !text.isWellFormed();

function holdsForbiddenText(value: unknown): boolean {
  if (typeof value === 'string') return isForbidden(value);
  if (Array.isArray(value)) return value.some(holdsForbiddenText);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, member]) => isForbidden(name) || holdsForbiddenText(member));
}

/** Parses the text of a scanned body. Throws BodyError if it is not JSON or cannot be stored. */
export function parseScanned(text: string): unknown {
  let value: unknown;
  try {
    // 'error' rejects a body with `__proto__` or `constructor.prototype` instead of cleaning it.
    value = parse(text, { protoAction: 'error', constructorAction: 'error' });
  } catch {
    throw new BodyError('The request body is not valid JSON.');
  }
  if (couldHoldForbiddenText.test(text) && holdsForbiddenText(value))
    throw new BodyError('The request body contains a NUL character or an unpaired surrogate.');
  return value;
}
