package runtime

import (
	"strconv"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// publish encodes the lists of tools, when something was learned since they were encoded last, and returns the toolsets whose list reads differently
// than before.
func (g *Generation) publish() (changed []string) {
	g.publishing.Lock()
	defer g.publishing.Unlock()
	if !g.listsStale.Swap(false) {
		return nil
	}
	for name, v := range g.views {
		if v.encodeList(mcp.Tools, g) {
			changed = append(changed, name)
		}
	}
	return changed
}

// listEntry is the tool as each era lists it: they differ in what an outputSchema may be.
func (p *Program) listEntry() mcp.Entry {
	t := p.tool
	head := value.AppendString([]byte(`{"name":`), t.Name)
	if t.Title != "" {
		head = value.AppendString(append(head, `,"title":`...), t.Title)
	}
	head = value.AppendString(append(head, `,"description":`...), t.Description)
	if len(t.Icons) > 0 {
		head = append(mcp.AppendIcons(append(head, `,"icons":[`...), icons(t.Icons)), ']')
	}
	head = t.Input.AppendSchema(append(head, `,"inputSchema":`...))
	tail := appendAnnotations(nil, t)
	e := mcp.Entry{Name: t.Name}
	e.Legacy = append(appendOutput(head[:len(head):len(head)], p.shaper.OutputType(), true), tail...)
	e.Modern = append(appendOutput(head, p.shaper.OutputType(), false), tail...)
	return e
}

func appendOutput(dst []byte, t *schema.Type, legacy bool) []byte {
	if t == nil {
		return dst
	}
	dst = append(dst, `,"outputSchema":`...)
	if !legacy || result.IsObject(t) {
		return t.AppendSchema(dst)
	}
	dst = t.AppendSchema(append(dst, `{"type":"object","properties":{"result":`...))
	return append(dst, `},"required":["result"],"additionalProperties":false}`...)
}

func appendAnnotations(dst []byte, t *hcl.Tool) []byte {
	dst = append(dst, `,"annotations":{`...)
	if t.Title != "" {
		dst = append(value.AppendString(append(dst, `"title":`...), t.Title), ',')
	}
	dst = strconv.AppendBool(append(dst, `"readOnlyHint":`...), t.ReadOnly)
	dst = strconv.AppendBool(append(dst, `,"destructiveHint":`...), t.Destructive)
	dst = strconv.AppendBool(append(dst, `,"idempotentHint":`...), t.Idempotent)
	dst = strconv.AppendBool(append(dst, `,"openWorldHint":`...), t.OpenWorld)
	return append(dst, "}}"...)
}

func icons(in []*hcl.Icon) []mcp.Icon {
	var out []mcp.Icon
	for _, i := range in {
		out = append(out, mcp.Icon{Src: i.Src, MIMEType: i.MimeType, Sizes: i.Sizes, Theme: i.Theme})
	}
	return out
}

// headerInputs are the inputs that modern clients repeat in headers.
func headerInputs(t *schema.Type, path ...string) (out []mcp.HeaderInput) {
	for _, m := range t.Members {
		at := append(path[:len(path):len(path)], m.Name)
		if m.Type.Header != "" {
			if in, ok := mcp.NewHeaderInput(m.Type.Header, at...); ok {
				out = append(out, in)
			}
		}
		if m.Type.Kind == schema.Object {
			out = append(out, headerInputs(m.Type, at...)...)
		}
	}
	return out
}
