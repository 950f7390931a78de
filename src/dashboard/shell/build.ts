const CHECK_TIMEOUT_MS = 5000;

/** The entry script. Its name contains a hash of everything that the dashboard loads. */
const entry = document.querySelector<HTMLScriptElement>('script[type=module][src]')?.getAttribute('src');

/** Whether the service has been updated since this page loaded. False if the service is unreachable. */
export async function wasUpdated(): Promise<boolean> {
  if (!navigator.onLine || !entry) return false;
  try {
    const response = await fetch('/', { cache: 'no-store', signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) });
    return response.ok && !(await response.text()).includes(entry);
  } catch {
    return false;
  }
}
