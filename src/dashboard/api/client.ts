/** The HTTP API as a typed client, generated from `openapi.json`: the dashboard has no other way in. */
import createClient from 'openapi-fetch';
import { fromAnswer, unreachable } from './errors.ts';
import type { components, paths } from './schema.d.ts';

export type Schemas = components['schemas'];

/** `api.GET('/api/v1/keys')` and so on. Wrap calls in `ok` for the data alone. */
export const api = createClient<paths>({ baseUrl: location.origin });

type Answer<T> = { data?: T; error?: unknown; response: Response };

/**
 * The data of an answer.
 *
 * @throws Problem for every other outcome: a refusal, a failure, no connection
 */
export async function ok<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await call.catch((cause: unknown) => {
    throw unreachable(cause);
  });
  if (!response.ok) throw fromAnswer(response, error);
  return data as T;
}
