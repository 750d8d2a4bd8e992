import { contract } from "./contract.ts";

contract("in process", async ({ routing, inference }) => ({ routing, inference, close: async () => {} }));
