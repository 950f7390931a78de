import t from 'tap';
import { Blocks } from '../../src/bodies/blocks.ts';

t.test('pieces of any size are returned unchanged and in order', async (t) => {
  const blocks = new Blocks();
  const pieces = [1, 70_000, 3, 4095, 4096, 65_536, 10, 4095, 4095].map((length, index) =>
    Buffer.alloc(length, index + 1),
  );
  for (const piece of pieces) blocks.add(piece);
  const whole = Buffer.concat(pieces);
  t.equal(blocks.length, whole.length);
  t.ok(blocks.toBuffer().equals(whole));
});

t.test('small pieces, alone or between large ones, use at most twice their size in memory', async (t) => {
  const before = process.memoryUsage().arrayBuffers;
  const large = Buffer.alloc(4096);
  const blocks = new Blocks();
  for (let index = 0; index < 1_000_000; index++) blocks.add(Buffer.from('x'));
  for (let index = 0; index < 1000; index++) {
    blocks.add(Buffer.from('x'));
    blocks.add(large);
  }
  const grown = process.memoryUsage().arrayBuffers - before;
  t.ok(grown < 2 * blocks.length, `${grown} bytes`);
  t.equal(blocks.toBuffer().length, 1_000_000 + 1000 * 4097);
});

t.test('a body of known length that arrives in one piece is not copied', async (t) => {
  const piece = Buffer.from('{}');
  const blocks = new Blocks(2);
  blocks.add(piece);
  t.equal(blocks.toBuffer(), piece);
});

t.test(
  'a body of known length uses no more memory than its length, and a longer one still arrives complete',
  async (t) => {
    const pieces = Array.from({ length: 10 }, () => Buffer.alloc(6000));
    const blocks = new Blocks(60_000);
    const before = process.memoryUsage().arrayBuffers;
    for (const piece of pieces) blocks.add(piece);
    const grown = process.memoryUsage().arrayBuffers - before;
    t.ok(grown <= 60_000, `${grown} bytes`);
    blocks.add(Buffer.from('more'));
    t.equal(blocks.toBuffer().toString('latin1', 60_000), 'more');
  },
);
