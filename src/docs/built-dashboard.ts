import { existsSync, readFileSync } from 'node:fs';
import { projectRoot } from '../project.ts';

/** Output folder of the prepare step `dashboard`. */
export const builtDashboard = new URL('dist/dashboard/', projectRoot);

const index = new URL('index.html', builtDashboard);

/** The dashboard's page, with a placeholder for the nonce. */
export const dashboardIndex = existsSync(index) ? readFileSync(index, 'utf8') : undefined;

/** The service also runs without a dashboard. */
export const isDashboardBuilt = dashboardIndex !== undefined;
