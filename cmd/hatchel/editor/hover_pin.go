package editor

import (
	"fmt"
	"strings"

	"hatchel/hcl"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
)

// maxPinText is the number of characters of a pinned description that a hover shows.
const maxPinText = 4000

// hoverPin shows what the pinned definition says of the tool that a block calls; nil for another place. It is data of
// another server: it is no Markdown, and hidden characters are made visible.
func (p *Project) hoverPin(at *Place) *Hover {
	b := at.Block()
	if at.Field == nil || at.Field.Name != "call" || len(b.Labels) != 1 {
		return nil
	}
	v, diags := at.Attribute.Expr.Value(nil)
	if diags.HasErrors() || !v.IsKnown() || v.IsNull() || v.Type().FriendlyName() != "string" {
		return nil
	}
	for _, c := range p.Config.Connections {
		pinner, ok := c.Config.(hcl.Pinner)
		if !ok || c.Kind != b.Type || c.Name != b.Labels[0] {
			continue
		}
		for _, pin := range pinner.Pins() {
			if pin.Tool == v.AsString() {
				return &Hover{pinText(c.Name, pin), spanOf(at.Attribute.Expr.Range())}
			}
		}
	}
	return nil
}

// pinText returns a definition as Markdown.
func pinText(connection string, pin hcl.Pin) string {
	text := fmt.Sprintf("A tool of %q, as it was reviewed. The server describes it:", connection)
	if pin.ReadOnly {
		text = fmt.Sprintf("A tool of %q, as it was reviewed. The server says that it changes nothing, and describes "+
			"it:", connection)
	}
	described := cut.Runes(strings.TrimSpace(printable.Reveal(pin.Description, "\n")), maxPinText)
	if described == "" {
		described = "(nothing)"
	}
	fence := "```"
	for strings.Contains(described, fence) {
		fence += "`"
	}
	return text + "\n\n" + fence + "text\n" + described + "\n" + fence
}
