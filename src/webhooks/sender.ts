/**
 * Sends the messages in the outbox, on every replica. A process claims a message for one attempt at a time. If the
 * process dies, another process attempts it again. Contract section 17, docs/decisions/0029-webhooks.md.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../database/client.ts';
import { thresholdReached } from '../domain/notices.ts';
import type { PlanCatalog } from '../domain/plans.ts';
import {
  addMessage,
  type Claim,
  claimMessages,
  countWaiting,
  disableWebhook,
  finishAttempt,
  thresholdsToReport,
} from '../store/webhook-messages.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { loggingOutages, type OutageLog } from '../telemetry/outage-log.ts';
import { send } from './send.ts';
import type { WebhookTargets } from './target.ts';

const POLL_MS = 1000;
/** Checks usage at every fifth poll. */
const POLLS_PER_CHECK = 5;
/** The most concurrent attempts of this process, each for a different account. */
const ATTEMPTS_AT_MOST = 100;
/** How long shutdown waits for attempts in progress. Another process repeats interrupted attempts. */
const STOP_MS = 2000;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Pauses after failed attempts. Together, they last about a day. */
const retriesMs = [
  5000,
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
  8 * HOUR_MS,
];
/** Attempts begin up to a tenth earlier, so that retries after an outage do not coincide. */
const JITTER = 0.1;

const GONE = 410;

/** Null after the last attempt. */
function retryAfter(attempts: number): number | null {
  const ms = retriesMs[attempts - 1];
  return ms === undefined ? null : Math.round(ms * (1 - JITTER * Math.random()));
}

type Parts = {
  db: Db;
  plans: PlanCatalog;
  targets: WebhookTargets;
  log: OutageLog;
  metrics: Metrics;
};

export class WebhookSender {
  readonly #parts: Parts;
  readonly #stopped = new AbortController();
  /** Attempts in progress, by account. */
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #poll: () => Promise<void>;
  #waiting = 0;
  #polls = 0;
  #polling: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    // Each attempt adds a listener.
    setMaxListeners(ATTEMPTS_AT_MOST, this.#stopped.signal);
    this.#poll = loggingOutages(parts.log, 'Sending webhooks', () => this.#work());
    parts.metrics.gauge(
      'parley_webhook_waiting_messages',
      'Webhook messages, across all replicas, that are waiting for their next attempt.',
      [],
      () => [{ value: this.#waiting }],
      'max',
    );
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#polling ??= this.#poll().finally(() => {
        this.#polling = undefined;
      });
    }, POLL_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#finishAttempts();
    this.#stopped.abort(new Error('The service is stopping.'));
    await this.#finishAttempts();
  }

  /** An unresponsive database must not keep the process from exiting. */
  async #finishAttempts(): Promise<void> {
    const underWay = Promise.all([this.#polling, ...this.#underWay.values()]);
    await Promise.race([underWay, delay(STOP_MS, undefined, { ref: false })]);
  }

  async #work(): Promise<void> {
    const { db } = this.#parts;
    if (this.#polls % POLLS_PER_CHECK === 0) {
      await this.#reportThresholds();
      this.#waiting = await countWaiting(db);
    }
    this.#polls += 1;
    const free = ATTEMPTS_AT_MOST - this.#underWay.size;
    if (free === 0) return;
    for (const claim of await claimMessages(db, free, [...this.#underWay.keys()])) {
      const attempt = this.#attempt(claim)
        // The lease will expire, and the message will be attempted again.
        .catch((err) => this.#parts.log.error({ err }, 'Could not record a webhook delivery.'))
        .finally(() => this.#underWay.delete(claim.accountId));
      this.#underWay.set(claim.accountId, attempt);
    }
  }

  async #reportThresholds(): Promise<void> {
    const { db, plans } = this.#parts;
    for (const reached of await thresholdsToReport(db, plans))
      await addMessage(db, reached.accountId, thresholdReached(reached));
  }

  async #attempt(claim: Claim): Promise<void> {
    const { db, metrics, targets } = this.#parts;
    const { attempts, sentAt, target } = claim;
    if (target === undefined) {
      const error = 'The webhook was disabled or deleted.';
      return finishAttempt(db, claim, { status: null, error, retryInMs: null });
    }
    const { error, status } = await send(claim, { ...target, sentAt }, targets, this.#stopped.signal);
    if (this.#stopped.signal.aborted && error !== null)
      return finishAttempt(db, claim, {
        status,
        error: 'The service stopped during the attempt.',
        retryInMs: 0,
      });
    metrics.webhookAttempts.inc({ outcome: error === null ? 'delivered' : 'failed' });
    const isGone = status === GONE;
    const retryInMs = error === null || isGone ? null : retryAfter(attempts);
    const result = { status, error, retryInMs };
    if (isGone) await disableWebhook(db, claim, target.url, result);
    else await finishAttempt(db, claim, result);
  }
}
