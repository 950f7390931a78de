// The health of targets and the choice between them, with a simulated clock.
import t from 'tap';
import { chosen } from '../../src/engines/routing/choice.ts';
import { Health } from '../../src/engines/routing/health.ts';
import type { Target } from '../../src/engines/routing/targets.ts';

const fail = (health: Health, now: number) => health.end(health.begin(), 'failure', now);
const succeed = (health: Health, now: number) => {
  const attempt = health.begin();
  health.answered(attempt);
  health.end(attempt, 'success', now);
};

t.test('five failures in a row put a target into a cooldown, which doubles from 5 s to 5 min', async (t) => {
  const health = new Health();
  for (let count = 0; count < 4; count += 1) fail(health, 0);
  t.ok(health.isReady(0), 'four failures do not');
  fail(health, 0);
  let now = 0;
  for (const seconds of [5, 10, 20, 40, 80, 160, 300, 300]) {
    t.notOk(health.isReady(now + seconds * 1000 - 1), `not before ${seconds} s`);
    now += seconds * 1000;
    t.ok(health.isReady(now), `after ${seconds} s`);
    fail(health, now);
  }
  now += 300_000;
  succeed(health, now);
  for (let count = 0; count < 4; count += 1) fail(health, now);
  t.ok(health.isReady(now), 'a success resets the count of failures');
  fail(health, now);
  t.ok(health.isReady(now + 5000), 'a success also resets the cooldown to 5 s');
});

t.test('a target cools down when half of its last 20 requests fail', async (t) => {
  const health = new Health();
  for (let pair = 0; pair < 9; pair += 1) {
    fail(health, 0);
    succeed(health, 0);
  }
  succeed(health, 0);
  t.ok(health.isReady(0), '9 failures of 19 requests');
  fail(health, 0);
  t.notOk(health.isReady(0), '10 failures of 20 requests');
});

t.test('after a cooldown, one request at a time probes the target', async (t) => {
  const health = new Health();
  const before = health.begin();
  for (let count = 0; count < 5; count += 1) fail(health, 0);
  health.end(before, 'success', 1000);
  t.notOk(health.isReady(1000), 'a request from before the cooldown does not end it');
  const probe = health.begin();
  t.notOk(health.isReady(5000), 'a probe is in flight');
  health.end(probe, 'left', 5000);
  t.ok(health.isReady(5000), 'after a client disconnects, the next request may probe');
  const next = health.begin();
  health.answered(next);
  t.ok(health.isReady(5000), 'the first output ends the probe');
  health.end(next, 'failure', 6000);
  t.notOk(health.isReady(15_999), 'a broken stream starts a longer cooldown');
  t.ok(health.isReady(16_000));
});

t.test(
  'a cooldown that one account causes applies only to that account, until a request of another account fails',
  async (t) => {
    const failFor = (health: Health, account: string, now: number) =>
      health.end(health.begin(account), 'failure', now);
    const health = new Health();
    for (let count = 0; count < 5; count += 1) failFor(health, 'mallory', 0);
    t.notOk(health.isReady(4999, 'mallory'));
    t.ok(health.isReady(0, 'alice'), "Mallory's requests may be at fault");
    health.end(health.begin('alice'), 'success', 0);
    t.notOk(health.isReady(4999, 'mallory'), "Alice's success does not end Mallory's cooldown");
    t.ok(health.isReady(5000, 'mallory'));

    for (let count = 0; count < 5; count += 1) failFor(health, 'mallory', 5000);
    failFor(health, 'alice', 6000);
    t.notOk(health.isReady(6000, 'alice'), 'the target is at fault');
    t.notOk(health.isReady(6000, 'bob'));
    const both = new Health();
    for (let count = 0; count < 5; count += 1) failFor(both, count === 2 ? 'alice' : 'mallory', 0);
    t.notOk(both.isReady(0, 'bob'), 'failures of two accounts count together');
    const asked = new Health();
    asked.pauseFor(1000, 0);
    for (let count = 0; count < 5; count += 1) failFor(asked, 'mallory', 0);
    t.notOk(asked.isReady(999, 'alice'), 'a Retry-After of the target applies to every account');
  },
);

