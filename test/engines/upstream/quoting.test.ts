import t from 'tap';
import { describeAnswer, textOf, withoutEcho } from '../../../src/engines/upstream/quoting.ts';

const request = {
  model: 'llama3',
  stream: true,
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'My Diagnosis is Größe-4711, "quoted"\nand  more' }] },
  ],
};

t.test('the texts of a request, without its names', async (t) => {
  t.equal(textOf(request), 'Be brief.\nMy Diagnosis is Größe-4711, "quoted"\nand  more');
  t.equal(textOf([]), '');
  t.equal(textOf(null), '');
});

t.test('an upstream that repeats the request is quoted without it, however it does', async (t) => {
  const asked = textOf(request);
  for (const echo of [
    'My Diagnosis is Größe-4711',
    'MY DIAGNOSIS IS größe-4711',
    "{'content': 'My Diagnosis is Größe-4711, \\\"quoted\\\"'}",
    'iagnosis is Größe-47',
  ]) {
    const quoted = withoutEcho(`Bad input: ${echo} (value_error)`, asked);
    t.notMatch(quoted, /diagnosis|iagnosis|gröss|größ|4711|quoted/i, quoted);
    t.match(quoted, /^Bad input: .*\(value_error\)$/);
  }
});

t.test('what an operator needs stays', async (t) => {
  const asked = textOf(request);
  for (const said of [
    "model 'llama3' not found, try pulling it first",
    'Incorrect API key provided: [key].',
    'model requires 5.6 GiB of system memory',
  ])
    t.equal(withoutEcho(said, asked), said);
  t.equal(withoutEcho('', asked), '');
});

t.test('of a request that is too large to look through, nothing is quoted', async (t) => {
  t.equal(withoutEcho('Bad input: x', 'x'.repeat(70_000)), '…');
  t.equal(withoutEcho('', 'x'.repeat(70_000)), '');
});

t.test('an answer is described by its codes or its length, never by its words', async (t) => {
  t.equal(
    describeAnswer('{"error":{"code":"overloaded","type":"server_error","message":"secret"}}'),
    'overloaded, server_error.',
  );
  t.equal(describeAnswer('{"error":{"code":"a secret sentence"}}'), '38 characters.');
  t.equal(describeAnswer('{"choices":[{"message":{"content":"secret'), '41 characters.');
});
