/** Measures the effect of one fault under load. */
import { setTimeout as sleep } from 'node:timers/promises';
import { settled } from '../support/ledger-state.ts';
import type { Cluster } from './cluster.ts';
import { primaryUrl } from './edge.ts';
import type { Fault } from './faults.ts';
import { Load } from './load.ts';

const BEFORE_MS = 4000;
/** After this time without a failure, the service has recovered. */
const QUIET_MS = 5000;
/** A lease and a sweep (contract section 5), and some time for a busy machine. */
const SETTLED_WITHIN_MS = 90_000;
const RECOVERED_WITHIN_MS = 120_000;

const names = ['fault', 'requests', 'refused', 'failed', 'lost', 'overspent', 'recovery', 'audit'];
const widths = [34, 8, 7, 6, 4, 9, 8, 5];
const line = (cells: unknown[]) =>
  cells
    .map((cell, n) => (n === 0 ? String(cell).padEnd(widths[n] ?? 0) : String(cell).padStart(widths[n] ?? 0)))
    .join('  ');

/** The header line of the table. */
export const columns = (): string => line(names);

/** Waits until requests no longer fail. Returns false if that takes too long. */
async function recovered(load: Load): Promise<boolean> {
  for (const end = performance.now() + RECOVERED_WITHIN_MS; performance.now() < end; await sleep(200)) {
    const quietSince = performance.now() - QUIET_MS;
    const served = load.servedAt.filter((at) => at > quietSince).length;
    if (served > 20 && (load.failedAt.at(-1) ?? 0) < quietSince) return true;
  }
  return false;
}

export type Measured = {
  /** A line of the table. */
  row: string;
  /** Violations of the contract, and alerts that did not fire or fired by mistake. */
  problems: string[];
  /** The names of the alerts that fired. */
  fired: string[];
  /** How often the service returned each status or error code. */
  answers: Record<string, number>;
};

/** Injects a fault under load, waits for the recovery, and checks the ledger, the keys, and the alerts. */
export async function measure(cluster: Cluster, fault: Fault): Promise<Measured> {
  const { alerts: expected = [], falseAlerts = [] } = fault;
  await fault.prepare?.(cluster);
  await cluster.alerts.quiet([...expected, ...falseAlerts]);
  const load = await Load.prepare(cluster.client);
  load.start();
  await sleep(BEFORE_MS);
  const from = performance.now();
  const problems: string[] = [];
  if (load.failedAt.length > 0) problems.push(`${load.failedAt.length} requests failed before the fault.`);
  await fault.inflict(cluster);
  if (!(await recovered(load)))
    problems.push(`The service did not recover within ${RECOVERED_WITHIN_MS / 1000} s.`);
  const fired = await cluster.alerts.fired(performance.now() - from);
  for (const alert of expected) if (!fired.includes(alert)) problems.push(`The alert ${alert} did not fire.`);
  for (const alert of falseAlerts)
    if (fired.includes(alert)) problems.push(`The alert ${alert} fired by mistake.`);
  const recoveryMs = Math.max(0, ...load.failedAt.map((at) => at - from));
  await load.stop();
  await cluster.healthy();
  await settled(primaryUrl, SETTLED_WITHIN_MS);
  const verdict = await load.history.check(primaryUrl, { ceiling: load.ceiling, hasRetries: true });
  await load.keys.check(cluster.replicas.map(({ origin }) => origin));
  // A run across the real midnight has one more day, which is fine.
  if (verdict.days < (fault.days ?? 1)) problems.push(`All requests were charged on ${verdict.days} day.`);
  const wrong = [...verdict.faults, ...load.faults, ...load.keys.faults];
  problems.push(...wrong);
  const row = line([
    fault.name,
    load.history.seen.length + load.keys.requests,
    verdict.refused,
    load.failedAt.length + load.keys.failed,
    verdict.lost,
    verdict.overspent,
    `${(recoveryMs / 1000).toFixed(1)} s`,
    wrong.length === 0 ? 'ok' : 'WRONG',
  ]);
  return { row, problems, fired, answers: load.history.summary() };
}
