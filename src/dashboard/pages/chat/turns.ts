/** The turns of this tab. They are independent of the pages, so that a reply continues while another page is open. */

import { useSyncExternalStore } from 'react';
import type { ChatEvent } from '../../../sdk/index.ts';
import { parley } from '../../api/client.ts';
import { inWords, isFinal, toProblem, unreachable } from '../../api/errors.ts';
import { noticeEnd, queryClient } from '../../api/queries.ts';
import { onForgotten } from '../../api/tab-storage.ts';
import { usageChanged } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { cancel } from './cancel.ts';
import { keepTurns, restoredTurns } from './kept-turns.ts';
import { settingsOf } from './new-settings.ts';
import { isUnderWay, isUnstored, type Turn } from './turn.ts';
import { saveFirstSettings } from './unsaved-settings.ts';

const SHOWN_EVERY_MS = 40;
/** How long the end of a stopped reply may take to arrive. */
const STREAM_END_MS = 5000;
/** The pause between two renderings, as a multiple of the rendering time. */
const RENDER_PAUSE_FACTOR = 3;
const ASK_AGAIN_MS = 1000;
const MAX_PAUSE_MS = 10_000;

let turns: readonly Turn[] = restoredTurns();
const listeners = new Set<() => void>();
const running = new Map<string, AbortController>();

function set(next: readonly Turn[]): void {
  const before = turns;
  turns = next;
  keepTurns(before, next);
  for (const listener of listeners) listener();
}

const find = (id: string): Turn | undefined => turns.find((turn) => turn.id === id);

const change = (id: string, changes: Partial<Turn>): void =>
  set(turns.map((turn) => (turn.id === id ? { ...turn, ...changes } : turn)));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useTurns = (): readonly Turn[] => useSyncExternalStore(subscribe, () => turns);

/** Renders only when `pick` returns another text, instead of with every word of a reply. */
export const useOfTurns = (pick: (turns: readonly Turn[]) => string): string =>
  useSyncExternalStore(subscribe, () => pick(turns));

// A reply continues while its owner signs in again, but ends if another account signs in.
onForgotten(() => {
  for (const controller of running.values()) controller.abort();
  set([]);
});

/** `randomUUID` is not available over plain HTTP. */
const randomId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

type Question = Pick<Turn, 'conversationId' | 'body' | 'afterId'>;

export function ask(question: Question, onNamed: (conversationId: string) => void): void {
  const id = randomId();
  const initial = { state: 'sending', text: '', isCut: false, problem: null } as const;
  set([...turns, { ...question, ...initial, id, key: id, keyUsedAt: Date.now() }]);
  void run(id, onNamed);
}

/** Resumes the turns that a reload interrupted. The service completes their replies. */
export function resume(onNamed: (conversationId: string) => void): void {
  for (const turn of turns)
    if (isUnderWay(turn) && !running.has(turn.id))
      void run(turn.id, turn.conversationId === null ? onNamed : () => {});
}

/** Retries a turn without a second charge. If its outcome is final, sends a new request, which is charged. */
export function askAgain(id: string, onNamed: (conversationId: string) => void): void {
  const turn = find(id);
  if (turn === undefined) return;
  const { body, conversationId, isAdopted, problem } = turn;
  change(id, {
    state: 'sending',
    problem: null,
    isStopping: false,
    isResumed: false,
    isThinking: false,
    ...(problem && isFinal(problem) && { key: randomId(), keyUsedAt: Date.now(), isSent: false, text: '' }),
    // The same key requires the same body.
    ...(problem &&
      isFinal(problem) &&
      isAdopted &&
      conversationId !== null && { body: { ...body, conversation_id: conversationId } }),
  });
  void run(id, onNamed);
}

/** Assigns questions that failed before their conversation was stored to the conversation that begins next. */
export function adopt(isAdopted: (turn: Turn) => boolean): void {
  set(turns.map((turn) => (isAdopted(turn) ? { ...turn, conversationId: null, isAdopted: true } : turn)));
}

/** Requests that the service end the reply, and waits for its end. If the end does not arrive, abandons the reply. */
export function stop(id: string): void {
  const turn = find(id);
  if (turn === undefined || turn.isStopping || !isUnderWay(turn)) return;
  change(id, { isStopping: true });
  const controller = running.get(id);
  if (controller !== undefined && !turn.isSent) controller.abort({ state: 'failed' } satisfies Left);
  else void cancelled(turn).then((left) => controller?.abort(left));
}

/** The final state of a turn that abandons its reply. It is the reason of the abort. */
type Left = Pick<Turn, 'state'> & Partial<Pick<Turn, 'endedAt' | 'problem'>>;

async function cancelled({ id, key }: Turn): Promise<Left> {
  const outcome = await cancel(key);
  const hasBegun = find(id)?.state === 'streaming';
  if (outcome === 'unknown' && !hasBegun) return { state: 'failed' };
  if (outcome === 'unreachable' && !hasBegun) return { state: 'failed', problem: unreachable() };
  // The end of the reply is about to arrive, unless the connection hangs.
  if (outcome === 'ending') await pause(STREAM_END_MS);
  return { state: 'stopped', endedAt: Date.now() };
}

