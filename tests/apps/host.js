// The tests' host: the official AppBridge, and the view in a sandboxed frame beside it.

import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';
import { z } from 'zod';

function sandboxed([width, height]) {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.style.cssText = `width:${width}px;height:${height}px;border:0;display:block`;
  document.body.append(frame);
  return frame;
}

// What the view says goes into window.heard as [kind, params].
function listen(bridge, frame, size) {
  const heard = (window.heard = []);
  bridge.oncalltool = async ({ name, arguments: args }) => JSON.parse(await window.callTool(name, JSON.stringify(args)));
  bridge.onsizechange = (params) => heard.push(['size', params]);
  bridge.onmessage = async (params) => (heard.push(['message', params]), {});
  bridge.onopenlink = async (params) => (heard.push(['link', params]), {});
  bridge.onrequestdisplaymode = async ({ mode }) => {
    heard.push(['mode', mode]);
    const isFull = mode === 'fullscreen';
    frame.style.width = isFull ? '100vw' : `${size[0]}px`;
    frame.style.height = isFull ? '100vh' : `${size[1]}px`;
    return { mode };
  };
}

window.openView = async ({ address, context, capabilities, size, input, result }) => {
  const frame = sandboxed(size);
  const bridge = new AppBridge(null, { name: 'test-host', version: '1' }, capabilities, { hostContext: context });
  listen(bridge, frame, size);
  bridge.oninitialized = () => {
    if (input) bridge.sendToolInput({ arguments: input });
    if (result) bridge.sendToolResult(result);
  };
  // Listen first, then navigate once: a frame whose first navigation is cut short by a second one is laid out at no
  // width where sandboxed frames have a process of their own, and everything runs but nothing is seen.
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = address;
  Object.assign(window, { bridge, frame });
};

// Answered after everything that the view has sent before.
window.roundTrip = () => window.bridge.request({ method: 'ping' }, z.looseObject({}));

// Resolves to the code with which the view refuses.
window.unknownRequest = () => window.bridge.request({ method: 'ui/never-heard-of' }, z.looseObject({})).catch((error) => error.code);
