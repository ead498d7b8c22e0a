// What the page and its host tell each other beside bars: theme, size, full screen, links and questions.

const OWN_THEMES = {
  dark: { paper: '#131722', text: '#b2b5be', strong: '#e0e3eb', axis: '#2f3545' },
  light: { paper: '#ffffff', text: '#50535e', strong: '#131722', axis: '#d1d4dc' },
};
const PAGE_COLOURS = ['paper', 'text', 'strong', 'axis', 'up', 'down'];
const ROUNDING = 4; // pixels

export class HostSide {
  theme = matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark';
  mode = 'inline';
  capabilities = {};
  #link;
  #onChange;
  #modes = [];
  #isFixed = false;
  #toldHeight = 0;

  constructor(link, onChange) {
    this.#link = link;
    this.#onChange = onChange;
    link.on('ui/notifications/host-context-changed', (context) => this.#heed(context));
  }

  async connect(appInfo) {
    const modes = { availableDisplayModes: ['inline', 'fullscreen'] };
    const { hostCapabilities, hostContext } = await this.#link.connect(appInfo, modes);
    this.capabilities = hostCapabilities ?? {};
    this.#heed(hostContext ?? {});
    new ResizeObserver(() => this.#tellHeight()).observe(document.body);
  }

  #heed({ theme, availableDisplayModes, displayMode, containerDimensions }) {
    if (theme) this.theme = theme === 'light' ? 'light' : 'dark';
    if (availableDisplayModes) this.#modes = availableDisplayModes;
    if (displayMode) this.mode = displayMode;
    if (containerDimensions) this.#isFixed = Boolean(containerDimensions.height);
    document.body.dataset.mode = this.mode;
    document.body.dataset.fills = String(this.#isFixed || this.isFullScreen);
    this.#onChange();
  }

  get isFullScreen() {
    return this.mode === 'fullscreen';
  }

  get offersFullScreen() {
    return this.#modes.includes('fullscreen');
  }

  // The mode that is answered counts, not the one that was asked for.
  async toggleFullScreen() {
    if (!this.offersFullScreen) return;
    const wanted = this.isFullScreen ? 'inline' : 'fullscreen';
    const { mode } = await this.#link.request('ui/request-display-mode', { mode: wanted });
    this.#heed({ displayMode: mode });
  }

  async leaveFullScreen() {
    if (this.isFullScreen) await this.toggleFullScreen();
  }

  // A height that follows the frame would chase itself: it is told when it differs by more than a rounding.
  #tellHeight() {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    const differs = Math.abs(height - this.#toldHeight) > ROUNDING;
    if (this.isFullScreen || this.#isFixed || !differs) return;
    this.#toldHeight = height;
    this.#link.notify('ui/notifications/size-changed', { height });
  }

  paint(themes) {
    const colours = themes?.[this.theme] ?? OWN_THEMES[this.theme];
    for (const name of PAGE_COLOURS) {
      if (colours[name]) document.documentElement.style.setProperty(`--${name}`, colours[name]);
    }
    document.documentElement.style.colorScheme = this.theme;
  }

  ask(text) {
    return this.#link.request('ui/message', { role: 'user', content: [{ type: 'text', text }] });
  }

  // In a sandbox without popups a link does nothing: the host opens it.
  openLinksByHost() {
    document.addEventListener('click', (event) => {
      const link = event.target.closest?.('a[href]');
      if (!link || !this.capabilities.openLinks) return;
      event.preventDefault();
      this.#link.request('ui/open-link', { url: link.href }).catch(() => {});
    }, { capture: true });
  }
}
