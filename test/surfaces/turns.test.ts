// How items of the Responses API become the turns of another API. Contract section 14.
import t from 'tap';
import type { Body } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';
import { startVendors } from '../support/upstream/kinds.ts';

const user = (content: string) => ({ role: 'user', content });
const says = (text: string) => ({ role: 'assistant', content: [{ type: 'output_text', text }] });
const thinks = (text: string) => ({
  ...{ type: 'reasoning', summary: [{ type: 'summary_text', text }] },
  encrypted_content: `anthropic-claude-v1:signature:seal of ${text}`,
});
const calls = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
const results = (...ids: string[]) =>
  ids.map((id) => ({ type: 'function_call_output', call_id: id, output: 'x' }));

const thought = (text: string) => ({ type: 'thinking', thinking: text, signature: `seal of ${text}` });
const text = (value: string) => ({ type: 'text', text: value });
const called = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
const turn = (role: string, ...content: object[]) => ({ role, content });
const given = (...ids: string[]) =>
  turn('user', ...ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'x' })));

const cases: Record<string, [items: object[], turns: object[]]> = {
  'reasoning after a message belongs to the call that follows it': [
    [user('Go'), says('A'), thinks('R'), calls('c1'), ...results('c1'), says('B'), user('And?')],
    [
      turn('user', text('Go')),
      turn('assistant', thought('R'), text('A'), called('c1')),
      given('c1'),
      turn('assistant', text('B')),
      turn('user', text('And?')),
    ],
  ],
  'reasoning between two calls belongs to their turn': [
    [user('Go'), thinks('R'), calls('c1'), thinks('S'), calls('c2'), ...results('c1', 'c2'), says('B')],
    [
      turn('user', text('Go')),
      turn('assistant', thought('R'), thought('S'), called('c1'), called('c2')),
      given('c1', 'c2'),
      turn('assistant', text('B')),
    ],
  ],
  'reasoning after the results belongs to the next turn': [
    [user('Go'), thinks('R'), calls('c1'), ...results('c1'), thinks('S'), says('B'), user('And?')],
    [
      turn('user', text('Go')),
      turn('assistant', thought('R'), called('c1')),
      given('c1'),
      turn('assistant', thought('S'), text('B')),
      turn('user', text('And?')),
    ],
  ],
  'text after a call belongs to its turn, because results must follow the calls': [
    [user('Go'), says('A'), calls('c1'), thinks('R'), says('B'), calls('c2'), ...results('c1', 'c2')],
    [
      turn('user', text('Go')),
      turn('assistant', thought('R'), text('A\n\nB'), called('c1'), called('c2')),
      given('c1', 'c2'),
    ],
  ],
};

t.test('reasoning, texts, and calls stay in their turn', async (t) => {
  const { calls: sent, env } = await startVendors(t);
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    for (const [title, [input, turns]] of Object.entries(cases)) {
      const answer = await client.post('/responses', { model: 'anthropic', input, store: false }, { key });
      t.equal(answer.status, 200, answer.text);
      t.same((sent.anthropic.at(-1) as { body: Body }).body.messages, turns, title);
    }
  });
});
