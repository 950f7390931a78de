/** Rejects repeated headers, which proxies could read differently. Contract section 3, reliability tests 2 and 45. */
import fp from 'fastify-plugin';
import { ApiError } from '../errors.ts';

const names: ReadonlyMap<string, string> = new Map([
  ['authorization', 'Authorization'],
  ['host', 'Host'],
  ['x-api-key', 'x-api-key'],
]);

function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = names.get(rawHeaders[index]?.toLowerCase() ?? '');
    if (name === undefined) continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}

export default fp(
  async (app) => {
    app.addHook('onRequest', ({ headers, raw }, _reply, done) => {
      const repeated = repeatedHeader(raw.rawHeaders);
      if (repeated !== undefined)
        throw new ApiError('invalidRequest', { message: `Send one \`${repeated}\` header, not several.` });
      if (headers.host === undefined && raw.httpVersion !== '1.0')
        throw new ApiError('invalidRequest', { message: 'Send a `Host` header.' });
      done();
    });
  },
  { name: 'single-headers', dependencies: ['errors'] },
);
