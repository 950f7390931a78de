// A hundred revocations while the other replica's channel is closed, black-holed or cut: reliability test 8.
import t from 'tap';
import { startWatchedPair } from '../support/revocations.ts';

const { channel, measure } = await startWatchedPair(t);
const ROUNDS = 10;

for (const [title, begin, end] of [
  ['closed', () => channel.refuse(), () => channel.accept()],
  ['a black hole', () => channel.blackHole(true), () => channel.blackHole(false)],
  ['cut', () => channel.cut(), () => {}],
] as const) {
  t.test(`8: 100 revocations, the channel ${title} just before: all hold within a second`, async (t) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      // At another moment between two echoes each time.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 250));
      await measure(t, 10, begin);
      end();
    }
  });
}
