/**
 * What a URL may hold: text, as bodies do, and only the query parameters that an operation knows. One check for every path
 * and query, before a route sees them. Contract section 6, reliability test 61.
 */
import { Type } from '@sinclair/typebox';
import fp from 'fastify-plugin';
import { ApiError } from '../errors.ts';

const none = Type.Object({}, { additionalProperties: false });

/** Longest name of a parameter that a message repeats. */
const NAMED_LENGTH = 100;

/** Why a part of a URL is no text that the rest of the service can hold; undefined where it is. */
function faultOf(encoded: string): string | undefined {
  // Most have nothing encoded.
  if (!encoded.includes('%')) return undefined;
  try {
    return decodeURIComponent(encoded).includes('\u0000') ? 'contains a NUL character' : undefined;
  } catch {
    return 'is not percent-encoded UTF-8; write a percent sign as `%25`';
  }
}

/** @throws ApiError `invalidRequest` */
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
    // After the guards, so that whoever may read the answer can, and before anything is validated.
    app.addHook('preValidation', async ({ raw }) => assertText(raw.url ?? ''));
  },
  { name: 'queries', dependencies: ['errors'] },
);
