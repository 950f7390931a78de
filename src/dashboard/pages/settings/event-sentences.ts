import type { Schemas } from '../../api/client.ts';
import { t } from '../../texts/language.ts';

/** The service can add types that this page does not know. */
export const eventSentence = ({ type }: Schemas['AccountEvent']): string =>
  t.has(`settings.events.types.${type}`) ? t(`settings.events.types.${type}`) : type;
