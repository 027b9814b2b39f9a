package call

import (
	"encoding/binary"
	"maps"

	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/internal/digest"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/result"
)

// A cursor is sealed text: the version, when it ends, how many pages and rows were delivered, and the position. The
// seal is for one caller and one call, see cursorUse. A cursor gives no right: each page is decided anew.

const cursorVersion = 1

// Failures of a cursor.
const (
	cursorNotValid = "cursor is not valid for this call: it belongs to another tool, other arguments or another " +
		"caller, or it is damaged. Repeat the call without cursor."
	cursorExpired = "The cursor has expired. Repeat the call without cursor."
)

// openPage reads the cursor of a call, and gives the backend the position.
func (c *engine) openPage() error {
	if c.program == nil || c.program.tool.Page == nil || c.frame.Input == nil {
		return nil
	}
	p := c.program.tool.Page
	c.page = &result.Page{Decl: p, Number: 1}
	if cursor, _ := c.frame.Input[hcl.CursorInput].(string); cursor != "" {
		if text := c.readCursor(cursor); text != "" {
			c.access.refusedBy = metrics.RefusedByArgument
			return failure.Refusal(text)
		}
	}
	c.frame.Page = map[string]any{"limit": p.Size + 1, "after": nil}
	switch {
	case p.Keys == nil:
		c.frame.Page["limit"] = c.page.Delivered + p.Size + 1
	case c.page.After != nil:
		c.frame.Page["after"] = c.page.After
	}
	return nil
}

// readCursor reads a cursor into the page. It returns why that is not possible; empty for nothing.
func (c *engine) readCursor(cursor string) string {
	use, err := c.cursorUse()
	if err != nil {
		return cursorNotValid
	}
	plain, ok := c.operation.Env.State.Cursors().Open(cursor, use)
	if !ok || len(plain) == 0 || plain[0] != cursorVersion {
		return cursorNotValid
	}
	var numbers [3]uint64
	plain = plain[1:]
	for i := range numbers {
		n, size := binary.Uvarint(plain)
		if size <= 0 {
			return cursorNotValid
		}
		numbers[i], plain = n, plain[size:]
	}
	if c.operation.Env.Now().Unix() >= int64(numbers[0]) {
		return cursorExpired
	}
	c.page.Number, c.page.Delivered = int(numbers[1])+1, int(numbers[2])
	if c.page.Decl.Keys == nil {
		c.page.Last = plain
		return ""
	}
	v, err := value.Decode(plain)
	after, isObject := v.(map[string]any)
	if err != nil || !isObject {
		return cursorNotValid
	}
	c.page.After, c.page.Last = after, plain
	return ""
}

// sealCursor returns the cursor of the page after this one, whose last row has this position.
func (c *engine) sealCursor(delivered int, position []byte) (string, error) {
	use, err := c.cursorUse()
	if err != nil {
		return "", err
	}
	plain := binary.AppendUvarint([]byte{cursorVersion}, uint64(c.operation.Env.Now().Add(c.page.Decl.TTL).Unix()))
	plain = binary.AppendUvarint(plain, uint64(c.page.Number))
	plain = binary.AppendUvarint(plain, uint64(delivered))
	return c.operation.Env.State.Cursors().Seal(append(plain, position...), use), nil
}

// cursorUse returns what a cursor is sealed for: the tool as it is defined, the caller, the toolset, and the arguments
// without the cursor.
func (c *engine) cursorUse() (string, error) {
	input := maps.Clone(c.frame.Input)
	delete(input, hcl.CursorInput)
	frozen, err := elicit.AppendFrozen(nil, input)
	if err != nil {
		return "", err
	}
	o, toolset := c.operation, ""
	if c.caller != nil {
		toolset = c.caller.Toolset
	}
	return digest.Of("page", o.Env.Server, toolset, o.Decl.Name, o.Decl.Digest, o.Rules.Digest(), c.action.Owner,
		string(frozen)).String(), nil
}
