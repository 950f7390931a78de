/** The dashboard's way to the HTTP API: the SDK, with the session's cookie for a credential. There is no other. */
import { createParley, dataOf, type Parley } from '../../sdk/index.ts';
import { inWords } from './errors.ts';

export type { Schemas } from '../../sdk/index.ts';

/** `parley.streamChat(…)` and so on. What it throws is for `toProblem`. */
export const parley: Parley = createParley({ baseUrl: location.origin, maxRetries: 0 });

/** `api.GET('/api/v1/keys')` and so on. Wrap calls in `ok` for the data alone. */
export const api = parley.http;

/**
 * The data of an answer.
 *
 * @throws Problem for every other outcome: a refusal, a failure, no connection
 */
export async function ok<T>(call: Parameters<typeof dataOf<T>>[0]): Promise<T> {
  try {
    return await dataOf(call);
  } catch (error) {
    throw inWords(error);
  }
}
