/** Which build of the dashboard this tab runs, and whether the service serves another one now. */
const CHECK_TIMEOUT_MS = 5000;

/** The entry script: its name holds a hash of everything that the dashboard loads. */
const entry = document.querySelector<HTMLScriptElement>('script[type=module][src]')?.getAttribute('src');

/** Asks the service once; false where it cannot be asked. */
export async function wasUpdated(): Promise<boolean> {
  if (!navigator.onLine || !entry) return false;
  try {
    const response = await fetch('/', { cache: 'no-store', signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) });
    return response.ok && !(await response.text()).includes(entry);
  } catch {
    return false;
  }
}
