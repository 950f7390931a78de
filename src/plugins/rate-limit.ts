/** Limits on requests, refunds, and sign-ins, by account or else by IP address, with headers. Contract section 5. */
import rateLimit from '@fastify/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { QuotaReading } from '../ledger/quota.ts';
import { quotaLimit } from '../ledger/quota.ts';
import { addressKey } from '../limits/address.ts';
import { rateLimitExceeded } from '../limits/exceeded.ts';
import { MemoryWindows, type WindowCount, type Windows } from '../limits/memory-windows.ts';
import type { RedisLink } from '../limits/redis-link.ts';
import { RedisWindows } from '../limits/redis-windows.ts';
import { type SignInLimits, signInLimits } from '../limits/sign-in.ts';
import { type LimitReading, rateHeaders } from '../rate-headers.ts';
import type { Membership } from '../workers/membership.ts';
import { SharedWindows } from '../workers/shared-limits.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Requests per minute with a session, except metered calls. */
const SESSION_REQUESTS = 300;
/** Requests with unknown keys, per IP address and minute. */
const UNKNOWN_KEYS = 60;
/** Refunds per account and hour, for failures that a client can provoke. */
const REFUNDS_PER_HOUR = 20;
/** Test messages to an account's webhook per minute. */
const WEBHOOK_TESTS = 10;
/** Public pages per IP address and minute. */
const PAGES = 300;

