import t from 'tap';
import { KnownLimits, TooFew } from '../../../src/engines/upstream/known-limits.ts';

t.test('requests for more choices than a model returned are rejected for ten minutes', async (t) => {
  let now = 0;
  const limits = new KnownLimits('choices', () => now);
  limits.check('m', 8);
  limits.note('m', new Error('Something else.'));
  limits.note('m', new TooFew('choices', 0, 2));
  limits.check('m', 8);
  limits.note('m', new TooFew('choices', 2, 3));
  limits.check('m', 2);
  limits.check('other', 8);
  t.throws(() => limits.check('m', 3), { code: 'invalidRequest', options: { param: 'n' } });
  now = 10 * 60_000;
  limits.check('m', 8);
});

t.test('the limits of the latest 1,000 models are remembered', async (t) => {
  const limits = new KnownLimits('images', () => 0);
  for (let n = 0; n < 5000; n += 1) limits.note(`m${n}`, new TooFew('images', 1, 2));
  limits.check('m3999', 2);
  t.throws(() => limits.check('m4000', 2));
});
