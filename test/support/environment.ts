const lent = new Map<string, { users: number; readonly before: string | undefined }>();

/** Sets variables of this process until the returned function is called; those who set the same at once agree on the values. */
export function lendEnvironment(env: Readonly<Record<string, string>>): () => void {
  for (const [name, value] of Object.entries(env)) {
    const known = lent.get(name) ?? { users: 0, before: process.env[name] };
    known.users += 1;
    lent.set(name, known);
    process.env[name] = value;
  }
  return () => {
    for (const name of Object.keys(env)) giveBack(name);
  };
}

function giveBack(name: string): void {
  const known = lent.get(name);
  if (known === undefined) return;
  known.users -= 1;
  if (known.users > 0) return;
  lent.delete(name);
  if (known.before === undefined) delete process.env[name];
  else process.env[name] = known.before;
}
