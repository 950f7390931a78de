/**
 * The test upstream: a small OpenAI-compatible server with a search endpoint, which runs in its own process. Tests can
 * configure its delays and faults. Tests and benchmarks start it through `client.ts`. To start it by hand:
 *
 *     node --import=ts-blank-space/register test/support/upstream/server.ts 9000
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { freePort } from '../programs.ts';
import { answerFault, errorBody } from './faults.ts';
import { type CallRecord, Records } from './records.ts';
import { type ChatBody, choicesOf, completionOf } from './replies.ts';
import { MODEL, type ServerSettings, type Settings, settingsOf, standard } from './settings.ts';
import { resetAfter, stream } from './streams.ts';
import { chatBodyOf, vendorAnswer, vendorOf } from './vendors.ts';
import { rest } from './wheel.ts';

type Json = Record<string, unknown>;

/** A PNG of one pixel. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const records = new Records();
let server: ServerSettings = {};
let faultsLeft = Number.POSITIVE_INFINITY;

const json = (
  response: ServerResponse,
  call: CallRecord,
  status: number,
  body: unknown,
  { cutBytes, fault }: Partial<Settings> = {},
) => {
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  if (fault === 'cut-bytes' && cutBytes !== undefined && cutBytes < Buffer.byteLength(sent)) {
    response.writeHead(status, { 'content-type': 'application/json' });
    return resetAfter(response, Buffer.from(sent).subarray(0, cutBytes));
  }
  records.wrote(call, Buffer.byteLength(sent));
  response.writeHead(status, { 'content-type': 'application/json' }).end(sent);
};

const modelList = () => ({
  object: 'list',
  data: [MODEL, `${MODEL}-small`].map((id) => ({
    id,
    object: 'model',
    created: 1_763_596_800,
    owned_by: 'test',
    permission: [],
  })),
});

const imageList = (body: Json, settings: Settings) => ({
  created: 1_763_596_800,
  data: Array.from({ length: choicesOf(body, settings) }, () => ({
    b64_json: PNG,
    revised_prompt: `A picture: ${body.prompt}`,
  })),
});

/** A vector that depends on the input. */
function vectorOf(input: unknown, dimensions: number): number[] {
  const seed = [...JSON.stringify(input).slice(0, 1000)].reduce(
    (sum, character) => sum + (character.codePointAt(0) ?? 0),
    1,
  );
  return Array.from({ length: dimensions }, (_, index) => Math.fround(Math.sin(seed + index)));
}

/** The embeddings, last input first, because clients must use the index. */
function embeddingList(body: Json, encoding: unknown) {
  const { dimensions = 8, input } = body as { dimensions?: number; input: unknown };
  const inputs = Array.isArray(input) && typeof input[0] !== 'number' ? (input as unknown[]) : [input];
  const encoded = (vector: number[]) =>
    encoding === 'base64' ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector;
  return {
    object: 'list',
    model: body.model ?? MODEL,
    data: inputs
      .map((one, index) => ({
        object: 'embedding',
        embedding: encoded(vectorOf(one, dimensions)),
        index,
      }))
      .reverse(),
    usage: { prompt_tokens: 3 * inputs.length, total_tokens: 3 * inputs.length },
  };
}

const searchPage = (query: string) => ({
  query,
  results: [1, 2, 3].map((place) => ({
    url: `https://example.com/${place}?q=${encodeURIComponent(query)}`,
    title: `Result <b>${place}</b> for ${query}`,
    content: `What page ${place} says of ${query} &amp; more.`,
    engine: 'test',
    score: 4 - place,
  })),
  suggestions: [],
});

const kindOf = (path: string) =>
  path.endsWith('/chat/completions') || vendorOf(path) !== undefined
    ? 'chat'
    : path.endsWith('/images/generations')
      ? 'images'
      : path.endsWith('/embeddings')
        ? 'embeddings'
        : path.endsWith('/models')
          ? 'models'
          : path.endsWith('/search')
            ? 'search'
            : 'other';

