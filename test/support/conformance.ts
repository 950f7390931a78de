/**
 * Reliability test 47: calls every operation in openapi.json on a live service, with valid and invalid inputs, and with
 * a key, a session, or neither. Checks every response against the document.
 */
import assert from 'node:assert/strict';
import fc, { type Arbitrary } from 'fast-check';
import {
  callsOf,
  endings,
  type Input,
  inputsOf,
  origin,
  own,
  type Parameter,
  plainInputsOf,
} from './conformance-inputs.ts';
import { type Body, Client, type Owner, type RequestOptions } from './http.ts';
import { type OpenApi, resolved, schemaChecker } from './response-checker.ts';

/** Each account makes this many requests, because a session is limited to 300 a minute. */
const REQUESTS_PER_ACCOUNT = 150;

type Account = Owner & { key: string; ids: Record<string, string>; requests: number };

/** The value of a query parameter in the type of its schema. */
function queryValue({ schema }: Parameter, text: string): unknown {
  if (schema.type === 'integer') return Number(text);
  return schema.type === 'boolean' && /^(true|false)$/.test(text) ? text === 'true' : text;
}

/** The number of responses, by status, by operation ID. */
export type Report = Map<string, Map<number, number>>;

/** Operations that ignore undocumented query parameters, as their descriptions say. */
const ignoringParameters = new Set(['getResponse', 'listResponseInput']);

/** Operations that treat null fields as omitted, as the descriptions of their bodies say. */
const droppingNulls = new Set(['createMessage', 'countMessageTokens']);

/** Schemas of request parts that responses repeat with all fields that the client sent. */
const repeated = new Set([
  'ResponseFormat',
  'ResponseInputItem',
  'ResponseReasoning',
  'ResponseTextOptions',
  'ResponseTool',
  'ResponseToolChoice',
]);

/**
 * The document, with undocumented fields forbidden. Responses in OpenAI's format may contain any field of an upstream,
 * but those of the built-in engine contain only documented ones.
 */
function closed(document: OpenApi): OpenApi {
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => [
    name,
    repeated.has(name) || schema.properties === undefined || schema.additionalProperties === false
      ? schema
      : { ...schema, additionalProperties: false },
  ]);
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas) } };
}

/** A run of the test: sends requests from several workers at once, and counts the responses. */
export class Conformance {
  readonly report: Report = new Map();
  readonly client: Client;
  readonly document: OpenApi;
  readonly problemWith: ReturnType<typeof schemaChecker>;
  readonly newOwner: () => Promise<Owner>;
  readonly #workers: Worker[];

  /**
   * @param origin - the origin of the service
   * @param concurrency - the number of concurrent workers, each with its own account
   * @param newOwner - signs in to a new operator account
   */
  constructor(origin: string, document: OpenApi, concurrency: number, newOwner: () => Promise<Owner>) {
    this.newOwner = newOwner;
    this.client = new Client(origin, closed(document));
    this.document = document;
    this.problemWith = schemaChecker(document);
    for (const { operation } of callsOf(document)) this.report.set(operation.operationId, new Map());
    this.#workers = Array.from({ length: concurrency }, (_, index) => new Worker(this, index));
  }

  /** Lists of random inputs, one for each worker. */
  inputs(): Arbitrary<Input[]> {
    const one = fc.oneof(
      ...callsOf(this.document).map((call) => ({
        weight: endings.has(call.operation.operationId) ? 1 : 4,
        arbitrary: inputsOf(this.document, call),
      })),
    );
    return fc.array(one, { minLength: this.#workers.length, maxLength: this.#workers.length });
  }

  /** Sends ordinary inputs to each operation until one succeeds, at most `tries` times. */
  async succeed(seed: number, tries = 50): Promise<void> {
    for (const call of callsOf(this.document)) {
      const statuses = this.report.get(call.operation.operationId);
      for (const input of fc.sample(plainInputsOf(this.document, call), { seed, numRuns: tries })) {
        if ([...(statuses?.keys() ?? [])].some((status) => status < 300)) break;
        await this.check([input]);
      }
    }
  }

  /** Sends all inputs at once, and checks the responses. Throws an error that names the input and the problem. */
  async check(inputs: Input[]): Promise<void> {
    await Promise.all(
      inputs.map((input, index) =>
        this.#workers[index]?.check(input).catch((error) => {
          const { call, ...sent } = input;
          throw new Error(`${call.method} ${call.template} ${JSON.stringify(sent).slice(0, 2000)}`, {
            cause: error,
          });
        }),
      ),
    );
  }

