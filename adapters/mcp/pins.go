package mcp

import (
	"net/url"

	"hatchel/hcl"
)

// Pins implements hcl.Pinner.
func (c *connection) Pins() []hcl.Pin {
	if c.file == nil {
		return nil // the load reports why
	}
	pins := make([]hcl.Pin, 0, len(c.file.Tools()))
	for _, d := range c.file.Tools() {
		readOnly := d.Hints().ReadOnly
		pins = append(pins, hcl.Pin{
			Tool: d.Name, Description: d.Description, Digest: d.Digest(), ReadOnly: readOnly != nil && *readOnly,
		})
	}
	return pins
}

// Endpoint implements hcl.Pinner.
func (c *connection) Endpoint() (u *url.URL, authenticates bool) {
	if c.URL != "" {
		u, _ = url.Parse(c.URL) // which Check has refused if it is none
	}
	return u, c.Auth != nil
}

// PinnedTool implements hcl.PinUser.
func (b *block) PinnedTool() string { return b.Call }
