// Mastra's MCP client, with its tools called in the agent's loop.
import { MCPClient } from "@mastra/mcp";
import { converse } from "./agent.mjs";

const client = new MCPClient({ timeout: 120000, servers: { binance: { command: process.env.SERVER } } });
const tools = await client.listTools();
const offered = Object.entries(tools).map(([name, { description }]) => ({ name, description, inputSchema: { type: "object" } }));
await converse(offered, "", async ({ name, arguments: given }) => {
  const result = await tools[name].execute(given, {}).catch((error) => ({ error: error.message }));
  return { content: result?.content ?? [{ type: "text", text: JSON.stringify(result) }] };
});
await client.disconnect();
process.exit(0);
