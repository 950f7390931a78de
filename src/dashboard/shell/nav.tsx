import { Link, useLocation } from 'wouter';
import { pages } from '../routes.tsx';
import classes from './layout.module.css';

export function Nav() {
  const [location] = useLocation();
  return (
    <nav className={classes.nav} aria-label="Pages">
      <ul>
        {pages.flatMap(({ nav, path }) => {
          if (nav === undefined) return [];
          const isCurrent = location === path || location.startsWith(`${path}/`);
          return (
            <li key={path}>
              <Link href={path} className={classes.link ?? ''} aria-current={isCurrent ? 'page' : undefined}>
                <nav.Icon />
                {nav.label}
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
