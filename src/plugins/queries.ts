/** Rejects URLs that are not valid text, and unknown query parameters. Contract section 6, reliability test 61. */
import { Type } from '@sinclair/typebox';
import fp from 'fastify-plugin';
import { ApiError } from '../errors.ts';

const none = Type.Object({}, { additionalProperties: false });

/** The longest parameter name to quote in a message. */
const NAMED_LENGTH = 100;

/** Explains why Parley cannot store part of a URL as text; undefined if it can. */
function faultOf(encoded: string): string | undefined {
  if (!encoded.includes('%')) return undefined;
  try {
    return decodeURIComponent(encoded).includes('\u0000') ? 'contains a NUL character' : undefined;
  } catch {
    return 'is not percent-encoded UTF-8; write a percent sign as `%25`';
  }
}

function assertText(url: string): void {
  const queryAt = url.indexOf('?');
  const inPath = faultOf(queryAt < 0 ? url : url.slice(0, queryAt));
  if (inPath !== undefined) throw new ApiError('invalidRequest', { message: `The path ${inPath}.` });
  if (queryAt < 0) return;
  for (const pair of url.slice(queryAt + 1).split('&')) {
    const [name = ''] = pair.split('=', 1);
    const inName = faultOf(name);
    if (inName !== undefined)
      throw new ApiError('invalidRequest', { message: `The name of a query parameter ${inName}.` });
    const inValue = faultOf(pair.slice(name.length + 1));
    if (inValue === undefined) continue;
    const param = decodeURIComponent(name).slice(0, NAMED_LENGTH).toWellFormed();
    throw new ApiError('invalidRequest', { message: `In the query, \`${param}\` ${inValue}.`, param });
  }
}

export default fp(
  async (app) => {
    app.addHook('onRoute', (route) => {
      const { config, schema, url } = route;
      const isOfApi = url.startsWith('/api/v1/') && schema !== undefined && !schema.hide;
      if (isOfApi && !config?.isMethodFallback && schema.querystring === undefined) schema.querystring = none;
    });
    // After the guards, so that pages with a permitted origin can read the error, and before validation.
    app.addHook('preValidation', ({ raw }, _reply, done) => {
      assertText(raw.url ?? '');
      done();
    });
  },
  { name: 'queries', dependencies: ['errors'] },
);
