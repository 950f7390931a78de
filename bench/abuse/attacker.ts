/** The attackers' process: runs one attack for the given time, reports, and exits. */
import { setMaxListeners } from 'node:events';
import { constants, setPriority } from 'node:os';
import type { Attack, Order, Report } from './attack.ts';

// Real attackers have their own processors. Here they only get idle CPU time.
setPriority(constants.priority.PRIORITY_LOW);

process.on('message', async ({ file, seconds, target }: Order) => {
  const attack = ((await import(file)) as { default: Attack }).default;
  const outcomes: Record<string, number> = {};
  const count = (outcome: string) => {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  const ending = new AbortController();
  // Each open request adds a listener.
  setMaxListeners(0, ending.signal);
  const timer = setTimeout(() => ending.abort(), seconds * 1000);
  await attack.run(target, count, ending.signal);
  clearTimeout(timer);
  const report: Report = { title: attack.title, outcomes };
  process.send?.(report, () => process.exit(0));
});
process.send?.('ready');