t.test(
  'a target cools down for everyone when half of the last 20 requests fail across several accounts',
  async (t) => {
    const health = new Health();
    const end = (account: string, how: 'failure' | 'success') => health.end(health.begin(account), how, 0);
    const accounts = ['alice', 'bob', 'carol', 'dave'];
    for (let count = 0; count < 19; count += 1)
      end(accounts[count % accounts.length] ?? '', count % 2 === 0 ? 'success' : 'failure');
    t.ok(
      accounts.every((account) => health.isReady(0, account)),
      '9 failures of 19 requests',
    );
    end('dave', 'failure');
    for (const account of [...accounts, 'erin']) t.notOk(health.isReady(4999, account), `not for ${account}`);
    t.equal(health.state(0), 'coolingDown');

    const ofOne = new Health();
    for (let count = 0; count < 20; count += 1)
      ofOne.end(
        ofOne.begin(count % 2 === 0 ? 'alice' : 'mallory'),
        count % 2 === 0 ? 'success' : 'failure',
        0,
      );
    t.ok(ofOne.isReady(0, 'alice'), "none of Alice's requests failed");
    t.notOk(ofOne.isReady(0, 'mallory'));
  },
);

t.test("a target's Retry-After pauses it for at most 5 min", async (t) => {
  const health = new Health();
  health.pauseFor(7000, 0);
  t.notOk(health.isReady(6999));
  t.ok(health.isReady(7000));
  health.pauseFor(86_400_000, 7000);
  t.ok(health.isReady(307_000));
});

const target = (name: string, fields: Partial<Target> & { open?: number; concurrency?: number } = {}) =>
  ({
    model: 'm',
    weight: 1,
    order: 1,
    health: new Health(),
    ...fields,
    upstream: {
      settings: { name },
      open: fields.open ?? 0,
      concurrency: fields.concurrency ?? 10,
    },
  }) as unknown as Target;
const nameOf = (chosen: Target | undefined) => chosen?.upstream.settings.name;

t.test(
  'targets are chosen by capacity, then the lowest order, then the fewest open requests relative to weight',
  async (t) => {
    const choose = (...targets: Target[]) => nameOf(chosen(targets, {}, 0, () => 0.5));
    t.equal(choose(target('later', { order: 2 }), target('first', { open: 5 })), 'first');
    t.equal(choose(target('busy', { open: 3 }), target('heavy', { open: 5, weight: 2 })), 'heavy');
    t.equal(choose(target('full', { open: 10 }), target('later', { order: 2, open: 1 })), 'later');
    t.equal(
      choose(target('full', { open: 10 })),
      'full',
      'if every target is full, the request waits for a connection',
    );
    const cooling = target('cooling');
    cooling.health.pauseFor(1000, 0);
    t.equal(choose(cooling, target('later', { order: 2 })), 'later');
    t.equal(choose(cooling), undefined);
  },
);

t.test('targets are chosen in proportion to their weight, and affinity is stable', async (t) => {
  const targets = [target('one'), target('three', { weight: 3 })];
  let state = 1;
  /** The Park–Miller generator returns the same numbers in every run. */
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const share = (affinity: (index: number) => string | undefined) => {
    const names = Array.from({ length: 4000 }, (_, index) =>
      nameOf(chosen(targets, { affinity: affinity(index) }, 0, random)),
    );
    return names.filter((name) => name === 'three').length / names.length;
  };
  const byHash = share((index) => `conversation ${index}`);
  t.ok(byHash > 0.72 && byHash < 0.78, `${byHash} of the conversations`);
  const atRandom = share(() => undefined);
  t.ok(atRandom > 0.72 && atRandom < 0.78, `${atRandom} of the requests`);
  const others = [...targets, target('new')];
  for (let index = 0; index < 200; index += 1) {
    const before = nameOf(chosen(targets, { affinity: `c${index}` }, 0, random));
    const after = nameOf(chosen(others, { affinity: `c${index}` }, 0, random));
    t.ok(after === before || after === 'new', 'a conversation moves only to the new target');
  }
});
