import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

type Row = { pid: number; parent: number; state: string };

/** The IDs of a process and all its descendants, parents before children. */
export function processTree(pid: number): number[] {
  const rows = processes();
  const tree = [pid];
  for (const one of tree) tree.push(...rows.filter((row) => row.parent === one).map((row) => row.pid));
  return tree;
}

/** Sends a signal to each process that still exists. */
export function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Whether a process is running. False for a zombie, which can remain in containers without an init. */
export function isAlive(pid: number): boolean {
  const row = process.platform === 'linux' ? fromProc(pid) : fromPs(['-p', String(pid)])[0];
  return row !== undefined && !row.state.startsWith('Z');
}

function processes(): Row[] {
  if (process.platform !== 'linux') return fromPs(['-A']);
  return fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => fromProc(Number(name)))
    .filter((row) => row !== undefined);
}

/** Reads `/proc/<pid>/stat`, which is `pid (name) state parent …`, where the name may contain any character. */
function fromProc(pid: number): Row | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { pid, parent: Number(parent), state };
  } catch {
    return undefined;
  }
}

function fromPs(selection: string[]): Row[] {
  let output = '';
  try {
    output = execFileSync('ps', [...selection, '-o', 'pid=,ppid=,stat='], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
  } catch {}
  return output
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [pid, parent, state = ''] = line.trim().split(/\s+/);
      return { pid: Number(pid), parent: Number(parent), state };
    });
}
