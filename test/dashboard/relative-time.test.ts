// Relative times count calendar days in the reader's time zone, not 24-hour periods, and stay up to date on screen.
import { mock } from 'node:test';
import t from 'tap';
import { everyMinute } from '../../src/dashboard/ui/minutes.ts';

// A computed path, because the dashboard is compiled with DOM types, and tests are not.
const file = new URL('../../src/dashboard/ui/relative-time.ts', import.meta.url).href;
const { relativeTime } = (await import(file)) as { relativeTime: (at: string, now: number) => string };

const zone = process.env.TZ;
t.afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const shown = (timeZone: string, now: string, at: string): string => {
  process.env.TZ = timeZone;
  return relativeTime(at, Date.parse(now));
};

t.test('times within a minute, an hour, and a day are rounded down', (t) => {
  const now = '2026-03-10T12:00:00Z';
  t.equal(shown('UTC', now, '2026-03-10T12:00:59Z'), 'just now');
  t.equal(shown('UTC', now, '2026-03-10T11:00:01Z'), '59 minutes ago');
  t.equal(shown('UTC', now, '2026-03-10T13:59:59Z'), 'in 1 hour');
  t.equal(shown('UTC', now, '2026-03-09T12:00:01Z'), '23 hours ago');
  t.end();
});

t.test('47 h 59 min ahead is not tomorrow', (t) => {
  t.equal(shown('UTC', '2026-03-10T12:00:00Z', '2026-03-12T11:59:00Z'), 'in 2 days');
  t.equal(shown('UTC', '2026-03-10T12:00:00Z', '2026-03-08T12:01:00Z'), '2 days ago');
  t.equal(shown('UTC', '2026-03-10T12:00:00Z', '2026-03-11T23:59:00Z'), 'tomorrow');
  t.end();
});

t.test("days follow the reader's time zone", (t) => {
  const [now, at] = ['2026-03-10T12:00:00Z', '2026-03-11T19:00:00Z'] as const;
  t.equal(shown('UTC', now, at), 'tomorrow');
  t.equal(shown('Asia/Kolkata', now, at), 'in 2 days');
  const [late, later] = ['2026-03-10T20:00:00Z', '2026-03-12T18:00:00Z'] as const;
  t.equal(shown('UTC', late, later), 'in 2 days');
  t.equal(shown('Asia/Kolkata', late, later), 'tomorrow');
  t.equal(shown('America/Los_Angeles', '2026-03-11T06:00:00Z', '2026-03-10T05:00:00Z'), 'yesterday');
  t.end();
});

t.test('days of 23 and 25 hours count as days, when daylight saving time starts or ends', (t) => {
  t.equal(shown('Europe/Berlin', '2026-03-28T11:30:00Z', '2026-03-30T10:00:00Z'), 'in 2 days');
  t.equal(shown('Europe/Berlin', '2026-10-24T10:30:00Z', '2026-10-26T11:00:00Z'), 'in 2 days');
  t.end();
});

t.test('from 31 days on, times are in months, and later in years', (t) => {
  const now = '2026-03-10T12:00:00Z';
  t.equal(shown('UTC', now, '2026-04-09T12:00:00Z'), 'in 30 days');
  t.equal(shown('UTC', now, '2026-04-10T12:00:00Z'), 'in 1 month');
  t.equal(shown('UTC', now, '2025-12-10T12:00:00Z'), '3 months ago');
  t.equal(shown('UTC', now, '2028-03-10T12:00:00Z'), 'in 2 years');
  t.end();
});

t.test('all relative times on a page share one timer, which stops after the last one is removed', (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const starts = mock.method(globalThis, 'setInterval');
  const ends = mock.method(globalThis, 'clearInterval');
  t.teardown(() => mock.restoreAll());
  const timers = () => [starts.mock.callCount(), ends.mock.callCount()];
  const calls: string[] = [];
  const [endFirst, endSecond] = ['first', 'second'].map((name) => everyMinute(() => calls.push(name)));
  mock.timers.tick(59_999);
  t.same(calls, []);
  mock.timers.tick(1);
  t.same(calls, ['first', 'second']);
  endFirst?.();
  mock.timers.tick(60_000);
  t.same(calls, ['first', 'second', 'second']);
  t.same(timers(), [1, 0]);
  endSecond?.();
  t.same(timers(), [1, 1]);
  const endThird = everyMinute(() => calls.push('third'));
  mock.timers.tick(60_000);
  t.equal(calls.at(-1), 'third');
  endThird();
  t.same(timers(), [2, 2]);
  t.end();
});
