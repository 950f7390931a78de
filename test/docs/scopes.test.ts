// The guides name every scope, and every endpoint that needs one.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { scopes } from '../../schemas/keys.ts';
import { projectRoot } from '../../src/project.ts';

const read = (file: string) => readFileSync(new URL(file, projectRoot), 'utf8');

/** The cells of a table's rows, without its header row. */
function rowsOf(guide: string, head: string): string[][] {
  const [, table = ''] = read(`docs/guides/${guide}.md`).split(`\n${head}\n`);
  const [rows = ''] = table.split('\n\n');
  return rows
    .split('\n')
    .slice(1)
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .map((cells) => cells.slice(1, -1));
}

const codesIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** "`GET`, `PATCH /conversations/:id`" are two endpoints. */
function endpointsIn(cell: string): string[] {
  let methods: string[] = [];
  return codesIn(cell).flatMap((code) => {
    const [method = '', path] = code.split(' ');
    methods.push(method);
    if (path === undefined) return [];
    const endpoints = methods.map((one) => `${one} ${path}`);
    methods = [];
    return endpoints;
  });
}

type Operations = Record<string, { 'x-required-scopes'?: string[] }>;

/** Each endpoint with its required scope, from `openapi.json`. */
const documented = Object.entries(
  JSON.parse(read('openapi.json')).paths as Record<string, Operations>,
).flatMap(([path, operations]) =>
  Object.entries(operations).flatMap(([method, operation]) =>
    (operation['x-required-scopes'] ?? []).map(
      (scope) =>
        `${method.toUpperCase()} ${path.replace('/api/v1', '').replace(/\{(\w+)\}/g, ':$1')}: ${scope}`,
    ),
  ),
);

t.test('authentication.md lists every endpoint that needs a scope', async (t) => {
  const listed = rowsOf('authentication', '| Endpoint | Scope |').flatMap(([endpoints = '', scope = '']) =>
    endpointsIn(endpoints).map((endpoint) => `${endpoint}: ${codesIn(scope)}`),
  );
  t.same(listed.sort(), documented.sort());
  t.same(new Set(listed.map((line) => line.split(': ')[1])), new Set(scopes));
});

t.test('keys.md lists every scope', async (t) => {
  const listed = rowsOf('keys', '| Scope | Gives access to |').flatMap(([scope = '']) => codesIn(scope));
  t.same(listed.sort(), [...scopes].sort());
  const [, , field = ''] =
    rowsOf('keys', '| Field | Type | Meaning |').find(([name]) => name === '`scopes`') ?? [];
  t.same(codesIn(field).sort(), [...scopes].sort());
});