export type Limits = SignInLimits & {
  /** Counts a request against the account's limit and sets the headers. Throws ApiError `rateLimitExceeded`. */
  countRequest(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Sets the same headers without counting, for rejected requests that must not use up the limit. */
  showRequests(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Sets the headers of a metered request, including the daily quota. */
  showQuota(
    request: FastifyRequest,
    reply: FastifyReply,
    reading: QuotaReading,
    tokens?: QuotaReading & { ceiling: number },
  ): void;
  /** Counts by IP address, as the next three do. Throws ApiError `rateLimitExceeded`. */
  countUnknownKey(request: FastifyRequest): Promise<void>;
  countPage(request: FastifyRequest): Promise<void>;
  countSignUp(request: FastifyRequest): Promise<void>;
  countLeakReport(request: FastifyRequest): Promise<void>;
  /** Counts by account. Throws ApiError `rateLimitExceeded`. */
  countWebhookTest(request: FastifyRequest): Promise<void>;
  /** Counts a failure that a client can provoke. Returns whether Parley still refunds it. Contract section 7. */
  grantRefund(request: FastifyRequest): Promise<boolean>;
};

declare module 'fastify' {
  interface FastifyInstance {
    limits: Limits;
  }
  interface FastifyRequest {
    requestsLimit: LimitReading | null;
  }
}

/** Adapts our windows to the store interface of `@fastify/rate-limit`. */
function storeOn(windows: Windows) {
  type Done = (error: Error | null, result?: WindowCount) => void;
  return class WindowStore {
    incr(key: string, done: Done, windowMs: number): void {
      windows.take(key, windowMs).then((count) => done(null, count), done);
    }
    read(key: string, done: Done): void {
      windows.read(key).then((count) => done(null, count), done);
    }
    child(): WindowStore {
      return this;
    }
  };
}

type Shared = { membership: Membership | undefined; redis: RedisLink | undefined };

function openWindows({ membership, redis }: Shared): Windows {
  const own = membership === undefined ? new MemoryWindows() : new SharedWindows(membership.primary);
  return redis === undefined ? own : new RedisWindows(redis, own);
}

const isOfPlan = ({ caller, routeOptions }: FastifyRequest) =>
  caller.keyId !== null || routeOptions.config.meter !== undefined;

export default fp<Shared>(
  async (app, shared) => {
    const { authAttemptsPerMinute, plans } = app.config;
    const windows = openWindows(shared);
    await app.register(rateLimit, { global: false, store: storeOn(windows) });
    app.decorateRequest('requestsLimit', null);

    type Ceiling = number | ((request: FastifyRequest) => number);
    type KeyOf = (request: FastifyRequest) => string;

    const limiter = (name: string, max: Ceiling, timeWindow: number, keyGenerator: KeyOf) => {
      const measure = app.createRateLimit({ max, timeWindow, keyGenerator });
      return async (request: FastifyRequest, increment = true) => {
        const measured = await measure(request, { increment });
        if (measured.isAllowed) throw new Error('No limit has a list of those it allows.');
        const { isExceeded, remaining, ttl } = measured;
        const reading: LimitReading = {
          name,
          ceiling: measured.max,
          remaining,
          windowSeconds: timeWindow / 1000,
          // Rounds to the microsecond, because the difference of two clock readings can slightly exceed the window.
          resetSeconds: Math.max(1, Math.ceil(Math.round((ttl || timeWindow) * 1000) / 1e6)),
        };
        return { isExceeded, reading };
      };
    };

    const gate = (what: string, ...limit: Parameters<typeof limiter>) => {
      const measure = limiter(...limit);
      return async (request: FastifyRequest) => {
        const { isExceeded, reading } = await measure(request);
        if (isExceeded) throw rateLimitExceeded(reading, what);
      };
    };

    const ofPlan = limiter(
      'requests',
      ({ caller }) => plans.of(caller).requests_per_minute,
      MINUTE_MS,
      ({ caller }) => `plan:${caller.accountId}`,
    );
    const ofSession = limiter(
      'requests',
      SESSION_REQUESTS,
      MINUTE_MS,
      ({ caller }) => `session:${caller.accountId}`,
    );
    const ofAccount = (request: FastifyRequest, increment: boolean) =>
      (isOfPlan(request) ? ofPlan : ofSession)(request, increment);

    const unknownKeys = gate(
      'requests with unknown API keys',
      'unknown_key',
      UNKNOWN_KEYS,
      MINUTE_MS,
      ({ ip }) => `unknown-key:${addressKey(ip)}`,
    );
    const pages = gate(
      'requests for public pages',
      'page',
      PAGES,
      MINUTE_MS,
      ({ ip }) => `page:${addressKey(ip)}`,
    );
    const signUps = gate(
      'sign-ups',
      'sign_up',
      authAttemptsPerMinute,
      MINUTE_MS,
      ({ ip }) => `sign-up:${addressKey(ip)}`,
    );
    const leakReports = gate(
      'leak reports',
      'leak_report',
      authAttemptsPerMinute,
      MINUTE_MS,
      ({ ip }) => `leak-report:${addressKey(ip)}`,
    );

    const webhookTests = gate(
      'test messages to your webhook',
      'webhook_test',
      WEBHOOK_TESTS,
      MINUTE_MS,
      ({ caller }) => `webhook-test:${caller.accountId}`,
    );

    app.decorate('limits', {
      countRequest: async (request, reply) => {
        const { isExceeded, reading } = await ofAccount(request, true);
        request.requestsLimit = reading;
        if (isExceeded) throw rateLimitExceeded(reading, 'requests');
        reply.headers(rateHeaders(reading));
      },
      showRequests: async (request, reply) => {
        const { reading } = await ofAccount(request, false);
        reply.headers(rateHeaders(reading));
      },
      showQuota: ({ requestsLimit }, reply, { ceiling, ...reading }, tokens) => {
        if (requestsLimit === null) return;
        const limits = [
          ...(ceiling === null ? [] : [quotaLimit({ ...reading, ceiling })]),
          ...(tokens === undefined ? [] : [quotaLimit(tokens)]),
        ];
        if (limits.length > 0) reply.headers(rateHeaders(requestsLimit, ...limits));
      },
      countUnknownKey: unknownKeys,
      countPage: pages,
      countSignUp: signUps,
      countLeakReport: leakReports,
      countWebhookTest: webhookTests,
      grantRefund: async ({ caller }) => {
        const { current } = await windows.take(`refund:${caller.accountId}`, HOUR_MS);
        return current <= REFUNDS_PER_HOUR;
      },
      ...signInLimits(windows, app.config),
    } satisfies Limits);
  },
  { name: 'rate-limit', dependencies: ['services', 'redis'] },
);
