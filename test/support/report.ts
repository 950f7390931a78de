import { inspect } from 'node:util';
import type { Parser, Result } from 'tap-parser';

/** The maximum length of a printed text. */
const LONGEST = 1000;
/** The maximum number of lines that the summary prints for a failure. */
const REASON_LINES = 20;

/** A test file, a test, or a subtest. `assertions` counts only its own assertions, not those of `children`. */
type Test = {
  name: string;
  children: Test[];
  assertions: number;
  failures: Result[];
  skips: Result[];
  result?: Result;
};

/**
 * Counts and prints the results that tap's parser reads. It counts innermost tests, which are `test('…', …)` with no
 * test inside. A file without tests counts as one. A test or assertion that is skipped or marked as todo counts as
 * skipped.
 */
export class Report {
  passed = 0;
  failed = 0;
  readonly skipped: string[] = [];
  readonly failures: { what: string; reason: string }[] = [];
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void = console.log) {
    this.#print = print;
  }

  /** Reads the output of a process from a parser, of which each child is a test file. */
  follow(parser: Parser, onFileEnd: (isOk: boolean) => void = () => {}): void {
    const run = newTest('');
    this.#read(parser, run, (file) => {
      this.#fileEnded(file);
      onFileEnd(file.result?.ok === true);
    });
    parser.on('bailout', (reason: string) => this.#fail(`tap gave up: ${reason}`));
  }

  /** Counts a failure for a file whose result was never reported. */
  lost(file: string, reason: string): void {
    this.#print(`✗ ${file}: ${reason}`);
    this.#fail(`${file}: ${reason}`);
  }

  /** Prints the summary; its last line is `N passed, N failed`. Returns the exit code. */
  finish(end: { seconds: number; failOnSkip: boolean }): number {
    if (this.passed + this.failed === 0) this.#fail('no test ran');
    this.#print('');
    for (const { reason, what } of this.failures) {
      this.#print(`failed: ${what}`);
      if (reason !== '') this.#print(indented(reason.split('\n').slice(0, REASON_LINES).join('\n')));
    }
    for (const skip of this.skipped) this.#print(`skipped: ${skip}`);
    if (end.failOnSkip && this.skipped.length > 0)
      this.#print('Nothing may be skipped here: PARLEY_FAIL_ON_SKIP is 1.');
    this.#print(`The tests took ${end.seconds.toFixed(0)} s.`);
    const skipped = this.skipped.length > 0 ? `, ${this.skipped.length} skipped` : '';
    this.#print(`${this.passed} passed, ${this.failed} failed${skipped}`);
    return this.failed > 0 || (end.failOnSkip && this.skipped.length > 0) ? 1 : 0;
  }

  #read(parser: Parser, test: Test, onChildEnd?: (child: Test) => void): void {
    let open: Test | undefined;
    parser.on('child', (inner: Parser) => {
      open = newTest(inner.name);
      test.children.push(open);
      this.#read(inner, open);
    });
    // The result of a child follows the child. Any other result is an assertion of this test.
    parser.on('assert', (result: Result) => {
      if (open && result.closingTestPoint) {
        const child = open;
        open = undefined;
        child.name = result.name;
        child.result = result;
        onChildEnd?.(child);
      } else if (onChildEnd) {
        // A file that tap did not start, or in which it found no tests.
        onChildEnd({ ...newTest(result.name), result });
      } else if (result.skip || result.todo) test.skips.push(result);
      else if (result.ok) test.assertions += 1;
      else test.failures.push(result);
    });
  }

  #fileEnded(file: Test): void {
    const before = { passed: this.passed, failed: this.failed, skipped: this.skipped.length };
    this.#count(file);
    const counts = [
      [this.passed - before.passed, 'passed'],
      [this.failed - before.failed, 'failed'],
      [this.skipped.length - before.skipped, 'skipped'],
    ] as const;
    const summary = counts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
    const mark = this.failed > before.failed ? '✗' : '✓';
    const seconds = ((file.result?.time ?? 0) / 1000).toFixed(1);
    this.#print(`${mark} ${file.name}: ${summary.join(', ') || 'nothing ran'} (${seconds} s)`);
    this.#printFailures(file);
  }

  #count(test: Test, path = test.name): void {
    const { result, children, failures, skips } = test;
    const failedBefore = this.failed;
    for (const child of children) this.#count(child, `${path} › ${child.name}`);
    for (const skip of skips) this.skipped.push(`${path} › ${skip.name}: ${reasonOf(skip)}`);
    if (result?.skip || result?.todo) this.skipped.push(`${path}: ${reasonOf(result)}`);
    else if (result?.ok) {
      if (children.length === 0 && (test.assertions > 0 || skips.length === 0)) this.passed += 1;
    } else if (failures.length > 0 || this.failed === failedBefore) {
      const [first = result] = failures;
      this.#fail(path, first && `${shortened(first.name)}\n${explain(first)}`);
    }
  }

  /** @param reason - also printed in the summary, because the rest of the output may not be kept */
  #fail(what: string, reason = ''): void {
    this.failed += 1;
    this.failures.push({ what, reason });
  }

  #printFailures(test: Test, path = test.name): void {
    for (const failure of test.failures) {
      this.#print(`\n  ✗ ${path} › ${shortened(failure.name)}\n${indented(explain(failure))}\n`);
    }
    for (const child of test.children) this.#printFailures(child, `${path} › ${child.name}`);
    const explained = test.failures.length > 0 || test.children.some((child) => child.result?.ok === false);
    if (test.result?.ok === false && !explained) {
      this.#print(`\n  ✗ ${path}\n${indented(explain(test.result))}\n`);
    }
  }
}

function newTest(name: string): Test {
  return { name, children: [], assertions: 0, failures: [], skips: [] };
}

/** tap's details of a failure, without those that only repeat the source file. */
function explain({ diag }: Result): string {
  if (!diag) return 'no details';
  const { at, diff, stack, source, stdio, cwd, externalID, command, args, jobId, ...details } = diag;
  const lines = [];
  if (at?.fileName) lines.push(`at ${at.fileName}:${at.lineNumber}:${at.columnNumber}`);
  if (diff) lines.push(String(diff).trimEnd());
  const { compare, ...rest } = details;
  if (Object.keys(rest).length > 0) lines.push(inspect(rest, { depth: 6, maxStringLength: LONGEST }));
  if (stack && !diff) lines.push(String(stack).trimEnd());
  return lines.join('\n') || 'no details';
}

function reasonOf({ skip, todo }: Result): string {
  const reason = skip || todo;
  const word = skip ? '' : 'todo, ';
  return word + (typeof reason === 'string' && reason !== '' ? reason : 'no reason given');
}

/** Shortens a text, because errors of browser drivers quote all text that was typed. */
const shortened = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST)} […]` : text);

const indented = (text: string) => text.replaceAll(/^/gm, '      ');
