import { createParley, dataOf, type Parley } from '../../sdk/index.ts';
import { inWords } from './errors.ts';

export type { Schemas } from '../../sdk/index.ts';

export const parley: Parley = createParley({ baseUrl: location.origin, maxRetries: 0 });

/** Call it as in `ok(api.GET('/api/v1/keys'))`, which returns only the data. */
export const api = parley.http;

/** @throws Problem for an error response or a failed connection */
export async function ok<T>(call: Parameters<typeof dataOf<T>>[0]): Promise<T> {
  try {
    return await dataOf(call);
  } catch (error) {
    throw inWords(error);
  }
}
