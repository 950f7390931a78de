/** Runs whole pages as tests, and lists the result of each snippet. */
import type { Test } from 'tap';
import { startTestService } from '../support/service.ts';
import { snippetsOf } from './markdown.ts';
import { Page } from './page.ts';
import { isStart } from './starts.ts';

/**
 * Runs a test for each page, with an assertion for each snippet. `starts.ts` runs the snippets that start a service.
 *
 * @returns the list of results, one line for each snippet
 */
export async function runPages(t: Test, files: readonly string[]): Promise<string[]> {
  const service = await startTestService(t, 'embedded');
  const list: string[] = [];
  for (const file of files) {
    const snippets = snippetsOf(file).filter((snippet) => !isStart(snippet));
    await t.test(file, async (t) => {
      const page = await Page.open(t, service, snippets);
      for (const snippet of snippets) {
        const name = `${file}:${snippet.line} ${snippet.language || 'text'}`;
        const { problem, skipped, what } = await page.run(snippet);
        if (skipped) t.pass(name, { skip: skipped });
        else if (problem) t.fail(`${name}: ${what}`, { problem, code: snippet.code });
        else t.pass(`${name}: ${what}`);
        list.push(`${name}: ${problem ? `FAILED, ${problem}` : (skipped ?? what)}`);
      }
      await page.close();
    });
  }
  return list;
}
