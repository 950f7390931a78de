import { Link, useLocation } from 'wouter';
import { useAccount } from '../api/queries.ts';
import { pages } from '../routes.tsx';
import { t } from '../texts/language.ts';
import classes from './layout.module.css';

export function Nav() {
  const [location] = useLocation();
  const isOperator = useAccount().data?.is_operator ?? false;
  return (
    <nav className={classes.nav} aria-label={t('shell.nav.pages')}>
      <ul>
        {pages.flatMap(({ nav, path }) => {
          if (nav === undefined || (nav.isForOperators && !isOperator)) return [];
          const isCurrent = location === path || location.startsWith(`${path}/`);
          return (
            <li key={path}>
              <Link href={path} className={classes.link ?? ''} aria-current={isCurrent ? 'page' : undefined}>
                <nav.Icon />
                {t(nav.label)}
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
