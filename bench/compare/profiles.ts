/** Reads V8's profiles: the self cost of each function. */
import fs from 'node:fs';

/** The cost of a function, in milliseconds or kilobytes. */
export type Cost = { name: string; place: string; self: number };

type CallFrame = { functionName: string; url: string; lineNumber: number };
type CpuProfile = { nodes: { id: number; callFrame: CallFrame }[]; samples: number[]; timeDeltas: number[] };
type HeapNode = { callFrame: CallFrame; selfSize: number; children: HeapNode[] };

/** Returns a package, `node`, or a folder of this project. V8's internal work keeps its name. */
export function moduleOf({ name, place }: Cost): string {
  const [file = ''] = place.split(':').slice(place.startsWith('node:') ? 1 : 0);
  if (place === '') return /^\(/.test(name) ? name : 'system calls and other native code';
  if (place.startsWith('node:')) return 'node';
  const parts = file.split('/');
  return parts.slice(0, file.startsWith('@') || file.startsWith('src/') ? 2 : 1).join('/');
}

/** Sums the costs by module, highest first. */
export function byModule(costs: Cost[]): Cost[] {
  const sums = new Map<string, number>();
  for (const cost of costs) sums.set(moduleOf(cost), (sums.get(moduleOf(cost)) ?? 0) + cost.self);
  return [...sums].map(([name, self]) => ({ name, place: '', self })).sort((a, b) => b.self - a.self);
}

/** Sums the costs of each function across the tree. */
function byFunction(costs: Iterable<{ callFrame: CallFrame; self: number }>, root: string): Cost[] {
  const found = new Map<string, Cost>();
  for (const { callFrame, self } of costs) {
    const { functionName, lineNumber, url } = callFrame;
    const file = url.replace('file://', '').replace(root, '').replace('node_modules/', '');
    const place = file === '' ? '' : `${file}:${lineNumber + 1}`;
    const name = functionName || '(anonymous)';
    const cost = found.get(`${name} ${place}`);
    if (cost === undefined) found.set(`${name} ${place}`, { name, place, self });
    else cost.self += self;
  }
  return [...found.values()].sort((a, b) => b.self - a.self);
}

/** Self time in milliseconds, longest first, without idle time. */
export function readCpuProfile(file: string, root: string): Cost[] {
  const { nodes, samples, timeDeltas } = JSON.parse(fs.readFileSync(file, 'utf8')) as CpuProfile;
  const frames = new Map(nodes.map(({ callFrame, id }) => [id, callFrame]));
  const costs = samples.flatMap((id, index) => {
    const callFrame = frames.get(id);
    if (callFrame === undefined || callFrame.functionName === '(idle)') return [];
    return [{ callFrame, self: (timeDeltas[index] ?? 0) / 1000 }];
  });
  return byFunction(costs, root);
}

/** Sampled memory that each function allocated, in kilobytes, highest first. */
export function readHeapProfile(file: string, root: string): Cost[] {
  const { head } = JSON.parse(fs.readFileSync(file, 'utf8')) as { head: HeapNode };
  const costs: { callFrame: CallFrame; self: number }[] = [];
  const open = [head];
  for (const { callFrame, children, selfSize } of open) {
    costs.push({ callFrame, self: selfSize / 1000 });
    open.push(...children);
  }
  return byFunction(costs, root);
}
