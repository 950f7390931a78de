/** Checks whether the service can listen, or already does. Contract section 13. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../../config.ts';
import { type Finding, isError, reasonOf } from './finding.ts';

const TIMEOUT_MS = 3000;

async function isParley(host: string, port: number): Promise<boolean> {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host;
  try {
    const response = await fetch(`http://${reachable}:${port}/healthz`, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.arrayBuffer();
    return response.ok && response.headers.has('x-request-id');
  } catch {
    return false;
  }
}

export async function checkListening({ host, port }: Config): Promise<Finding[]> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return [];
  } catch (error) {
    const code = reasonOf(error);
    if (code === 'EADDRINUSE') {
      if (await isParley(host, port)) return [];
      return [
        isError(
          'PORT',
          `Another program is using port ${port} on ${host}.`,
          'Stop that program, or set PORT to another port.',
        ),
      ];
    }
    if (code === 'EACCES')
      return [
        isError('PORT', `This user is not allowed to listen on port ${port}.`, 'Set PORT to 1024 or above.'),
      ];
    return [
      isError(
        'HOST',
        `${host} is not an address of this machine (${code}).`,
        'Set HOST to an address of this machine, such as 127.0.0.1 or 0.0.0.0.',
      ),
    ];
  } finally {
    server.close();
  }
}
