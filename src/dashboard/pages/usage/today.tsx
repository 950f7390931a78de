import { Box, Paper, Skeleton, Text, Title, VisuallyHidden } from '@mantine/core';
import { meterNames, metersOf, useUsage } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { Loaded } from '../../ui/loaded.tsx';
import { compactCount, formatCount } from '../../ui/numbers.ts';
import { Reset } from '../../ui/reset.tsx';
import classes from './usage.module.css';

/** As many as a plan can have. Fewer figures have the same total height. */
const loadingFigures = [...meterNames, 'tokens'];

export function Today() {
  const query = useUsage();
  return (
    <section aria-labelledby="today">
      <Title order={2} id="today" mb="sm">
        {t('usage.today.title')}
      </Title>
      <Loaded query={query} loading={<Loading />}>
        {(usage) => (
          <>
            <div className={classes.today}>
              {metersOf(usage.limits).map((meter) => (
                <Figure
                  key={meter}
                  label={t(`usage.today.meters.${meter}`)}
                  used={usage.used[meter] ?? 0}
                  limit={usage.limits[meter] ?? null}
                />
              ))}
              {typeof usage.limits.tokens === 'number' ? (
                <Figure
                  label={t('usage.today.tokens')}
                  used={usage.used.tokens}
                  reserved={usage.reserved_tokens ?? 0}
                  limit={usage.limits.tokens}
                />
              ) : (
                <Tokens used={usage.used.tokens} />
              )}
            </div>
            <Text size="sm" mt="sm" className={classes.reset ?? ''}>
              <Reset at={usage.resetsAt} />
            </Text>
          </>
        )}
      </Loaded>
    </section>
  );
}

/** A placeholder as high as the figures. */
const Loading = () => (
  <div role="status">
    <VisuallyHidden>{t('ui.loading')}</VisuallyHidden>
    <div className={classes.today}>
      {loadingFigures.map((figure) => (
        <Skeleton key={figure} />
      ))}
    </div>
    <Text size="sm" mt="sm" component="div" className={classes.reset ?? ''}>
      <Skeleton height="1lh" width="60%" />
    </Text>
  </div>
);

const Count = ({ used }: { used: number }) => (
  <div className={classes.figure} title={formatCount(used)}>
    {used < 1_000_000 ? formatCount(used) : compactCount(used)} <small>{t('usage.today.used')}</small>
  </div>
);

const Tokens = ({ used }: { used: number }) => (
  <Paper withBorder p="md" bg="var(--parley-panel)">
    <Text size="sm" c="dimmed" mb={4}>
      {t('usage.today.tokens')}
    </Text>
    <Count used={used} />
    <Text size="sm" c="dimmed" mt="sm">
      {t('usage.today.tokensAbout')}
    </Text>
  </Paper>
);

type FigureProps = { label: string; used: number; limit: number | null; reserved?: number };

function Figure({ label, limit, reserved = 0, used }: FigureProps) {
  const left = limit === null ? null : Math.max(0, limit - used - reserved);
  return (
    <Paper withBorder p="md" bg="var(--parley-panel)">
      <Text size="sm" c="dimmed" mb={4}>
        {label}
      </Text>
      <Count used={used} />
      {left === null || limit === null ? (
        <Text size="sm" c="dimmed" mt="sm">
          {t('usage.today.noLimit')}
        </Text>
      ) : (
        <>
          <Box className={classes.bar}>
            <svg width="100%" height="8" aria-hidden="true">
              <rect
                width={`${limit === 0 ? 100 : Math.min(100, (used / limit) * 100)}%`}
                height="8"
                className={classes.fill}
                data-full={left === 0 || undefined}
              />
            </svg>
          </Box>
          <Text size="sm" c={left === 0 ? 'var(--mantine-color-error)' : 'dimmed'}>
            {left === 0 ? t('usage.today.noneLeft', { limit }) : t('usage.today.left', { left, limit })}
          </Text>
        </>
      )}
    </Paper>
  );
}
