import '@fontsource-variable/inter/index.css';
import '@mantine/core/styles.layer.css';
import './base.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/queries.ts';
import { App } from './app.tsx';
import { ErrorBoundary } from './shell/error-boundary.tsx';
import {
  followOtherTabs,
  language,
  loadLanguage,
  onLanguageChange,
  preferredLanguage,
} from './texts/language.ts';
import { resolveVariables, themeInWords } from './theme.ts';

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
// The scroll lock of dialogs gets the nonce only from here.
setNonce(nonce);

const root = document.getElementById('root');
if (root === null) throw new Error('There is no #root in index.html.');

const page = createRoot(root);

const render = () =>
  page.render(
    <StrictMode>
      <MantineProvider
        theme={themeInWords()}
        cssVariablesResolver={resolveVariables}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
      >
        {/* The key renders everything again in another language. */}
        <ErrorBoundary key={language}>
          <QueryClientProvider client={queryClient}>
            <App />
          </QueryClientProvider>
        </ErrorBoundary>
      </MantineProvider>
    </StrictMode>,
  );

onLanguageChange(() => {
  const focused = document.activeElement?.id ?? '';
  flushSync(render);
  document.getElementById(focused)?.focus({ preventScroll: true });
});
followOtherTabs();

// Render after the texts have loaded, so that no other language flashes.
await loadLanguage(preferredLanguage());
render();
