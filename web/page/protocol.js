// The view's side of MCP Apps: JSON-RPC 2.0 over postMessage, with the frame's parent alone.

export const PROTOCOL_VERSION = '2026-01-26';
const ANSWER_WITHIN_MS = 30_000;
const UNKNOWN_METHOD = -32601;
const NO_ANSWER = -32001;

export class HostError extends Error {
  constructor(message, code, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export class HostLink {
  #host;
  #lastId = 0;
  #waiting = new Map();
  #handlers = new Map();

  constructor(host = window.parent) {
    this.#host = host;
    window.addEventListener('message', (event) => this.#receive(event));
  }

  on(method, handler) {
    this.#handlers.set(method, handler);
  }

  notify(method, params = {}) {
    this.#send({ method, params });
  }

  request(method, params = {}) {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new HostError(`No answer within ${ANSWER_WITHIN_MS / 1000} s`, NO_ANSWER));
      }, ANSWER_WITHIN_MS);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#send({ id, method, params });
    });
  }

  async connect(appInfo, appCapabilities) {
    const params = { appInfo, appCapabilities, protocolVersion: PROTOCOL_VERSION };
    const result = await this.request('ui/initialize', params);
    this.notify('ui/notifications/initialized');
    return result;
  }

  // '*': a sandboxed frame does not know its parent's origin, and nothing secret is sent.
  #send(message) {
    this.#host.postMessage({ jsonrpc: '2.0', ...message }, '*');
  }

  #receive(event) {
    const message = event.data;
    if (event.source !== this.#host || message?.jsonrpc !== '2.0') return;
    if (message.method === undefined) this.#settle(message);
    else if (message.id === undefined) this.#handlers.get(message.method)?.(message.params ?? {});
    else this.#answer(message);
  }

  #settle({ id, result, error }) {
    const asked = this.#waiting.get(id);
    if (!asked) return;
    this.#waiting.delete(id);
    clearTimeout(asked.timer);
    if (error) asked.reject(new HostError(error.message, error.code, error.data));
    else asked.resolve(result);
  }

  async #answer({ id, method, params }) {
    const handler = this.#handlers.get(method);
    if (handler) this.#send({ id, result: (await handler(params ?? {})) ?? {} });
    else if (method === 'ping') this.#send({ id, result: {} });
    else this.#send({ id, error: { code: UNKNOWN_METHOD, message: `unknown method ${method}` } });
  }
}
