import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const service = 'http://localhost:3000';

export default defineConfig({
  plugins: [react()],
  build: {
    // These versions support light-dark(). The polyfill for older ones ignores Mantine's color scheme.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The Content-Security-Policy forbids inline assets.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { fs: { allow: ['..'] }, proxy: { '/api': service, '/docs': service, '/openapi.json': service } },
});
