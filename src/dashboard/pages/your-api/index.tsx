/** API keys: what there are, and everything that is done with them. */
import { PageHeader } from '../../ui/page-header.tsx';

export default function YourApi() {
  return <PageHeader title="Your API" />;
}
