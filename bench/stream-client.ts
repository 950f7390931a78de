/**
 * The load client of `stream.ts`, in a separate process. Opens streams and reads each to its end. A stream is broken
 * unless every chunk arrives in order, followed by `[DONE]`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, type Dispatcher } from 'undici';
import type { FromClient, Load, LoadResult } from './support/load.ts';
import { Samples } from './support/samples.ts';

type Measures = { firstByte: Samples; chunkDelay: Samples; chunkGap: Samples; chunks: number };

const wallMs = () => performance.timeOrigin + performance.now();

class Follower {
  readonly #measures: Measures | undefined;
  #rest = '';
  #lastAt = 0;
  #isDone = false;
  chunks = 0;
  fault: string | undefined;

  constructor(measures: Measures | undefined) {
    this.#measures = measures;
  }

  read(piece: Buffer): void {
    const at = wallMs();
    const text = this.#rest + piece.toString('latin1');
    let from = 0;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n', from)) {
      this.#event(text.slice(from, end), at);
      from = end + 2;
    }
    this.#rest = text.slice(from);
  }

  #event(event: string, at: number): void {
    if (event === 'data: [DONE]') this.#isDone = true;
    else if (event.includes('"content":" ')) this.#chunk(event, at);
    else if (event.includes('"error":')) this.fault ??= 'an error in the stream';
  }

  #chunk(event: string, at: number): void {
    if (!event.includes(`"content":" ${this.chunks}x`)) this.fault ??= 'a chunk is missing or out of order';
    this.chunks += 1;
    if (this.#measures === undefined) return;
    this.#measures.chunks += 1;
    const stamp = event.indexOf('"sent_at":');
    if (stamp === -1) this.fault ??= 'a chunk without a timestamp';
    this.#measures.chunkDelay.add(at - Number.parseFloat(event.slice(stamp + 10, stamp + 30)));
    if (this.#lastAt > 0) this.#measures.chunkGap.add(at - this.#lastAt);
    this.#lastAt = at;
  }

  /** Returns the reason if the stream is broken. Call it after the stream ends. */
  verdict(chunks: number): string | undefined {
    if (this.fault !== undefined) return this.fault;
    if (this.chunks !== chunks) return `${this.chunks} of ${chunks} chunks`;
    return this.#isDone ? undefined : 'no [DONE]';
  }
}

/** Reads a stream to its end. Returns the reason if it is broken. */
function readStream(
  agent: Agent,
  { chunks, model, url }: Load,
  key: string,
  measures: Measures | undefined,
): Promise<string | undefined> {
  const { origin, pathname } = new URL(url);
  const body = JSON.stringify({
    model,
    stream: true,
    messages: [{ role: 'user', content: 'Count as far as you can.' }],
  });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const follower = new Follower(measures);
  const startedAt = performance.now();
  let isFirst = true;
  return new Promise((resolve) => {
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart() {},
      onResponseStart(_controller, status) {
        if (status !== 200) follower.fault = `status ${status}`;
      },
      onResponseData(_controller, piece) {
        if (isFirst) measures?.firstByte.add(performance.now() - startedAt);
        isFirst = false;
        follower.read(piece);
      },
      onResponseEnd: () => resolve(follower.verdict(chunks)),
      onResponseError: (_controller, error) => resolve(follower.fault ?? `${error.name}: ${error.message}`),
    };
    agent.dispatch({ origin, path: pathname, method: 'POST', headers, body }, handler);
  });
}

async function run(load: Load): Promise<LoadResult> {
  const agent = new Agent({ bodyTimeout: 60_000, headersTimeout: 60_000 });
  const measures: Measures = {
    firstByte: new Samples(),
    chunkDelay: new Samples(),
    chunkGap: new Samples(),
    chunks: 0,
  };
  const broken: Record<string, number> = {};
  let streams = 0;

  async function place(number: number): Promise<void> {
    await sleep((number * load.rampMs) / load.streams);
    for (let generation = 0; generation < load.generations; generation += 1) {
      const isMeasured = generation > 0 || load.generations === 1;
      const key = load.keys[number % load.keys.length] ?? '';
      const fault = await readStream(agent, load, key, isMeasured ? measures : undefined);
      streams += 1;
      if (fault !== undefined) broken[fault] = (broken[fault] ?? 0) + 1;
    }
  }

  await Promise.all(Array.from({ length: load.streams }, (_, number) => place(number)));
  await agent.close();
  return {
    streams,
    broken,
    chunks: measures.chunks,
    firstByte: measures.firstByte.spread(),
    chunkDelay: measures.chunkDelay.spread(),
    chunkGap: measures.chunkGap.spread(),
  };
}

const send = (message: FromClient) => process.send?.(message);
process.on('message', async (load: Load) => send(await run(load)));
process.on('disconnect', () => process.exit());
send({ ready: true });
