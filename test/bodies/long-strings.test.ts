import t from 'tap';
import { putLongStringsBack, takeLongStrings } from '../../src/bodies/long-strings.ts';

const long = (text: string) => text.repeat(Math.ceil(300_000 / text.length));

t.test('long strings are extracted from any level of a value, and restored unchanged', async (t) => {
  const make = () => ({
    ascii: long('x'),
    latin1: long('ÿ'),
    emoji: long('👩‍🚀'),
    list: ['short', long('漢'), { deep: [long('"\\\n')] }],
    short: 'ÿ',
    number: 1,
    nothing: null,
  });
  const value = make();
  const taken = takeLongStrings(value);
  t.equal(taken.length, 5);
  t.ok(JSON.stringify(value).length < 200, 'no long string is left');
  putLongStringsBack(
    value,
    structuredClone(taken, { transfer: taken.map(({ bytes }) => bytes.buffer as ArrayBuffer) }),
  );
  t.ok(JSON.stringify(value) === JSON.stringify(make()));
});

t.test('values without long strings are not changed', async (t) => {
  for (const value of [null, 1, 'text', [], { a: ['b'] }]) {
    const copy = structuredClone(value);
    t.same(takeLongStrings(value), []);
    t.same(value, copy);
  }
});
