package runtime

import (
	"errors"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl/value"
)

// shapedResult is what a call came to, before it is encoded.
type shapedResult struct {
	value     any
	hasValue  bool // there is a value, which may be null
	hasText   bool // the text is in the reply, in the author's words or the backend's
	hasBlocks bool // the reply holds content blocks
	partial   bool // the backend had more rows or pages than it reads, and nobody else has said so
}

// shape makes the answer of the outputs.
func (p *Program) shape(c *call) error {
	if err := p.shapeValue(c); err != nil {
		return err
	}
	return p.shapeText(c)
}

// shapeValue computes the result and validates what the tool promises of it.
func (p *Program) shapeValue(c *call) (err error) {
	a := &c.result
	switch {
	case p.tool.Result != nil:
		if a.value, err = p.tool.Result.Eval(c.frame, c.frame.Output); err != nil {
			return c.evalError(err)
		}
		a.hasValue = true
	case p.defaults.member != "" || p.defaults.members != nil:
		if a.value, err = p.defaultValue(c.frame.Output); err != nil {
			return c.evalError(err)
		}
		a.hasValue = true
	}
	if p.tool.ReturnsValidator == nil || !a.hasValue {
		return nil
	}
	checked, violations := p.tool.ReturnsValidator.Check(a.value)
	if len(violations) > 0 {
		return &adapters.Fault{Message: "the result is not what this tool promises, so it was not sent:\n" + violationList(violations)}
	}
	a.value = checked
	return nil
}

func (p *Program) defaultValue(output any) (any, error) {
	m, err := resolveMembers(output)
	if err != nil {
		return nil, err
	}
	if p.defaults.member != "" {
		return m[p.defaults.member], nil
	}
	out := make(map[string]any, len(p.defaults.members))
	for _, name := range p.defaults.members {
		if v, ok := m[name]; ok {
			out[name] = v
		}
	}
	return out, nil
}

func resolveMembers(output any) (map[string]any, error) {
	v, err := value.Resolve(output)
	if err != nil {
		return nil, err
	}
	m, _ := v.(map[string]any)
	return m, nil
}

// shapeText renders what is written for the reader of the answer. What goes wrong here goes wrong after the tool has acted, so nothing but a value that
// has no text at all fails.
func (p *Program) shapeText(c *call) error {
	var err error
	switch {
	case len(p.tool.Content) > 0:
		c.result.hasBlocks = true
		return p.shapeContent(c)
	case p.tool.Text != nil:
		c.result.hasText = true
		if c.reply.text, err = p.tool.Text.Append(c.reply.text, c.frame); err != nil {
			return c.evalError(err)
		}
	case p.defaults.text != "" && !c.result.hasValue:
		c.result.hasText = true
		m, err := resolveMembers(c.frame.Output)
		if err != nil {
			return c.evalError(err)
		}
		if c.reply.text, err = appendText(c.reply.text, m[p.defaults.text]); err != nil {
			return c.evalError(err)
		}
	default:
		c.result.partial = isPartial(c.frame.Output)
	}
	return nil
}

// isPartial reports that a backend has stopped at its limit of rows or pages although there were more.
func isPartial(output any) bool {
	m, _ := output.(map[string]any)
	return m["truncated"] == true
}

// appendText appends how a value reads alone: a string or bytes as they are, everything else as JSON.
func appendText(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return append(dst, v...), nil
	case value.Bytes:
		return append(dst, strings.ToValidUTF8(string(v), "\ufffd")...), nil
	}
	dst, err := value.AppendJSON(dst, v)
	if errors.Is(err, value.ErrBytes) {
		err = errors.New("the result holds raw bytes, which cannot be sent as JSON; encode them with base64encode")
	}
	return dst, err
}

// resultText is the answer as one text, for a tool that called this one.
func (c *call) resultText() (string, error) {
	if c.result.hasText || !c.result.hasValue {
		return string(c.reply.text), nil
	}
	b, err := appendText(nil, c.result.value)
	if err != nil {
		return "", c.evalError(err)
	}
	return string(b), nil
}
