import t from 'tap';
import { writeJson } from '../../src/bodies/sealed.ts';
import { writeInSlices } from '../../src/bodies/write-in-slices.ts';

const textOf = (written: string | Uint8Array[]) =>
  typeof written === 'string' ? written : Buffer.concat(written).toString('utf8');

t.test('a large value is written in pieces with the same content as JSON.stringify', async (t) => {
  const text = `${'x'.repeat(65_535)}😀"\\\n${'é'.repeat(1_000_000)}`;
  const messages = [
    { role: 'user', content: text, left: undefined },
    { content: [{ type: 'text', text: '' }, 1, null, true, undefined, {}, []] },
    { [`name "${'n'.repeat(70_000)}`]: text },
  ];
  const before = JSON.stringify({ messages });
  await writeInSlices(messages);
  const written = writeJson({ messages });
  t.ok(Array.isArray(written), 'the value was written in advance');
  t.same(JSON.parse(textOf(written)), JSON.parse(before));
});

t.test('a small value is not written in advance', async (t) => {
  const messages = [{ role: 'user', content: 'Hello' }];
  await writeInSlices(messages);
  t.equal(writeJson({ messages }), '{"messages":[{"role":"user","content":"Hello"}]}');
});
