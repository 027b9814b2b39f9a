package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// ApprovalsTool is the name of the tool that tool = true in the approvals block adds.
const ApprovalsTool = "pending_approvals"

// PendingApprovals is the backend of that tool: the approvals for which calls of the caller wait.
type PendingApprovals struct{}

// toolField declares the argument tool of the approvals block.
func (a *Approvals) toolField() decode.Field {
	return decode.Attr(&a.Tool, "tool", "Whether there is the tool pending_approvals, with which callers see which "+
		"of their own calls wait for approval. Hosts of MCP Apps show them as cards. Nothing can be decided with "+
		"it.").DefaultDoc("false")
}

// approvalsType is the type of the result of the tool.
var approvalsType = schema.ListOf(schema.ObjectOf(
	&schema.Member{Name: "id", Type: eval.StringType},
	&schema.Member{Name: "tool", Type: eval.StringType},
	&schema.Member{Name: "title", Type: eval.StringType},
	&schema.Member{Name: "message", Type: eval.StringType},
	&schema.Member{Name: "state", Type: enumOf("pending", "approved")},
	&schema.Member{Name: "requested", Type: &schema.Type{Kind: schema.String, Format: "date-time"}},
	&schema.Member{Name: "expires", Type: &schema.Type{Kind: schema.String, Format: "date-time"}},
	&schema.Member{Name: "console", Type: &schema.Type{Kind: schema.String, Format: "uri"}, Optional: true},
))

// addApprovalsTool adds the tool of the approvals block, which is decoded later, if the block wants it.
func (l *loader) addApprovalsTool() {
	for _, b := range l.blocks["approvals"] {
		a, ok := b.Body.Attributes["tool"]
		if !ok {
			continue
		}
		d := l.newDecoder(b.file)
		if wanted, _ := d.Known(a.Expr, decode.Field{Name: "tool"}, "bool").(bool); !wanted {
			continue
		}
		at := diag.RangeOf(a.SrcRange)
		if other, ok := l.tools[ApprovalsTool]; ok {
			l.diags.Errorf(other.tool.Range, "Duplicate tool", "tool = true in the approvals block adds the tool "+
				"%q. Rename this one.", ApprovalsTool)
			return
		}
		l.config.Tools = append(l.config.Tools, newApprovalsTool(at))
		return
	}
}

func newApprovalsTool(at Range) *Tool {
	input := schema.ObjectOf()
	backend := &Backend{Kind: "approvals", Config: &PendingApprovals{}, Range: at, ranges: map[any]Range{}}
	backend.Effects = Effects{
		Output:   schema.ObjectOf(&schema.Member{Name: "calls", Type: approvalsType}),
		Default:  DefaultResult{Member: "calls"},
		ReadOnly: true, Idempotent: true,
	}
	return &Tool{
		Operation: Operation{Name: ApprovalsTool, Timeout: defaultTimeout, MaxText: defaultMaxText, Input: input,
			Validator: input.Compile(), Steps: []*Step{{Backend: backend, Parallel: 1, Range: at}},
			Digest: eval.HashParts(ApprovalsTool), Reads: &eval.Reads{}, Range: at},
		Title: "Pending approvals",
		Description: "List the user's own calls that wait for the approval of another person, with the time that is " +
			"left. The user sees them as cards. Nothing can be decided with this tool.",
		Listed: true, ReadOnly: true, Idempotent: true, BuiltIn: true,
		View: &View{Kind: "approvals", Result: approvalsType, Row: approvalsType.Elem, Range: at},
	}
}
