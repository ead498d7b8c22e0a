// The official TypeScript SDK, version 2, on the newest revision that the server knows.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { agreed, converse } from "./agent.mjs";

const client = new Client({ name: "ts2", version: "1" }, { capabilities: { elicitation: {} }, versionNegotiation: { mode: "auto" } });
client.setRequestHandler("elicitation/create", async ({ params }) => agreed(params));
await client.connect(new StdioClientTransport({ command: process.env.SERVER }));
const { tools } = await client.listTools();
await converse(tools, client.getInstructions(), (call) => client.callTool(call));
await client.close();
