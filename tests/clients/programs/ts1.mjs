// The official TypeScript SDK, version 1.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { agreed, converse } from "./agent.mjs";

const client = new Client({ name: "ts1", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async ({ params }) => agreed(params));
await client.connect(new StdioClientTransport({ command: process.env.SERVER }));
const { tools } = await client.listTools();
await converse(tools, client.getInstructions(), (call) => client.callTool(call));
await client.close();
