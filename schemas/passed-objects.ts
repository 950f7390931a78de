/** Objects that pass through in the format of the model's API: contract sections 14 and 15. */
import { Type } from '@sinclair/typebox';

export const PassedObject = Type.Object(
  {},
  {
    $id: 'PassedObject',
    additionalProperties: true,
    description: "An object of the model's own API, as the model server returned it.",
  },
);
