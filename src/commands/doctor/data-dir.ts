/** Checks the folder of the embedded database. Contract section 11. */
import { access, constants, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Config } from '../../config.ts';
import { type Finding, isError, isWarning, reasonOf } from './finding.ts';

const GIB = 1024 ** 3;

/** The number of bytes that this user can still write. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

async function checkAccess(folder: string): Promise<Finding[]> {
  const { mode, uid } = await stat(folder);
  const findings: Finding[] = [];
  if ((mode & 0o007) !== 0)
    findings.push(
      isError(
        'DATA_DIR',
        `Every user of this machine has access to ${folder} (mode ${(mode & 0o777).toString(8)}).`,
        `Run: chmod 700 ${folder}`,
      ),
    );
  const own = process.getuid?.();
  if (own !== undefined && own !== 0 && uid !== own)
    findings.push(
      isWarning(
        'DATA_DIR',
        `${folder} belongs to another user (${uid}).`,
        'Run this command as the user who runs the service, or make that user the owner.',
      ),
    );
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    findings.push(
      isError(
        'DATA_DIR',
        `This user cannot write to ${folder}.`,
        'Make this user its owner, mount it read-write, or set DATA_DIR to another folder.',
      ),
    );
  }
  return findings;
}

function checkSpace(folder: string, free: number): Finding[] {
  const mib = Math.floor(free / 1024 / 1024);
  const remedy = `Free up space on the file system of ${folder}, or lower REQUEST_LOG_DAYS.`;
  if (free < GIB / 10)
    return [isError('DATA_DIR', `Only ${mib} MiB are free: the database is about to stop.`, remedy)];
  if (free < GIB) return [isWarning('DATA_DIR', `Only ${mib} MiB are free.`, remedy)];
  return [];
}

/** The folder itself, or its nearest ancestor that exists. */
async function existing(folder: string): Promise<string> {
  try {
    await stat(folder);
    return folder;
  } catch (error) {
    if (reasonOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    return existing(dirname(folder));
  }
}

export async function checkDataDir(
  { dataDir, databaseUrl }: Config,
  spaceOf: typeof freeBytes,
): Promise<Finding[]> {
  if (databaseUrl !== undefined) return [];
  try {
    const folder = await existing(dataDir);
    const findings = folder === dataDir ? await checkAccess(folder) : [];
    if (folder !== dataDir)
      await access(folder, constants.W_OK).catch(() => {
        findings.push(
          isError(
            'DATA_DIR',
            `${dataDir} does not exist, and this user cannot create it.`,
            `Create it as the user who runs the service, or set DATA_DIR to another folder.`,
          ),
        );
      });
    return [...findings, ...checkSpace(folder, await spaceOf(folder))];
  } catch (error) {
    return [
      isError(
        'DATA_DIR',
        `${dataDir} cannot be used (${reasonOf(error)}).`,
        'Set DATA_DIR to a folder that this user owns.',
      ),
    ];
  }
}
