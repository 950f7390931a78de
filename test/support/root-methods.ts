/**
 * What a test file may call on the `t` that it imports: in the pool's processes, these methods go to the file's own test.
 * Any other would reach the root that all files of a process share, so that, say, a hook would run in later files too.
 */
export const calledOnRoot = [
  ...[
    'test',
    'skip',
    'todo',
    'before',
    'beforeEach',
    'after',
    'afterEach',
    'teardown',
    'setTimeout',
    'testdir',
  ],
  ...['comment', 'pass', 'fail', 'ok', 'notOk', 'equal', 'same', 'strictSame', 'match', 'throws', 'rejects'],
] as const;
