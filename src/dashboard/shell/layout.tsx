import { Anchor, Tooltip, UnstyledButton } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { api, ok } from '../api/client.ts';
import { useAccount } from '../api/queries.ts';
import { hasDraft } from '../pages/chat/drafts.ts';
import { docsSections } from '../sections.ts';
import { t } from '../texts/language.ts';
import { BrandMark } from '../ui/brand.tsx';
import { SignOutIcon } from '../ui/icons.tsx';
import { ProblemAlert } from '../ui/problem.tsx';
import { ColorSchemeButton } from './color-scheme.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { LanguageSelect } from './language-select.tsx';
import classes from './layout.module.css';
import { Nav } from './nav.tsx';
import { leave } from './navigation.ts';
import { OfflineNotice } from './offline.tsx';
import { useHasRoom } from './room.ts';

const ConfirmSignOut = lazy(() => import('./sign-out.tsx'));

export function Layout({ children }: { children: ReactNode }) {
  const [location] = useLocation();
  const { data: account } = useAccount();
  const hasRoom = useHasRoom();
  const [isAsking, setIsAsking] = useState(false);
  const signOut = useMutation({
    mutationFn: () => ok(api.POST('/api/v1/auth/logout')),
    onSuccess: () => leave(),
  });

  return (
    <div className={classes.shell}>
      <a href="#main" className={classes.skip}>
        {t('shell.skip')}
      </a>
      <div className={classes.side} />
      <header className={classes.bar}>
        <Link href="/" className={classes.brand ?? ''}>
          <BrandMark />
          Parley
        </Link>
      </header>
      <Nav />
      <div className={classes.tools}>
        {/* A space reserves the line until the email address loads. */}
        <span className={classes.email} title={account?.email}>
          {account?.email ?? '\u00a0'}
        </span>
        <ColorSchemeButton hasLabel={hasRoom} />
        <Tooltip label={t('shell.signOut')} disabled={hasRoom}>
          <UnstyledButton
            className={classes.tool ?? ''}
            aria-label={t('shell.signOut')}
            disabled={signOut.isPending}
            onClick={() => (hasDraft() ? setIsAsking(true) : signOut.mutate())}
          >
            <SignOutIcon />
            {hasRoom && <span>{t('shell.signOut')}</span>}
          </UnstyledButton>
        </Tooltip>
      </div>
      <main id="main" className={classes.main} tabIndex={-1}>
        <OfflineNotice />
        {signOut.error && !isAsking && <ProblemAlert error={signOut.error} mb="lg" />}
        <ErrorBoundary at={location}>
          {children}
          <Suspense>
            {isAsking && (
              <ConfirmSignOut
                isPending={signOut.isPending}
                error={signOut.error}
                onConfirm={signOut.mutate}
                onClose={() => setIsAsking(false)}
              />
            )}
          </Suspense>
        </ErrorBoundary>
      </main>
    </div>
  );
}

export function PlainLayout({ children }: { children: ReactNode }) {
  return (
    <div className={classes.plain}>
      <Link href="/" className={classes.brand ?? ''}>
        <BrandMark />
        Parley
      </Link>
      <main id="main" className={classes.card}>
        <OfflineNotice />
        {children}
      </main>
      <div className={classes.foot}>
        {docsSections.map(({ name, path }) => (
          <Anchor key={path} href={path} size="sm" underline="always">
            {t(`shell.nav.${name}`)}
          </Anchor>
        ))}
        <ColorSchemeButton />
        <LanguageSelect />
      </div>
    </div>
  );
}
