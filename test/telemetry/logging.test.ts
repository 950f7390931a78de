import t from 'tap';
import { serializeError } from '../../src/telemetry/logging.ts';

const failed = (code: string, message: string) => Object.assign(new Error(message), { code });

t.test('a database error caused by a value is logged without the value, wrapped or not', async (t) => {
  for (const code of ['22P02', '23505', '22021']) {
    const cause = failed(code, 'invalid input syntax: "a secret"');
    const wrapped = Object.assign(new Error('Failed query: … params: a secret', { cause }), {
      query: 'insert into messages values ($1)',
      params: ['a secret'],
    });
    for (const error of [cause, wrapped, new Error('It failed.', { cause })]) {
      const logged = JSON.stringify(serializeError(error));
      t.notMatch(logged, 'a secret', code);
      t.match(logged, code);
    }
  }
});

t.test(
  'other database errors are logged with the message and the statement, but without parameters',
  async (t) => {
    const cause = failed('42P01', 'relation "messages" does not exist');
    const wrapped = Object.assign(new Error('Failed query: … params: a secret', { cause }), {
      query: 'insert into\n  messages values ($1)',
      params: ['a secret'],
    });
    t.strictSame(serializeError(wrapped), {
      type: 'Error',
      message: 'relation "messages" does not exist',
      sqlState: '42P01',
      statement: 'insert into messages values ($1)',
    });
    t.match(serializeError(cause), { message: 'relation "messages" does not exist' });
    t.match(serializeError('nothing'), { type: 'string', message: 'nothing' });
  },
);
