import t from 'tap';
import { quotaExceeded, quotaLimit } from '../src/ledger/quota.ts';
import { rateLimitExceeded } from '../src/limits/exceeded.ts';
import { type LimitReading, rateHeaders } from '../src/rate-headers.ts';

const requests: LimitReading = {
  name: 'requests',
  ceiling: 20,
  remaining: 19,
  windowSeconds: 60,
  resetSeconds: 42,
};
const chat: LimitReading = {
  name: 'chat',
  ceiling: 50,
  remaining: 12,
  windowSeconds: 86_400,
  resetSeconds: 35_231,
};

t.test('both families of headers match the example in the contract', async (t) => {
  t.strictSame(rateHeaders(requests, chat), {
    'ratelimit-limit': '50',
    'ratelimit-remaining': '12',
    'ratelimit-reset': '35231',
    'ratelimit-policy': '"requests";q=20;w=60, "chat";q=50;w=86400',
    ratelimit: '"requests";r=19;t=42, "chat";r=12;t=35231',
  });
});

t.test(
  'the three fields describe the limit with the least remaining, or of several, the one that resets last',
  async (t) => {
    t.equal(rateHeaders({ ...requests, remaining: 3 }, chat)['ratelimit-limit'], '20');
    const even = { ...requests, remaining: 12 };
    t.equal(rateHeaders(even, chat)['ratelimit-limit'], '50');
    t.equal(rateHeaders(chat, even)['ratelimit-limit'], '50');
  },
);

t.test('quota headers are never negative, and round the seconds until midnight up', async (t) => {
  const readAt = new Date('2026-11-20T23:59:57.001Z');
  const lowered = quotaLimit({ meter: 'chat', used: 70, ceiling: 50, readAt });
  t.match(lowered, { remaining: 0, resetSeconds: 3, windowSeconds: 86_400 });
  const headers = quotaExceeded({ meter: 'chat', used: 70, ceiling: 50, readAt }, 1).headers;
  t.match(headers, {
    'ratelimit-remaining': '0',
    'ratelimit-reset': '3',
    'retry-after': '3',
    'x-should-retry': 'false',
    ratelimit: '"chat";r=0;t=3',
  });
});

t.test('a quota error states what the request costs, what is left, and what to do', async (t) => {
  const readAt = new Date('2026-11-20T13:45:12Z');
  const messageOf = (used: number, units: number) =>
    quotaExceeded({ meter: 'embeddings', used, ceiling: 10, readAt }, units).message;
  t.equal(
    messageOf(10, 1),
    "Today's embeddings quota of 10 is used up. The quota resets at 2026-11-21T00:00:00.000Z.",
  );
  t.equal(
    messageOf(9, 2),
    "This request costs 2 units, but only 1 of today's embeddings quota of 10 is left. The quota resets at 2026-11-21T00:00:00.000Z.",
  );
  for (const used of [0, 10])
    t.equal(
      messageOf(used, 11),
      "This request costs 11 units, but the account's plan allows only 10 a day. Send a smaller request, choose a model that costs less, or change to a larger plan.",
    );
  t.equal(
    quotaExceeded({ meter: 'chat', used: 0, ceiling: 10, readAt }, 11).headers['retry-after'],
    undefined,
  );
});

t.test('a rate limit error states the limit, its unit, its window, and when it resets', async (t) => {
  const before = Date.now();
  const { code, headers, message, options } = rateLimitExceeded({ ...requests, remaining: 0 }, 'requests');
  t.equal(code, 'rateLimitExceeded');
  t.equal(message, 'The limit of 20 requests per minute has been reached. Try again in 42 seconds.');
  t.match(headers, { 'retry-after': '42', 'ratelimit-reset': '42', 'ratelimit-limit': '20' });
  t.equal(headers['x-should-retry'], undefined);
  t.match(options.limit, { name: 'requests', ceiling: 20 });
  const one = rateLimitExceeded({ ...requests, ceiling: 1 }, 'new accounts');
  t.match(one.message, /^The limit of 1 new account per minute has been reached\./);
  const messageAfter = (resetSeconds: number) =>
    rateLimitExceeded({ ...requests, resetSeconds }, 'requests').message;
  t.match(messageAfter(119), /Try again in 119 seconds\.$/);
  t.match(messageAfter(3541), /Try again in 60 minutes\.$/);
  t.match(messageAfter(84_213), /Try again in 24 hours\.$/);
  const resetsIn = Date.parse(options.limit?.resetsAt ?? '') - before;
  t.ok(resetsIn >= 42_000 && resetsIn < 43_000, `${resetsIn}`);
});
