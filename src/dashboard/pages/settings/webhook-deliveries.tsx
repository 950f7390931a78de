import { Group, Text, Title } from '@mantine/core';
import { t } from '../../texts/language.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { exactTime, When } from '../../ui/when.tsx';
import classes from './settings.module.css';
import { useDeliveries } from './webhook-queries.ts';
import { deliveryStatus, deliveryTitle } from './webhook-sentences.ts';

export function Deliveries() {
  const query = useDeliveries();
  return (
    <>
      <Title order={3} size="h4" mt="lg" mb="sm">
        {t('settings.webhook.deliveries.title')}
      </Title>
      <Loaded query={query}>
        {({ pages }) => (
          <>
            {pages[0]?.data.length === 0 && (
              <Text size="sm" c="dimmed">
                {t('settings.webhook.deliveries.none')}
              </Text>
            )}
            <ul className={classes.list} aria-live="polite">
              {pages
                .flatMap(({ data }) => data)
                .map((delivery) => (
                  <li key={delivery.id}>
                    <div className={classes.what}>
                      <Text fw={550}>{deliveryTitle(delivery)}</Text>
                      <Text size="sm" {...(delivery.error !== null && { className: classes.danger ?? '' })}>
                        {deliveryStatus(delivery)}
                      </Text>
                      {delivery.status === 'pending' && delivery.attempts > 0 && delivery.next_attempt_at && (
                        <Text size="sm" c="dimmed">
                          {t('settings.webhook.deliveries.next', {
                            time: exactTime(delivery.next_attempt_at),
                          })}
                        </Text>
                      )}
                    </div>
                    <Text size="sm" c="dimmed" className={classes.at ?? ''}>
                      <When at={delivery.at} />
                    </Text>
                  </li>
                ))}
            </ul>
            {query.isFetchNextPageError && <ProblemAlert error={query.error} mt="md" />}
            {query.hasNextPage && (
              <Group mt="md">
                <BusyButton isBusy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
                  {t('settings.webhook.deliveries.more')}
                </BusyButton>
              </Group>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}
