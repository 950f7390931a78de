import { Button } from '@mantine/core';
import { Link } from 'wouter';
import { t } from '../texts/language.ts';
import { PageHeader } from '../ui/page-header.tsx';

export function NotFound() {
  return (
    <>
      <PageHeader title={t('errors.pageNotFound.title')}>{t('errors.pageNotFound.text')}</PageHeader>
      <Button component={Link} href="/">
        {t('errors.pageNotFound.action')}
      </Button>
    </>
  );
}
