import { existsSync, readFileSync } from 'node:fs';
import { projectRoot } from '../project.ts';

/** Output folder of the `dashboard` step in `tools/prepare`. */
export const builtDashboard = new URL('dist/dashboard/', projectRoot);

const index = new URL('index.html', builtDashboard);

/** The HTML of the dashboard, with a placeholder for the nonce. Undefined if the dashboard is not built. */
export const dashboardIndex = existsSync(index) ? readFileSync(index, 'utf8') : undefined;

/** False if the service runs without a dashboard. */
export const isDashboardBuilt = dashboardIndex !== undefined;
