import { hostname } from 'node:os';
import { withoutApiKeys } from '../domain/api-key.ts';

/** What all log lines of a process have in common. `worker` is its number, if it is one of several. */
export const loggerOptions = (level: string, worker?: number) => ({
  level,
  base: { pid: process.pid, hostname: hostname(), ...(worker !== undefined && { worker }) },
  // The last filter for every log line: addresses, errors and causes can repeat client input.
  hooks: { streamWrite: withoutApiKeys },
  ...(process.stdout.isTTY && {
    transport: {
      target: 'pino-pretty',
      options: { ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' },
    },
  }),
});
