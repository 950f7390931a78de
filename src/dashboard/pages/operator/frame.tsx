/** The frame of every operator page: its title, and links to the other pages. */

import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { type TextKey, t } from '../../texts/language.ts';
import { PageHeader } from '../../ui/page-header.tsx';
import classes from './operator.module.css';

const links = [
  { path: '/operator', label: 'operator.overview.short' },
  { path: '/operator/accounts', label: 'operator.accounts.title' },
  { path: '/operator/log', label: 'operator.log.title' },
] as const satisfies { path: string; label: TextKey }[];

type Props = { title: string; about?: ReactNode; action?: ReactNode; children: ReactNode };

export function OperatorPage({ about, action, children, title }: Props) {
  const [location] = useLocation();
  const isCurrent = (path: string) =>
    location === path || (path !== '/operator' && location.startsWith(`${path}/`));
  return (
    <>
      <nav aria-label={t('operator.pages')} className={classes.links}>
        {links.map(({ label, path }) => (
          <Link
            key={path}
            href={path}
            className={classes.link ?? ''}
            aria-current={isCurrent(path) ? 'page' : undefined}
          >
            {t(label)}
          </Link>
        ))}
      </nav>
      <PageHeader title={title} action={action}>
        {about}
      </PageHeader>
      {children}
    </>
  );
}
