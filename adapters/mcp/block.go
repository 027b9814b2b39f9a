package mcp

import (
	"errors"

	"hatchel/adapters/mcp/definition"
	"hatchel/hcl"
	"hatchel/hcl/schema"
)

// block is an mcp block.
type block struct {
	Call                string
	Arguments           *hcl.Expr
	IdempotencyArgument string
	HiddenText          string
	Links               string
	Delimit             bool
	ForwardLogs         string

	pinned *definition.Pinned // nil if the block has mistakes
}

// Values of the argument hidden_text.
const (
	hiddenRemove = "remove"
	hiddenKeep   = "keep"
)

// Values of the argument links.
const (
	linksDeclared = "declared"
	linksNone     = "none"
)

func (b *block) spec() hcl.Spec {
	b.HiddenText, b.Links = hiddenRemove, linksDeclared
	return hcl.Spec{
		hcl.Attr(&b.Call, "call", "The tool of the server, by the name in the file of definitions.").Require().
			Hint(` An mcp block calls a tool of the server: call = "name". The resources and prompts of a server are `+
				`not read.`, "tool", "name", "read", "prompt", "resource", "task"),
		hcl.Attr(&b.Arguments, "arguments", "The arguments of the call, as an object. In the objects written here, "+
			"also in merge(…), a member that is one reference to something optional is left out when that is absent.").
			AllowSecret().OmitAbsent().KeepMembers().InputsByDefault(hcl.KeyInput).
			DefaultDoc("every input under its own name"),
		hcl.Attr(&b.IdempotencyArgument, "idempotency_argument", "The argument of the tool that receives the "+
			"idempotency key of the call."),
		hcl.Choice(&b.HiddenText, "hidden_text", "What happens to characters that people do not see, such as tags and "+
			"marks of direction: they are removed and counted, or kept, as for a tool that returns source code.",
			hiddenRemove, hiddenKeep).DefaultDoc(`"remove"`),
		hcl.Choice(&b.Links, "links", "What happens to links and embedded resources of a result: those of declared "+
			"resources get their URIs here, other https links become a line of text and all others are left out with "+
			"a notice, or all are left out.", linksDeclared, linksNone).DefaultDoc(`"declared"`),
		hcl.Attr(&b.Delimit, "delimit", "Encloses each text of a result in two lines with a random word of the call, "+
			"so that a model can tell it from other text.").DefaultDoc("false"),
		hcl.Choice(&b.ForwardLogs, "forward_logs", "The level from which log messages of the server are sent to the "+
			"client of the call.", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency").
			DefaultDoc("no messages are sent"),
	}
}

// Describe implements hcl.Describer.
func (b *block) Describe(conn *hcl.Connection) (hcl.Effects, error) {
	effects := hcl.Effects{
		Output:      outputType(anyStructured, false),
		Default:     hcl.DefaultResult{Content: "content", Text: "text", Member: "structured"},
		Upstream:    conn.Name,
		Destructive: true,
		OpenWorld:   true,
	}
	c, ok := conn.Config.(*connection)
	if !ok || c.file == nil {
		return effects, nil // the file was reported
	}
	pinned, err := c.file.Check(definition.Use{
		Connection: conn.Name, Call: b.Call, CallField: &b.Call,
		Arguments: b.Arguments, ArgumentsField: &b.Arguments,
		IdempotencyArgument: b.IdempotencyArgument, IdempotencyArgumentField: &b.IdempotencyArgument,
	})
	if pinned == nil {
		return effects, err
	}
	b.pinned = pinned
	if pinned.Output != nil {
		effects.Output = outputType(pinned.Output.Type(), true)
	}
	hints := pinned.Hints()
	effects.Writes = hints.ReadOnly != nil && !*hints.ReadOnly
	effects.Contradiction = pinned.Contradiction
	effects.Pinned = &hcl.PinnedTool{
		Name: pinned.Name, Digest: pinned.Digest(), ReadOnly: hints.ReadOnly, Destructive: hints.Destructive,
		Idempotent: hints.Idempotent, OpenWorld: hints.OpenWorld,
	}
	if pinned.TaskSupport == "required" {
		const text = "%s runs as a task of its server, and an mcp block calls a tool that answers its call. Name a " +
			`tool whose taskSupport is not "required".`
		err = errors.Join(err, hcl.Blame(&b.Call, text, b.Call))
	}
	if c.Command != nil && c.Sessions == sessionsShared && b.ForwardLogs != "" {
		const text = "A log message of a program does not say which call it is of, and calls of all callers use one " +
			`process of %q. Remove forward_logs, or write sessions = "caller" in the connection.`
		err = errors.Join(err, hcl.Blame(&b.ForwardLogs, text, conn.Name))
	}
	return effects, err
}

var (
	anyStructured = &schema.Type{Kind: schema.Any}
	anyContent    = schema.ListOf(&schema.Type{Kind: schema.Any})
	textType      = &schema.Type{Kind: schema.String}
	boolType      = &schema.Type{Kind: schema.Bool}
)

// outputType returns the type of the root output. A declared structured result is checked when it is read.
func outputType(structured *schema.Type, declared bool) *schema.Type {
	if declared {
		structured = structured.Opened()
	}
	return schema.ObjectOf(
		&schema.Member{Name: "content", Type: anyContent},
		&schema.Member{Name: "text", Type: textType},
		&schema.Member{Name: "structured", Type: structured},
		&schema.Member{Name: "truncated", Type: boolType},
	)
}

// Effects implements hcl.EffectLister.
func (b *block) Effects(*hcl.Connection) []hcl.Effect {
	return []hcl.Effect{{Verb: "CALL", Source: []any{&b.Call}}, {Verb: "ARGUMENTS", Values: &b.Arguments}}
}
