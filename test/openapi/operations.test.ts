// An unnamed part aborts the build of the document, so that no component is named `undefined`.
import t from 'tap';
import { type Operation, withOperations } from '../../src/openapi/operations.ts';

const parameter = (place: string, name: string, schema = {}) => ({ in: place, name, schema });

function build(path: string, one: ReturnType<typeof parameter>, known = 'getThing') {
  const operation: Operation = { operationId: 'getThing', parameters: [one], responses: {} };
  const document: object = withOperations({ paths: { [path]: { get: operation } } }, new Map([[known, {}]]));
  return document as { components: { parameters: object } };
}

t.test('known names: path parameters become components, and limits and headers are accepted', async (t) => {
  const { parameters } = build('/api/v1/keys/{id}', parameter('path', 'id')).components;
  t.same(Object.keys(parameters), ['KeyId']);
  t.doesNotThrow(() => build('/api/v1/keys', parameter('query', 'limit', { maximum: 100 })));
  t.doesNotThrow(() => build('/api/v1/chat', parameter('header', 'idempotency-key')));
});

t.test('unknown names: the error says what to add', async (t) => {
  t.throws(() => build('/api/v1/things/{id}', parameter('path', 'id')), /"things" in \/api\/v1\/things/);
  t.throws(() => build('/api/v1/keys', parameter('query', 'limit')), /a maximum/);
  t.throws(() => build('/api/v1/keys', parameter('header', 'x-other')), /x-other/);
  t.throws(() => build('/api/v1/keys', parameter('query', 'limit', { maximum: 1 }), 'other'), /no route/);
});
