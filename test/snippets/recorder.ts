/** Stands between a page's snippets and the service, and remembers what the service answered. */
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
  /** What the snippets call in place of `http://localhost:3000`. */
  origin: string;
  /** Every answer, the oldest first. */
  answers: Recorded[];
};

/** Passes everything on to a service as it comes. It ends with the test. */
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
