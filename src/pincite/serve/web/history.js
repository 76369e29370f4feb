/** The list of conversations in the rail. */
export function mount(root, app) {}
export function mark(id) {}
