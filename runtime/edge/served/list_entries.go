package served

import (
	"cmp"
	"strconv"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/view"
	"hatchel/runtime/stage/result"
)

// ToolEntry returns a tool as tools/list has it before any backend was asked for the type of its result.
func ToolEntry(t *hcl.Tool) []byte {
	return entryOf(t, result.NewShaper(t, nil).OutputType(), t.Meta).Modern
}

// toolEntry returns a tool as modern and as earlier revisions list it: they differ in what an
// outputSchema may be.
func toolEntry(p *call.Program, app *view.App) mcp.Entry {
	return entryOf(p.Tool(), p.Shaper.OutputType(), metaOf(p.Tool(), app))
}

func entryOf(t *hcl.Tool, output *schema.Type, meta []byte) mcp.Entry {
	head := value.AppendString([]byte(`{"name":`), t.Name)
	head = mcp.AppendMember(head, "title", t.Title)
	head = value.AppendString(append(head, `,"description":`...), t.Description)
	head = appendIcons(head, t.Icons)
	head = t.Input.AppendSchema(append(head, `,"inputSchema":`...))
	masked := t.MaskedMembers(cmp.Or(output, t.ResultType()))
	tail := append(appendMeta(appendToolAnnotations(nil, t), addMasked(meta, masked)), '}')
	e := mcp.Entry{Name: t.Name}
	e.Legacy = append(appendOutputSchema(head[:len(head):len(head)], output, true), tail...)
	e.Modern = append(appendOutputSchema(head, output, false), tail...)
	return e
}

// appendOutputSchema appends the type of the result; nil appends nothing. Before 2026-07-28 it must
// be an object.
func appendOutputSchema(dst []byte, t *schema.Type, legacy bool) []byte {
	if t == nil {
		return dst
	}
	dst = append(dst, `,"outputSchema":`...)
	if legacy && !result.IsObject(t) {
		t = schema.ObjectOf(&schema.Member{Name: "result", Type: t},
			&schema.Member{Name: "truncated", Type: truncatedType, Optional: true})
	}
	return t.AppendSchema(dst)
}

// truncatedType is the type of the member of a wrapped result that says what has cut it.
var truncatedType = &schema.Type{Kind: schema.String, Description: "Present if a limit has cut the result."}

func appendToolAnnotations(dst []byte, t *hcl.Tool) []byte {
	dst = append(dst, `,"annotations":{`...)
	if t.Title != "" {
		dst = append(value.AppendString(append(dst, `"title":`...), t.Title), ',')
	}
	dst = strconv.AppendBool(append(dst, `"readOnlyHint":`...), t.ReadOnly)
	dst = strconv.AppendBool(append(dst, `,"destructiveHint":`...), t.Destructive)
	dst = strconv.AppendBool(append(dst, `,"idempotentHint":`...), t.Idempotent)
	dst = strconv.AppendBool(append(dst, `,"openWorldHint":`...), t.OpenWorld)
	return append(dst, '}')
}

// keyMasked is the member of _meta that lists the masked members of the answers of a tool, for every caller.
const keyMasked = "hatchel/masked"

// addMasked returns the metadata of an author, which may be nil, with the masked members.
func addMasked(meta []byte, masked []hcl.MaskedMember) []byte {
	if len(masked) == 0 {
		return meta
	}
	dst := []byte{'{'}
	if len(meta) > len("{}") {
		dst = append(append([]byte(nil), meta[:len(meta)-1]...), ',')
	}
	dst = append(value.AppendString(dst, keyMasked), ":["...)
	for i, m := range masked {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendString(dst, m.Path)
	}
	return append(dst, "]}"...)
}

// metaOf returns the metadata of a tool: what its author declares, and the app that shows its results. It is sent to
// all clients, so that they share one list.
func metaOf(t *hcl.Tool, app *view.App) []byte {
	if app == nil {
		return t.Meta
	}
	ui := append(value.AppendString([]byte(`{"ui":{"resourceUri":`), app.URI), '}')
	if t.Meta == nil {
		return append(ui, '}')
	}
	return append(append(ui, ','), t.Meta[1:]...)
}

// appendMeta appends the member _meta of an entry; nil appends nothing.
func appendMeta(dst, meta []byte) []byte {
	if meta == nil {
		return dst
	}
	return append(append(dst, `,"_meta":`...), meta...)
}

// promptEntry returns a prompt as it is listed.
func promptEntry(p *hcl.Prompt) mcp.Entry {
	e := value.AppendString([]byte(`{"name":`), p.Name)
	e = mcp.AppendMember(e, "title", p.Title)
	e = mcp.AppendMember(e, "description", p.Description)
	e = appendIcons(e, p.Icons)
	if arguments := p.Arguments(); len(arguments) > 0 {
		e = append(appendPromptArguments(append(e, `,"arguments":[`...), arguments), ']')
	}
	e = append(appendMeta(e, p.Meta), '}')
	return mcp.Entry{Name: p.Name, Legacy: e, Modern: e}
}

func appendPromptArguments(dst []byte, arguments []hcl.PromptArgument) []byte {
	for i, a := range arguments {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendString(append(dst, `{"name":`...), a.Name)
		dst = mcp.AppendMember(dst, "title", a.Title)
		dst = mcp.AppendMember(dst, "description", a.Description)
		if a.Required {
			dst = append(dst, `,"required":true`...)
		}
		dst = append(dst, '}')
	}
	return dst
}

// resourceEntry returns a resource, or a resource template, as it is listed.
func resourceEntry(r *hcl.Resource) mcp.Entry {
	e := value.AppendString([]byte(`{"name":`), r.Name)
	if r.Template != nil {
		e = mcp.AppendMember(e, "uriTemplate", r.Template.Raw())
	} else {
		e = mcp.AppendMember(e, "uri", r.URI)
	}
	e = mcp.AppendMember(e, "title", r.Title)
	e = mcp.AppendMember(e, "description", r.Description)
	e = mcp.AppendMember(e, "mimeType", r.MimeType)
	if r.Size > 0 && r.Template == nil {
		e = strconv.AppendInt(append(e, `,"size":`...), int64(r.Size), 10)
	}
	e = appendIcons(e, r.Icons)
	e, _ = result.AppendAnnotations(e, r.Annotations, nil, nil) // constants
	e = append(appendMeta(e, r.Meta), '}')
	return mcp.Entry{Name: r.Name, Legacy: e, Modern: e}
}

func appendIcons(dst []byte, list []*hcl.Icon) []byte {
	if len(list) == 0 {
		return dst
	}
	return append(mcp.AppendIcons(append(dst, `,"icons":[`...), icons(list)), ']')
}

func icons(in []*hcl.Icon) []mcp.Icon {
	var out []mcp.Icon
	for _, i := range in {
		out = append(out, mcp.Icon{Src: i.Src, MIMEType: i.MimeType, Sizes: i.Sizes, Theme: i.Theme})
	}
	return out
}
