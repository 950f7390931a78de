import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where `npm run dev` finds the service; its own pages and everything else come from Vite. */
const service = 'http://localhost:3000';

export default defineConfig({
  plugins: [react()],
  build: {
    // These know light-dark() themselves; what stands in for it elsewhere never looks at Mantine's colour scheme.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The policy of the page lets in files of the own origin, nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // The SDK, which the dashboard is built with, stands beside it.
  server: { fs: { allow: ['..'] }, proxy: { '/api': service, '/docs': service, '/openapi.json': service } },
});
