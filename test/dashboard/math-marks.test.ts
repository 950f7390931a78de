// Which dollar signs and brackets in a reply delimit a formula.
import t from 'tap';
import { withMathMarks } from '../../src/dashboard/pages/chat/math-marks.ts';

const formulas: Record<string, string> = {
  'so $x^2$ is': 'so $$x^2$$ is',
  '$n$ items': '$$n$$ items',
  'the \\(a + b\\) and\n\\[\nc = d\n\\]\nend': 'the $$a + b$$ and\n$$\nc = d\n$$\nend',
  '\\[x\\]': '$$\nx\n$$',
  '\\[x\\] and': '$$x$$ and',
  '$$x^2$$': '$$\nx^2\n$$',
  'a\n  $$ x $$ \nb $$y$$\n': 'a\n  $$\n  x\n  $$ \nb $$y$$\n',
  '``a ` $x^2$ b`` $y^2$': '``a ` $x^2$ b`` $$y^2$$',
  '\\$x^2$ and $y$': '\\$x^2$ and $$y$$',
};

const others = [
  'It costs $5 and $10.',
  'A $5 coffee, or $6 = one tea.',
  'Set $HOME and $PATH.',
  'US$100_000$',
  '\\[ \\] a task, \\[a link\\](https://example.com)',
  '`$x^2$` and\n```\n$a_b$ \\(c\\)\n```',
  'a $$x^2$$\n$$y$$ b',
  '    $$x^2$$',
  '$$\nx\n$$',
  '| $$x$$ |',
  'a $ b_c $ d',
  '\\(a\nb\\)',
  '\\\\(a\\\\)',
];

t.test('formulas get double dollar signs', async (t) => {
  for (const [text, marked] of Object.entries(formulas)) t.equal(withMathMarks(text), marked, text);
});

t.test('all other text is unchanged', async (t) => {
  for (const text of others) t.equal(withMathMarks(text), text, text);
});

t.test('50,000 unclosed delimiters take less than a second', async (t) => {
  for (const part of ['$', '\\[', '\\(', '`', '`a ', '$a ', '~~~ ', '$$ ', '\\( ', '``` `', '\\(\n']) {
    const startedAt = process.cpuUsage().user;
    withMathMarks(`${part.repeat(50_000)}\\)`);
    const ms = (process.cpuUsage().user - startedAt) / 1000;
    t.ok(ms < 1000, `${JSON.stringify(part)}: ${Math.round(ms)} ms`);
  }
});
