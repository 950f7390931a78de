import t from 'tap';
import { rememberJson, SealedJson } from '../../src/bodies/sealed.ts';
import { promptSize } from '../../src/requests/token-bound.ts';

t.test('a message or part that stays JSON text counts all its bytes', async (t) => {
  const length = 100_000;
  const sealed = new SealedJson();
  rememberJson(sealed, Buffer.alloc(length, 'x'));
  for (const message of [sealed, { role: 'user', content: [sealed] }])
    t.ok(promptSize({ messages: [message] }).tokens > length);
});
