/** An address that is no page. */
import { Button } from '@mantine/core';
import { Link } from 'wouter';
import { PageHeader } from '../ui/page-header.tsx';

export function NotFound() {
  return (
    <>
      <PageHeader title="There is no such page">
        The address may be mistyped, or the page has moved.
      </PageHeader>
      <Button component={Link} href="/">
        Go to the first page
      </Button>
    </>
  );
}
