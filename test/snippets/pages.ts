/** Runs whole pages as tests, and lists what came of each snippet. */
import type { Test } from 'tap';
import { startTestService } from '../support/service.ts';
import { snippetsOf } from './markdown.ts';
import { Page } from './page.ts';
import { isStart } from './starts.ts';

/**
 * A test for each page, with a subtest for each snippet. Those that start a service are left to `starts.ts`.
 *
 * @returns the list, a line for each snippet that was run
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
