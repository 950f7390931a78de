/**
 * JSON bodies and nothing else, and only JSON that the rest can hold: valid UTF-8, no NUL, no lone surrogate, no
 * deep nesting. Postgres would refuse the former with a 500, a parser could be exhausted by the latter.
 * Contract section 6, reliability tests 15 and 41 to 44.
 */
import { isUtf8 } from 'node:buffer';
import fp from 'fastify-plugin';
import { ApiError } from '../errors.ts';

/** Deepest nesting of a body. */
export const MAX_NESTING = 32;

const invalid = (message: string) => new ApiError('invalidRequest', { message });

/** Whether brackets outside strings nest deeper than allowed: one pass over the bytes, before anything is parsed. */
function nestsTooDeep(body: Buffer): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < body.length; index++) {
    const byte = body[index];
    if (inString) {
      if (byte === 0x5c) index++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > MAX_NESTING) return true;
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return false;
}

/** Only an escape can bring these into valid UTF-8, so most bodies need one search of their text. */
const couldHoldForbiddenText = /\\u(?:0000|[dD][89a-fA-F])/;

const isForbidden = (text: string) => text.includes('\u0000') || !text.isWellFormed();

function holdsForbiddenText(value: unknown): boolean {
  if (typeof value === 'string') return isForbidden(value);
  if (Array.isArray(value)) return value.some(holdsForbiddenText);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, member]) => isForbidden(name) || holdsForbiddenText(member));
}

export default fp(
  async (app) => {
    // 'error': a body with __proto__ or constructor.prototype is refused, not cleaned.
    const parseJson = app.getDefaultJsonParser('error', 'error');

    app.removeAllContentTypeParsers();
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
      if (!isUtf8(body)) return done(invalid('The request body is not valid UTF-8.'));
      if (nestsTooDeep(body))
        return done(invalid(`The request body nests deeper than ${MAX_NESTING} levels.`));
      const text = body.toString('utf8');
      parseJson(request, text, (error, value) => {
        if (error) return done(error);
        if (couldHoldForbiddenText.test(text) && holdsForbiddenText(value)) {
          return done(invalid('The request body holds a NUL character or half of a surrogate pair.'));
        }
        done(null, value);
      });
    });
  },
  { name: 'bodies', dependencies: ['errors'] },
);
