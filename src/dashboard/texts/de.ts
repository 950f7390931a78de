import en from './en.ts';
import type { Texts } from './language.ts';
export default en as Texts;
