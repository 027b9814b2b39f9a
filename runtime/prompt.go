package runtime

import (
	"context"
	"fmt"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// prompt is one compiled prompt.
type prompt struct {
	operation
	prompt *hcl.Prompt
}

func newPrompt(g *Generation, decl *hcl.Prompt) *prompt {
	p := &prompt{prompt: decl}
	p.initialize(g, "prompt", &decl.Operation, decl.Error)
	return p
}

// get serves one prompts/get.
func (p *prompt) get(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	given, err := textArguments(req.Arguments)
	return p.serve(ctx, req, inputs{texts: given, wrong: err}, p.messages)
}

// messages writes what is said.
func (p *prompt) messages(c *call) (err error) {
	dst := c.result.Blocks
	if p.prompt.Description != "" {
		dst = append(value.AppendString(append(dst, `"description":`...), p.prompt.Description), ',')
	}
	if dst, err = p.writer.AppendMessages(append(dst, `"messages":`...), p.prompt.Messages, c.frame); err != nil {
		return c.evalError(err)
	}
	c.result.Blocks = p.generation.scrubber.JSON(dst)
	return nil
}

// textArguments reads the arguments of a prompt, each of which must be a text.
func textArguments(raw []byte) (map[string]string, error) {
	given := map[string]string{}
	if len(raw) == 0 {
		return given, nil
	}
	v, err := value.Decode(raw)
	if err != nil {
		return nil, &mcp.Error{Code: mcp.CodeInvalidParams, Message: "The arguments are not JSON: " + err.Error()}
	}
	var wrong []string
	m, _ := v.(map[string]any)
	for _, name := range value.Keys(m) {
		text, ok := m[name].(string)
		if !ok {
			wrong = append(wrong, fmt.Sprintf("- %s: the arguments of a prompt are texts, and this is a %s", name, value.Kind(m[name])))
		}
		given[name] = text
	}
	if len(wrong) > 0 {
		return nil, &mcp.Error{Code: mcp.CodeInvalidParams, Message: "The arguments are not valid, and nothing was done:\n" + strings.Join(wrong, "\n")}
	}
	return given, nil
}

// listEntry is the prompt as it is listed.
func (p *prompt) listEntry() mcp.Entry {
	d := p.prompt
	e := value.AppendString([]byte(`{"name":`), d.Name)
	e = result.AppendMember(e, "title", d.Title)
	e = result.AppendMember(e, "description", d.Description)
	if len(d.Icons) > 0 {
		e = append(mcp.AppendIcons(append(e, `,"icons":[`...), icons(d.Icons)), ']')
	}
	if arguments := d.Arguments(); len(arguments) > 0 {
		e = append(appendArguments(append(e, `,"arguments":[`...), arguments), ']')
	}
	e = append(e, '}')
	return mcp.Entry{Name: d.Name, Legacy: e, Modern: e}
}

func appendArguments(dst []byte, arguments []hcl.PromptArgument) []byte {
	for i, a := range arguments {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendString(append(dst, `{"name":`...), a.Name)
		dst = result.AppendMember(dst, "title", a.Title)
		dst = result.AppendMember(dst, "description", a.Description)
		if a.Required {
			dst = append(dst, `,"required":true`...)
		}
		dst = append(dst, '}')
	}
	return dst
}