  /** A line for each operation, with the number of responses by status. */
  lines(): string[] {
    return [...this.report].map(([operationId, statuses]) => {
      const counts = [...statuses].sort(([one], [other]) => one - other);
      return `${operationId.padEnd(24)} ${counts.map(([status, count]) => `${status}: ${count}`).join('  ')}`;
    });
  }

  /** The number of responses. */
  get requests(): number {
    return [...this.report.values()]
      .flatMap((statuses) => [...statuses.values()])
      .reduce((one, other) => one + other, 0);
  }
}

/** Sends requests for one account after another. */
class Worker {
  readonly #run: Conformance;
  /** The latest `next_cursor` of each list operation. */
  readonly #cursors = new Map<string, string>();
  /** Cursors from any list, for any account of this worker. */
  readonly #seen: string[] = [];
  /** The second byte of this worker's IP addresses. */
  readonly #network: number;
  #asked = 0;
  #account: Account | undefined;

  constructor(run: Conformance, network: number) {
    this.#run = run;
    this.#network = network;
  }

  async #prepared(): Promise<Account> {
    if (this.#account !== undefined && this.#account.requests++ < REQUESTS_PER_ACCOUNT) return this.#account;
    const { client } = this.#run;
    const owner = await this.#run.newOwner();
    await client.put('/webhook', { url: 'https://hooks.example.com' }, { cookie: owner.cookie });
    const { id } = await client.createKey(owner, { allowed_origins: [origin] });
    // Rotate the key, so that it has a previous secret.
    const rotated = await client.post(
      `/keys/${id}/rotate`,
      { grace_seconds: 604_800 },
      { cookie: owner.cookie },
    );
    const { key } = rotated.body;
    const sessions = await client.get('/sessions', { cookie: owner.cookie });
    const other = await client.signUp();
    const ids = {
      [own.account]: other.accountId,
      [own.email]: owner.email,
      [own.key]: id,
      [own.prefix]: (await client.createKey(other)).key_prefix,
      [own.session]: sessions.body.data[0].id,
    };
    this.#account = { ...owner, key, ids, requests: 0 };
    this.#cursors.clear();
    await this.#converse(this.#account);
    return this.#account;
  }

