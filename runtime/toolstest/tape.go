package toolstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// TapeSuffix ends the names of tapes.
const TapeSuffix = ".tape.json"

// maxTape is the maximum size of a tape in bytes.
const maxTape = 4 << 20

// exchange is a request to a real backend, and its answer. Its Request is the request, with secrets
// replaced by their names, and its Reply has the arguments of a reply block, and those that only a tape has.
type exchange struct {
	kind, connection string
	request, reply   map[string]any
	secrets          []string // of the request, without a name
}

// lineTexts are the texts that a tape holds as lists of lines.
var lineTexts = []string{"statement", "script", "stdin", "stdout", "stderr", "text", "body"}

// splitLines returns the members with texts of several lines as lists of lines.
func splitLines(members map[string]any) map[string]any {
	out := make(map[string]any, len(members))
	for name, v := range members {
		out[name] = v
	}
	for _, name := range lineTexts {
		text, ok := members[name].(string)
		if !ok || strings.Count(text, "\n") < 2 {
			continue
		}
		var lines []any
		for line := range strings.Lines(text) {
			lines = append(lines, line)
		}
		out[name] = lines
	}
	return out
}

// joinLines is the inverse of splitLines. A list of anything else stays.
func joinLines(members map[string]any) {
	for _, name := range lineTexts {
		lines, ok := members[name].([]any)
		var text strings.Builder
		for _, line := range lines {
			part, isText := line.(string)
			ok = ok && isText
			text.WriteString(part)
		}
		if ok {
			members[name] = text.String()
		}
	}
}

// encodeTape returns the content of a tape: JSON with sorted members, one on each line.
func encodeTape(exchanges []*exchange) ([]byte, error) {
	list := make([]any, len(exchanges))
	for i, x := range exchanges {
		entry := map[string]any{"kind": x.kind, "request": splitLines(x.request), "response": splitLines(x.reply)}
		if x.connection != "" {
			entry["connection"] = x.connection
		}
		list[i] = entry
	}
	encoded, err := value.AppendJSON(nil, map[string]any{"tape": 1, "exchanges": list})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, encoded, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	if out.Len() > maxTape {
		return nil, fmt.Errorf("it would have more than %d MiB", maxTape>>20)
	}
	return out.Bytes(), nil
}

func optional(name string, t *schema.Type) *schema.Member {
	return &schema.Member{Name: name, Type: t, Optional: true}
}

var (
	textKind  = &schema.Type{Kind: schema.String}
	intKind   = &schema.Type{Kind: schema.Integer}
	anyKind   = &schema.Type{Kind: schema.Any}
	textsKind = &schema.Type{Kind: schema.Map, Elem: textKind}

	tapeType = schema.ObjectOf(
		&schema.Member{Name: "tape", Type: intKind},
		&schema.Member{Name: "exchanges", Type: schema.ListOf(schema.ObjectOf(
			&schema.Member{Name: "kind", Type: textKind},
			optional("connection", textKind),
			&schema.Member{Name: "request", Type: &schema.Type{Kind: schema.Map, Elem: anyKind.AsNullable()}},
			&schema.Member{Name: "response", Type: &schema.Type{Kind: schema.Map, Elem: anyKind.AsNullable()}},
		))},
	)
	replyTypes = map[string]*schema.Type{
		"http": schema.ObjectOf(optional("status", intKind), optional("fail", textKind), optional("headers", textsKind),
			optional("json", anyKind.AsNullable()), optional("text", textKind), optional("base64", textKind)),
		"sql": schema.ObjectOf(optional("columns", schema.ListOf(textKind)),
			optional("cells", schema.ListOf(schema.ListOf(anyKind.AsNullable()))), optional("affected", intKind),
			optional("last_id", intKind), optional("error", textKind), optional("code", textKind),
			optional("state", textKind), optional("name", textKind), optional("hint", textKind)),
		"shell": schema.ObjectOf(optional("stdout", textKind), optional("stderr", textKind), optional("exit", intKind)),
	}
)

// decodeTape reads a tape. The error says where it is wrong.
func decodeTape(src []byte) ([]*exchange, error) {
	v, err := value.Decode(src)
	if err != nil {
		return nil, err
	}
	checked, violations, _ := tapeType.Compile().Check(v, schema.Unlimited)
	if violations != nil {
		return nil, fmt.Errorf("%s", violations[0])
	}
	tape, _ := checked.(map[string]any)
	if tape["tape"] != 1 {
		return nil, fmt.Errorf("tape is %v, and this program reads 1", tape["tape"])
	}
	list, _ := tape["exchanges"].([]any)
	exchanges := make([]*exchange, len(list))
	for i, e := range list {
		x, err := decodeExchange(e)
		if err != nil {
			return nil, fmt.Errorf("exchanges[%d].%w", i, err)
		}
		exchanges[i] = x
	}
	return exchanges, nil
}

func decodeExchange(v any) (*exchange, error) {
	entry, _ := v.(map[string]any)
	x := &exchange{}
	x.kind, _ = entry["kind"].(string)
	x.connection, _ = entry["connection"].(string)
	x.request, _ = entry["request"].(map[string]any)
	reply, _ := entry["response"].(map[string]any)
	t := replyTypes[x.kind]
	if t == nil {
		return nil, fmt.Errorf("kind is %q, and is http, sql or shell", x.kind)
	}
	joinLines(x.request)
	joinLines(reply)
	checked, violations, _ := t.Compile().Check(reply, schema.Unlimited)
	if violations != nil {
		return nil, fmt.Errorf("response.%s", violations[0])
	}
	x.reply, _ = checked.(map[string]any)
	if fail, failed := x.reply["fail"].(string); x.kind == "http" && (failed == (x.reply["status"] != nil) ||
		failed && failures[fail] == nil) {
		return nil, fmt.Errorf("response has a status, or fail, which is refused, reset or timeout")
	}
	if status, ok := x.reply["status"].(int); ok && (status < 200 || status > 599) {
		return nil, fmt.Errorf("response.status is %d, and is a number from 200 to 599", status)
	}
	columns, _ := x.reply["columns"].([]any)
	cells, _ := x.reply["cells"].([]any)
	for i, row := range cells {
		if list, _ := row.([]any); len(list) != len(columns) {
			return nil, fmt.Errorf("response.cells[%d] has %d cells, and there are %d columns", i, len(list),
				len(columns))
		}
	}
	return x, nil
}

// readTape reads a tape of the configuration directory.
func (m *Mocks) readTape(name string) ([]*exchange, error) {
	src, err := m.readFile(name, maxTape)
	if err != nil {
		return nil, err
	}
	return decodeTape(src)
}
