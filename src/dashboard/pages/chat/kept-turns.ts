/**
 * Keeps turns across reloads: failed turns, turns that were stopped before they replaced a message, and turns whose
 * reply the service may still be generating.
 */
import { Problem } from '../../api/errors.ts';
import { keep, kept } from '../../api/tab-storage.ts';
import { keepsOriginal, type Turn } from './turn.ts';

/** Total size of the images of kept turns, in characters. The tab's storage holds about five million. */
const MAX_KEPT_IMAGES = 2_000_000;
/** The service forgets a key after 24 hours. After that, a retry would be charged again. */
const RESUMABLE_MS = 23 * 3_600_000;

const name = 'turns';
/** A turn with the data from which its error can be restored. */
type KeptTurn = Omit<Turn, 'problem'> & {
  problem: Pick<
    Problem,
    | 'code'
    | 'message'
    | 'status'
    | 'docs'
    | 'isCharged'
    | 'limit'
    | 'param'
    | 'reason'
    | 'requestId'
    | 'retryAfter'
  > | null;
};

/** Whether the turn failed, or was stopped without being stored. */
const isOver = (turn: Pick<Turn, 'body' | 'isEnded' | 'state'>): boolean =>
  turn.state === 'failed' || keepsOriginal(turn);

function restored({ problem, ...turn }: KeptTurn): Turn {
  if (problem === null) return { ...turn, problem, isResumed: !isOver(turn) };
  const { code, docs, isCharged, limit, message, param, reason, requestId, retryAfter, status } = problem;
  const envelope = {
    charged: isCharged,
    param,
    ...(reason !== null && { reason }),
    ...(limit && { limit }),
    ...(docs !== null && { docs }),
    ...(requestId !== null && { request_id: requestId }),
  };
  const headers = new Headers(retryAfter == null ? {} : { 'retry-after': String(retryAfter) });
  return { ...turn, problem: new Problem({ code, message, status, envelope, headers }) };
}

export const restoredTurns = (): Turn[] =>
  ((kept(name) ?? []) as KeptTurn[])
    .filter((turn) => isOver(turn) || Date.now() - turn.keyUsedAt < RESUMABLE_MS)
    .map(restored);

const isKept = (turn: Turn): boolean => isOver(turn) || (turn.state !== 'done' && !turn.isEnded);

/** Omits the fields that change with every word of the reply. */
const toKept = (turn: Turn): KeptTurn =>
  isOver(turn)
    ? // An error's message is not an enumerable property.
      { ...turn, problem: turn.problem && { ...turn.problem, message: turn.problem.message } }
    : { ...turn, problem: null, state: 'sending', text: '', isStopping: false };

const isKeptAlike = (one: Turn, other: Turn | undefined): boolean =>
  one === other ||
  (other !== undefined &&
    one.id === other.id &&
    one.key === other.key &&
    one.conversationId === other.conversationId &&
    one.isLeft === other.isLeft &&
    one.isSent === other.isSent &&
    !isOver(one) &&
    !isOver(other));

/** Returns the turns whose images fit into the tab's storage. Without its images, a turn would be another request. */
function keepable(of: readonly Turn[]): Turn[] {
  let left = MAX_KEPT_IMAGES;
  return of.filter(({ body: { images = [] } }) => {
    left -= images.reduce((sum, { length }) => sum + length, 0);
    return images.length === 0 || left >= 0;
  });
}

export function keepTurns(before: readonly Turn[], next: readonly Turn[]): void {
  const [old, now] = [before.filter(isKept), next.filter(isKept)];
  if (old.length !== now.length || now.some((turn, index) => !isKeptAlike(turn, old[index])))
    keep(name, keepable(now).map(toKept));
}
