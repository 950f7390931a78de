/** A collector that receives spans with OTLP over HTTP, as protobuf messages of opentelemetry-proto 1.x. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';

export type Value = string | number | boolean | Value[];
export type CollectedSpan = {
  name: string;
  traceId: string;
  spanId: string;
  parentId: string;
  state: string;
  kind: 'server' | 'client' | undefined;
  /** Milliseconds. */
  duration: number;
  attributes: Record<string, Value>;
  events: string[];
  isError: boolean;
  resource: Record<string, Value>;
};

type Field = { number: number; bytes: Buffer; integer: bigint };

/** Decodes the fields of a message: length-delimited, 64-bit, 32-bit, or varint. */
function fieldsOf(bytes: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (length: number) => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [number, type] = [tag >> 3, tag & 7];
    if (type === 0) fields.push({ number, bytes: Buffer.alloc(0), integer: varint() });
    else if (type === 2) fields.push({ number, bytes: take(Number(varint())), integer: 0n });
    else {
      const fixed = take(type === 1 ? 8 : 4);
      fields.push({ number, bytes: fixed, integer: type === 1 ? fixed.readBigUInt64LE() : 0n });
    }
  }
  return fields;
}

const all = (fields: Field[], number: number) => fields.filter((field) => field.number === number);
const first = (fields: Field[], number: number) => all(fields, number)[0];
const textOf = (field: Field | undefined) => field?.bytes.toString() ?? '';
const hexOf = (field: Field | undefined) => field?.bytes.toString('hex') ?? '';

function anyValueOf(bytes: Buffer): Value {
  const [field] = fieldsOf(bytes);
  if (field === undefined) return '';
  if (field.number === 1) return field.bytes.toString();
  if (field.number === 2) return field.integer === 1n;
  if (field.number === 3) return Number(field.integer);
  if (field.number === 4) return field.bytes.readDoubleLE();
  return fieldsOf(field.bytes).map((one) => anyValueOf(one.bytes));
}

const attributesOf = (fields: Field[], number: number): Record<string, Value> =>
  Object.fromEntries(
    all(fields, number).map(({ bytes }) => {
      const pair = fieldsOf(bytes);
      return [textOf(first(pair, 1)), anyValueOf(first(pair, 2)?.bytes ?? Buffer.alloc(0))];
    }),
  );

function spanOf(bytes: Buffer, resource: Record<string, Value>): CollectedSpan {
  const fields = fieldsOf(bytes);
  const [start = 0n, end = 0n] = [7, 8].map((number) => first(fields, number)?.integer);
  const kind = Number(first(fields, 6)?.integer ?? 0n);
  const status = first(fields, 15);
  return {
    traceId: hexOf(first(fields, 1)),
    spanId: hexOf(first(fields, 2)),
    state: textOf(first(fields, 3)),
    parentId: hexOf(first(fields, 4)),
    name: textOf(first(fields, 5)),
    kind: kind === 2 ? 'server' : kind === 3 ? 'client' : undefined,
    duration: Number(end - start) / 1e6,
    attributes: attributesOf(fields, 9),
    events: all(fields, 11).map((event) => textOf(first(fieldsOf(event.bytes), 2))),
    isError: status !== undefined && first(fieldsOf(status.bytes), 3)?.integer === 2n,
    resource,
  };
}

const spansOf = (body: Buffer): CollectedSpan[] =>
  all(fieldsOf(body), 1).flatMap(({ bytes }) => {
    const group = fieldsOf(bytes);
    const resource = attributesOf(fieldsOf(first(group, 1)?.bytes ?? Buffer.alloc(0)), 1);
    return all(group, 2).flatMap((scope) =>
      all(fieldsOf(scope.bytes), 2).map((span) => spanOf(span.bytes, resource)),
    );
  });

/**
 * What the collector has received: the spans, the raw bodies, and for each request its method, path, and content type.
 */
export type Collector = { url: string; spans: CollectedSpan[]; bodies: Buffer[]; paths: string[] };

/** Starts a collector, which stops when the test ends. */
export async function startCollector(t: Test): Promise<Collector> {
  const collector: Collector = { url: '', spans: [], bodies: [], paths: [] };
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    collector.paths.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
    collector.bodies.push(body);
    collector.spans.push(...spansOf(body));
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return collector;
}
