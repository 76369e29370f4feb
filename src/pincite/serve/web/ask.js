/** Ask. */
export function mount(root, app) { root.textContent = "Ask"; return () => {}; }
export function showKeys() {}
