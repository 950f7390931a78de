/**
 * Runs the test files that the pool sends, one after another, because loading the service takes longer than most tests.
 * Each file becomes a subtest of tap's root, and its calls on the root apply to that subtest.
 */
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import root, { type Test } from 'tap';
import { calledOnRoot } from './root-methods.ts';

/** A message from the pool: the next file to run, or the end. */
export type Order = { file: string; timeoutMs: number } | 'end';

type Method = (...args: unknown[]) => unknown;

// Each file has its own timeout.
root.setTimeout(0);
const runFile = root.test.bind(root);
let current: Test | undefined;
for (const name of calledOnRoot) {
  const own = root[name].bind(root) as Method;
  const method: Method = (...args) => (current ? (current[name] as Method)(...args) : own(...args));
  Object.defineProperty(root, name, { value: method });
}

async function nextOrder(): Promise<Order> {
  // Otherwise tap lets the process exit while it waits for a message.
  process.channel?.ref();
  process.send?.('next');
  const [order] = (await once(process, 'message')) as [Order];
  return order;
}

// The pool process has exited.
const exit = () => process.exit(1);
process.once('disconnect', exit);
for (let order = await nextOrder(); order !== 'end'; order = await nextOrder()) {
  const { file, timeoutMs } = order;
  await runFile(file, { timeout: timeoutMs }, async (t) => {
    current = t;
    await import(pathToFileURL(file).href);
  });
  current = undefined;
}
root.end();
process.off('disconnect', exit);
process.disconnect();
