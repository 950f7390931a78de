import t from 'tap';
import { Parser } from 'tap-parser';
import { Report } from './report.ts';

const good = `TAP version 14
# Subtest: test/keys.test.ts
    # Subtest: POST /keys 201: a key \\# 1
        ok 1 - status
        ok 2 - body
        1..2
    ok 1 - POST /keys 201: a key \\# 1 # time=1ms
    # Subtest: on both databases
        # Subtest: pglite
            ok 1 - x
            1..1
        ok 1 - pglite
        # Subtest: postgres
            ok 1 - x
            1..1
        ok 2 - postgres
        1..2
    ok 2 - on both databases
    1..2
ok 1 - test/keys.test.ts # time=1500ms
`;

const bad = `TAP version 14
# Subtest: test/bad.test.ts
    # Subtest: GET /keys 200: the active ones
        not ok 1 - two keys
          ---
          at:
            fileName: test/bad.test.ts
            lineNumber: 6
            columnNumber: 3
          diff: |
            -3
            +2
          ...
        1..1
    not ok 1 - GET /keys 200: the active ones
    ok 2 - GET /keys 401: nobody # SKIP not yet written
    1..2
not ok 1 - test/bad.test.ts
# Subtest: test/broken.test.ts
    1..0 # no tests found
not ok 2 - test/broken.test.ts
  ---
  exitCode: 1
  signal: null
  ...
ok 3 - test/empty.test.ts # SKIP no tests found
`;

function read(text: string, end: { failOnSkip?: boolean } = {}) {
  const lines: string[] = [];
  const report = new Report((line) => lines.push(line));
  const parser = new Parser();
  report.follow(parser);
  parser.end(text);
  const exitCode = report.finish({ failOnSkip: false, seconds: 1, ...end });
  return { exitCode, last: lines.at(-1), output: lines.join('\n') };
}

t.test('Report: it counts innermost tests and ends with "N passed, N failed"', async (t) => {
  const { exitCode, last, output } = read(`${good}1..1\n`);
  t.equal(last, '3 passed, 0 failed');
  t.equal(exitCode, 0);
  t.match(output, '✓ test/keys.test.ts: 3 passed (1.5 s)');
});

t.test('Report: it explains failures, including a file that broke before its first test', async (t) => {
  const { exitCode, last, output } = read(`${bad}1..3\n`);
  t.equal(last, '0 passed, 2 failed, 2 skipped');
  t.equal(exitCode, 1);
  t.match(output, 'at test/bad.test.ts:6:3\n      -3\n      +2');
  t.match(
    output,
    /failed: test\/bad\.test\.ts › GET \/keys 200: the active ones\n {6}.*\n {6}at test\/bad\.test\.ts:6:3/,
  );
  t.match(output, 'failed: test/broken.test.ts');
  t.match(output, 'skipped: test/bad.test.ts › GET /keys 401: nobody: not yet written');
  t.match(output, 'skipped: test/empty.test.ts: no tests found');
});

t.test('Report: a skipped test fails the run only with failOnSkip', async (t) => {
  const skipping = `${good}# Subtest: test/x.test.ts\n    ok 1 - later # SKIP why\n    1..1\nok 2 - test/x.test.ts\n1..2\n`;
  t.equal(read(skipping).exitCode, 0);
  const strict = read(skipping, { failOnSkip: true });
  t.equal(strict.exitCode, 1);
  t.equal(strict.last, '3 passed, 0 failed, 1 skipped');
});

t.test('Report: a run without tests fails', async (t) => {
  t.equal(read('TAP version 14\n1..0\n').last, '0 passed, 1 failed');
});
