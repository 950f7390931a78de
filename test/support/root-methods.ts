/**
 * The methods that a test file may call on the `t` that it imports. In the pool's processes, they apply to the file's
 * test. Other methods would apply to the root that all files of a process share. A hook, for example, would run in
 * later files.
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
