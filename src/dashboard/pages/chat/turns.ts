/** The turns of this tab. They are outside the pages, so a reply continues while another page is open. */

import { useSyncExternalStore } from 'react';
import type { ChatEvent } from '../../../sdk/index.ts';
import { parley } from '../../api/client.ts';
import { inWords, isFinal, Problem, toProblem } from '../../api/errors.ts';
import { noticeEnd, queryClient } from '../../api/queries.ts';
import { keep, kept, onForgotten } from '../../api/tab-storage.ts';
import { usageChanged } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';

export type Turn = {
  id: string;
  /** Its Idempotency-Key, so retries are charged once. Replaced when the outcome is final. */
  key: string;
  conversationId: string | null;
  body: { message: string; images?: string[]; conversation_id?: string; model?: string };
  afterId: string | null;
  state: 'sending' | 'streaming' | 'done' | 'stopped' | 'failed';
  text: string;
  isCut: boolean;
  problem: Problem | null;
  /** When it was stopped. */
  stoppedAt?: number;
  /** The service was asked to stop it. */
  isStopping?: boolean;
  /** The service ended the answer where it was stopped, and has stored it so. */
  isEnded?: boolean;
  /** It failed as the first question, and its conversation began with a later one. */
  isAdopted?: boolean;
};

/** Of the images of failed turns, in characters: the tab's storage holds about five million. */
const MOST_KEPT_IMAGES = 2_000_000;
const SHOWN_EVERY_MS = 40;
const ASK_AGAIN_MS = 1000;

const name = 'failed-turns';
/** Kept across reloads, with what an error is made from. */
type KeptTurn = Omit<Turn, 'problem'> & {
  problem: Pick<
    Problem,
    'code' | 'message' | 'status' | 'docs' | 'isCharged' | 'limit' | 'param' | 'requestId'
  >;
};

let turns: readonly Turn[] = ((kept(name) ?? []) as KeptTurn[]).map(({ problem, ...turn }) => {
  const { code, docs, isCharged, limit, message, param, requestId, status } = problem;
  const envelope = {
    charged: isCharged,
    param,
    ...(limit && { limit }),
    ...(docs !== null && { docs }),
    ...(requestId !== null && { request_id: requestId }),
  };
  return { ...turn, problem: new Problem({ code, message, status, envelope }) };
});
const listeners = new Set<() => void>();
const running = new Map<string, AbortController>();

export const isUnderWay = ({ state }: Turn): boolean => state === 'sending' || state === 'streaming';

const failed = (of: readonly Turn[]) => of.filter(({ state }) => state === 'failed');

/** Those whose images fit into the tab's storage. Without its images, a turn would be another request. */
function keepable(failedTurns: readonly Turn[]): Turn[] {
  let left = MOST_KEPT_IMAGES;
  return failedTurns.filter(({ body: { images = [] } }) => {
    left -= images.reduce((sum, { length }) => sum + length, 0);
    return images.length === 0 || left >= 0;
  });
}

function set(next: readonly Turn[]): void {
  const [before, after] = [failed(turns), failed(next)];
  turns = next;
  if (before.length !== after.length || after.some((turn, index) => turn !== before[index]))
    keep(
      name,
      // An error's message is not an enumerable property.
      keepable(after).map((turn) => ({
        ...turn,
        problem: { ...turn.problem, message: turn.problem?.message },
      })),
    );
  for (const listener of listeners) listener();
}

const change = (id: string, changes: Partial<Turn>): void =>
  set(turns.map((turn) => (turn.id === id ? { ...turn, ...changes } : turn)));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useTurns = (): readonly Turn[] => useSyncExternalStore(subscribe, () => turns);

/** Renders only when `pick` gives another text, and not with every word of a reply. */
export const useOfTurns = (pick: (turns: readonly Turn[]) => string): string =>
  useSyncExternalStore(subscribe, () => pick(turns));

// A reply continues while its owner signs in again, but ends for anyone else.
onForgotten(() => {
  for (const controller of running.values()) controller.abort();
  set([]);
});

/** `randomUUID` is not available on plain http. */
const randomId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

/** Whether the service may not have stored the conversation yet: it began in this tab, and no reply was read to its end. */
export const isUnstored = (known: readonly Turn[], conversationId: string): boolean => {
  const own = known.filter((turn) => turn.conversationId === conversationId);
  return (
    own.some(({ body, isAdopted }) => body.conversation_id === undefined && !isAdopted) &&
    !own.some(({ isEnded, state }) => state === 'done' || isEnded)
  );
};

type Question = Pick<Turn, 'conversationId' | 'body' | 'afterId'>;

export function ask(question: Question, onNamed: (conversationId: string) => void): void {
  const id = randomId();
  set([...turns, { ...question, id, key: id, state: 'sending', text: '', isCut: false, problem: null }]);
  void run(id, onNamed);
}

