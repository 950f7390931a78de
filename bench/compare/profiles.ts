/** Reads V8's profiles: the cost of each function without what it calls. */
import fs from 'node:fs';

/** Of a function: milliseconds, or kilobytes. */
export type Cost = { name: string; place: string; self: number };

type CallFrame = { functionName: string; url: string; lineNumber: number };
type CpuProfile = { nodes: { id: number; callFrame: CallFrame }[]; samples: number[]; timeDeltas: number[] };
type HeapNode = { callFrame: CallFrame; selfSize: number; children: HeapNode[] };

/** Adds up what one function costs at all its places in the tree. */
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

/** Memory that a function allocated, in kilobytes, most first. V8 samples it. */
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
