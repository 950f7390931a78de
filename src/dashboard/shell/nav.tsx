import { useEffect } from 'react';
import { Link, useLocation } from 'wouter';
import { useAccount } from '../api/queries.ts';
import { setOperator } from '../api/session.ts';
import { docsSections, sections } from '../sections.ts';
import { t } from '../texts/language.ts';
import { SectionIcon } from '../ui/icons.tsx';
import classes from './layout.module.css';

export function Nav() {
  const [location] = useLocation();
  const isOperator = useAccount().data?.is_operator;
  useEffect(() => {
    if (isOperator !== undefined) setOperator(isOperator);
  }, [isOperator]);
  return (
    <nav className={classes.nav} aria-label={t('shell.nav.pages')}>
      <ul className={classes.sections}>
        {sections.flatMap((section) => {
          const { name, path } = section;
          if ('isForOperators' in section && !isOperator) return [];
          const isCurrent = location === path || location.startsWith(`${path}/`);
          return (
            <li key={path}>
              <Link href={path} className={classes.link ?? ''} aria-current={isCurrent ? 'page' : undefined}>
                <SectionIcon name={name} />
                {t(`shell.nav.${name}`)}
              </Link>
            </li>
          );
        })}
      </ul>
      <ul className={classes.docs}>
        {docsSections.map(({ name, path }) => (
          <li key={path}>
            <a href={path} className={classes.link}>
              <SectionIcon name={name} />
              <span>{t(`shell.nav.${name}`)}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