/** Sends a turn again without a second charge. If its outcome is final, sends it as a new request, which is charged. */
export function askAgain(id: string, onNamed: (conversationId: string) => void): void {
  const turn = turns.find((known) => known.id === id);
  if (turn === undefined) return;
  const { body, conversationId, isAdopted, problem } = turn;
  change(id, {
    state: 'sending',
    problem: null,
    isStopping: false,
    ...(problem && isFinal(problem) && { key: randomId(), text: '' }),
    // The same key needs the same body.
    ...(problem &&
      isFinal(problem) &&
      isAdopted &&
      conversationId !== null && { body: { ...body, conversation_id: conversationId } }),
  });
  void run(id, onNamed);
}

/** Questions that failed before their conversation was stored belong to the one that the next question begins. */
export function adopt(isAdopted: (turn: Turn) => boolean): void {
  set(turns.map((turn) => (isAdopted(turn) ? { ...turn, conversationId: null, isAdopted: true } : turn)));
}

/** The service ends the answer, which the turn then reads. If it cannot be asked to, the turn leaves the answer. */
export function stop(id: string): void {
  const turn = turns.find((known) => known.id === id);
  if (turn === undefined || turn.isStopping || !isUnderWay(turn)) return;
  change(id, { isStopping: true });
  parley.cancelChatByKey({ idempotency_key: turn.key }).catch((error: unknown) => {
    if (toProblem(error).code !== 'alreadyFinished') running.get(id)?.abort();
  });
}

export function forget(isForgotten: (turn: Turn) => boolean): void {
  for (const turn of turns) if (isForgotten(turn)) stop(turn.id);
  set(turns.filter((turn) => !isForgotten(turn)));
}

async function run(id: string, onNamed: (conversationId: string) => void): Promise<void> {
  const turn = turns.find((known) => known.id === id);
  if (turn === undefined) return;
  const controller = new AbortController();
  running.set(id, controller);
  let isSettled = false;
  try {
    await firstStored(turn, controller.signal);
    await read(turn, controller.signal, onNamed);
    isSettled = true;
  } catch (error) {
    if (controller.signal.aborted) change(id, { state: 'stopped', stoppedAt: Date.now() });
    else {
      change(id, { state: 'failed', problem: toProblem(error) });
      noticeEnd(error);
    }
  } finally {
    running.delete(id);
    usageChanged();
    const { conversationId } = turns.find((known) => known.id === id) ?? {};
    if (isSettled && conversationId) {
      void queryClient.invalidateQueries({ queryKey: ['conversation', conversationId] });
      void queryClient.invalidateQueries({ queryKey: ['conversations'] });
    }
  }
}

/** Yields the events of the reply. Waits if an earlier attempt is still in progress. */
async function* answer(turn: Turn, signal: AbortSignal): AsyncGenerator<ChatEvent, void, undefined> {
  for (;;) {
    try {
      return yield* parley.streamChat(turn.body, { idempotencyKey: turn.key, signal });
    } catch (error) {
      if (toProblem(error).code !== 'idempotencyInProgress') throw error;
      await pause(signal);
    }
  }
}

/** Waits until a conversation whose first reply was stopped is stored. */
async function firstStored({ body }: Turn, signal: AbortSignal): Promise<void> {
  const { conversation_id: id } = body;
  if (id === undefined || !isUnstored(turns, id)) return;
  const first = turns.find(({ conversationId, state }) => conversationId === id && state === 'stopped');
  if (first === undefined) return;
  for await (const _ of answer(first, signal)) break;
}

function nameAdopted(conversationId: string): void {
  const isNamed = ({ conversationId: id, isAdopted }: Turn) => id === null && isAdopted === true;
  if (turns.some(isNamed)) set(turns.map((turn) => (isNamed(turn) ? { ...turn, conversationId } : turn)));
}

const pause = (signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ASK_AGAIN_MS);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

async function read(turn: Turn, signal: AbortSignal, onNamed: (id: string) => void): Promise<void> {
  const { id } = turn;
  let text = '';
  let timer: ReturnType<typeof setTimeout> | undefined;
  const show = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      change(id, { text });
    }, SHOWN_EVERY_MS);
  };
  try {
    for await (const { data, event } of answer(turn, signal)) {
      if (event === 'start') {
        change(id, { state: 'streaming', conversationId: data.conversation_id });
        if (data.conversation_id !== null) {
          nameAdopted(data.conversation_id);
          onNamed(data.conversation_id);
        }
        usageChanged();
      } else if (event === 'delta') {
        text += data.text;
        show();
      } else {
        text = data.reply;
        clearTimeout(timer);
        change(
          id,
          data.stopped
            ? { state: 'stopped', text, stoppedAt: Date.now(), isEnded: true }
            : { state: 'done', text, isCut: data.finish_reason === 'length' },
        );
      }
    }
  } catch (error) {
    clearTimeout(timer);
    if (text !== '') change(id, { text });
    throw text === '' ? inWords(error) : inWords(error, t('chat.failed.connectionLost'));
  }
}
