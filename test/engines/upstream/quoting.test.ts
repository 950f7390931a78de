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

t.test('textOf returns the texts of a request, without field names', async (t) => {
  t.equal(textOf(request), 'Be brief.\nMy Diagnosis is Größe-4711, "quoted"\nand  more');
  t.equal(textOf([]), '');
  t.equal(textOf(null), '');
});

t.test('an echo of the request is removed from a quoted error, whatever its form', async (t) => {
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

t.test('echoes of numbers, short words, and scripts without spaces are removed, too', async (t) => {
  const cases: [asked: string, said: string, quoted: string][] = [
    ['我的密码是剑鱼', '输入我的密码是剑鱼无效', '输入…无效'],
    ['我的密码是剑鱼', '值剑鱼不行', '值…不行'],
    ['私の暗証番号は四七一一', 'エラー: 暗証番号は四七一一です', 'エラー: …です'],
    ['รหัสผ่านคือปลา', 'ค่ารหัสผ่านคือปลาผิด', 'ค…ผิด'],
    ['비밀번호는 황새치', '입력값황새치거부', '입력값…거부'],
    ['my pin is 42 7 19', 'Bad value: my pin is 42 7 19', 'Bad value: …'],
    ['my pin is 42 7 19', 'Bad value pin42, 1942', 'Bad value …'],
    ['我的密码', String.raw`Bad: '\u6211\u7684\u5bc6\u7801'`, "Bad: '…'"],
  ];
  for (const [asked, said, quoted] of cases) t.equal(withoutEcho(said, asked), quoted, asked);
});

t.test('removing echoes takes less than a second of CPU time', async (t) => {
  const startedAt = process.cpuUsage();
  for (const text of ['密', '1', 'a', '密1', 'a1 '])
    withoutEcho(text.repeat(500), text.repeat(65_000 / text.length));
  const { user } = process.cpuUsage(startedAt);
  t.ok(user < 1_000_000, `${user / 1000} ms`);
});

t.test('a quoted error keeps the details that an operator needs', async (t) => {
  const asked = textOf(request);
  for (const said of [
    "model 'llama3' not found, try pulling it first",
    'Incorrect API key provided: [key].',
    'model requires 5.6 GiB of system memory',
  ])
    t.equal(withoutEcho(said, asked), said);
  t.equal(withoutEcho('', asked), '');
});

t.test('an error is not quoted if the request is too large to search', async (t) => {
  t.equal(withoutEcho('Bad input: x', 'x'.repeat(70_000)), '…');
  t.equal(withoutEcho('', 'x'.repeat(70_000)), '');
});

t.test('an error response is described by its codes or its length, never by its text', async (t) => {
  t.equal(
    describeAnswer('{"error":{"code":"overloaded","type":"server_error","message":"secret"}}'),
    'overloaded, server_error.',
  );
  t.equal(describeAnswer('{"error":{"code":"a secret sentence"}}'), '38 characters.');
  t.equal(describeAnswer('{"choices":[{"message":{"content":"secret'), '41 characters.');
});
