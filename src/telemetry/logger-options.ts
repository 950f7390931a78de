import { hostname } from 'node:os';
import { withoutApiKeys } from '../domain/api-key.ts';

/** Options that all log lines of a process share. `worker` is the worker's number, if there are several. */
export const loggerOptions = (level: string, worker?: number) => ({
  level,
  base: { pid: process.pid, hostname: hostname(), ...(worker !== undefined && { worker }) },
  // Filters every log line last, because addresses, errors, and causes can repeat client input.
  hooks: { streamWrite: withoutApiKeys },
  ...(process.stdout.isTTY && {
    transport: {
      target: 'pino-pretty',
      options: { ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' },
    },
  }),
});
