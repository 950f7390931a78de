/** Programs that users start, and programs that run in worker threads. */
export const programs = [
  'main',
  'bodies/worker',
  'commands/audit',
  'commands/parley',
  'commands/reset-password',
  'commands/set-plan',
  'database/embedded-thread',
];
