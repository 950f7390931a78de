import t from 'tap';
import { validate, version } from 'uuid';
import { newId } from '../../src/domain/ids.ts';

t.test('IDs are version 7 UUIDs, and IDs of one process sort in order of creation', async (t) => {
  const made = Array.from({ length: 20_000 }, newId);
  t.ok(made.every((id) => validate(id) && version(id) === 7));
  t.same([...made].sort(), made);
  t.equal(new Set(made.map((id) => id.slice(-12))).size, made.length, 'the last 12 digits are unique');
});

t.test('an ID starts with its timestamp', async (t) => {
  const before = Date.now();
  const msecs = Number.parseInt(newId().replaceAll('-', '').slice(0, 12), 16);
  t.ok(msecs >= before && msecs <= Date.now() + 1);
});