export function forget(isForgotten: (turn: Turn) => boolean): void {
  for (const turn of turns) if (isForgotten(turn)) stop(turn.id);
  set(turns.filter((turn) => !isForgotten(turn)));
}

/** Leaves a new chat: in-progress first questions without a conversation ID continue, and the others are forgotten. */
export function leaveFirst(): void {
  forget((turn) => turn.conversationId === null && !isUnderWay(turn));
  returnTo(undefined);
}

/** Shows one first question without a conversation ID in the new chat, and hides the others. */
export const returnTo = (id: string | undefined): void =>
  set(turns.map((turn) => (turn.conversationId === null ? { ...turn, isLeft: turn.id !== id } : turn)));

async function run(id: string, onNamed: (conversationId: string) => void): Promise<void> {
  const turn = find(id);
  if (turn === undefined) return;
  const controller = new AbortController();
  running.set(id, controller);
  let isSettled = false;
  try {
    await firstStored(turn, controller.signal);
    controller.signal.throwIfAborted();
    change(id, { isSent: true });
    await read(turn, controller.signal, onNamed);
    isSettled = true;
  } catch (error) {
    if (controller.signal.aborted) change(id, controller.signal.reason as Left);
    else {
      // Show the turn again, because it may remain charged.
      change(id, { state: 'failed', problem: toProblem(error), isLeft: false });
      noticeEnd(error);
    }
  } finally {
    running.delete(id);
    usageChanged();
    const { conversationId } = find(id) ?? {};
    if (isSettled && conversationId) {
      void queryClient.invalidateQueries({ queryKey: ['conversation', conversationId] });
      void queryClient.invalidateQueries({ queryKey: ['conversations'] });
    }
  }
}

/** Yields the events of the reply. Waits while an earlier attempt is in progress. */
async function* answer(turn: Turn, signal: AbortSignal): AsyncGenerator<ChatEvent, void, undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return yield* parley.streamChat(turn.body, { idempotencyKey: turn.key, signal });
    } catch (error) {
      if (toProblem(error).code !== 'idempotencyInProgress') throw error;
      // Each attempt counts toward the plan's requests per minute.
      await pause(Math.min(attempt * ASK_AGAIN_MS, MAX_PAUSE_MS), signal);
    }
  }
}

/** Waits until the service has stored a conversation whose first reply was stopped, or interrupted by a reload. */
async function firstStored({ body }: Turn, signal: AbortSignal): Promise<void> {
  const { conversation_id: id } = body;
  if (id === undefined || !isUnstored(turns, id)) return;
  const first = turns.find(
    (turn) =>
      turn.conversationId === id &&
      (turn.state === 'stopped' || (isUnderWay(turn) && turn.body.conversation_id === undefined)),
  );
  if (first === undefined) return;
  for await (const _ of answer(first, signal)) break;
}

function nameAdopted(conversationId: string): void {
  const isNamed = ({ conversationId: id, isAdopted }: Turn) => id === null && isAdopted === true;
  if (turns.some(isNamed)) set(turns.map((turn) => (isNamed(turn) ? { ...turn, conversationId } : turn)));
}

const pause = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

async function read(turn: Turn, signal: AbortSignal, onNamed: (id: string) => void): Promise<void> {
  const { id } = turn;
  let text = '';
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = SHOWN_EVERY_MS;
  const show = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      const start = performance.now();
      change(id, { text });
      // Rendering is complete by now. A growing block is parsed again each time, which must not use all CPU time.
      queueMicrotask(() => {
        pause = Math.max(SHOWN_EVERY_MS, RENDER_PAUSE_FACTOR * (performance.now() - start));
      });
    }, pause);
  };
  try {
    for await (const { data, event } of answer(turn, signal)) {
      if (event === 'start') {
        change(id, {
          state: 'streaming',
          conversationId: data.conversation_id,
          isThinking: data.reasoning === true,
        });
        if (data.conversation_id !== null) {
          if (!find(id)?.isLeft) {
            nameAdopted(data.conversation_id);
            onNamed(data.conversation_id);
          }
        }
        usageChanged();
      } else if (event === 'delta') {
        text += data.text;
        show();
      } else {
        text = data.reply;
        clearTimeout(timer);
        if (data.conversation_id !== null && turn.body.conversation_id === undefined)
          await saveFirstSettings(data.conversation_id, settingsOf(turn.body));
        change(id, {
          text,
          endedAt: Date.now(),
          omitted: data.history?.omitted ?? 0,
          ...(data.stopped
            ? { state: 'stopped', isEnded: true }
            : { state: 'done', isCut: data.finish_reason === 'length' }),
        });
      }
    }
  } catch (error) {
    clearTimeout(timer);
    if (text !== '') change(id, { text });
    throw text === '' ? inWords(error) : inWords(error, t('chat.failed.connectionLost'));
  }
}
