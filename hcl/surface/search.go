package surface

// search compares the search blocks of a toolset. What clients list changes, and nothing becomes reachable.
func (c *comparison) search(at string, a, b *Search) {
	switch {
	case a == nil && b == nil:
		return
	case a == nil:
		c.add(Behaviour, "toolset-search", at, "search added: clients find the tools that are not pinned")
		return
	case b == nil:
		c.add(Behaviour, "toolset-search", at, "search removed: clients list all tools")
		return
	}
	c.text(at+".areas", a.Areas, b.Areas)
	for _, name := range missing(a.Pinned, b.Pinned) {
		c.add(Behaviour, "toolset-search", at, "no longer pinned: %s", name)
	}
	for _, name := range missing(b.Pinned, a.Pinned) {
		c.add(Behaviour, "toolset-search", at, "pinned: %s", name)
	}
	if a.Results != b.Results {
		c.add(Behaviour, "toolset-search", at, "results %d → %d", a.Results, b.Results)
	}
}
