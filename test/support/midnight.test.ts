import t from 'tap';
import { msUntilStart } from './midnight.ts';

t.test('no test file starts in the last six minutes of a UTC day', async (t) => {
  const at = (time: string) => msUntilStart(Date.parse(`2026-11-20T${time}Z`));
  t.equal(at('00:00:00'), 0);
  t.equal(at('23:53:59'), 0);
  t.equal(at('23:54:00'), 361_000);
  t.equal(at('23:59:59.500'), 1500);
});
