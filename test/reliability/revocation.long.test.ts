// A hundred revocations while the other replica's channel is closed, a black hole, or dropped: reliability test 8.
import t from 'tap';
import { startWatchedPair } from '../support/revocations.ts';

const { channel, measure } = await startWatchedPair(t);
const ROUNDS = 10;

for (const [title, begin, end] of [
  ['is closed', () => channel.refuse(), () => channel.accept()],
  ['becomes a black hole', () => channel.blackHole(true), () => channel.blackHole(false)],
  ['drops', () => channel.cut(), () => {}],
] as const) {
  t.test(
    `8: 100 revocations take effect within a second, even if the channel ${title} just before`,
    async (t) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        // Varies the time between two echoes.
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 250));
        await measure(t, 10, begin);
        end();
      }
    },
  );
}
