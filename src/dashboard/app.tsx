/**
 * CONTRIBUTING.md explains how to add a page. A page reads inside `Loaded`, with
 * `useQuery({ queryFn: ({ signal }) => ok(api.GET(…, { signal })) })`. It writes with `useMutation`, and shows errors
 * with `ProblemAlert`. `api/queries.ts` handles ended sessions.
 */

import { Title } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { matchRoute, Redirect, Route, Switch, useLocation, useRouter, useSearch } from 'wouter';
import { useAccount } from './api/queries.ts';
import { useSessionState } from './api/session.ts';
import { SignIn } from './pages/auth/sign-in.tsx';
import { SignUp } from './pages/auth/sign-up.tsx';
import { NotFound } from './pages/not-found.tsx';
import { useShownKey } from './pages/your-api/shown-key.ts';
import { firstPage, pages } from './routes.tsx';
import { Layout, PlainLayout } from './shell/layout.tsx';
import { nextPath, signInPath, useNavigationCount } from './shell/navigation.ts';
import { t } from './texts/language.ts';
import { Loaded, LoadingPage } from './ui/loaded.tsx';

const RawKeyDialog = lazy(() => import('./pages/your-api/raw-key.tsx'));

export function App() {
  const shownKey = useShownKey();
  return (
    <>
      <Pages />
      <Suspense>{shownKey && <RawKeyDialog key={shownKey.created.key} {...shownKey} />}</Suspense>
    </>
  );
}

function Pages() {
  useNavigationCount();
  const session = useSessionState();
  const search = useSearch();
  const [location] = useLocation();
  const { parser } = useRouter();

  if (location === '/sign-in' || location === '/sign-up') {
    if (session === 'in') return <Redirect to={nextPath(search)} replace />;
    return <PlainLayout>{location === '/sign-in' ? <SignIn /> : <SignUp />}</PlainLayout>;
  }
  if (session !== 'in') {
    const isPage = [...pages, { path: '/' }].some(({ path }) => matchRoute(parser, path, location)[0]);
    if (!isPage)
      return (
        <PlainLayout>
          <NotFound />
        </PlainLayout>
      );
    const wanted = location + (search === '' ? '' : `?${search}`);
    return <Redirect to={signInPath(session === 'new' ? '/sign-up' : '/sign-in', wanted)} replace />;
  }
  return <SignedIn />;
}

function SignedIn() {
  const account = useAccount();
  return (
    <Layout>
      {account.isLoadingError && (
        <Title order={1} mb="md">
          {t('errors.notDisplayed')}
        </Title>
      )}
      <Loaded query={account} loading={<LoadingPage />}>
        {({ id }) => (
          // Resets all state when another account signs in.
          <Switch key={id}>
            <Route path="/">
              <Redirect to={firstPage} replace />
            </Route>
            {pages.map(({ Component, path }) => (
              <Route key={path} path={path} component={Component} />
            ))}
            <Route component={NotFound} />
          </Switch>
        )}
      </Loaded>
    </Layout>
  );
}
