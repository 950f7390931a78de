/**
 * The limits per minute, and the headers that tell of them: by account once a credential is known, by address before
 * that. In memory, or with `REDIS_URL` shared by all replicas. Contract section 5.
 */
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { QuotaReading } from '../domain/quota.ts';
import { quotaLimit } from '../domain/quota.ts';
import { addressKey } from '../limits/address.ts';
import { rateLimitExceeded } from '../limits/exceeded.ts';
import { MemoryWindows, type WindowCount, type Windows } from '../limits/memory-windows.ts';
import { RedisWindows } from '../limits/redis-windows.ts';
import { type SignInLimits, signInLimits } from '../limits/sign-in.ts';
import { type LimitReading, rateHeaders } from '../rate-headers.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** What a session may do a minute besides metered calls. */
const SESSION_REQUESTS = 300;
/** Unknown keys that an address may try a minute. */
const UNKNOWN_KEYS = 60;
/** Failures that a client can cause on purpose, for which an account is refunded within an hour. */
const REFUNDS_PER_HOUR = 20;
/** Public pages that an address may open a minute. */
const PAGES = 300;

export type Limits = SignInLimits & {
  /**
   * Counts a request against its account's requests per minute and sets the headers that tell of it.
   *
   * @throws ApiError `rateLimitExceeded`
   */
  countRequest(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Sets the same headers without counting, for what is refused and must not use up what the account has. */
  showRequests(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Sets the headers of a metered request, which was measured against the day's quota, too. */
  showQuota(request: FastifyRequest, reply: FastifyReply, reading: QuotaReading): void;
  /** @throws ApiError `rateLimitExceeded` where an address tries too many keys that do not exist */
  countUnknownKey(request: FastifyRequest): Promise<void>;
  /** @throws ApiError `rateLimitExceeded` where an address opens too many public pages */
  countPage(request: FastifyRequest): Promise<void>;
  /** @throws ApiError `rateLimitExceeded` where an address signs up too often */
  countSignUp(request: FastifyRequest): Promise<void>;
  /** @throws ApiError `rateLimitExceeded` where an address reports leaked keys too often */
  countLeakReport(request: FastifyRequest): Promise<void>;
  /** Counts a failure that a client can cause on purpose; returns whether it is still refunded. Contract section 7. */
  grantRefund(request: FastifyRequest): Promise<boolean>;
};

declare module 'fastify' {
  interface FastifyInstance {
    limits: Limits;
  }
  interface FastifyRequest {
    /** What `countRequest` found. */
    requestsLimit: LimitReading | null;
  }
}

/** Our windows as `@fastify/rate-limit` wants a store. */
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

const openWindows = ({ redis }: FastifyInstance): Windows =>
  redis === null ? new MemoryWindows() : new RedisWindows(redis);

/** Every metered call counts towards the plan's requests, and so does whatever a key does. */
const isOfPlan = ({ caller, routeOptions }: FastifyRequest) =>
  caller.keyId !== null || routeOptions.config.meter !== undefined;

export default fp(
  async (app) => {
    const { authAttemptsPerMinute, plans } = app.config;
    const windows = openWindows(app);
    await app.register(rateLimit, { global: false, store: storeOn(windows) });
    app.decorateRequest('requestsLimit', null);

    type Ceiling = number | ((request: FastifyRequest) => number);
    type KeyOf = (request: FastifyRequest) => string;

    /** Counts or reads one window of a request. */
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
          // To the microsecond: a difference of two clock readings can be a bit's worth above the window.
          resetSeconds: Math.max(1, Math.ceil(Math.round((ttl || timeWindow) * 1000) / 1e6)),
        };
        return { isExceeded, reading };
      };
    };

    /** A limit that a request passes or is refused by. */
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
      'unknown API keys',
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
      'reports of leaked keys',
      'leak_report',
      authAttemptsPerMinute,
      MINUTE_MS,
      ({ ip }) => `leak-report:${addressKey(ip)}`,
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
      showQuota: ({ requestsLimit }, reply, { ceiling, ...reading }) => {
        if (ceiling === null || requestsLimit === null) return;
        reply.headers(rateHeaders(requestsLimit, quotaLimit({ ...reading, ceiling })));
      },
      countUnknownKey: unknownKeys,
      countPage: pages,
      countSignUp: signUps,
      countLeakReport: leakReports,
      grantRefund: async ({ caller }) => {
        const { current } = await windows.take(`refund:${caller.accountId}`, HOUR_MS);
        return current <= REFUNDS_PER_HOUR;
      },
      ...signInLimits(windows, app.config),
    } satisfies Limits);
  },
  { name: 'rate-limit', dependencies: ['services', 'redis'] },
);
