/** Failed turns, and those whose answer the service may still be working on, are kept across reloads. */
import { Problem } from '../../api/errors.ts';
import { keep, kept } from '../../api/tab-storage.ts';
import type { Turn } from './turn.ts';

/** Of the images of kept turns, in characters: the tab's storage holds about five million. */
const MOST_KEPT_IMAGES = 2_000_000;
/** The service forgets a key after 24 hours, and would then charge for it again. */
const RESUMABLE_MS = 23 * 3_600_000;

const name = 'turns';
/** With what an error is made from. */
type KeptTurn = Omit<Turn, 'problem'> & {
  problem: Pick<
    Problem,
    'code' | 'message' | 'status' | 'docs' | 'isCharged' | 'limit' | 'param' | 'requestId'
  > | null;
};

function restored({ problem, ...turn }: KeptTurn): Turn {
  if (problem === null) return { ...turn, problem, isResumed: true };
  const { code, docs, isCharged, limit, message, param, requestId, status } = problem;
  const envelope = {
    charged: isCharged,
    param,
    ...(limit && { limit }),
    ...(docs !== null && { docs }),
    ...(requestId !== null && { request_id: requestId }),
  };
  return { ...turn, problem: new Problem({ code, message, status, envelope }) };
}

export const restoredTurns = (): Turn[] =>
  ((kept(name) ?? []) as KeptTurn[])
    .filter(({ keyUsedAt, problem }) => problem !== null || Date.now() - keyUsedAt < RESUMABLE_MS)
    .map(restored);

const isKept = ({ isEnded, state }: Turn): boolean => state !== 'done' && !isEnded;

/** Without what changes with every word of its answer. */
const toKept = (turn: Turn): KeptTurn =>
  turn.state === 'failed'
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
    one.state !== 'failed' &&
    other.state !== 'failed');

/** Those whose images fit into the tab's storage. Without its images, a turn would be another request. */
function keepable(of: readonly Turn[]): Turn[] {
  let left = MOST_KEPT_IMAGES;
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