  /** Creates a conversation and a stored response. */
  async #converse({ cookie, ids, key }: Account): Promise<void> {
    const chat = await this.#run.client.post('/chat', { message: 'How do I create a key?' }, { key });
    const { conversation_id: conversation } = chat.body;
    ids[own.conversation] = conversation;
    const { body: kept } = await this.#run.client.get(`/conversations/${conversation}`, { cookie });
    ids[own.message] = kept.messages[0].id;
    const { body } = await this.#run.client.post('/responses', { input: 'How do I create a key?' }, { key });
    ids[own.response] = body.id;
    const items = await this.#run.client.get(`/responses/${body.id}/input_items`, { key });
    ids[own.responseItem] = items.body.first_id;
  }

  async check(input: Input): Promise<void> {
    const { call, credential, headers, raw } = input;
    const { operationId } = call.operation;
    const account = await this.#prepared();
    const filled = (value: unknown): unknown =>
      value === undefined
        ? undefined
        : JSON.parse(JSON.stringify(value), (_name, inner) =>
            typeof inner === 'string' && Object.hasOwn(account.ids, inner) ? account.ids[inner] : inner,
          );
    const query = input.query.flatMap(([name, value]): [string, string][] => {
      const cursor = this.#cursorOf(operationId, value);
      return cursor === undefined ? [] : [[name, String(filled(cursor))]];
    });
    const body = filled(input.body);
    const id = input.id === undefined ? '' : encodeURIComponent(String(filled(input.id)));
    const sent = [String(new URLSearchParams(query)), input.rawQuery ?? ''].filter(Boolean).join('&');
    const path = call.template.replace(/\{(id|prefix)\}/, () => input.rawId ?? id) + (sent && `?${sent}`);
    const options: RequestOptions = { headers: { ...headers, 'x-forwarded-for': this.#nextAddress() } };
    if (credential === 'key') options.key = account.key;
    if (credential === 'session') options.cookie = account.cookie;
    if (credential === 'invalid') options.key = 'parley_nonsense';
    if (raw !== undefined) options.raw = raw;
    else if (body !== undefined && call.method !== 'GET') options.body = body;
    const answer = await this.#run.client.request(call.method, `/${path}`, options);

    const statuses = this.#run.report.get(operationId);
    statuses?.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    assert.ok(answer.status < 500, `${operationId} returned ${answer.status}: ${answer.text.slice(0, 300)}`);
    if (answer.status < 300) {
      this.#assertFits({ ...input, query }, body);
      await this.#follow(operationId, account, answer.body);
      // Signing in, up, or out ends the session that was sent.
      if (answer.headers.has('set-cookie')) this.#account = undefined;
    } else if (answer.body?.error?.code === 'apiKeyLimitReached') this.#account = undefined;
  }

  /** Replaces the placeholder of a cursor. Returns undefined if no list has returned a cursor yet. */
  #cursorOf(operationId: string, value: string): string | undefined {
    if (value === own.cursor) return this.#cursors.get(operationId);
    if (value === own.foreignCursor) return this.#seen.at(-1);
    if (!value.startsWith(own.mutatedCursor)) return value;
    const [cursor] = this.#seen;
    if (cursor === undefined) return undefined;
    const at = Number.parseInt(value.slice(own.mutatedCursor.length), 10) % cursor.length;
    return cursor.slice(0, at) + value.at(-1) + cursor.slice(at + 1);
  }

  /** Changes the IP address after every 128 requests, because an address is limited to 300 pages a minute. */
  #nextAddress(): string {
    this.#asked += 1;
    return `10.${this.#network}.${(this.#asked >> 15) & 255}.${(this.#asked >> 7) & 255}`;
  }

  /** Updates the state of the account after a successful request. */
  async #follow(operationId: string, account: Account, body: Body): Promise<void> {
    if (endings.has(operationId)) this.#account = undefined;
    if (operationId === 'rotateKey' && body.id === account.ids[own.key]) account.key = body.key;
    if (operationId === 'updateAccount') account.ids[own.email] = body.email;
    if (operationId === 'deleteConversation' || operationId === 'deleteResponse')
      await this.#converse(account);
    if (!body?.next_cursor) return;
    this.#cursors.set(operationId, body.next_cursor);
    this.#seen.unshift(body.next_cursor);
    this.#seen.splice(50);
  }

  /** Asserts that the service accepted only documented input. */
  #assertFits({ call, headers, query, raw, rawQuery }: Input, body: unknown): void {
    const { document, problemWith } = this.#run;
    const { operation, template } = call;
    const where = operation.operationId;
    const schema = operation.requestBody?.content['application/json'].schema;
    if (schema !== undefined) {
      const sent = raw === undefined ? body : raw === '' ? undefined : JSON.parse(raw);
      // As `CreateApiKey.name` says, surrounding spaces are dropped.
      if (where === 'createKey' && typeof sent?.name === 'string') sent.name = sent.name.trim();
      if (droppingNulls.has(where) && sent !== undefined)
        for (const one of [sent, ...(sent.tools ?? [])])
          for (const name of Object.keys(one)) if (one[name] === null) delete one[name];
      const mayBeLeftOut = operation.requestBody?.required !== true;
      if (sent !== undefined || !mayBeLeftOut)
        assert.equal(problemWith(schema, sent), undefined, `${where} accepted ${JSON.stringify(sent)}`);
    }
    if (!template.startsWith('/api/v1')) return;
    const all = (operation.parameters ?? []).map((one) => resolved<Parameter>(document, one));
    // If two parameters have the same name, the service may use either.
    const named = rawQuery?.split('=', 1)[0];
    for (const [name, value] of query.filter(([name]) => name !== named)) {
      const parameter = all.find((one) => one.in === 'query' && one.name === name);
      if (parameter === undefined && ignoringParameters.has(where)) continue;
      assert.ok(parameter, `${where} accepted the parameter ${name}`);
      const problem = problemWith(parameter.schema, queryValue(parameter, value));
      assert.equal(problem, undefined, `${where} accepted ${name}=${value}`);
    }
    const retry = all.find((one) => one.in === 'header');
    const sent = headers['idempotency-key'];
    if (retry !== undefined && sent !== undefined)
      assert.equal(problemWith(retry.schema, sent), undefined, `${where} accepted Idempotency-Key: ${sent}`);
  }
}
