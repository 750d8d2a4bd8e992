const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    `Node ${process.versions.node} runs this, but 24 or later is needed. pnpm brings its own:\n\n  npx -y pnpm@12 start\n`,
  );
  process.exit(1);
}
