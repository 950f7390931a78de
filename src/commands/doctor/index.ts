/** `parley doctor` finds faults of an installation and explains how to fix them. Contract section 17. */
import { readFileSync } from 'node:fs';
import type { Env } from '../../environment.ts';
import { projectRoot } from '../../project.ts';
import type { LocalCommand } from '../command.ts';
import { counted } from '../counted.ts';
import { checkCollector } from './collector.ts';
import { checkSettings, readConfiguration } from './configuration.ts';
import { checkConnection } from './connection.ts';
import { checkDataDir, freeBytes } from './data-dir.ts';
import { type Finding, isError } from './finding.ts';
import { checkListening } from './listening.ts';
import { checkRedis } from './redis.ts';
import { checkUpstreams } from './upstreams.ts';

/** The properties of the machine that a test must replace. */
export type Machine = { freeBytes: typeof freeBytes; nodeVersion: string };

const thisMachine: Machine = { freeBytes, nodeVersion: process.versions.node };

function checkNode(version: string): Finding[] {
  const { engines } = JSON.parse(readFileSync(new URL('package.json', projectRoot), 'utf8'));
  const oldest = String(engines.node).replace('>=', '');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldest.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return [];
  return [
    isError('Node.js', `This is Node.js ${version}; Parley needs ${oldest} or later.`, 'Install Node.js 24.'),
  ];
}

/** Returns all findings, errors first. */
export async function diagnose(env: Env, machine: Machine = thisMachine): Promise<Finding[]> {
  const { config, findings } = readConfiguration(env);
  const checks = await Promise.all([
    checkNode(machine.nodeVersion),
    checkSettings(env, config),
    checkListening(config),
    checkDataDir(config, machine.freeBytes),
    checkConnection(config),
    checkRedis(config),
    checkUpstreams(config),
    checkCollector(config),
  ]);
  const all = [...findings, ...checks.flat()];
  return [...all.filter(({ level }) => level === 'error'), ...all.filter(({ level }) => level === 'warning')];
}

export const doctor: LocalCommand = {
  name: 'doctor',
  summary:
    'Check the configuration, database, Redis, upstreams, and this machine, and explain how to fix problems.',
  parameters: [],
  details: ['Run it with the environment of the service. The exit status is 1 if there are errors.'],
  runHere: async (_input, env) => {
    const findings = await diagnose(env);
    const errors = findings.filter(({ level }) => level === 'error').length;
    const text = findings.flatMap(({ about, level, problem, remedy }) => [
      `${level === 'error' ? 'Error  ' : 'Warning'}  ${about}: ${problem}`,
      `         What to do: ${remedy}`,
    ]);
    const summary =
      findings.length === 0
        ? 'No problems found.'
        : `${counted(errors, 'error')}, ${counted(findings.length - errors, 'warning')}.`;
    return { text: [...text, summary], value: { findings }, isBad: errors > 0 };
  },
};
