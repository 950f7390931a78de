/** A proxy between a page's snippets and the service, which records the responses of the service. */
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

export type Recorded = {
  method: string;
  path: string;
  status: number;
  headers: Record<string, string>;
  body: string;
};

export type Recorder = {
  /** The origin that the snippets call instead of `http://localhost:3000`. */
  origin: string;
  /** Every response, oldest first. */
  answers: Recorded[];
};

/** Starts a proxy that streams everything to and from a service. It stops when the test ends. */
export async function startRecorder(t: Test, service: string): Promise<Recorder> {
  const answers: Recorded[] = [];
  const server = createServer((request, response) => {
    const { headers, method = '', url: path = '' } = request;
    const onward = httpRequest(service + path, { method, headers }, (answer) => {
      const status = answer.statusCode ?? 502;
      const recorded = { method, path, status, headers: answer.headers as Record<string, string>, body: '' };
      answers.push(recorded);
      response.writeHead(status, answer.headers);
      answer.setEncoding('utf8').on('data', (text) => {
        recorded.body += text;
        response.write(text);
      });
      answer.on('end', () => response.end());
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, answers };
}
