/** Requests that the service stop a reply. */
import { parley } from '../../api/client.ts';
import { Problem } from '../../api/errors.ts';

/** `unknown`: the service has no request with this key. `refused`: it did not stop the reply for another reason. */
export type Outcome = 'ending' | 'unknown' | 'unreachable' | 'refused';

/** Pauses between attempts. The service does not know a request until it has charged it. */
const PAUSES_MS = [1000, 2000];
const TIMEOUT_MS = 10_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param key - the idempotency key of a request, which may not have reached the service yet */
export async function cancel(key: string): Promise<Outcome> {
  for (const ms of PAUSES_MS) {
    const outcome = await askToStop(key);
    if (outcome !== 'unknown') return outcome;
    await pause(ms);
  }
  return askToStop(key);
}

async function askToStop(key: string): Promise<Outcome> {
  try {
    await parley.cancelChatByKey({ idempotency_key: key }, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return 'ending';
  } catch (error) {
    if (!(error instanceof Problem) || error.code === 'connectionFailed') return 'unreachable';
    if (error.code === 'notFound') return 'unknown';
    return error.code === 'alreadyFinished' ? 'ending' : 'refused';
  }
}