/** The error for a call with a wrong key or a field that the server does not support; undefined if there is none. */
function objection(
  request: IncomingMessage,
  body: Json,
): { status: number; settings: Partial<Settings> } | undefined {
  const { apiKey, refuses = [] } = server;
  if (apiKey && request.headers.authorization !== `Bearer ${apiKey}`)
    return { status: 401, settings: { code: 'invalid_api_key' } };
  const field = [...refuses, ...(String(body.model).startsWith('gpt-image') ? ['response_format'] : [])].find(
    (name) => name in body,
  );
  if (field === undefined) return undefined;
  return {
    status: 400,
    settings: { code: 'unknown_parameter', param: field, message: `Unknown parameter: '${field}'.` },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://upstream');
  const raw = await text(request);
  const given = (raw === '' ? {} : JSON.parse(raw)) as ChatBody;
  const kind = kindOf(url.pathname);
  const { headers, method = '' } = request;
  const call = records.begin(kind, { method, path: request.url ?? '', headers, body: given }, response);
  const vendor = vendorOf(url.pathname);
  const body = vendor === undefined ? given : chatBodyOf(vendor, given);

  const settings = settingsOf(server, body, raw);
  if (settings.fault !== 'none' && faultsLeft-- <= 0) settings.fault = 'none';
  await rest(settings.headersDelayMs);
  const refused = objection(request, body);
  if (refused !== undefined)
    return json(response, call, refused.status, errorBody(request, refused.settings));
  const isStream = kind === 'chat' && body.stream === true;
  if (answerFault(request, response, call, records, settings, isStream)) return;
  if (isStream) return stream(response, call, records, body, settings, server.events, vendor);

  await rest(settings.firstChunkDelayMs);
  const whole = () => (vendor ? vendorAnswer(vendor, body, settings) : completionOf(body, settings));
  if (kind === 'chat') json(response, call, 200, server.completion ?? whole(), settings);
  else if (kind === 'images') json(response, call, 200, server.images ?? imageList(body, settings));
  else if (kind === 'embeddings')
    json(
      response,
      call,
      200,
      server.embeddings ?? embeddingList(body, server.encoding ?? body.encoding_format),
    );
  else if (kind === 'models') json(response, call, 200, server.models ?? modelList());
  else if (kind === 'search' && url.searchParams.get('format') === 'json')
    json(response, call, 200, server.search ?? searchPage(url.searchParams.get('q') ?? ''));
  else json(response, call, 404, errorBody(request, { message: 'There is nothing here.' }));
}

const upstream = createServer((request, response) => {
  answer(request, response).catch((error) => response.destroy(error));
});
upstream.keepAliveTimeout = 5000;
upstream.on('connection', () => {
  records.counters.connections += 1;
});
const port = Number(process.argv[2] ?? (await freePort()));

/** Listens on the same port as before, or stops listening and closes every connection. */
function listen(isWanted: boolean): Promise<void> {
  if (isWanted === upstream.listening) return Promise.resolve();
  return new Promise((resolve) => {
    if (isWanted) return void upstream.listen(port, '127.0.0.1', 4096, resolve);
    upstream.close(() => resolve());
    upstream.closeAllConnections();
  });
}

/** `GET /calls`, `POST /reset`, and `POST /configure` with settings that replace all others. Each returns the calls. */
const control = createServer(async (request, response) => {
  const raw = await text(request);
  if (request.url === '/reset') records.reset();
  if (request.url === '/reset' || request.url === '/configure') {
    server = raw === '' ? {} : (JSON.parse(raw) as ServerSettings);
    faultsLeft = server.faultTimes || Number.POSITIVE_INFINITY;
    await listen((server.fault ?? standard.fault) !== 'refuse');
  }
  // Reusing a connection that is about to close would fail a test.
  response.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify(records.calls()));
});

// Exit if the test process exits.
process.on('disconnect', () => process.exit());
await listen(true);
control.listen(0, '127.0.0.1', () => {
  const origin = `http://127.0.0.1:${port}`;
  const controlUrl = `http://127.0.0.1:${(control.address() as AddressInfo).port}`;
  if (process.send) process.send({ origin, controlUrl });
  else process.stdout.write(`${JSON.stringify({ origin, controlUrl })}\n`);
});
