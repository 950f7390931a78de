import { Button } from '@mantine/core';
import { Link } from 'wouter';
import { PageHeader } from '../ui/page-header.tsx';

export function NotFound() {
  return (
    <>
      <PageHeader title="Page not found">Check the address for typos. The page may have moved.</PageHeader>
      <Button component={Link} href="/">
        Go to the dashboard
      </Button>
    </>
  );
}
